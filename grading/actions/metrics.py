"""Metric definitions that people make. What one means never changes; another meaning is another metric."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from django.db import IntegrityError, transaction

from analysis.observations import Direction, Kind
from grading.models import MetricDefinition
from teams import audit
from teams.access import Access
from teams.given import line, readable
from teams.given import name as given_name
from teams.permissions import Right
from teams.refusals import Code, Refusal, register

EDIT: Final = (Right.EVALUATION_MANAGE, Right.EVALUATION_READ)
KEY: Final = re.compile(r"[a-z0-9][a-z0-9_.-]{0,119}")
MOST_METRICS: Final = 2_000
MOST_CATEGORIES: Final = 50
LONGEST_CATEGORY: Final = 200
LARGEST: Final = 1e12

register({"metric_exists": Code(409, "Use the metric that is there, or give this one another key.")})


@transaction.atomic
def create_metric(
    *,
    access: Access,
    key: str,
    name: str,
    kind: str,
    direction: str,
    low: float | None = None,
    high: float | None = None,
    unit: str = "",
    categories: Sequence[str] = (),
    ordered: bool = False,
) -> MetricDefinition:
    """A new metric of the team. Equal meaning under one key is the metric that is there, and is refused."""
    access.require(*EDIT)
    if not isinstance(key, str) or not KEY.fullmatch(key):
        message = "A key of 1 to 120 small letters, digits, _, - and dots, such as refund_correct."
        raise Refusal("invalid_field", message, place="key")
    meaning = checked_meaning(kind, direction, low, high, unit, categories, ordered)
    name = given_name(name, "the metric")
    if MetricDefinition.objects.filter(team=access.team).count() >= MOST_METRICS:
        raise Refusal("invalid_field", f"A team has at most {MOST_METRICS:,} metrics.", place="key")
    try:
        with transaction.atomic():
            made: MetricDefinition = MetricDefinition.objects.create(team=access.team, key=key, name=name, **meaning)
    except IntegrityError:
        raise Refusal("metric_exists", f"There is a metric {key} with this meaning already.", place="key") from None
    audit.by("metric.created", access, made, key=key, kind=made.kind, direction=made.direction)
    return made


def checked_meaning(
    kind: Any, direction: Any, low: Any, high: Any, unit: Any, categories: Any, ordered: Any
) -> dict[str, Any]:
    """The semantics as they are kept, or a refusal with the place of the fault."""
    if kind not in tuple(Kind):
        raise Refusal("invalid_field", f"kind is one of {', '.join(Kind)}.", place="kind")
    if direction not in tuple(Direction):
        raise Refusal("invalid_field", f"direction is one of {', '.join(Direction)}.", place="direction")
    words = _categories(kind, categories, ordered)
    if kind == Kind.CATEGORICAL and not ordered and direction != Direction.UNORDERED:
        raise Refusal("invalid_field", "Categories without an order have no better side.", place="direction")
    return {
        "kind": kind,
        "direction": direction,
        **_range(kind, low, high),
        "unit": _unit(kind, unit),
        "categories": words,
        "ordered": bool(ordered),
    }


def _range(kind: str, low: Any, high: Any) -> dict[str, float | None]:
    """The bounds. True and false are 1 and 0, so that a boolean metric lies between them."""
    if kind == Kind.BOOLEAN:
        if low not in (None, 0) or high not in (None, 1):
            raise Refusal("invalid_field", "A metric of yes or no has no range of its own.", place="low")
        return {"low": 0.0, "high": 1.0}
    for place, value in (("low", low), ("high", high)):
        if value is None:
            continue
        if kind == Kind.CATEGORICAL:
            raise Refusal("invalid_field", "Categories have no range.", place=place)
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= LARGEST:
            raise Refusal("invalid_field", f"A number within ±{LARGEST:,.0f}.", place=place)
    if low is not None and high is not None and low >= high:
        raise Refusal("invalid_field", "The highest value lies above the lowest.", place="high")
    return {name: None if value is None else float(value) for name, value in (("low", low), ("high", high))}


def _unit(kind: str, unit: Any) -> str:
    found = line(unit, "unit", 20)
    if found and (kind != Kind.NUMERIC or not readable(found)):
        raise Refusal("invalid_field", "A unit belongs to numbers, such as ms or points.", place="unit")
    return found


def _categories(kind: str, given: Any, ordered: Any) -> list[str]:
    if not isinstance(ordered, bool):
        raise Refusal("invalid_field", "true or false.", place="ordered")
    if not isinstance(given, list | tuple):
        raise Refusal("invalid_field", "A list of texts.", place="categories")
    if kind != Kind.CATEGORICAL:
        if given or ordered:
            raise Refusal("invalid_field", "Only a categorical metric has categories.", place="categories")
        return []
    found = [line(one, f"categories[{at}]", LONGEST_CATEGORY) for at, one in enumerate(given)]
    for at, one in enumerate(found):
        if not one or not readable(one) or one.casefold() in [other.casefold() for other in found[:at]]:
            message = "Each category is a printable text, and stands once in the list."
            raise Refusal("invalid_field", message, place=f"categories[{at}]")
    if not 2 <= len(found) <= MOST_CATEGORIES:
        raise Refusal("invalid_field", f"2 to {MOST_CATEGORIES} categories.", place="categories")
    return found
