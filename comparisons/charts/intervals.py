"""Intervals of one difference under one zero line.

Horizontal positions are per cent of the picture's width, so that its text keeps its size on every screen;
vertical ones are pixels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from teams import figures

_EDGE = 3.0  # per cent kept free on both sides, so that a figure under the outermost tick fits
_LINE_HEIGHT = 38
_TICKS = 5
_SMALLEST_REACH = 1e-290  # below it the steps between ticks would be no normal numbers


@dataclass(frozen=True, slots=True)
class Range:
    """One interval to draw. The one that leads is drawn strongly."""

    label: str
    low: float
    high: float
    leads: bool = False


@dataclass(frozen=True, slots=True)
class Tick:
    x: float
    label: str


@dataclass(frozen=True, slots=True)
class IntervalLine:
    label: str
    low: str
    high: str
    leads: bool
    y_text: int
    y: int
    x_low: float
    x_high: float


@dataclass(frozen=True, slots=True)
class IntervalChart:
    """`sentence` says the whole picture; `cue_low` and `cue_high` say which way is better."""

    sentence: str
    estimate: str
    unit: str
    lines: tuple[IntervalLine, ...]
    ticks: tuple[Tick, ...]
    x_estimate: float
    x_zero: float
    x_margin: float | None
    margin: str
    margin_anchor: str
    cue_low: str
    cue_high: str
    y_top: int
    y_axis: int
    y_ticks: int
    y_cues: int
    height: int


def interval(
    ranges: Sequence[Range],
    *,
    estimate: float,
    scale: float = 1.0,
    unit: str = "",
    better: int = 0,
    margin: float | None = None,
    candidate: str = "candidate",
    baseline: str = "baseline",
) -> IntervalChart | None:
    """Intervals of one difference under one zero line; None where there is no finite estimate.

    `better` is 1 where a larger value is better, -1 where a smaller one is, 0 where no direction may
    be given. `margin` (unsigned) is how much worse is still accepted. `scale` turns the metric's
    unit into the shown one: 100 for shares in points.
    """
    if not math.isfinite(estimate):
        return None
    middle = estimate * scale
    spans = [
        (range_, range_.low * scale, range_.high * scale)
        for range_ in ranges
        if math.isfinite(range_.low) and math.isfinite(range_.high)
    ]
    edge = None if margin is None or not better else -better * abs(margin) * scale
    marked = [0.0, middle, *(low for _, low, _ in spans), *(high for _, _, high in spans)]
    if edge is not None:
        marked.append(edge)
    low, high = _padded(min(marked), max(marked))

    def at(value: float) -> float:
        return round(_EDGE + (100 - 2 * _EDGE) * (value - low) / (high - low), 2)

    top = 16 if edge is not None else 0
    lines = tuple(
        IntervalLine(
            label=range_.label,
            low=figures.signed(first),
            high=figures.signed(last),
            leads=range_.leads,
            y_text=top + index * _LINE_HEIGHT + 12,
            y=top + index * _LINE_HEIGHT + 25,
            x_low=at(first),
            x_high=at(last),
        )
        for index, (range_, first, last) in enumerate(spans)
    )
    axis = top + max(1, len(spans)) * _LINE_HEIGHT
    x_margin = None if edge is None else at(edge)
    return IntervalChart(
        sentence=_interval_sentence(middle, spans, unit, edge),
        estimate=figures.signed(middle),
        unit=unit,
        lines=lines,
        ticks=tuple(Tick(at(value), figures.signed(value)) for value in ticks(low, high)),
        x_estimate=at(middle),
        x_zero=at(0.0),
        x_margin=x_margin,
        margin="" if edge is None else f"margin {figures.signed(edge)}",
        margin_anchor=_anchor(x_margin),
        cue_low=_cue(better, candidate, baseline, low=True),
        cue_high=_cue(better, candidate, baseline, low=False),
        y_top=top + 16,
        y_axis=axis,
        y_ticks=axis + 14,
        y_cues=axis + 30,
        height=axis + (34 if better else 18),
    )


def _padded(low: float, high: float) -> tuple[float, float]:
    reach = high - low
    if reach < _SMALLEST_REACH:
        return low - 1, high + 1
    return low - reach * 0.06, high + reach * 0.06


def ticks(low: float, high: float, about: int = _TICKS) -> list[float]:
    """About so many round values between the limits, zero always among them where it lies inside."""
    raw = (high - low) / about
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= raw)
    return [index * step for index in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _anchor(x: float | None) -> str:
    if x is None or 12 <= x <= 88:
        return "middle"
    return "start" if x < 12 else "end"


def _cue(better: int, candidate: str, baseline: str, *, low: bool) -> str:
    if not better:
        return ""
    name = candidate if (better < 0) == low else baseline
    return f"\u2190 {name} better" if low else f"{name} better \u2192"


def _interval_sentence(
    middle: float, spans: Sequence[tuple[Range, float, float]], unit: str, edge: float | None
) -> str:
    tail = f" {unit}" if unit else ""
    parts = [f"Difference, candidate minus baseline: {figures.signed(middle)}{tail}."]
    for range_, low, high in spans:
        where = "includes zero" if low <= 0 <= high else "excludes zero"
        parts.append(f"{range_.label}: {figures.signed(low)} to {figures.signed(high)}{tail}, {where}.")
    if edge is not None:
        parts.append(f"Margin at {figures.signed(edge)}{tail}.")
    return " ".join(parts)
