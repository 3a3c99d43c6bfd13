"""The pictures of a comparison page: which figures of the result go into which picture, and in what unit."""

from __future__ import annotations

from analysis.observations import Direction, Kind
from analysis.results import Change, PairedResult
from comparisons import charts
from comparisons.lenses.paired import Paired

LONGEST_CUE = 14
_ONE_SIDE = ("missing", "revised")
"""Reasons for which a whole case stays on its side."""


def better(result: PairedResult) -> int:
    """1 where more is better, -1 where less is, 0 where no direction may be given."""
    if not result.directional:
        return 0
    return 1 if result.metric.direction is Direction.HIGHER_IS_BETTER else -1


def in_points(result: PairedResult) -> bool:
    return result.metric.kind is Kind.BOOLEAN


def unit(result: PairedResult) -> str:
    return "points" if in_points(result) else result.metric.unit


def scale(result: PairedResult) -> float:
    return 100.0 if in_points(result) else 1.0


def interval_chart(result: PairedResult) -> charts.IntervalChart | None:
    delta = result.quality.delta
    if delta is None or not result.intervals:
        return None
    candidate, baseline = _cue_names(result)
    return charts.interval(
        [
            charts.Range(
                f"{_capital(one.label)}, {_units(result)}" if index == 0 else _capital(one.label),
                *(one.low, one.high, one.leads),
            )
            for index, one in enumerate(result.intervals)
        ],
        estimate=delta,
        scale=scale(result),
        unit=unit(result),
        better=better(result),
        margin=result.non_inferiority.margin if result.non_inferiority is not None else None,
        candidate=candidate,
        baseline=baseline,
    )


def _units(result: PairedResult) -> str:
    """What the leading interval counts."""
    if result.grouping is not None:
        return f"{result.grouping.groups:,} groups"
    return f"{result.quality.cases:,} cases"


def _cue_names(result: PairedResult) -> tuple[str, str]:
    """Names at the ends of the picture: the labels where both fit on a narrow screen, else the roles."""
    labels = result.candidate.label, result.baseline.label
    return labels if max(map(len, labels)) <= LONGEST_CUE else ("candidate", "baseline")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def strip(paired: Paired) -> charts.DeltaStrip | None:
    result = paired.result
    if result.withheld or result.metric.kind is Kind.CATEGORICAL:
        return None
    return charts.delta_strip(paired.cases.delta, better=better(result), scale=scale(result), unit=unit(result))


def flow(paired: Paired, hrefs: dict[str, str]) -> charts.Flow | None:
    """What became of every case of either side; `hrefs` are the lists behind the ends, by filter."""
    result, change = paired.result, paired.cases.change
    count = {kind: int((change == kind).sum()) for kind in Change}
    alone = {
        side: sum(one.cases for one in result.unmatched if one.side == side and one.reason in _ONE_SIDE)
        for side in ("candidate", "baseline")
    }
    elsewhere = hrefs.get("unmatched", "")
    moved: tuple[charts.Stop, ...]
    if result.directional:
        moved = (
            charts.Stop("better", "better", count[Change.BETTER], hrefs.get("improvements", "")),
            charts.Stop("same", "the same", count[Change.SAME]),
            charts.Stop("worse", "worse", count[Change.WORSE], hrefs.get("regressions", "")),
        )
    else:
        moved = (
            charts.Stop("changed", "different", count[Change.CHANGED], hrefs.get("changed_labels", "")),
            charts.Stop("same", "the same", count[Change.SAME]),
        )
    return charts.flow(
        (
            *moved,
            charts.Stop("lost", "paired, but not scored on both sides", count[Change.NOT_SCORED], elsewhere),
            charts.Stop("only", "in the candidate only", alone["candidate"], elsewhere),
            charts.Stop("only", "in the baseline only", alone["baseline"], elsewhere),
        )
    )


def distribution(paired: Paired) -> charts.Distribution | None:
    """Case means of both arms; None for categories, which have labels instead."""
    metric = paired.result.metric
    if metric.kind is Kind.CATEGORICAL:
        return None
    low, high = (0.0, 1.0) if metric.kind is Kind.BOOLEAN else (metric.low, metric.high)
    share = in_points(paired.result)
    return charts.distribution(
        paired.cases.candidate_mean,
        paired.cases.baseline_mean,
        low=low,
        high=high,
        scale=scale(paired.result),
        unit="%" if share else metric.unit,
    )
