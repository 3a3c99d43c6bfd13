"""Geometry of the pictures on a comparison page: plain numbers in, positions out. No Django, no I/O.

Horizontal positions of the interval picture are per cent of its width, so that its text keeps its
size on every screen; vertical ones are pixels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from teams import figures

# --- intervals ------------------------------------------------------------------------------------

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
        ticks=tuple(Tick(at(value), figures.signed(value)) for value in _ticks(low, high)),
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


def _ticks(low: float, high: float) -> list[float]:
    """Round values between the limits, zero always among them where it lies inside."""
    raw = (high - low) / _TICKS
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


# --- deltas of the cases ----------------------------------------------------------------------------

_STRIP_WIDTH = 1000
_STRIP_HALF = 26
_STRIP_MIDDLE = 28
_STRIP_BARS = 160
_SINGLE = 8.0  # units: from this width on, each bar stands alone


@dataclass(frozen=True, slots=True)
class DeltaStrip:
    """Cases sorted from the worst to the best; `down`, `level` and `up` are SVG paths in `view_box`.

    Without a direction, `down` holds the smaller and `up` the larger values.
    """

    sentence: str
    directional: bool
    down: str
    level: str
    up: str
    down_count: int
    level_count: int
    up_count: int
    lowest: str
    highest: str
    unit: str
    view_box: str


def delta_strip(
    deltas: ArrayLike, *, better: int = 1, scale: float = 1.0, unit: str = "", same_within: float = 1e-12
) -> DeltaStrip | None:
    """Per-case deltas as bars, at most `_STRIP_BARS` whatever their number; None without any.

    Values that are not finite are cases without a scored pair, and not drawn.
    """
    values = np.asarray(deltas, dtype=np.float64)
    values = values[np.isfinite(values)]
    if not len(values):
        return None
    gains = np.sort(values * (better or 1))
    down = gains[gains < -same_within]
    up = gains[gains > same_within]
    level = len(gains) - len(down) - len(up)
    widths = _shares((len(down), level, len(up)))
    reach = float(max(-gains[0], gains[-1])) or 1.0
    sign = better or 1
    lowest = figures.signed(float(gains[0]) * sign * scale) if len(down) else ""
    highest = figures.signed(float(gains[-1]) * sign * scale) if len(up) else ""
    start_level = widths[0]
    start_up = widths[0] + widths[1]
    return DeltaStrip(
        sentence=_strip_sentence((len(down), level, len(up)), lowest, highest, unit, directional=bool(better)),
        directional=bool(better),
        down=_bars(_heights(down, len(gains), reach), 0.0, widths[0], 1),
        level=f"M{start_level:.1f} {_STRIP_MIDDLE}h{widths[1]:.1f}" if level else "",
        up=_bars(_heights(up, len(gains), reach), start_up, widths[2], -1),
        down_count=len(down),
        level_count=level,
        up_count=len(up),
        lowest=lowest,
        highest=highest,
        unit=unit,
        view_box=f"0 0 {_STRIP_WIDTH} {2 * _STRIP_MIDDLE}",
    )


def _shares(counts: tuple[int, int, int]) -> tuple[float, float, float]:
    """Widths by count; one case among thousands still gets a visible sliver."""
    floor = 4.0
    present = [max(floor, _STRIP_WIDTH * count / sum(counts)) if count else 0.0 for count in counts]
    factor = _STRIP_WIDTH / sum(present)
    return present[0] * factor, present[1] * factor, present[2] * factor


def _heights(gains: NDArray[np.float64], cases: int, reach: float) -> list[float]:
    """One bar per case, or the mean of equal slices of the sorted cases where there are many."""
    if not len(gains):
        return []
    bars = len(gains) if cases <= _STRIP_BARS else max(1, round(_STRIP_BARS * len(gains) / cases))
    edges = np.linspace(0, len(gains), bars + 1).astype(np.intp)
    means = np.add.reduceat(gains, edges[:-1]) / np.diff(edges)
    return [max(1.5, float(height)) for height in np.abs(means) / reach * _STRIP_HALF]


def _bars(heights: Sequence[float], start: float, width: float, way: int) -> str:
    """Bars from the middle line, downwards (1) or upwards (-1): apart where wide enough, else one outline."""
    if not heights:
        return ""
    each = width / len(heights)
    if each >= _SINGLE:
        gap = min(4.0, each * 0.2)
        first = start + gap / 2
        return "".join(
            f"M{first + index * each:.1f} {_STRIP_MIDDLE}v{way * height:.1f}h{each - gap:.1f}V{_STRIP_MIDDLE}z"
            for index, height in enumerate(heights)
        )
    path = [f"M{start:.1f} {_STRIP_MIDDLE}"]
    last = ""
    for index, height in enumerate(heights):
        level = f"{_STRIP_MIDDLE + way * height:.1f}"
        if level != last:
            if index:
                path.append(f"H{start + index * each:.1f}")
            path.append(f"V{level}")
            last = level
    return "".join([*path, f"H{start + width:.1f}V{_STRIP_MIDDLE}z"])


def _strip_sentence(counts: tuple[int, int, int], lowest: str, highest: str, unit: str, *, directional: bool) -> str:
    down, level, up = counts
    words = ("worse", "better") if directional else ("lower", "higher")
    tail = f" {unit}" if unit else ""
    to_lowest = f", down to {lowest}{tail}" if lowest else ""
    to_highest = f", up to {highest}{tail}" if highest else ""
    if directional:
        to_lowest = to_lowest.replace("down to", "at most by")
        to_highest = to_highest.replace("up to", "at most by")
    return (
        f"Differences of {down + level + up:,} cases: {down:,} {words[0]}{to_lowest}; "
        f"{level:,} the same; {up:,} {words[1]}{to_highest}."
    )


# --- repetitions of a case ----------------------------------------------------------------------------

_MARK_HEIGHT = 14
_MANY = 60


@dataclass(frozen=True, slots=True)
class Marks:
    """The repetitions of one case in one arm, as SVG paths by meaning, with k/n or a mean beside."""

    sentence: str
    summary: str
    width: int
    height: int
    passed: str
    failed: str
    unscored: str
    hatch: str
    rail: str
    value: str


def marks(values: Sequence[float | None], *, better: int = 1) -> Marks:
    """Repetitions of a boolean metric in order; None is one that was not scored.

    A mark is filled where the value is the good one: true, or false where smaller is better.
    """
    scored = [value for value in values if value is not None and math.isfinite(value)]
    good = sum(1 for value in scored if _favourable(value, better))
    missing = len(values) - len(scored)
    step, width = _mark_step(len(values))
    passed, failed, unscored, hatch = [], [], [], []
    if len(values) <= _MANY:
        for index, value in enumerate(values):
            x = index * step
            if value is None or not math.isfinite(value):
                unscored.append(_box(x + 0.5, 1.5, width - 1, _MARK_HEIGHT - 1))
                hatch.append(_hatching(x, width))
            elif _favourable(value, better):
                passed.append(_box(x, 1, width, _MARK_HEIGHT))
            else:
                failed.append(_box(x + 0.75, 1.75, width - 1.5, _MARK_HEIGHT - 1.5))
        total = len(values) * step - (step - width) if values else 0
    else:  # too many to count by eye: three stretches by share
        total = 180
        ends = [round(total * part / len(values)) for part in (good, len(scored), len(values))]
        passed = [_box(0, 1, ends[0], _MARK_HEIGHT)] if good else []
        if len(scored) > good:
            failed = [_box(ends[0] + 0.75, 1.75, max(1, ends[1] - ends[0] - 1.5), _MARK_HEIGHT - 1.5)]
        if missing:
            unscored = [_box(ends[1] + 0.5, 1.5, max(1, ends[2] - ends[1] - 1), _MARK_HEIGHT - 1)]
            hatch = [_hatching(ends[1], ends[2] - ends[1])]
    sentence = f"{good:,} of {len(scored):,} passed" if scored else "None scored"
    if missing and scored:
        sentence += f", {missing:,} not scored"
    return Marks(
        sentence=sentence,
        summary=f"{good:,}/{len(scored):,}",
        width=total,
        height=_MARK_HEIGHT + 2,
        passed="".join(passed),
        failed="".join(failed),
        unscored="".join(unscored),
        hatch="".join(hatch),
        rail="",
        value="",
    )


def bars(values: Sequence[float | None], *, low: float, high: float) -> Marks:
    """Repetitions of a numeric metric in order, each a bar between `low` and `high`; None was not scored."""
    scored = [value for value in values if value is not None and math.isfinite(value)]
    missing = len(values) - len(scored)
    shown: list[float | None] = list(values)
    if len(values) > _MANY:  # sorted and thinned: the shape of the distribution stays
        ordered = sorted(scored)
        shown = [ordered[index * len(ordered) // _MANY] for index in range(_MANY)] if ordered else []
    step, width = _mark_step(len(shown))
    rail, value_path, unscored, hatch = [], [], [], []
    for index, value in enumerate(shown):
        x = index * step
        if value is None or not math.isfinite(value):
            unscored.append(_box(x + 0.5, 1.5, width - 1, _MARK_HEIGHT - 1))
            hatch.append(_hatching(x, width))
            continue
        share = 0.5 if high <= low else min(1.0, max(0.0, (value - low) / (high - low)))
        height = max(1.0, round(share * _MARK_HEIGHT, 1))
        rail.append(_box(x, 1, width, _MARK_HEIGHT))
        value_path.append(_box(x, 1 + _MARK_HEIGHT - height, width, height))
    mean = math.fsum(scored) / len(scored) if scored else None
    sentence = f"Mean {figures.number(mean)} over {len(scored):,} repetitions" if scored else "None scored"
    if len(scored) == 1:
        sentence = f"Value {figures.number(mean)}"
    if missing and scored:
        sentence += f", {missing:,} not scored"
    return Marks(
        sentence=sentence,
        summary=figures.number(mean) if scored else "0/0",
        width=len(shown) * step - (step - width) if shown else 0,
        height=_MARK_HEIGHT + 2,
        passed="",
        failed="",
        unscored="".join(unscored),
        hatch="".join(hatch),
        rail="".join(rail),
        value="".join(value_path),
    )


def _favourable(value: float, better: int) -> bool:
    return (value >= 0.5) == (better >= 0)


def _mark_step(count: int) -> tuple[int, int]:
    """Distance and width of the marks: narrower where there are more."""
    for limit, step, width in ((8, 12, 9), (16, 8, 6), (32, 5, 4)):
        if count <= limit:
            return step, width
    return 4, 3


def _box(x: float, y: float, width: float, height: float) -> str:
    return f"M{x:g} {y:g}h{width:g}v{height:g}h{-width:g}z"


def _hatching(x: float, width: float) -> str:
    """Slanted strokes inside a box of `width` at `x`, cut at its edges."""
    strokes = []
    bottom = 1 + _MARK_HEIGHT
    offset = 4
    while offset < width + _MARK_HEIGHT:
        start_x, start_y = (0, bottom - offset) if offset <= _MARK_HEIGHT else (offset - _MARK_HEIGHT, 1)
        end_x, end_y = (offset, bottom) if offset <= width else (width, bottom - offset + width)
        strokes.append(f"M{x + start_x:g} {start_y:g}L{x + end_x:g} {end_y:g}")
        offset += 4
    return "".join(strokes)
