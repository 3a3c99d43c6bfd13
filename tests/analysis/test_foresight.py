"""Which difference a comparison could see, before anybody runs it."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.adequacy import Z_SUM
from analysis.foresight import foresee
from analysis.observations import Kind
from analysis.paired import compare
from analysis.planning import plan
from analysis.results import PairedResult
from tests.factories.arms import metric, random_cases, side

PASSES = metric(Kind.BOOLEAN, low=0, high=1)


def earlier(cases: int, repetitions: int, kind: Kind = Kind.BOOLEAN) -> PairedResult:
    measured = metric(kind, low=0, high=1)
    return compare(
        side(random_cases(cases, repetitions, rate=0.7, seed=1, kind=kind), measured=measured),
        side(random_cases(cases, repetitions, rate=0.69, seed=2, kind=kind), measured=measured),
        target=0.05,
    ).result


@pytest.mark.parametrize("kind", [Kind.BOOLEAN, Kind.NUMERIC])
@pytest.mark.parametrize("repetitions", [1, 3])
@pytest.mark.parametrize("target", [0.01, 0.02, 0.03])
def test_it_is_the_plan_the_other_way_round(kind, repetitions, target):
    """With the cases that a plan asks for the target shows; with one case less it does not."""
    known = earlier(200, repetitions, kind)
    planned = plan(known, target)
    assert planned is not None
    needed = planned.options[0].cases
    assert needed > 20
    enough = foresee(known.metric, needed, repetitions, target=target, earlier=known)
    short = foresee(known.metric, needed - 1, repetitions, target=target, earlier=known)
    assert enough.mde is not None and short.mde is not None
    assert enough.mde <= target * (1 + 1e-9) < short.mde * (1 + 1e-6)
    assert (enough.verdict, enough.basis, short.verdict) == ("adequate", "earlier", "limited")


def test_more_repetitions_see_smaller_differences_down_to_what_cases_alone_allow():
    known = earlier(200, 3, Kind.NUMERIC)
    seen = [foresee(known.metric, 200, times, target=0.05, earlier=known).mde for times in (1, 2, 3, 5)]
    assert seen == sorted(seen, reverse=True) and len(set(seen)) == 4
    assert known.variation is not None
    between = (
        known.quality.delta_spread**2 * 200 / 199
        - sum((known.variation.within_candidate, known.variation.within_baseline)) / 3
    )
    assert seen[-1] > Z_SUM * math.sqrt(max(0.0, between) / 200)


def test_what_repetitions_save_stays_unknown_where_no_case_was_repeated():
    known = earlier(200, 1, Kind.NUMERIC)
    once, thrice = (foresee(known.metric, 200, times, target=0.05, earlier=known) for times in (1, 3))
    assert once.mde == thrice.mde
    assert "not known" in thrice.assumptions[1]


@given(
    st.lists(st.floats(-1, 1), min_size=20, max_size=200),
    st.integers(20, 5_000),
)
@settings(deadline=None)
def test_no_differences_on_the_scale_need_more_than_the_bound(differences, cases):
    spread = float(np.std(differences))
    found = foresee(metric(Kind.NUMERIC, low=2, high=3), cases, 1, target=0.05)
    assert found.mde is not None and found.basis == "bound"
    assert Z_SUM * spread / math.sqrt(cases) <= found.mde * (1 + 1e-12)


def test_without_an_earlier_comparison_only_the_bound_is_said():
    found = foresee(PASSES, 100, 1, target=0.05)
    assert found.mde == pytest.approx(0.2801585, abs=1e-6)
    assert (found.basis, found.verdict) == ("bound", "unknown")
    assert found.text.startswith("A difference of 28 points would be seen in any case.")
    assert foresee(PASSES, 4_000, 1, target=0.05).verdict == "adequate"


def test_where_nothing_can_be_foreseen_it_says_why_and_gives_no_number():
    few = foresee(PASSES, 19, 5, target=0.05)
    endless = foresee(metric(Kind.NUMERIC), 100, 1, target=None)
    labels = foresee(metric(Kind.CATEGORICAL), 100, 1, target=None)
    assert [one.mde for one in (few, endless, labels)] == [None] * 3
    assert [one.verdict for one in (few, endless, labels)] == ["insufficient", "unknown", "no_target"]


def test_too_small_an_earlier_comparison_tells_nothing():
    found = foresee(PASSES, 100, 1, target=0.05, earlier=earlier(15, 1))
    assert found.basis == "bound"


def test_equal_sides_still_leave_a_difference_that_would_be_missed():
    known = earlier(100, 1)
    same = dataclasses.replace(
        known, quality=dataclasses.replace(known.quality, same=100, better=0, worse=0, delta=0.0, delta_spread=0.0)
    )
    found = foresee(PASSES, 100, 1, target=0.05, earlier=same)
    assert found.basis == "earlier" and found.mde is not None and found.mde > 0
