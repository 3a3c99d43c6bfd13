"""Geometry of the pictures on a comparison page: plain numbers in, positions out. No Django, no I/O."""

from comparisons.charts.distribution import Distribution, distribution
from comparisons.charts.flow import Flow, Stop, flow
from comparisons.charts.intervals import IntervalChart, Range, interval
from comparisons.charts.repetitions import Marks, bars, marks
from comparisons.charts.strip import DeltaStrip, delta_strip

__all__ = [
    "DeltaStrip",
    "Distribution",
    "Flow",
    "IntervalChart",
    "Marks",
    "Range",
    "Stop",
    "bars",
    "delta_strip",
    "distribution",
    "flow",
    "interval",
    "marks",
]
