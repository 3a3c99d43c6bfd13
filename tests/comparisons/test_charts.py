"""The pictures' geometry: where things stand, and what a reader aloud hears."""

from __future__ import annotations

import re

import numpy as np
import pytest

from comparisons import charts

M = "\u2212"
RANGES = [
    charts.Range("Score interval", 0.00352, 0.11365, leads=True),
    charts.Range("Case bootstrap", 0.00404, 0.11212),
]


def points(**extra):
    return charts.interval(RANGES, estimate=0.0586, scale=100, unit="points", better=1, **extra)


def test_interval_order_on_the_axis():
    chart = points()
    lead, other = chart.lines
    assert 0 < chart.x_zero < lead.x_low < other.x_low < chart.x_estimate < other.x_high < lead.x_high < 100
    assert (lead.low, lead.high) == ("+0.352", "+11.4")
    assert [tick.label for tick in chart.ticks] == ["0", "+5", "+10"]
    assert chart.ticks[0].x == chart.x_zero


@pytest.mark.parametrize("size", [5e-324, 1e-300, 1e-200, 1e-12, 1e15])
def test_any_finite_interval_can_be_drawn(size):
    chart = charts.interval([charts.Range("Interval", -size, size, leads=True)], estimate=0, scale=1, unit="", better=1)
    assert 1 <= len(chart.ticks) <= 12
    assert all(0 <= tick.x <= 100 for tick in chart.ticks)


def test_interval_positions_are_linear():
    chart = charts.interval([charts.Range("t", -1, 3, leads=True)], estimate=1)
    line = chart.lines[0]
    assert chart.x_estimate == pytest.approx((line.x_low + line.x_high) / 2, abs=0.01)
    assert chart.x_zero == pytest.approx(line.x_low + (line.x_high - line.x_low) / 4, abs=0.01)


def test_interval_sentence():
    assert points().sentence == (
        "Difference, candidate minus baseline: +5.86 points. "
        "Score interval: +0.352 to +11.4 points, excludes zero. "
        "Case bootstrap: +0.404 to +11.2 points, excludes zero."
    )
    assert "includes zero" in charts.interval([charts.Range("t", -1, 1)], estimate=0).sentence


@pytest.mark.parametrize(("better", "left"), [(1, -5.0), (-1, 5.0)])
def test_margin_lies_on_the_worse_side(better, left):
    chart = charts.interval(RANGES, estimate=0.02, scale=100, unit="points", better=better, margin=0.05)
    assert (chart.x_margin < chart.x_zero) == (left < 0)
    assert chart.margin == f"margin {M if left < 0 else '+'}5"
    assert f"Margin at {M if left < 0 else '+'}5 points." in chart.sentence


def test_cues_follow_the_direction():
    assert (points().cue_low, points().cue_high) == ("← baseline better", "candidate better →")
    lower = charts.interval(RANGES, estimate=0.02, better=-1)
    assert (lower.cue_low, lower.cue_high) == ("← candidate better", "baseline better →")


def test_no_direction_no_cue_no_margin():
    chart = charts.interval(RANGES, estimate=0.02, better=0, margin=0.05)
    assert (chart.cue_low, chart.cue_high, chart.x_margin) == ("", "", None)


def test_interval_without_estimate_is_no_picture():
    assert charts.interval(RANGES, estimate=float("nan")) is None


def test_ranges_that_are_not_finite_are_left_out():
    chart = charts.interval([charts.Range("t", float("-inf"), float("inf"))], estimate=0.0)
    assert chart.lines == ()
    assert 0 < chart.x_zero < 100


@pytest.mark.parametrize("scale", [1e-9, 1e-3, 1, 1e6, 1e12])
def test_ticks_are_few_and_contain_zero(scale):
    chart = charts.interval([charts.Range("t", -0.37 * scale, 0.91 * scale)], estimate=0.2 * scale)
    assert 2 <= len(chart.ticks) <= 7
    assert "0" in [tick.label for tick in chart.ticks]
    assert all(0 <= tick.x <= 100 for tick in chart.ticks)


def test_swapping_the_sides_mirrors_the_picture():
    mirrored = charts.interval(
        [charts.Range(r.label, -r.high, -r.low, r.leads) for r in RANGES],
        estimate=-0.0586,
        scale=100,
        unit="points",
        better=1,
    )
    chart = points()
    assert mirrored.x_zero == pytest.approx(100 - chart.x_zero, abs=0.02)
    assert mirrored.lines[0].x_low == pytest.approx(100 - chart.lines[0].x_high, abs=0.02)


