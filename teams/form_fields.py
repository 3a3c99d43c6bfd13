"""Fields that forms share: texts of several lines, JSON objects, and rows that a person asks for more of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from django import forms

from analysis import strict_json
from analysis.refusals import Refused
from teams.refusals import Refusal

MOST_ROWS = 200


class Lines(forms.CharField):
    """A text over several lines, with line ends as everybody but browsers writes them."""

    def __init__(self, label: str, *, rows: int = 4, required: bool = False, help_text: str = "") -> None:
        super().__init__(
            label=label,
            required=required,
            strip=False,
            help_text=help_text,
            widget=forms.Textarea(attrs={"rows": rows, "dir": "auto"}),
        )

    def to_python(self, value: Any) -> Any:
        return (super().to_python(value) or "").replace("\r\n", "\n")


class JsonValue(Lines):
    """One JSON value of any type; empty is none."""

    def widget_attrs(self, widget: forms.Widget) -> Any:
        return {**super().widget_attrs(widget), "class": "mono", "dir": "ltr", "spellcheck": "false"}

    def clean(self, value: Any) -> Any:
        text = cast(str, super().clean(value))
        if not text.strip():
            return None
        try:
            return strict_json.loads(text)
        except Refused as refused:
            raise forms.ValidationError(str(refused)) from None


class JsonObject(JsonValue):
    """One JSON object; empty is an empty one."""

    def clean(self, value: Any) -> dict[str, Any]:
        found = super().clean(value)
        if found is None:
            return {}
        if not isinstance(found, dict):
            raise forms.ValidationError('Write one JSON object, such as {"level": 3}.')
        return found


def kept_line_ends(text: str, originals: Iterable[str]) -> str:
    """The original that a browser sent back with its own line ends, else the text as it came."""
    for original in originals:
        if original.replace("\r\n", "\n").replace("\r", "\n") == text:
            return original
    return text


def whole_rows(data: Mapping[str, Any], *prefixes: str) -> None:
    """Refuse a form whose rows are not the ones that it counts: none may be dropped without a word."""
    for prefix in prefixes:
        total = str(data.get(f"{prefix}-TOTAL_FORMS", ""))
        count = int(total) if total.isascii() and total.isdecimal() and len(total) < 6 else -1
        there = [key.split("-")[1] for key in data if key.startswith(f"{prefix}-") and key.count("-") >= 2]
        if count < 0 or any(at.isdecimal() and int(at) >= count for at in there):
            raise Refusal("malformed_request", "The form came without all of its rows; open the page again.")


def typed_rows(data: Mapping[str, Any], prefix: str, names: Sequence[str], says: Sequence[str]) -> list[dict[str, Any]]:
    """The rows of a formset as they were typed, those left out in which none of `says` says anything."""
    total = data.get(f"{prefix}-TOTAL_FORMS") or ""
    count = int(total) if str(total).isascii() and str(total).isdecimal() and len(str(total)) < 6 else 0
    rows = [{name: data.get(f"{prefix}-{at}-{name}", "") for name in names} for at in range(min(count, MOST_ROWS))]
    return [row for row in rows if any(str(row[name]).strip() for name in says)]
