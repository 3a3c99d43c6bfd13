"""Small questions about parsed values that every reader asks the same way."""

from __future__ import annotations

import hashlib
import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from analysis import strict_json
from analysis.refusals import Refused
from intake.readers.files import FileFact
from intake.readers.records import Rejected

LONGEST_NAME: Final = 1_000  # characters of an id or an arm's name; longer ones are content that strayed
LARGEST_REPETITION: Final = 1_000_000
LARGEST_SCORE: Final = 1e15
_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_WHOLE: Final = re.compile(r"[0-9]{1,15}(?:\.0+)?")
_NOT_FINITE: Final = re.compile(r"[+-]?(?:nan|inf|infinity)", re.IGNORECASE)
_JOINERS: Final = "\u200c\u200d"  # part of the spelling of Persian, Indic scripts and emoji


class RowFault(Exception):
    """One row cannot be used: the code, the field, what is allowed, and a piece of the value."""

    def __init__(self, code: str, field: str, message: str, value: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.field = field
        self.message = message
        self.value = value

    def rejected(self, place: str) -> Rejected:
        excerpt = "" if self.value is None else strict_json.visible(str(self.value), 80)
        field = strict_json.visible(self.field)
        return Rejected(self.code, f"{place} {field}".strip(), self.message, excerpt)


def is_blank(value: Any) -> bool:
    """Nothing, or a text without a visible character."""
    return value is None or (isinstance(value, str) and not value.strip())


def as_dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def as_text(value: Any) -> str:
    """A scalar as a text for a fact or a label; other values in canonical JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return strict_json.canonical(value).decode()


def identity(value: Any, field: str) -> str | int:
    """An id or a name: a whole number, or a text in NFC without control and direction characters."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        if value is None:
            raise RowFault("import_record_missing_field", field, "This field is required.")
        raise RowFault("import_record_wrong_type", field, "An id is a text or a whole number.", value)
    if isinstance(value, int):
        return value
    if not value.strip():
        raise RowFault("import_record_missing_field", field, "This field is required and may not be blank.")
    if len(value) > LONGEST_NAME:
        raise RowFault(
            "import_record_too_large", field, f"An id or name may have at most {LONGEST_NAME:,} characters.", value
        )
    if not value.isascii() or not value.isprintable():
        for character in value:
            if unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp") and character not in _JOINERS:
                raise RowFault(
                    "import_identity_control_character",
                    field,
                    f"Ids and names may hold no control, direction or zero-width characters; "
                    f"this one has U+{ord(character):04X}.",
                    value,
                )
        return unicodedata.normalize("NFC", value)
    return value


def number(value: Any, field: str, *, from_text: bool) -> float:
    """A finite number. Texts count only where `from_text`; ASCII digits, a point, an exponent."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise RowFault("import_record_wrong_type", field, "A number is required.", value)
    if isinstance(value, str):
        text = value.strip(" \t")
        if not from_text:
            raise RowFault("import_record_wrong_type", field, "A number is required, not a text.", value)
        if _NOT_FINITE.fullmatch(text):
            raise RowFault("import_json_nonfinite", field, "Only finite numbers are allowed.", value)
        if not _NUMBER.fullmatch(text):
            raise RowFault(
                "import_record_wrong_type",
                field,
                "A number such as 0.5 is required, with a point and digits 0 to 9.",
                value,
            )
        value = text
    try:
        found = float(value)
    except OverflowError:
        found = math.inf
    if not math.isfinite(found):
        raise RowFault("import_json_nonfinite", field, "Only finite numbers are allowed.")
    return found


def score(value: Any, field: str, *, from_text: bool) -> float:
    """A number that sums and squares stay finite with, and beside which a difference of one is not lost."""
    return scorable(number(value, field, from_text=from_text), field)


def scorable(found: float, field: str) -> float:
    if abs(found) > LARGEST_SCORE:
        raise RowFault("import_score_out_of_scale", field, "A score lies between -10^15 and 10^15.", found)
    return found


def whole(value: Any, field: str, *, code: str, largest: int) -> int:
    """A whole number from 0 to `largest`; texts of digits count."""
    if isinstance(value, str) and _WHOLE.fullmatch(value.strip()):
        value = int(value.strip().split(".")[0])
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= largest:
        raise RowFault(code, field, f"A whole number from 0 to {largest:,} is required.", value)
    return value


def repetition(value: Any, field: str) -> int:
    return whole(value, field, code="import_repetition_invalid", largest=LARGEST_REPETITION)


def measure(value: Any, field: str, *, from_text: bool = True) -> float:
    """A cost, a duration or a count: finite and not negative."""
    found = number(value, field, from_text=from_text)
    if found < 0 or found > 1e15:
        raise RowFault("import_measure_invalid", field, "A number from 0 to 10^15 is required.", value)
    return found


def micros(amount: float) -> int:
    """Money in units as whole millionths."""
    return round(amount * 1_000_000)


def run_id(files: Iterable[FileFact], arm: str) -> str:
    """Identity of an arm whose tool gave it none: the digests of its files and its name."""
    parts = [*sorted(file.sha256 for file in files), arm]
    return hashlib.sha256(b"evenhand/run/1\0" + strict_json.canonical(parts)).hexdigest()


def refuse(fault: RowFault, place: str) -> Refused:
    """The fault of a row where only the whole file can be refused."""
    found = fault.rejected(place)
    return Refused(found.code, found.message, found.place)


def shown(facts: Mapping[str, Any] | Sequence[tuple[str, Any]]) -> tuple[tuple[str, str], ...]:
    """Facts for display: blank ones left out, values as text."""
    pairs = facts.items() if isinstance(facts, Mapping) else facts
    return tuple((name, as_text(value)) for name, value in pairs if value not in (None, "", [], {}))