def test_strip_counts_and_sentence():
    strip = charts.delta_strip([-0.5, 0, 0, 0.25, 1, float("nan")], scale=100, unit="points")
    assert (strip.down_count, strip.level_count, strip.up_count) == (1, 2, 2)
    assert strip.sentence == (
        f"Differences of 5 cases: 1 worse, at most by {M}50 points; 2 the same; 2 better, at most by +100 points."
    )


def test_strip_where_smaller_is_better():
    strip = charts.delta_strip([-2.0, -1.0, 3.0], better=-1)
    assert (strip.down_count, strip.up_count) == (1, 2)
    assert (strip.lowest, strip.highest) == ("+3", f"{M}2")


def test_strip_without_direction_speaks_of_lower_and_higher():
    strip = charts.delta_strip([-2.0, 1.0], better=0)
    assert strip.sentence == f"Differences of 2 cases: 1 lower, down to {M}2; 0 the same; 1 higher, up to +1."
    assert not strip.directional


def test_strip_of_nothing():
    assert charts.delta_strip([]) is None
    assert charts.delta_strip([float("nan")]) is None


def test_strip_stays_small_whatever_the_number_of_cases():
    draw = np.random.default_rng(1)
    strip = charts.delta_strip(draw.normal(0, 1, 60_000))
    steps = len(re.findall("V", strip.down + strip.up))
    assert steps <= 170
    assert len(strip.down) + len(strip.up) < 4000


def test_strip_shows_one_case_among_thousands():
    strip = charts.delta_strip([-1.0] + [0.0] * 9_999)
    assert strip.down_count == 1
    assert strip.down.startswith("M0.0 28V54.0H")


def test_strip_widths_follow_the_counts():
    strip = charts.delta_strip([-1.0] * 25 + [0.0] * 50 + [1.0] * 25)
    assert strip.level == "M250.0 28h500.0"


def test_strip_heights_follow_the_deltas():
    strip = charts.delta_strip([0.5, 1.0])
    assert re.findall(r"v(-[\d.]+)", strip.up) == ["-13.0", "-26.0"]


def test_strip_ignores_rounding_noise():
    assert charts.delta_strip([1e-17, -1e-17]).level_count == 2


def test_marks():
    marks = charts.marks([1.0, 0.0, None, 1.0])
    assert (marks.summary, marks.sentence) == ("2/3", "2 of 3 passed, 1 not scored")
    assert marks.passed.count("M") == 2
    assert marks.failed.count("M") == 1
    assert marks.unscored.count("M") == 1
    assert marks.hatch
    assert marks.width == 3 * 12 + 9


def test_marks_where_false_is_good():
    assert charts.marks([0.0, 0.0, 1.0], better=-1).summary == "2/3"


def test_marks_of_nothing_scored():
    marks = charts.marks([None, float("nan")])
    assert (marks.summary, marks.sentence, marks.passed) == ("0/0", "None scored", "")
    assert charts.marks([]).width == 0


@pytest.mark.parametrize("count", [1, 8, 9, 16, 17, 32, 33, 60, 61, 500])
def test_marks_stay_inside_their_column(count):
    marks = charts.marks([float(index % 2) for index in range(count)])
    assert marks.width <= 240
    assert marks.summary == f"{count // 2}/{count}"


def test_many_marks_become_shares():
    marks = charts.marks([1.0] * 50 + [0.0] * 25 + [None] * 25)
    assert marks.width == 180
    assert marks.passed == "M0 1h90v14h-90z"


@pytest.mark.parametrize("width", [3, 4, 6, 9, 45])
def test_hatching_stays_inside_its_box(width):
    for x, y in re.findall(
        r"[ML]([\d.]+) ([\d.]+)", charts.marks([None] * {3: 40, 4: 20, 6: 10, 9: 1, 45: 1}[width]).hatch
    ):
        assert 1 <= float(y) <= 15
        assert float(x) >= 0


def test_bars():
    bars = charts.bars([0.0, 0.5, 1.0, None], low=0, high=1)
    assert bars.summary == "0.5"
    assert bars.sentence == "Mean 0.5 over 3 repetitions, 1 not scored"
    assert re.findall(r"v([\d.]+)", bars.value) == ["1", "7", "14"]
    assert bars.rail.count("M") == 3
    assert bars.unscored.count("M") == 1


def test_bars_of_one_many_and_none():
    assert charts.bars([0.25], low=0, high=1).sentence == "Value 0.25"
    assert charts.bars([float(index) for index in range(500)], low=0, high=499).rail.count("M") == 60
    assert charts.bars([None], low=0, high=1).sentence == "None scored"
    assert charts.bars([3.0, 3.0], low=3, high=3).value.count("v7") == 2
