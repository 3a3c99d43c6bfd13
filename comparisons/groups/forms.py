"""Words in: the setup of a group, every field of it, by step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from django import forms
from django.http import QueryDict

from agents.forms import route_label
from agents.models import ModelRoute, Snapshot
from comparisons.groups.intent import MOST_ARMS, MOST_REPETITIONS, Intent, read
from comparisons.groups.naming import GONE
from comparisons.groups.setups import Fields
from datasets.models import SliceVersion, Version
from grading.models import EvidenceKind, GraderKind, GraderVersion
from runs.models import ToolPolicy
from teams.refusals import Refusal

ARMS: Final = tuple(f"arm_{at}" for at in range(MOST_ARMS))
STEPS: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "subject": ("Subject and data", ("name", "base", "version", "slice")),
    "arms": ("Arms", ARMS),
    "grading": ("Grading", ("repetitions", "tool_policy", "graders", "enrichment", "primary")),
    "readiness": ("Readiness and spend", ()),
}
"""The four steps in order: title, and the fields that are filled in there."""
STEP_OF: Final = {name: step for step, (_, names) in STEPS.items() for name in names}


@dataclass(frozen=True, slots=True)
class Offered:
    """What there is to choose from, and how things are called that were chosen and are on no list any more."""

    snapshots: Sequence[Snapshot]
    routes: Sequence[ModelRoute]
    versions: Sequence[Version]
    slices: Sequence[SliceVersion]
    graders: Sequence[GraderVersion]
    gone: Mapping[str, str] = field(default_factory=dict)
    """Names by id."""


@dataclass(frozen=True, slots=True)
class GraderChoices:
    """The versions of one grader: the newest and what is chosen first, the others apart."""

    metric: str
    name: str
    shown: list[Any]
    older: list[Any]


class SetupForm(forms.Form):
    """Every field of the four steps. It is bound to what was kept, and says what is wrong by step."""

    name = forms.CharField(label="Name", max_length=120, help_text="Shown in lists.")
    base = forms.ChoiceField(
        label="Base snapshot", widget=forms.RadioSelect, help_text="What new model variants are made from."
    )
    version = forms.ChoiceField(label="Dataset version", help_text="Exactly this one, newer or older.")
    slice = forms.ChoiceField(label="Slice", required=False, help_text="Empty for every case of the version.")
    repetitions = forms.IntegerField(
        label="Repetitions",
        min_value=1,
        max_value=MOST_REPETITIONS,
        initial=1,
        help_text=f"How often each case is asked, 1 to {MOST_REPETITIONS}.",
    )
    tool_policy = forms.ChoiceField(label="Tools", choices=ToolPolicy.choices, initial=ToolPolicy.NONE)
    graders = forms.MultipleChoiceField(label="Pinned graders", widget=forms.CheckboxSelectMultiple)
    enrichment = forms.ChoiceField(
        label="Enrichment validator",
        required=False,
        help_text="Asked once about each answer, for judges that look at what it finds.",
    )
    primary = forms.ChoiceField(label="Primary metric", help_text="With the exact version that measures it.")

    def __init__(self, data: QueryDict | None, *, offered: Offered, **kwargs: Any) -> None:
        super().__init__(data, **kwargs)
        self.offered = offered
        named = [(str(one.pk), snapshot_label(one)) for one in offered.snapshots]
        variants = [(f"route:{route.key}", route_label(route)) for route in offered.routes]
        arms = [
            ("", "None"),
            ("New model variant of base snapshot", variants),
            ("Existing snapshot", [(f"snapshot:{pk}", text) for pk, text in named]),
        ]
        for at, name in enumerate(ARMS):
            self.fields[name] = forms.ChoiceField(label=f"Arm {'ABCDE'[at]}", required=at < 2)
            self._offer(name, arms)
        versions = _by(
            offered.versions,
            lambda one: one.dataset.name,
            lambda one: (str(one.pk), f"{one.dataset.name}, version {one.number} ({one.count:,} cases)"),
        )
        parts = _by(
            offered.slices,
            lambda one: one.slice.dataset.name,
            lambda one: (str(one.pk), f"{one.slice.name}, version {one.number}"),
        )
        exact = _by(
            offered.graders,
            lambda one: one.grader.definition.name,
            lambda one: (str(one.pk), f"{one.grader.definition.name}: {one}"),
        )
        by_evidence = [
            (f"{one.pk}:{evidence}", f"version {one.number}{_looks(evidence)}")
            for one in offered.graders
            for evidence in one.evidence
        ]
        validators = [(str(one.pk), str(one)) for one in offered.graders if one.grader.kind == GraderKind.VALIDATOR]
        self._offer("base", named)
        self._offer("version", [("", "Choose a version"), *versions])
        self._offer("slice", [("", "Every case"), *parts])
        self._offer("graders", by_evidence)
        self._offer("enrichment", [("", "None"), *validators])
        self._offer("primary", [("", "Choose a version"), *exact])

    def _offer(self, name: str, choices: list[Any]) -> None:
        """What is there to choose; what was chosen and is there no more stays, and says so."""
        given = self.data.getlist(name) if isinstance(self.data, QueryDict) else []
        known = {value for one in choices for value in _values(one)}
        gone = [(value, self._gone(value)) for value in given if value and value not in known]
        self.fields[name].choices = [*choices, *gone]  # type: ignore[attr-defined]

    def _gone(self, value: str) -> str:
        """An id alone says nothing to a person, so what was known of it stands before the word."""
        ids = [part for part in value.split(":") if part in self.offered.gone]
        return f"{self.offered.gone[ids[0]]} {GONE}" if ids else GONE

    @property
    def graders_by_name(self) -> list[GraderChoices]:
        """The checkboxes of the plan by grader: newest version first, older ones apart unless they are chosen."""
        boxes = {str(box.data["value"]): box for box in self["graders"]}
        found: list[GraderChoices] = []
        newest: dict[Any, Any] = {}
        for one in self.offered.graders:
            first = newest.setdefault(one.grader_id, one)
            if first is one:
                found.append(GraderChoices(one.grader.definition.name, one.grader.name, [], []))
            for evidence in one.evidence:
                box = boxes.pop(f"{one.pk}:{evidence}")
                (found[-1].shown if first is one or box.data["selected"] else found[-1].older).append(box)
        if boxes:
            found.append(GraderChoices("", GONE, list(boxes.values()), []))
        return found

    def of_step(self, step: str) -> list[Any]:
        return [self[name] for name in STEPS[step][1]]

    def faulty(self) -> list[str]:
        """The steps that are not filled in as they must be, in order."""
        wrong = {STEP_OF.get(name, "subject") for name in self.errors}
        return [step for step in STEPS if step in wrong]

    def only(self, step: str) -> None:
        """Judge one step alone: the others have not been reached yet."""
        for name in [one for one in self.errors if STEP_OF.get(one) != step]:
            del self.errors[name]

    def intent(self, template: Any = None) -> Intent:
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
                "template": str(template) if template else None,
            }
        )

    def add(self, refusal: Refusal) -> None:
        name, _, rest = refusal.place.partition("[")
        if name == "arms" and rest[:1].isdecimal():
            chosen = [one for one in ARMS if self.cleaned_data.get(one)]
            at = int(rest[0])
            name = chosen[at] if at < len(chosen) else ARMS[0]
        elif name == "arms":
            name = ARMS[0]
        text = f"{refusal.message} {refusal.allowed}" if refusal.message != refusal.allowed else refusal.message
        self.add_error(name if name in self.fields else None, text)


def fields_of(body: Mapping[str, Any]) -> Fields:
    """The fields as the body of a template says them, everything exact."""
    said: Fields = {name: [str(body[name])] for name in ("name", "base", "version", "repetitions", "tool_policy")}
    said |= {name: [str(body[name] or "")] for name in ("slice", "enrichment", "primary")}
    said["graders"] = [f"{one['version']}:{one['evidence']}" for one in body["graders"]]
    for at, name in enumerate(ARMS):
        arm = body["arms"][at] if at < len(body["arms"]) else {}
        said[name] = [f"{kind}:{value}" for kind, value in arm.items()] or [""]
    return said


def as_query(fields: Mapping[str, Sequence[str]]) -> QueryDict:
    """What was kept, as a form reads it."""
    data = QueryDict(mutable=True)
    for name, values in fields.items():
        data.setlist(name, list(values))
    return data


def ids_in(fields: Mapping[str, Sequence[str]]) -> set[str]:
    """Every id that the fields hold, of whatever it is."""
    texts = (part for values in fields.values() for one in values for part in one.split(":"))
    return {text for text in texts if len(text) == 36 and text.count("-") == 4}


def snapshot_label(one: Snapshot) -> str:
    return f"{one}: {one.route_revision.model_id}, {one.made_at:%-d %b %Y}"


def _by(rows: Iterable[Any], group: Any, choice: Any) -> list[tuple[str, list[tuple[str, str]]]]:
    """Choices under the name that they have in common, in the order of the rows."""
    found: dict[str, list[tuple[str, str]]] = {}
    for row in rows:
        found.setdefault(group(row), []).append(choice(row))
    return list(found.items())


def _values(choice: Any) -> list[str]:
    value, label = choice
    return [inner for inner, _ in label] if isinstance(label, list) else [value]


def _looks(evidence: str) -> str:
    return ", by enrichment evidence" if evidence == EvidenceKind.ENRICHMENT else ""
