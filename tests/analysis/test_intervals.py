"""Edges that the reference vectors do not reach: degenerate tables, refusals, symmetry, coverage."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analysis import adequacy, hypothesis_tests, intervals

NAN = float("nan")


@pytest.mark.parametrize(
    ("found", "answer"),
    [
        pytest.param(intervals.wilson(0, 0), None, id="wilson of nothing"),
        pytest.param(intervals.tango(0, 0, 0), None, id="tango of nothing"),
        pytest.param(intervals.newcombe(1, 2, 0, 0), None, id="newcombe of nothing"),
        pytest.param(intervals.effective_score(np.empty(0), np.empty(0), 1), None, id="score of nothing"),
        pytest.param(intervals.wilson_repeated(np.empty(0), 3), None, id="repeated wilson of nothing"),
        pytest.param(intervals.paired_t(np.array([1.0])), None, id="t of one case"),
        pytest.param(intervals.paired_t(np.full(30, 0.1)), None, id="t without variation"),
        pytest.param(intervals.welch_t(np.ones(2), np.zeros(5)), None, id="welch of two runs"),
        pytest.param(intervals.welch_t(np.ones(3), np.zeros(3)), None, id="welch without variation"),
        pytest.param(hypothesis_tests.two_proportion_z(5, 5, 5, 5), None, id="z, all passed"),
        pytest.param(hypothesis_tests.two_proportion_z(0, 0, 1, 5), None, id="z of nothing"),
        pytest.param(hypothesis_tests.mcnemar_midp(0, 0), 1.0, id="McNemar without discordance"),
        pytest.param(hypothesis_tests.sign_flip(np.zeros(50), b"s"), 1.0, id="sign flip without differences"),
        pytest.param(hypothesis_tests.sign_flip(np.empty(0), b"s"), 1.0, id="sign flip of nothing"),
        pytest.param(hypothesis_tests.holm([]), [], id="Holm of nothing"),
        pytest.param(hypothesis_tests.e_value(0, 0), 1.0, id="no evidence yet"),
        pytest.param(adequacy.mde_paired(np.zeros(30)), None, id="MDE without variation is not 0"),
        pytest.param(adequacy.mde_paired(np.array([0.5])), None, id="MDE of one case"),
        pytest.param(adequacy.mde_paired_passes(0, 0, 0), None, id="paired MDE of nothing"),
        pytest.param(adequacy.mde_arcsine(0, 0), None, id="arcsine MDE of nothing"),
        pytest.param(adequacy.mde_normal(0, 0), None, id="normal MDE of nothing"),
    ],
)
def test_degenerate_input_has_a_stated_answer(found: object, answer: object) -> None:
    assert found == answer


@pytest.mark.parametrize(
    "call",
    [
        lambda: intervals.wilson(NAN, 3),
        lambda: intervals.wilson(4, 3),
        lambda: intervals.tango(NAN, 0, 3),
        lambda: intervals.tango(3, 1, 3),
        lambda: intervals.tango(-1, 1, 3),
        lambda: intervals.paired_t(np.array([0.0, NAN])),
        lambda: intervals.effective_score(np.array([NAN]), np.array([0.0]), 1),
        lambda: intervals.wilson_repeated(np.array([NAN]), 1),
        lambda: intervals.welch_t(np.array([NAN, 1, 2]), np.ones(3)),
        lambda: hypothesis_tests.sign_flip(np.array([NAN]), b""),
        lambda: hypothesis_tests.mcnemar_midp(-1, 2),
        lambda: hypothesis_tests.two_proportion_z(3, 2, 0, 2),
        lambda: hypothesis_tests.holm([0.2, NAN]),
        lambda: hypothesis_tests.e_value(-1, 2),
        lambda: adequacy.mde_paired(np.array([NAN, 1.0])),
        lambda: adequacy.mde_paired_passes(3, 3, 5),
        lambda: adequacy.mde_arcsine(3, 2),
        lambda: adequacy.mde_normal(3, 2),
        lambda: adequacy.adequacy_paired(np.ones(3), target=0),
        lambda: adequacy.planned_cases(adequacy.Split(0.1, 0.1, 0.1, 1), 0, 0.05),
        lambda: adequacy.chance_flips(np.array([3]), np.array([2])),
        lambda: adequacy.chance_moves(np.array([3]), np.array([1])),
    ],
)
def test_what_is_not_a_number_or_not_a_table_is_refused(call: object) -> None:
    assert callable(call)
    with pytest.raises(ValueError, match=r"\w"):
        call()


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 300))
def test_tango_holds_the_estimate_has_width_and_negates_exactly(gain: int, loss: int, concordant: int) -> None:
    cases = gain + loss + concordant
    if cases == 0:
        return
    limits, mirrored = intervals.tango(gain, loss, cases), intervals.tango(loss, gain, cases)
    assert limits is not None
    assert mirrored is not None
    assert (mirrored.low, mirrored.high) == (-limits.high, -limits.low)
    assert -1 <= limits.low <= (gain - loss) / cases <= limits.high <= 1
    assert limits.low < limits.high


@pytest.mark.parametrize("cases", [20, 100, 10_000])
def test_no_discordance_still_has_width(cases: int) -> None:
    """All agree: plus and minus z^2 / (n + z^2), never certainty."""
    bound = intervals.Z95**2 / (cases + intervals.Z95**2)
    assert intervals.tango(0, 0, cases) == pytest.approx((-bound, bound), abs=1e-12)


@pytest.mark.parametrize("cases", [20, 500])
def test_every_case_better_reaches_one(cases: int) -> None:
    """Tango's equation solved by hand for an empty other side: (n - z^2) / (n + z^2)."""
    limits = intervals.tango(cases, 0, cases)
    assert limits is not None
    assert limits.high == 1
    square = intervals.Z95**2
    assert limits.low == pytest.approx((cases - square) / (cases + square), abs=1e-12)


