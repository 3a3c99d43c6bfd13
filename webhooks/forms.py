"""Words in: a webhook's name, address and events."""

from __future__ import annotations

from typing import Any

from django import forms

from webhooks.models import Event


class WebhookForm(forms.Form):
    name = forms.CharField(label="Name", max_length=120, help_text="What is told, such as “release pipeline”.")
    url = forms.CharField(label="Address", max_length=500)
    events = forms.MultipleChoiceField(label="Tell it when", choices=Event, widget=forms.CheckboxSelectMultiple)
    revision = forms.IntegerField(widget=forms.HiddenInput, required=False, min_value=1, initial=1)

    def __init__(self, hosts: list[str], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["url"].widget.attrs |= {"placeholder": f"https://{hosts[0]}/evenhand"} if hosts else {}
        listed = ", ".join(hosts)
        self.fields["url"].help_text = f"On a host that operators allow: {listed}." if hosts else ""

    def clean_revision(self) -> int:
        return self.cleaned_data["revision"] or 0

    def said(self) -> dict[str, Any]:
        """The fields as actions take them."""
        return {name: self.cleaned_data[name] for name in ("name", "url", "events")}
