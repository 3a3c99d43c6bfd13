"""Words in: a webhook's name, address and events."""

from __future__ import annotations

from typing import Any

from django import forms

from agents.outbound import is_loopback
from webhooks.models import Event


class WebhookForm(forms.Form):
    name = forms.CharField(label="Name", max_length=120, help_text="What is told, such as “release pipeline”.")
    url = forms.CharField(label="Address", max_length=500)
    events = forms.MultipleChoiceField(label="Tell it when", choices=Event, widget=forms.CheckboxSelectMultiple)
    revision = forms.IntegerField(widget=forms.HiddenInput, required=False, min_value=1, initial=1)

    def __init__(self, hosts: list[str], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if hosts:
            start = f"http://{hosts[0]}:9000" if is_loopback(hosts[0]) else f"https://{hosts[0]}"
            self.fields["url"].widget.attrs["placeholder"] = f"{start}/evenhand"
            self.fields["url"].help_text = f"On a host that operators allow: {', '.join(hosts)}."

    def clean_revision(self) -> int:
        return self.cleaned_data["revision"] or 0

    def said(self) -> dict[str, Any]:
        """The fields as actions take them."""
        return {name: self.cleaned_data[name] for name in ("name", "url", "events")}
