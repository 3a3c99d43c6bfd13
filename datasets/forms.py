"""Words in: datasets, cases as people write them, filters of slices."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from django import forms

from datasets import filters
from datasets.bodies import ROLES, Case
from datasets.models import ItemContent
from teams.form_fields import JsonObject, Lines, kept_line_ends, typed_rows, whole_rows
from teams.refusals import Refusal

ONE, CONVERSATION = "input", "turns"
_PLAIN_TURN = {"role", "content"}


class DatasetForm(forms.Form):
    name = forms.CharField(
        label="Name", max_length=120, help_text="Shown in lists and exports, also to readers of metadata."
    )
    revision = forms.IntegerField(widget=forms.HiddenInput, required=False, min_value=1, initial=1)

    def clean_revision(self) -> int:
        return self.cleaned_data["revision"] or 0


class CaseForm(forms.Form):
    """A case without its rows of turns and points, which stand beside."""

    source_id = forms.CharField(
        label="Id", max_length=500, help_text="How your tools name the case; it stays with the case."
    )
    title = forms.CharField(label="Title", max_length=500, required=False)
    kind = forms.ChoiceField(
        label="What is asked",
        choices=[(ONE, "One input"), (CONVERSATION, "A conversation")],
        widget=forms.RadioSelect,
        initial=ONE,
    )
    input = Lines("Input", rows=6)
    expected = Lines("Expected behaviour", help_text="What a good answer is or does.")
    language = forms.CharField(
        label="Language", max_length=35, required=False, help_text="A tag such as en, ar or zh-Hant."
    )
    tags = Lines("Tags", rows=3, help_text="One in a line.")
    group = forms.CharField(
        label="Group",
        max_length=500,
        required=False,
        help_text="What it shares with other cases, such as a document or template; their evidence is one.",
    )
    metadata = JsonObject("Metadata", help_text="A JSON object. It describes the case and is no part of what pairs.")
    more = JsonObject("More content", help_text="A JSON object: further parts of what is asked, kept as they are.")
    seen = forms.CharField(widget=forms.HiddenInput, required=False)

    def __init__(self, *args: Any, adding: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not adding:
            del self.fields["source_id"]


class TurnForm(forms.Form):
    role = forms.ChoiceField(label="Role", choices=[(role, role.capitalize()) for role in ROLES], initial="user")
    content = Lines("Says", rows=3)


class PointForm(forms.Form):
    text = forms.CharField(label="Point", required=False, max_length=2000)
    points = forms.FloatField(label="Worth", required=False, min_value=0, max_value=1000)
    id = forms.CharField(widget=forms.HiddenInput, required=False, max_length=80)


Turns = forms.formset_factory(TurnForm, extra=1, max_num=200, validate_max=True)
Points = forms.formset_factory(PointForm, extra=1, max_num=200, validate_max=True)


class CaseForms:
    """The form of a case with its rows, bound or from the content that is there."""

    def __init__(self, given: Mapping[str, Any] | None, content: ItemContent | None = None, *, seen: str = "") -> None:
        self.adding = content is None
        initial, turns, points = _initial(content)
        initial["seen"] = seen
        if given is not None:  # a bound row that equals an initial one would count as untouched
            whole_rows(given, "turns", "points")
            turns, points = [], []
        self.form = CaseForm(given, initial=initial, adding=self.adding)
        self.turns: Any = Turns(given, initial=turns, prefix="turns")
        self.points: Any = Points(given, initial=points, prefix="points")
        self._content = content

    def is_valid(self) -> bool:
        return all([self.form.is_valid(), self.turns.is_valid(), self.points.is_valid()])

    def case(self) -> Case:
        """What was written. Unchanged texts keep their own line ends."""
        given = self.form.cleaned_data
        body: dict[str, Any] = dict(given["more"])
        if given["kind"] == CONVERSATION:
            body["turns"] = [
                {"role": one["role"], "content": self._kept(one["content"])}
                for one in self._rows(self.turns)
                if one.get("content", "").strip()
            ]
        elif given["input"].strip():
            body["input"] = self._kept(given["input"])
        if given["expected"].strip():
            body["expected"] = self._kept(given["expected"])
        points = [one for one in self._rows(self.points) if one.get("text") or one.get("points")]
        if points:
            body["checklist"] = _named(points)
        return Case(
            source_id=given.get("source_id") or "-",
            body=body,
            title=given["title"],
            language=given["language"],
            tags=[line.strip() for line in given["tags"].split("\n") if line.strip()],
            metadata=given["metadata"],
            group=given["group"],
        )

    def _rows(self, rows: Any) -> list[dict[str, Any]]:
        return [one.cleaned_data for one in rows.forms if one.cleaned_data]

    def _kept(self, text: str) -> str:
        return kept_line_ends(text, _texts(self._content.body) if self._content is not None else ())

    def add(self, refusal: Refusal) -> None:
        """Put a refusal beside the field that it is about."""
        place = refusal.place
        name = {"body.input": "input", "body.turns": "kind"}.get(place, place)
        known = name if name in self.form.fields else None
        text = refusal.message
        if place.startswith(("body.turns[", "body.checklist[")):
            what = "Turn" if place.startswith("body.turns") else "Point"
            number = int(place.partition("[")[2].partition("]")[0]) + 1
            text = f"{what} {number}: {text}"
        elif place.startswith("body.") and known is None:
            known = "more"
        if refusal.code == "revision_stale":
            text = "Somebody changed this case meanwhile. Copy what you wrote, open the case again and put it in."
        self.form.add_error(known, text)

    def more_rows(self, which: str, given: Mapping[str, Any]) -> None:
        """The same entries with one more row of turns or points, nothing judged."""
        whole_rows(given, "turns", "points")
        data = dict(given.items())
        self.form = CaseForm(initial=data, adding=self.adding)
        turns = typed_rows(data, "turns", ("role", "content"), ("content",))
        points = typed_rows(data, "points", ("text", "points", "id"), ("text", "points", "id"))
        self.turns, self.points = Turns(initial=turns, prefix="turns"), Points(initial=points, prefix="points")
        (self.turns if which == "turns" else self.points).extra = 1


def _named(points: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Points with ids: their own, or the next free number."""
    taken = {str(one["id"]) for one in points if one.get("id")}
    found, number = [], 0
    for one in points:
        name = one.get("id") or ""
        while not name:
            number += 1
            name = "" if str(number) in taken else str(number)
        worth = one.get("points")
        whole = int(worth) if isinstance(worth, float) and worth == int(worth) else worth
        found.append({"id": name, "text": one.get("text") or "", "points": 1 if whole is None else whole})
    return found


