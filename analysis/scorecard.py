"""The scorecard of several cohorts: who leads on each metric, and whether that is more than chance.

`is_winner` compares raw values, as asked for; among five identical arms it names a single winner in
75 to 90 % of comparisons. `resolved` is therefore always beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from analysis.hypothesis_tests import holm
from analysis.observations import Direction

ALPHA = 0.05

type Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class MetricValues:
    """One metric over all cohorts, by position. A value is None where a cohort has no score.

    `p_values` are paired tests between two cohorts (lower position first), None where a test has no
    answer. Give every pair, not only the leader's: who leads is known only after looking.
    """

    key: str
    direction: Direction
    values: tuple[float | None, ...]
    p_values: Mapping[Pair, float | None] = field(default_factory=dict)
    primary: bool = False


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """`adjusted` are Holm's p-values by pair. `resolved`: the only winner differs from every other scored cohort."""

    key: str
    values: tuple[float | None, ...]
    is_winner: tuple[bool, ...]
    casts_vote: bool
    resolved: bool
    adjusted: tuple[tuple[Pair, float], ...]

    @property
    def leader(self) -> int | None:
        return self.is_winner.index(True) if self.casts_vote else None


@dataclass(frozen=True, slots=True)
class Scorecard:
    """`votes` by cohort; `overall` is the cohort with the most, None on a tie or without a vote."""

    rows: tuple[ScoreRow, ...]
    votes: tuple[int, ...]
    overall: int | None


def winners(values: Sequence[float | None], direction: Direction) -> tuple[bool, ...]:
    """Every cohort with the best value; nobody where the metric has no direction or fewer than two values exist."""
    known = [value for value in values if value is not None]
    if any(value != value for value in known):  # NaN is the only number that is not itself
        raise ValueError("A value is a number, or None where there is none.")
    if len(known) < 2 or direction is Direction.UNORDERED:
        return (False,) * len(values)
    best = max(known) if direction is Direction.HIGHER_IS_BETTER else min(known)
    return tuple(value == best for value in values)


def scorecard(metrics: Sequence[MetricValues]) -> Scorecard:
    """One row per metric. A tie marks every tied cohort and casts no vote.

    Holm adjusts over all pairs of all declared metrics; the primary metric, declared before looking,
    is a family of its own.
    """
    cohorts = {len(metric.values) for metric in metrics}
    if len(cohorts) > 1:
        raise ValueError("Every metric has one value per cohort.")
    size = cohorts.pop() if cohorts else 0
    for metric in metrics:
        if any(not 0 <= first < second < size for first, second in metric.p_values):
            raise ValueError("A test is between two cohorts, the lower position first.")
    adjusted = _adjusted(metrics)
    rows = []
    votes = [0] * size
    for number, metric in enumerate(metrics):
        flags = winners(metric.values, metric.direction)
        mine = adjusted[number]
        leader = flags.index(True) if sum(flags) == 1 else None
        if leader is not None:
            votes[leader] += 1
        rows.append(
            ScoreRow(
                key=metric.key,
                values=metric.values,
                is_winner=flags,
                casts_vote=leader is not None,
                resolved=leader is not None and _resolved(leader, metric.values, mine),
                adjusted=tuple(sorted(mine.items())),
            )
        )
    most = max(votes, default=0)
    first = [cohort for cohort, count in enumerate(votes) if count == most]
    return Scorecard(tuple(rows), tuple(votes), first[0] if most and len(first) == 1 else None)


def _adjusted(metrics: Sequence[MetricValues]) -> list[dict[Pair, float]]:
    found: list[dict[Pair, float]] = [{} for _ in metrics]
    for primary in (True, False):
        family = [
            (number, pair, p)
            for number, metric in enumerate(metrics)
            if metric.primary is primary
            for pair, p in sorted(metric.p_values.items())
            if p is not None
        ]
        for (number, pair, _), p in zip(family, holm([p for *_, p in family]), strict=True):
            found[number][pair] = p
    return found


def _resolved(leader: int, values: Sequence[float | None], adjusted: Mapping[Pair, float]) -> bool:
    others = [cohort for cohort, value in enumerate(values) if value is not None and cohort != leader]
    pairs = [(min(leader, other), max(leader, other)) for other in others]
    return all(pair in adjusted and adjusted[pair] < ALPHA for pair in pairs)