def test_paired_t_is_scipy() -> None:
    values = np.random.default_rng(2).normal(0.1, 1, 37)
    expected = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert intervals.paired_t(values) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_welch_t_is_scipy() -> None:
    rng = np.random.default_rng(2)
    first, second = rng.normal(0.1, 1, 12), rng.normal(0, 3, 7)
    expected = stats.ttest_ind(first, second, equal_var=False).confidence_interval(0.95)
    assert intervals.welch_t(first, second) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_repeats_are_never_counted_as_independent_cases() -> None:
    shares = np.resize([1.0, 1.0, 1.0, 0.0], 200)  # every case always agrees with itself
    assert intervals.wilson_repeated(shares, 5) == intervals.wilson(150, 200)
    few = np.resize([2 / 3, 1.0], 50)
    assert intervals.wilson_repeated(few, 3) == intervals.wilson(float(few.mean()) * 50, 50)


@pytest.mark.parametrize("cases", [40, 400])
def test_sampled_sign_flips_agree_with_mcnemar_on_single_runs(cases: int) -> None:
    """For one repetition the sign-flip test is the exact McNemar test."""
    values = np.zeros(cases)
    values[:20], values[20:30] = 1, -1
    exact = stats.binomtest(20, 30).pvalue
    assert hypothesis_tests.sign_flip(values, b"seed") == pytest.approx(exact, abs=0.01)


@pytest.mark.parametrize("cases", [20, 65, 1_000])
def test_sampled_sign_flips_of_numbers_agree_with_t(cases: int) -> None:
    values = np.random.default_rng(cases).normal(0.25, 1, cases) / math.sqrt(cases / 50)
    expected = stats.ttest_1samp(values, 0).pvalue
    found = hypothesis_tests.sign_flip(values, b"seed")
    assert found == pytest.approx(expected, abs=0.03)
    assert hypothesis_tests.sign_flip(-values, b"seed") == found
    assert found == hypothesis_tests.sign_flip(values[::-1], b"seed") or found == pytest.approx(expected, abs=0.03)


def test_chance_flips_with_one_repetition_are_half_the_discordance() -> None:
    passes = np.array([2, 1, 1, 0, 1])
    assert adequacy.chance_flips(passes, np.full(5, 2)) == 1.5
    assert adequacy.chance_moves(passes, np.full(5, 1)) == 1.5


def test_chance_moves_are_the_share_of_uneven_splits() -> None:
    """Two passes among four runs: of the 6 ways to give two runs to an arm, 4 split the passes evenly."""
    assert adequacy.chance_moves(np.array([2]), np.array([2])) == pytest.approx((1 - 4 / 6) / 2)
    assert adequacy.chance_moves(np.array([3]), np.array([2])) == 0.5
    assert adequacy.chance_moves(np.array([0, 4]), np.array([2, 2])) == 0


def test_chance_flips_match_a_simulation_of_exchangeable_runs() -> None:
    rng = np.random.default_rng(8)
    runs = np.array([1, 1, 0, 1, 0, 0, 1, 1, 1, 1])
    moved = [runs[order[0]] > runs[order[1]] for order in (rng.permutation(10) for _ in range(20_000))]
    assert adequacy.chance_flips(np.array([7]), np.array([10])) == pytest.approx(np.mean(moved), abs=0.01)


@pytest.mark.parametrize(
    ("cases", "spread", "verdict"),
    [(19, 0.001, "insufficient"), (100, 0.17, "adequate"), (100, 0.3, "limited"), (100, 0.4, "underpowered")],
)
def test_adequacy_verdicts(cases: int, spread: float, verdict: str) -> None:
    differences = np.resize([spread, -spread], cases)
    found = adequacy.adequacy_paired(differences, target=0.05)
    assert found.verdict == verdict
    assert found.mde is not None
    assert found.q is not None
    assert (found.q >= 1) == (found.mde <= 0.05)


def test_more_cases_or_more_repetitions_lower_the_plan() -> None:
    noisy = adequacy.Split(within_candidate=0.2, within_baseline=0.2, between=0.01, repetitions=1)
    assert adequacy.planned_cases(noisy, 5, 0.05) < adequacy.planned_cases(noisy, 1, 0.05) / 3
    stable = adequacy.Split(within_candidate=0.0, within_baseline=0.0, between=0.2, repetitions=1)
    assert adequacy.planned_cases(stable, 5, 0.05) == adequacy.planned_cases(stable, 1, 0.05)