def _texts(body: Any) -> list[str]:
    if isinstance(body, str):
        return [body]
    if isinstance(body, dict):
        return [text for value in body.values() for text in _texts(value)]
    if isinstance(body, list):
        return [text for value in body for text in _texts(value)]
    return []


def _initial(content: ItemContent | None) -> tuple[dict[str, Any], list[dict[str, Any]], list[dict[str, Any]]]:
    """The fields of a content. What the fields cannot hold stays in `more`, so that nothing is lost by saving."""
    if content is None:
        return {}, [], []
    rest = dict(content.body or {})
    initial: dict[str, Any] = {
        "title": content.title or "",
        "language": content.language,
        "tags": "\n".join(content.tags or []),
        "group": content.group_name or "",
        "metadata": _pretty(content.metadata or {}),
        "kind": ONE,
    }
    for name in ("input", "expected"):
        if isinstance(rest.get(name), str):
            initial[name] = rest.pop(name)
    turns: list[dict[str, Any]] = []
    given = rest.get("turns")
    if isinstance(given, list) and all(_is_plain_turn(one) for one in given):
        turns, initial["kind"] = [dict(one) for one in rest.pop("turns")], CONVERSATION
    points: list[dict[str, Any]] = []
    given = rest.get("checklist")
    if isinstance(given, list) and all(isinstance(one, dict) and set(one) == {"id", "text", "points"} for one in given):
        points = [dict(one) for one in rest.pop("checklist")]
    initial["more"] = _pretty(rest)
    return initial, turns, points


def _is_plain_turn(turn: Any) -> bool:
    return (
        isinstance(turn, dict)
        and set(turn) == _PLAIN_TURN
        and turn["role"] in ROLES
        and isinstance(turn["content"], str)
    )


def _pretty(value: Mapping[str, Any]) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) if value else ""


