"""Differences of all cases, sorted from the worst to the best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from teams import figures

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
