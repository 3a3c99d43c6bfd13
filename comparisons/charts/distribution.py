"""Case means of both arms over the same bins: the candidate above the line, the baseline below it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from comparisons.charts.intervals import ticks
from teams import figures

_FEW = 12
"""Up to so many different values, each has a bar of its own."""
_TAIL = 0.01
"""What lies further out, on either side, is drawn as one bin where the metric has no bounds."""
_BINS = 10
_SMALLEST_REACH = 1e-290  # below it the steps between ticks would be no normal numbers
_WIDTH = 1000
_HALF = 60
_GAP = 4.0


@dataclass(frozen=True, slots=True)
class Bin:
    """Cases whose mean is at least the lower and below the upper end, or is the one value; per arm."""

    label: str
    candidate: int
    baseline: int


@dataclass(frozen=True, slots=True)
class Summary:
    """One line of figures: a name, and both arms as shown."""

    name: str
    candidate: str
    baseline: str


@dataclass(frozen=True, slots=True)
class Distribution:
    """Bars as SVG paths in `view_box`; `first` and `last` are written under the ends of the line."""

    sentence: str
    bins: tuple[Bin, ...]
    summary: tuple[Summary, ...]
    candidate: str
    baseline: str
    means: str
    """A stroke at each arm's mean, in its own half."""
    first: str
    last: str
    each: str
    """What one bar stands for."""
    cases: int
    unit: str
    view_box: str
    height: int


def distribution(
    candidate: ArrayLike,
    baseline: ArrayLike,
    *,
    low: float | None = None,
    high: float | None = None,
    scale: float = 1.0,
    unit: str = "",
) -> Distribution | None:
    """Of the case means (n,) of both arms; None without any. Values that are not finite are left out on both.

    `low` and `high` are the ends of the metric's scale, where it has them; `scale` turns its unit into the
    shown one: 100 for shares in per cent.
    """
    mine, other = (np.asarray(values, dtype=np.float64) * scale for values in (candidate, baseline))
    scored = np.isfinite(mine) & np.isfinite(other)
    mine, other = mine[scored], other[scored]
    if not len(mine):
        return None
    ends = tuple(None if end is None else end * scale for end in (low, high))
    labels, places, marked = _binned(np.concatenate((mine, other)), *ends)
    counts = [np.bincount(where, minlength=len(labels)) for where in (places[: len(mine)], places[len(mine) :])]
    bins = tuple(Bin(label, int(one), int(two)) for label, one, two in zip(labels, counts[0], counts[1], strict=True))
    tallest = max(int(count.max()) for count in counts)
    # Divided first: the sum of very large means is no number.
    means = math.fsum(mine / len(mine)), math.fsum(other / len(other))
    return Distribution(
        sentence=_sentence(bins, means, len(mine), unit),
        bins=bins,
        summary=_summary(mine, other, means),
        candidate=_bars(counts[0], tallest, -1),
        baseline=_bars(counts[1], tallest, 1),
        means=f"M{_place(means[0], marked):g} 0V{_HALF}M{_place(means[1], marked):g} {_HALF}V{2 * _HALF}",
        first=labels[0],
        last=labels[-1],
        each="one bar a value" if len(marked[0]) == len(labels) else "bins of one width",
        cases=len(mine),
        unit=unit,
        view_box=f"0 0 {_WIDTH} {2 * _HALF}",
        height=2 * _HALF,
    )


type Marked = tuple[list[float], list[float]]
"""Values, and where they lie in the picture, as shares of its width."""


def _binned(
    values: NDArray[np.float64], low: float | None, high: float | None
) -> tuple[list[str], NDArray[np.intp], Marked]:
    """Names of the bins, the bin of each value, and places along the line."""
    different = np.unique(values)
    if len(different) <= _FEW:
        names = _names(different.tolist())
        middles = [(index + 0.5) / len(names) for index in range(len(names))]
        return names, np.searchsorted(different, values), (different.tolist(), middles)
    first = float(np.quantile(values, _TAIL, method="lower")) if low is None else low
    last = float(np.quantile(values, 1 - _TAIL, method="higher")) if high is None else high
    if not first < last:
        first, last = float(different[0]), float(different[-1])
    edges = _edges(first, last)
    shown = _names(edges)
    begin, end = shown[0], shown[-1]
    inner = shown[1:-1]
    names = [f"{begin} to {inner[0]}" if low is not None else f"below {inner[0]}"]
    names += [f"{one} to {two}" for one, two in itertools.pairwise(inner)]
    names.append(f"{inner[-1]} to {end}" if high is not None else f"{inner[-1]} or more")
    bounds = [index / len(names) for index in range(len(edges))]
    return names, np.searchsorted(np.array(edges[1:-1]), values, side="right"), (edges, bounds)


def _edges(first: float, last: float) -> list[float]:
    """Both ends and about ten round values between them."""
    reach = last - first
    if math.isfinite(reach) and reach > _SMALLEST_REACH:
        return [first, *(one for one in ticks(first, last, _BINS) if first < one < last), last]
    return [first + (last / _BINS - first / _BINS) * index for index in range(_BINS)] + [last]


def _names(values: Sequence[float]) -> list[str]:
    """The values as shown, with as many digits as it takes to tell them apart."""
    names = [figures.number(value) for value in values]
    digits = 4
    while len(set(names)) < len(set(values)) and digits <= 17:
        names = [f"{value:.{digits}g}".replace("-", figures.MINUS) for value in values]
        digits += 1
    return names


def _place(value: float, marked: Marked) -> float:
    return round(_WIDTH * float(np.interp(value, *marked)), 1)


def _bars(counts: NDArray[np.int64], tallest: int, way: int) -> str:
    each = _WIDTH / len(counts)
    gap = min(_GAP, each * 0.2)
    path = []
    for index, count in enumerate(counts.tolist()):
        if count:
            height = max(1.5, (_HALF - 2) * count / tallest)
            path.append(f"M{index * each + gap / 2:.1f} {_HALF}v{way * height:.1f}h{each - gap:.1f}V{_HALF}z")
    return "".join(path)


def _summary(mine: NDArray[np.float64], other: NDArray[np.float64], means: tuple[float, float]) -> tuple[Summary, ...]:
    mine, other = np.sort(mine), np.sort(other)
    last = len(mine) - 1
    ranks = {
        "Highest": last,
        "Upper quartile": math.ceil(0.75 * last),
        "Lower median": last // 2,
        "Lower quartile": math.floor(0.25 * last),
        "Lowest": 0,
    }
    return (
        Summary("Mean", figures.number(means[0]), figures.number(means[1])),
        *(
            Summary(name, figures.number(float(mine[rank])), figures.number(float(other[rank])))
            for name, rank in ranks.items()
        ),
    )


def _sentence(bins: Sequence[Bin], means: tuple[float, float], cases: int, unit: str) -> str:
    tail = f" {unit}" if unit else ""
    most = [max(bins, key=lambda one: getattr(one, side)) for side in ("candidate", "baseline")]
    return (
        f"Means of {cases:,} cases on each side. Candidate: mean {figures.number(means[0])}{tail}, most cases at "
        f"{most[0].label}. Baseline: mean {figures.number(means[1])}{tail}, most cases at {most[1].label}."
    )
