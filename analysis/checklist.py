"""Checklists of cases: which points count for a variant, and what decided points earn.

The rule is seed 000's: the points of a case are its common ones and its variant's, without those that an
erratum excludes. A point may have sub-items, which then carry its weight.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Point:
    """Something that a good answer earns `points` for. `sub` names the sub-item, or is empty for a whole point."""

    item: str
    sub: str
    text: str
    points: float

    @property
    def key(self) -> tuple[str, str]:
        return self.item, self.sub


@dataclass(frozen=True, slots=True)
class Score:
    """What was earned of what could be. `available` zero means that no point was decided: no share is made up."""

    earned: float
    available: float
    decided: int
    open: int

    @property
    def share(self) -> float | None:
        return self.earned / self.available if self.available else None


def effective(body: Mapping[str, Any], variant: str = "", excluded: Collection[str] = ()) -> tuple[Point, ...]:
    """The points of a case for a variant, in their order, without those that errata exclude by their ids.

    Args:
        body: a case's content; `checklist` holds its common points, `variants` those of each variant.
        variant: a name of `variants`, or empty for the common points alone.
        excluded: ids of points that do not count.

    Raises:
        KeyError: the case has no such variant.
    """
    given = list(body.get("checklist", ()))
    if variant:
        by_name = {one["name"]: one for one in body.get("variants", ())}
        given += by_name[variant].get("checklist", ())
    return tuple(point for one in given if one["id"] not in excluded for point in _points(one))


def _points(given: Mapping[str, Any]) -> Iterable[Point]:
    subs = given.get("sub_items") or ()
    if not subs:
        yield Point(given["id"], "", given["text"], float(given["points"]))
    for sub in subs:
        yield Point(given["id"], sub["id"], sub["text"], float(sub["points"]))


def score(points: Iterable[Point], verdicts: Mapping[tuple[str, str], bool]) -> Score:
    """What decided points earn. A point without a verdict is open: it counts neither for nor against."""
    earned = available = 0.0
    decided = undecided = 0
    for point in points:
        verdict = verdicts.get(point.key)
        if verdict is None:
            undecided += 1
            continue
        decided += 1
        available += point.points
        earned += point.points if verdict else 0.0
    return Score(earned, available, decided, undecided)
