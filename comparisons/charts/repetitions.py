"""The repetitions of one case in one arm, a mark or a bar each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from teams import figures

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
