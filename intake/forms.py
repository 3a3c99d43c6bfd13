"""Forms of importing: the upload, the guided mapping, the confirmation."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from django import forms
from django.utils.safestring import SafeString

from analysis import strict_json
from analysis.observations import Direction, Kind
from analysis.refusals import Refused
from intake import queries
from intake.models import Import
from intake.readers import mapping as mappings
from intake.readers.mapping import BLANKS, COST_UNITS, TIME_UNITS, TRANSFORMS, Amount, Mapping, ScorerMapping
from runs.models import TrustTier
from teams.models import Team
from teams.records import new_id

TRUST = [
    (TrustTier.SOURCE_VERIFIER, "Verified where it comes from: the tool that ran the evaluation wrote this file"),
    (TrustTier.AGENT_CLAIMED, "Claimed by the agent or its maker, not checked by anybody else"),
    (TrustTier.INSUFFICIENT, "Insufficient: where it comes from is not known"),
]
MOST_SCORERS = 12
BLANK_WORDS = {
    "not_scored": "not scored",
    "abstained": "an abstention",
    "not_applicable": "not applicable",
    "grader_error": "a grader error",
    "refuse": "a fault of the row",
}
TRANSFORM_WORDS = {
    "none": "as it stands",
    "number": "text to number",
    "truth": "yes/no, pass/fail",
    "inspect": "C, I, P, N",
}


class MultipleFileInput(forms.ClearableFileInput):
    allow_multiple_selected = True


class UploadForm(forms.Form):
    """Files come through `request.FILES`; this form holds what stands beside them."""

    dataset = forms.CharField(
        max_length=120,
        required=False,
        label="Dataset",
        help_text="What the cases belong to: a new name, or one that exists. It can wait until the files are read.",
        widget=forms.TextInput(attrs={"list": "dataset-names", "autocomplete": "off"}),
    )
    mapping = forms.ChoiceField(
        required=False,
        label="Mapping",
        help_text="Only for CSV, JSONL and JSON of your own. Inspect logs and τ-bench results say what they hold.",
    )
    key = forms.CharField(widget=forms.HiddenInput, min_length=8, max_length=100)

    def __init__(self, team: Team, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("initial", {"key": new_id().hex})
        super().__init__(*args, **kwargs)
        choices = [("", "Recognise the format, and ask if needed"), *queries.mapping_choices(team)]
        self.fields["mapping"] = forms.ChoiceField(
            choices=choices,
            required=False,
            label=self.fields["mapping"].label,
            help_text=SafeString(self.fields["mapping"].help_text),
        )


class ConfirmForm(forms.Form):
    """What the person decides on a dry run: dataset, a label for each run, trust, rows left out."""

    dataset = forms.CharField(
        max_length=120,
        label="Dataset",
        error_messages={"required": "Name the dataset that the cases belong to."},
        widget=forms.TextInput(attrs={"list": "dataset-names", "autocomplete": "off"}),
    )
    trust = forms.ChoiceField(choices=TRUST, label="How far can the evidence be trusted?", widget=forms.RadioSelect)
    accept_rejected = forms.BooleanField(required=False)

    def __init__(self, row: Import, runs: Sequence[queries.RunRow], *args: Any, **kwargs: Any) -> None:
        initial = {"dataset": row.dataset_name, "trust": row.trust}
        kwargs["initial"] = initial | kwargs.get("initial", {})
        super().__init__(*args, **kwargs)
        for run in runs:
            self.fields[f"label-{run.position}"] = forms.CharField(
                max_length=200,
                initial=run.label,
                label=f"Label of run {run.position + 1}",
                error_messages={"required": "Every run needs a label."},
                widget=forms.TextInput(
                    attrs={
                        "aria-label": f"Label of run {run.position + 1}",
                        "autocomplete": "off",
                        "size": 32,
                        "dir": "auto",
                    }
                ),
            )
        if row.rejected:
            rows = "rejected row" if row.rejected == 1 else f"{row.rejected:,} rejected rows"
            self.fields["accept_rejected"] = forms.BooleanField(
                label=f"Leave out the {rows}",
                error_messages={"required": "Rows would be left out. Confirm it here, or correct the file."},
            )
        else:
            del self.fields["accept_rejected"]

    def labels(self) -> list[str]:
        return [value for name, value in self.cleaned_data.items() if name.startswith("label-")]

    def label_of(self, position: int) -> forms.BoundField:
        return self[f"label-{position}"]


def _words(text: str) -> tuple[str, ...]:
    """Entries of a short list: one per line, or separated by commas."""
    return tuple(part.strip() for part in re.split(r"[,\n]", text) if part.strip())


class _PathField(forms.CharField):
    def __init__(self, label: str, help_text: str = "", *, required: bool = False, initial: str = "") -> None:
        super().__init__(
            label=label,
            help_text=help_text,
            required=required,
            initial=initial,
            max_length=300,
            widget=forms.TextInput(attrs={"list": "paths", "autocomplete": "off", "spellcheck": "false"}),
        )


class ScorerForm(forms.Form):
    """One measurement. A row without a name is no measurement."""

    key = forms.CharField(max_length=120, required=False, label="Name")
    value = _PathField("Value")
    equal_answer = _PathField("or: answer")
    equal_reference = _PathField("equals reference")
    kind = forms.ChoiceField(choices=[(kind.value, kind.value) for kind in Kind], label="Kind")
    direction = forms.ChoiceField(
        choices=[
            (Direction.HIGHER_IS_BETTER.value, "higher is better"),
            (Direction.LOWER_IS_BETTER.value, "lower is better"),
            (Direction.UNORDERED.value, "no order"),
        ],
        label="Direction",
    )
    low = forms.FloatField(required=False, label="From", widget=forms.TextInput(attrs={"inputmode": "decimal"}))
    high = forms.FloatField(required=False, label="To", widget=forms.TextInput(attrs={"inputmode": "decimal"}))
    transform = forms.ChoiceField(choices=[(name, TRANSFORM_WORDS[name]) for name in TRANSFORMS], label="Read values")
    blank = forms.ChoiceField(choices=[(name, BLANK_WORDS[name]) for name in BLANKS], label="Blank means")

    def mapping(self, base: ScorerMapping | None) -> ScorerMapping | None:
        given = self.cleaned_data
        if not given.get("key"):
            return None
        equal = tuple(path for path in (given["equal_answer"], given["equal_reference"]) if path)
        changed = {
            "key": given["key"],
            "kind": Kind(given["kind"]),
            "direction": Direction(given["direction"]),
            "value": given["value"],
            "equal": equal,
            "low": given["low"],
            "high": given["high"],
            "transform": given["transform"],
            "blank": given["blank"],
        }
        if base is not None and base.key == given["key"]:
            return dataclasses.replace(base, **changed)
        return ScorerMapping(**changed)


def scorer_initial(scorer: ScorerMapping) -> dict[str, Any]:
    equal = [*scorer.equal, "", ""]
    return {
        "key": scorer.key,
        "value": scorer.value,
        "equal_answer": equal[0],
        "equal_reference": equal[1],
        "kind": scorer.kind.value,
        "direction": scorer.direction.value,
        "low": scorer.low,
        "high": scorer.high,
        "transform": scorer.transform,
        "blank": scorer.blank,
    }


LAYOUTS = (
    ("long", "Long: one row per case and subject"),
    ("wide", "Wide: subjects side by side in one row"),
    ("nested", "Nested: a JSON document keyed by case, subject, attempt"),
)


class MappingForm(forms.Form):
    """The guided form of a mapping. What it does not show is kept from the mapping it began with."""

    layout = forms.ChoiceField(choices=LAYOUTS, label="Layout")
    case = _PathField("Case id", "Several columns, joined, are separated by commas.", required=True)
    arm = _PathField("Subject", "A column, or a fixed name after = such as =gpt-5; $file is the file's name.")
    arms = forms.CharField(
        required=False,
        label="Subjects in one row",
        help_text="Wide only: their columns or keys, separated by commas. Paths below say {arm} where the name stands.",
        max_length=2000,
    )
    rows = _PathField("Rows are under", "JSON only: the key that holds them; empty for the whole document.")
    levels = forms.CharField(
        required=False,
        label="Levels",
        max_length=100,
        help_text="Nested only, from outside to inside: case, arm, repetition, attempts, row.",
    )
    repetition = _PathField("Repetition", "Empty: every row is repetition 1. $position: the place among its attempts.")
    group = _PathField("Group", "What related cases share, such as a document or template; their evidence is one.")
    input = _PathField("Question")
    expected = _PathField("Expected answer")
    answer = _PathField("Answer")
    error = _PathField("Error", "Where it is not blank, the generation failed.")
    cost = _PathField("Cost")
    cost_unit = forms.ChoiceField(choices=[(unit, unit) for unit in COST_UNITS], required=False, label="Cost unit")
    latency = _PathField("Duration")
    latency_unit = forms.ChoiceField(choices=[(unit, unit) for unit in TIME_UNITS], required=False, label="Time unit")
    base = forms.CharField(required=False, widget=forms.HiddenInput, max_length=100_000)
    save_as = forms.CharField(
        required=False,
        max_length=80,
        label="Save this mapping as",
        help_text="A name for the whole team, to choose again at the next upload.",
    )

    PLACES = {"levels": "levels", "content.input": "input", "content.expected": "expected"}

    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = super().clean() or self.cleaned_data
        layout = given.get("layout")
        if layout == "wide":
            if not _words(given.get("arms", "")):
                self.add_error("arms", "List the subjects that stand side by side.")
            given["arm"] = "{arm}"
        elif not given.get("arm"):
            self.add_error("arm", "Say where the subject's name stands, or give one after =.")
        if layout == "nested" and not _words(given.get("levels", "")):
            self.add_error("levels", "Say what each level of the document is.")
        return given

    def mapping(self, scorers: Iterable[ScorerMapping]) -> dict[str, Any]:
        """The JSON form of what was filled in. Raises `Refused` with the place of the first fault."""
        given = self.cleaned_data
        base = self.base_mapping()
        layout = given["layout"]
        content = (
            {name: path for name, path in base.content.items() if name not in ("input", "expected")} if base else {}
        )
        content |= {name: given[name] for name in ("input", "expected") if given[name]}
        changed: dict[str, Any] = {
            "case": _words(given["case"]),
            "arm": given["arm"],
            "arms": _words(given["arms"]) if layout == "wide" else (),
            "rows": given["rows"],
            "levels": _words(given["levels"]) if layout == "nested" else ("row",),
            "repetition": given["repetition"],
            "group": given["group"],
            "content": content,
            "content_optional": base.content_optional if base else True,
            "answer": given["answer"],
            "error": _words(given["error"]),
            "cost": _amount(given["cost"], given["cost_unit"] or "units", base.cost if base else None),
            "latency": _amount(given["latency"], given["latency_unit"] or "ms", base.latency if base else None),
            "scorers": tuple(scorers),
        }
        whole = dataclasses.replace(base, **changed) if base else Mapping(**changed)
        return mappings.to_json(mappings.from_json(mappings.to_json(whole)))

    def base_mapping(self) -> Mapping | None:
        text = self.cleaned_data.get("base", "")
        try:
            return mappings.loads(text) if text else None
        except Refused:
            return None

    def show_refusal(self, refused: Refused, scorers: Sequence[forms.Form]) -> None:
        """Put a fault beside the field that it speaks of."""
        place = self.PLACES.get(refused.place, refused.place)
        inside = re.match(r"scorers\[(\d+)\]\.?(\w*)", place)
        if inside and int(inside[1]) < len(scorers):
            form, name = scorers[int(inside[1])], inside[2]
            form.add_error(name if name in form.fields else "value", refused.message)
            return
        name = re.split(r"[.\[]", place)[0]
        self.add_error(name if name in self.fields else None, refused.message)


def _amount(path: str, unit: str, base: Amount | None) -> Amount | None:
    if not path:
        return None
    return dataclasses.replace(base, path=path, unit=unit) if base else Amount(path, unit)


def mapping_initial(mapping: Mapping | None) -> dict[str, Any]:
    if mapping is None:
        return {"layout": "long"}
    layout = "wide" if mapping.arms else "nested" if mapping.levels != ("row",) else "long"
    return {
        "layout": layout,
        "case": ", ".join(mapping.case),
        "arm": "" if mapping.arms else mapping.arm,
        "arms": ", ".join(mapping.arms),
        "rows": mapping.rows,
        "levels": ", ".join(mapping.levels) if layout == "nested" else "",
        "repetition": mapping.repetition,
        "group": mapping.group,
        "input": mapping.content.get("input", ""),
        "expected": mapping.content.get("expected", ""),
        "answer": mapping.answer,
        "error": ", ".join(mapping.error),
        "cost": mapping.cost.path if mapping.cost else "",
        "cost_unit": mapping.cost.unit if mapping.cost else "units",
        "latency": mapping.latency.path if mapping.latency else "",
        "latency_unit": mapping.latency.unit if mapping.latency else "ms",
        "base": json.dumps(mappings.to_json(mapping), ensure_ascii=False),
    }


class JsonMappingForm(forms.Form):
    """A mapping as its JSON form."""

    body = forms.CharField(
        label="Mapping as JSON",
        max_length=100_000,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 18, "spellcheck": "false", "class": "mono", "dir": "ltr"}),
    )
    json_save_as = forms.CharField(required=False, max_length=80, label="Save this mapping as")

    def clean_body(self) -> dict[str, Any]:
        try:
            value = strict_json.loads(self.cleaned_data["body"])
            return mappings.to_json(mappings.from_json(value))
        except Refused as refused:
            where = f"{refused.place}: " if refused.place else ""
            raise forms.ValidationError(f"{where}{refused.message}") from None


def pretty(body: Any) -> str:
    return json.dumps(body, indent=2, ensure_ascii=False)
