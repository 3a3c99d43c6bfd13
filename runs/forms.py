"""Words in: what an experiment runs, on what, how often; and what an Agent Test asks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django import forms

from agents.models import Snapshot
from datasets.models import SliceVersion, Version
from runs.actions.draft_tests import LONGEST
from runs.actions.launching import MOST_REPETITIONS
from runs.models import ToolPolicy
from teams.form_fields import Lines


class LaunchForm(forms.Form):
    """`key` is the request key: a form that is sent twice starts one experiment."""

    snapshot = forms.ChoiceField(label="Snapshot")
    version = forms.ChoiceField(label="Dataset version")
    slice = forms.ChoiceField(label="Slice", required=False, help_text="Empty for every case of the version.")
    repetitions = forms.IntegerField(
        label="Repetitions",
        min_value=1,
        max_value=MOST_REPETITIONS,
        initial=1,
        help_text="How often each case is asked.",
    )
    tool_policy = forms.ChoiceField(label="Tools", choices=ToolPolicy.choices, initial=ToolPolicy.NONE)
    key = forms.CharField(widget=forms.HiddenInput, min_length=8, max_length=100)

    def __init__(
        self,
        *args: Any,
        snapshots: Iterable[Snapshot] | None,
        versions: Sequence[Version],
        slices: Sequence[SliceVersion],
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        if snapshots is None:
            del self.fields["snapshot"]
        else:
            named = [(str(one.pk), f"{one}: {one.route_revision.model_id}") for one in snapshots]
            self.fields["snapshot"].choices = [("", "Choose a snapshot"), *named]  # type: ignore[attr-defined]
        listed = [(str(one.pk), f"{one.dataset.name}, version {one.number} ({one.count:,} cases)") for one in versions]
        self.fields["version"].choices = [("", "Choose a version"), *listed]  # type: ignore[attr-defined]
        parts = [(str(one.pk), f"{one.slice.dataset.name}: {one.slice.name}, version {one.number}") for one in slices]
        self.fields["slice"].choices = [("", "Every case"), *parts]  # type: ignore[attr-defined]


class DraftTestForm(forms.Form):
    asked = Lines("Input", rows=6, required=True, help_text="What a person would say to the agent.")
    draft_revision = forms.IntegerField(widget=forms.HiddenInput, min_value=1)
    key = forms.CharField(widget=forms.HiddenInput, min_length=8, max_length=100)

    def clean_asked(self) -> str:
        text: str = self.cleaned_data["asked"]
        if len(text) > LONGEST:
            raise forms.ValidationError(f"At most {LONGEST:,} characters.")
        return text
