"""What a grader looks at and what it says: plain values, no I/O."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from analysis import strict_json
from analysis.observations import Kind, Outcome
from analysis.refusals import Refused

LONGEST_REASON: Final = 20_000
LONGEST_CATEGORY: Final = 200


@dataclass(frozen=True, slots=True)
class Scale:
    """What a value of a metric can be. Bounds that are not there bind nothing."""

    kind: Kind
    low: float | None = None
    high: float | None = None
    categories: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Evidence:
    """One execution as a grader sees it.

    `body` is the case's, with the checklist that counts. `answer` is None where the answer cannot be read;
    an empty text is an answer. `structured` is the answer's value where it was captured as one, and
    `enrichment` what a validator found out; None is none.
    """

    body: Mapping[str, Any] = field(default_factory=dict)
    answer: str | None = None
    structured: Any = None
    enrichment: Any = None


@dataclass(frozen=True, slots=True)
class Judged:
    """What a grader said. Only a score has a value or a category; no outcome is ever turned into a number."""

    outcome: Outcome
    value: float | None = None
    category: str | None = None
    reason: str = ""
    enrichment: Any = None

    @property
    def scored(self) -> bool:
        return self.outcome is Outcome.SCORED


def scored(value: float, reason: str = "") -> Judged:
    return Judged(Outcome.SCORED, value=value, reason=reason)


def abstained(reason: str = "") -> Judged:
    return Judged(Outcome.ABSTAINED, reason=reason)


def not_applicable(reason: str) -> Judged:
    return Judged(Outcome.NOT_APPLICABLE, reason=reason)


def grader_error(reason: str) -> Judged:
    return Judged(Outcome.GRADER_ERROR, reason=reason)


def on_scale(scale: Scale, value: Any, reason: str = "") -> Judged:
    """A value that a program or a model gave, as a score; what the metric does not allow is an error of the grader."""
    if scale.kind is Kind.BOOLEAN:
        if isinstance(value, bool):
            return scored(1.0 if value else 0.0, reason)
        return grader_error("The value is neither true nor false.")
    if scale.kind is Kind.CATEGORICAL:
        if not isinstance(value, str) or not 1 <= len(value) <= LONGEST_CATEGORY:
            return grader_error("The value is no category.")
        if scale.categories and value not in scale.categories:
            return grader_error("The value is none of the metric's categories.")
        return Judged(Outcome.SCORED, category=value, reason=reason)
    number = _finite(value)
    if number is None:
        return grader_error("The value is no finite number.")
    if (scale.low is not None and number < scale.low) or (scale.high is not None and number > scale.high):
        return grader_error("The value lies outside the metric's range.")
    return scored(number, reason)


def _finite(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def reason_of(value: Any) -> str:
    """A reason as somebody gave it, fit to be kept: no NUL, no half of a surrogate pair, bounded."""
    if not isinstance(value, str):
        return ""
    kept = value.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode()
    return kept if len(kept) <= LONGEST_REASON else kept[: LONGEST_REASON - 1] + "…"


class Absent:
    """Nothing stands there. JSON's null is a value; this is none."""

    def __bool__(self) -> bool:
        return False


ABSENT: Final = Absent()


def structured_of(evidence: Evidence) -> Any:
    """The answer as a JSON value: as it was captured, else as its text reads; ABSENT where the text is no JSON."""
    if evidence.structured is not None:
        return evidence.structured
    try:
        return strict_json.loads((evidence.answer or "").strip())
    except Refused:
        return ABSENT


def text_of(value: Any) -> str:
    """A value as text: texts as they are, everything else in JSON, nothing where there is nothing."""
    if value is None or value is ABSENT:
        return ""
    return value if isinstance(value, str) else strict_json.canonical(value).decode("utf-8", "replace")


def input_of(body: Mapping[str, Any]) -> str:
    """What a case asks: its input, or its turns one after another."""
    turns = body.get("turns")
    if isinstance(turns, list):
        said = [turn for turn in turns if isinstance(turn, Mapping)]
        return "\n\n".join(f"{turn.get('role', '')}: {text_of(turn.get('content'))}" for turn in said)
    return text_of(body.get("input"))


def expects_nothing(value: Any) -> bool:
    """Whether a case says nothing that could be compared with: no value, a blank text, an empty list or object."""
    if value is ABSENT or value is None:
        return True
    return not value.strip() if isinstance(value, str) else isinstance(value, Sequence | Mapping) and not value
