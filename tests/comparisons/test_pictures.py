"""Flow and distribution: every case has its place, and the figures beside a picture are those of the result."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.observations import FailureKind
from comparisons import charts, pictures
from tests.comparisons.test_real_evidence import words_of
from tests.factories import evidence

STOPS = ("better", "same", "worse", "lost", "only")
NUMBERS = st.floats(allow_nan=True, allow_infinity=True, width=64)


@given(counts=st.lists(st.integers(0, 100_000), min_size=5, max_size=5))
def test_bands_fill_the_picture_by_share(counts):
    drawn = charts.flow(
        tuple(charts.Stop(kind, kind, count) for kind, count in zip(STOPS, counts, strict=True)),
    )
    if not sum(counts):
        assert drawn is None
        return
    present = [count for count in counts if count]
    assert drawn.total == sum(counts)
    assert len(drawn.bands) == len(drawn.nodes) == len(present)
    heights = [float(re.search(r"v([\d.]+)h-", node.path)[1]) for node in drawn.nodes]
    gaps = 10 * (len(present) - 1)
    assert sum(heights) == pytest.approx(drawn.height - gaps, abs=0.1 * len(present))
    assert all(height > 1 for height in heights)
    biggest = max(range(len(present)), key=lambda index: present[index])
    assert heights[biggest] == max(heights)


@given(
    mine=st.lists(NUMBERS, max_size=60),
    other=st.lists(NUMBERS, max_size=60),
    bounds=st.sampled_from([(None, None), (0.0, 1.0), (None, 5.0)]),
)
def test_every_scored_case_lies_in_one_bin(mine, other, bounds):
    cases = min(len(mine), len(other))
    drawn = charts.distribution(mine[:cases], other[:cases], low=bounds[0], high=bounds[1])
    scored = [both for both in zip(mine, other, strict=False) if all(map(math.isfinite, both))]
    if not scored:
        assert drawn is None
        return
    assert drawn.cases == len(scored)
    assert sum(one.candidate for one in drawn.bins) == sum(one.baseline for one in drawn.bins) == len(scored)
    assert len(drawn.bins) <= 14
    assert len({one.label for one in drawn.bins}) == len(drawn.bins)
    drawn_paths = drawn.candidate + drawn.baseline + drawn.means
    assert all(0 <= float(x) <= 1000 for x in re.findall(r"M([-\w.]+) ", drawn_paths))
    assert not re.search("nan|inf", drawn_paths)


def test_a_few_values_have_a_bar_each():
    drawn = charts.distribution([0.2, 0.4, 0.4, 1.0], [0.2, 0.2, 0.4, 0.4], low=0, high=1, scale=100, unit="%")
    assert [(one.label, one.candidate, one.baseline) for one in drawn.bins] == [
        ("20", 1, 2),
        ("40", 2, 2),
        ("100", 1, 0),
    ]
    assert [(one.name, one.candidate, one.baseline) for one in drawn.summary] == [
        ("Mean", "50", "30"),
        ("Highest", "100", "40"),
        ("Upper quartile", "100", "40"),
        ("Lower median", "40", "20"),
        ("Lower quartile", "20", "20"),
        ("Lowest", "20", "20"),
    ]


def test_tails_without_bounds_are_one_bin():
    values = np.concatenate([np.arange(1000.0), [1e9]])
    drawn = charts.distribution(values, values)
    assert drawn.bins[-1].label.endswith("or more")
    assert drawn.bins[0].label.startswith("below")
    assert max(one.candidate for one in drawn.bins) < 200


def test_values_that_differ_late_keep_different_names():
    values = [1000 + index / 1000 for index in range(10)]
    drawn = charts.distribution(values, values)
    assert len({one.label for one in drawn.bins}) == 10


@pytest.mark.django_db
def test_the_pictures_of_a_comparison_are_its_counts(compare, cast, page_client):
    lost = {f"case-{index}": [FailureKind.TIMED_OUT] for index in range(3)}
    mine = {f"case-{index}": [int(index % 3 > 0)] for index in range(3, 40)}
    other = {f"case-{index}": [int(index % 2 > 0)] for index in range(38)}
    found = compare({**lost, **mine}, other)
    shown = found.view(cast.ana)
    drawn = pictures.flow(shown, {})
    quality = shown.result.quality
    counts = [stop.cases for stop in drawn.stops]
    assert counts == [quality.better, quality.same, quality.worse, 3, 2, 0]
    page = words_of(page_client(cast.ana).get(found.url(cast.ana, tab="ranges")))
    assert f"Of all cases {drawn.total}" in page
    assert "Paired, but not scored on both sides 3" in page
    assert "In the candidate only 2" in page
    assert "Case means 35 cases scored on both sides" in page


@pytest.mark.django_db
def test_categories_flow_without_a_direction(compare, cast, page_client):
    marks = {f"case-{index}": ["a" if index % 2 else "b"] for index in range(30)}
    other = {f"case-{index}": ["a"] for index in range(30)}
    found = compare(marks, other, metric=evidence.categorical())
    shown = found.view(cast.ana)
    assert pictures.distribution(shown) is None
    assert [stop.label for stop in pictures.flow(shown, {}).stops][:2] == ["different", "the same"]
    page = words_of(page_client(cast.ana).get(found.url(cast.ana, tab="ranges")))
    assert "Where the cases go" in page
    assert "better" not in page.partition("Where the cases go")[2].lower()
