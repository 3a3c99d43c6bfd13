"""Timing two or more things in turn, and the lines of a report. What counts is the ratio within one round."""

from __future__ import annotations

import statistics
import time
import tracemalloc
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Timed = Callable[[], Any]


@dataclass(frozen=True)
class Row:
    """One measured ratio beside its bar. `bar` is None where a row only informs."""

    what: str
    ours: str
    floor: str
    ratio: float | None
    bar: float | None = None
    at_least: bool = False
    """Whether the ratio must reach the bar instead of staying below it."""
    shown: str = ""
    """The ratio in other words, where it is no quotient."""

    @property
    def met(self) -> bool | None:
        if self.ratio is None or self.bar is None:
            return None
        return self.ratio >= self.bar if self.at_least else self.ratio <= self.bar


@dataclass
class Section:
    """A table of the report: what is compared with what, and remarks for whoever reads it."""

    title: str
    about: str
    rows: list[Row] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


def seconds(call: Timed) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


@dataclass(frozen=True)
class Measured:
    """Seconds per round, by name, from rounds in which everything ran in turn."""

    rounds: Mapping[str, list[float]]

    def median(self, name: str) -> float:
        return statistics.median(self.rounds[name])

    def ratio(self, name: str, floor: str) -> float:
        """The median of the rounds' own ratios: what slows a whole round down does not move it."""
        return statistics.median(a / b for a, b in zip(self.rounds[name], self.rounds[floor], strict=True))

    def faster(self, *names: str) -> str:
        return min(names, key=self.median)


def in_turn(things: Mapping[str, Timed], rounds: int = 7, warm: int = 1, gauge: bool = False) -> Measured:
    """Run everything once per round, the round after the other way about. With `gauge` things time themselves."""
    found: dict[str, list[float]] = {name: [] for name in things}
    for number in range(warm + rounds):
        for name in things if number % 2 else reversed(things):
            spent = things[name]() if gauge else seconds(things[name])
            if number >= warm:
                found[name].append(spent)
    return Measured(found)


def extra_bytes(call: Timed) -> int:
    """The most that a call held beyond what was there before; arrays of NumPy count."""
    call()
    tracemalloc.start()
    tracemalloc.clear_traces()
    before, _ = tracemalloc.get_traced_memory()
    call()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most - before


def ms(value: float) -> str:
    return f"{value * 1e3:,.1f} ms" if value < 0.1 else f"{value * 1e3:,.0f} ms"


def megabytes(size: float) -> str:
    return f"{size / 2**20:,.1f} MiB"
