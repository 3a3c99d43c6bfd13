"""Words in: the setup of a group, every field of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from django import forms

from agents.forms import route_label
from agents.models import ModelRoute, Snapshot
from comparisons.groups.intent import MOST_ARMS, MOST_REPETITIONS, Intent, read
from datasets.models import SliceVersion, Version
from grading.models import EvidenceKind, GraderKind, GraderVersion
from runs.models import ToolPolicy
from teams.refusals import Refusal

ARMS: Final = tuple(f"arm_{at}" for at in range(MOST_ARMS))


class SetupForm(forms.Form):
    """`key` is the request key: it stays for an unchanged retry, and an edit makes another."""

    name = forms.CharField(label="Name", max_length=120, help_text="Shown in lists.")
    base = forms.ChoiceField(label="Base snapshot", help_text="What new model variants are made from.")
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
    graders = forms.MultipleChoiceField(label="Graders", widget=forms.CheckboxSelectMultiple)
    enrichment = forms.ChoiceField(
        label="Enrichment",
        required=False,
        help_text="A validator that is asked once about each answer, for judges that look at what it finds.",
    )
    primary = forms.ChoiceField(label="Primary metric", help_text="With the exact version that measures it.")
    key = forms.CharField(widget=forms.HiddenInput, min_length=8, max_length=100)

    def __init__(
        self,
        *args: Any,
        snapshots: Sequence[Snapshot],
        routes: Iterable[ModelRoute],
        versions: Sequence[Version],
        slices: Sequence[SliceVersion],
        graders: Sequence[GraderVersion],
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        named = [(str(one.pk), f"{one}: {one.route_revision.model_id}, {one.made_at:%-d %b %Y}") for one in snapshots]
        variants = [(f"route:{route.key}", route_label(route)) for route in routes]
        arms = [
            ("", "None"),
            ("New model variant of the base", variants),
            ("Existing snapshot", [(f"snapshot:{pk}", text) for pk, text in named]),
        ]
        for at, name in enumerate(ARMS):
            self.fields[name] = forms.ChoiceField(label=f"Arm {'ABCDE'[at]}", required=at < 2, choices=arms)
        listed = [(str(one.pk), f"{one.dataset.name}, version {one.number} ({one.count:,} cases)") for one in versions]
        parts = [(str(one.pk), f"{one.slice.dataset.name}: {one.slice.name}, version {one.number}") for one in slices]
        exact = [(str(one.pk), f"{one.grader.definition.name}: {one}") for one in graders]
        by_evidence = [
            (f"{one.pk}:{evidence}", f"{one} ({one.grader.definition.name}){_looks(evidence)}")
            for one in graders
            for evidence in one.evidence
        ]
        validators = [(str(one.pk), str(one)) for one in graders if one.grader.kind == GraderKind.VALIDATOR]
        self._offer("base", [("", "Choose a snapshot"), *named])
        self._offer("version", [("", "Choose a version"), *listed])
        self._offer("slice", [("", "Every case"), *parts])
        self._offer("graders", by_evidence)
        self._offer("enrichment", [("", "None"), *validators])
        self._offer("primary", [("", "Choose a version"), *exact])

    def _offer(self, name: str, choices: list[Any]) -> None:
        """What is there to choose; what was chosen and is there no more stays, and says so."""
        given = self.data.getlist(name) if hasattr(self.data, "getlist") else []
        known = {value for value, _ in choices}
        gone = [(value, "(unavailable)") for value in given if value and value not in known]
        self.fields[name].choices = [*choices, *gone]  # type: ignore[attr-defined]

    @property
    def steps(self) -> list[tuple[str, str, list[Any]]]:
        """The fields in the order in which they are filled in."""
        return [
            ("subject", "1. Subject and data", [self[name] for name in ("name", "base", "version", "slice")]),
            ("arms", "2. Arms", [self[name] for name in ARMS]),
            (
                "grading",
                "3. Grading",
                [self[name] for name in ("repetitions", "tool_policy", "graders", "enrichment", "primary")],
            ),
        ]

    def intent(self) -> Intent:
        given = self.cleaned_data
        arms = [given[name].partition(":") for name in ARMS if given[name]]
        graders = [one.rpartition(":") for one in given["graders"]]
        return read(
            {
                **{name: given[name] for name in ("name", "base", "version", "repetitions", "tool_policy", "primary")},
                "slice": given["slice"] or None,
                "enrichment": given["enrichment"] or None,
                "arms": [{kind: value} for kind, _, value in arms],
                "graders": [{"version": pk, "evidence": evidence} for pk, _, evidence in graders],
            }
        )

    def add(self, refusal: Refusal) -> None:
        name, _, rest = refusal.place.partition("[")
        if name == "arms" and rest[:1].isdecimal():
            chosen = [one for one in ARMS if self.cleaned_data.get(one)]
            at = int(rest[0])
            name = chosen[at] if at < len(chosen) else ARMS[0]
        text = f"{refusal.message} {refusal.allowed}" if refusal.message != refusal.allowed else refusal.message
        self.add_error(name if name in self.fields else None, text)


def _looks(evidence: str) -> str:
    return ", by what a validator found" if evidence == EvidenceKind.ENRICHMENT else ""