class ErratumForm(forms.Form):
    points = forms.MultipleChoiceField(
        label="Points that do not count",
        widget=forms.CheckboxSelectMultiple,
        help_text="For every variant that has them.",
    )
    reason = Lines("Why", rows=2, required=True)

    def __init__(self, *args: Any, points: Sequence[tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["points"].choices = points  # type: ignore[attr-defined]


class SliceForm(forms.Form):
    name = forms.CharField(label="Name", max_length=120, help_text="Shown also to readers of metadata.")
    match = forms.ChoiceField(
        label="A case belongs to it if it meets",
        choices=[("all", "all conditions"), ("any", "any condition")],
        widget=forms.RadioSelect,
        initial="all",
    )
    version = forms.TypedChoiceField(label="Count on", coerce=int, help_text="The filter holds for every version.")
    revision = forms.IntegerField(widget=forms.HiddenInput, required=False, min_value=1)

    def __init__(self, *args: Any, versions: Sequence[tuple[int, str]], named: bool = True, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["version"].choices = versions  # type: ignore[attr-defined]
        if not named:
            del self.fields["name"]


class ConditionForm(forms.Form):
    field = forms.ChoiceField(label="Field", choices=list(filters.FIELDS.items()))
    key = forms.CharField(label="Metadata key", required=False, max_length=filters.LONGEST_KEY)
    operator = forms.ChoiceField(label="Condition", choices=list(filters.OPERATORS.items()))
    value = forms.CharField(label="Value", required=False, max_length=filters.LONGEST_VALUE)


Conditions = forms.formset_factory(
    ConditionForm, extra=1, max_num=filters.MOST_CONDITIONS, validate_max=True, can_delete=True, can_delete_extra=False
)


class SliceForms:
    """A slice's name and version with the rows of its conditions."""

    def __init__(
        self,
        given: Mapping[str, Any] | None,
        *,
        versions: Sequence[tuple[int, str]],
        named: bool,
        initial: Mapping[str, Any] | None = None,
        filter_: Mapping[str, Any] | None = None,
    ) -> None:
        first = {**(initial or {}), "match": (filter_ or {}).get("match", "all")}
        self.form = SliceForm(given, initial=first, versions=versions, named=named)
        rows = list((filter_ or {}).get("conditions", []))
        if given is not None:
            whole_rows(given, "conditions")
            rows = []  # a bound row that equals an initial one would count as untouched
            given = _one_more(given) if "count" in given else given
        self.conditions: Any = Conditions(given, initial=rows, prefix="conditions")

    def is_valid(self) -> bool:
        return all([self.form.is_valid(), self.conditions.is_valid()])

    def _rows(self) -> list[forms.Form]:
        """The rows that say something; an empty one, or one that is to go, is none."""
        return [one for one in self.conditions.forms if one.is_valid() and _says(one.cleaned_data)]

    def plain(self) -> dict[str, Any]:
        """The filter as it goes to `filters.read`."""
        conditions = []
        for one in self._rows():
            said = {name: one.cleaned_data.get(name, "") for name in ("field", "operator", "value", "key")}
            if said["field"] != "metadata":
                said.pop("key")
            if said["operator"] in filters.WITHOUT_VALUE:
                said.pop("value")
            conditions.append(said)
        return {"match": self.form.cleaned_data["match"], "conditions": conditions}

    def add(self, refusal: Refusal) -> None:
        """Put a refusal beside the row or field that it is about."""
        place = refusal.place
        if place.startswith("filter.conditions["):
            number = int(place.partition("[")[2].partition("]")[0])
            name, row = place.rpartition(".")[2], self._rows()[number]
            row.add_error(name if name in row.fields else None, refusal.message)
        else:
            self.form.add_error(place if place in self.form.fields else None, refusal.message)


def _says(row: Mapping[str, Any]) -> bool:
    if not row or row.get("DELETE"):
        return False
    return bool(row.get("value") or row.get("key") or row.get("operator") in filters.WITHOUT_VALUE)


def _one_more(given: Mapping[str, Any]) -> dict[str, Any]:
    """The same entries with an empty row at the end, where the last one is not empty."""
    data = dict(given.items())
    total = data.get("conditions-TOTAL_FORMS", "")
    count = int(total) if isinstance(total, str) and total.isascii() and total.isdecimal() else 0
    last = [data.get(f"conditions-{count - 1}-{name}", "") for name in ("key", "value")]
    if 0 < count < filters.MOST_CONDITIONS and any(last):
        data["conditions-TOTAL_FORMS"] = str(count + 1)
    return data
