"""Scorecard, confidence, failure classes, repetitions, spend: the arithmetic of several arms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from analysis import failures, proportions, repetitions, scorecard, unpaired
from analysis.failures import FailureClass
from analysis.intervals import welch_t, wilson
from analysis.observations import CostCoverage, Direction
from analysis.scorecard import MetricValues
from analysis.spend import CostGroup, fold, fold_by_currency

NAN = float("nan")
HIGHER, LOWER, UNORDERED = Direction.HIGHER_IS_BETTER, Direction.LOWER_IS_BETTER, Direction.UNORDERED


# --- scorecard


@pytest.mark.parametrize(
    ("values", "direction", "flags"),
    [
        pytest.param((0.5, 0.7), HIGHER, (False, True), id="higher"),
        pytest.param((0.5, 0.7), LOWER, (True, False), id="lower"),
        pytest.param((0.5, 0.5, None), HIGHER, (True, True, False), id="a tie beside no score"),
        pytest.param((None, 0.5), HIGHER, (False, False), id="a single score beats nobody"),
        pytest.param((0.5, 0.7), UNORDERED, (False, False), id="no direction"),
        pytest.param((9 / 10, 18 / 20), HIGHER, (True, True), id="equal rates of different sizes tie"),
        pytest.param((), HIGHER, (), id="nobody"),
    ],
)
def test_winners(values: tuple[float | None, ...], direction: Direction, flags: tuple[bool, ...]) -> None:
    assert scorecard.winners(values, direction) == flags


def test_votes_ties_and_the_overall_winner() -> None:
    tied = MetricValues("a", HIGHER, (1.0, 1.0, 0.0))
    first, second = MetricValues("b", HIGHER, (1.0, 0.5, 0.0)), MetricValues("c", LOWER, (3.0, 2.0, 4.0))
    found = scorecard.scorecard([tied, first, second])
    assert found.votes == (1, 1, 0)
    assert found.overall is None
    assert [row.leader for row in found.rows] == [None, 0, 1]
    assert scorecard.scorecard([tied, first]).overall == 0
    assert scorecard.scorecard([tied]).overall is None
    assert scorecard.scorecard([]) == scorecard.Scorecard((), (), None)


def test_a_leader_is_resolved_only_against_every_other_cohort() -> None:
    def row(p_values: dict[tuple[int, int], float | None]) -> scorecard.ScoreRow:
        return scorecard.scorecard([MetricValues("a", HIGHER, (0.9, 0.5, 0.4), p_values)]).rows[0]

    assert row({(0, 1): 0.001, (0, 2): 0.001, (1, 2): 0.5}).resolved
    assert not row({(0, 1): 0.03, (0, 2): 0.001, (1, 2): 0.5}).resolved  # Holm: 0.06
    assert not row({(0, 1): 0.001, (0, 2): None, (1, 2): 0.5}).resolved
    assert not row({(0, 1): 0.001}).resolved
    assert not row({}).resolved
    assert not scorecard.scorecard([MetricValues("a", HIGHER, (0.9, 0.9), {(0, 1): 0.0})]).rows[0].resolved


def test_the_primary_metric_is_a_family_of_its_own() -> None:
    pair = {(0, 1): 0.02}
    others = [MetricValues(key, HIGHER, (0.9, 0.5), pair) for key in "bcd"]
    found = scorecard.scorecard([MetricValues("a", HIGHER, (0.9, 0.5), pair, primary=True), *others])
    assert [row.adjusted for row in found.rows] == [(((0, 1), 0.02),), *[(((0, 1), 0.06),)] * 3]
    assert [row.resolved for row in found.rows] == [True, False, False, False]


def test_a_scorecard_refuses_what_does_not_fit() -> None:
    with pytest.raises(ValueError, match="one value per cohort"):
        scorecard.scorecard([MetricValues("a", HIGHER, (1.0,)), MetricValues("b", HIGHER, (1.0, 2.0))])
    with pytest.raises(ValueError, match="lower position first"):
        scorecard.scorecard([MetricValues("a", HIGHER, (1.0, 2.0), {(1, 0): 0.5})])
    with pytest.raises(ValueError, match="a number"):
        scorecard.winners((NAN, 1.0), HIGHER)


# --- confidence and the unpaired tests


def test_confidence_of_a_cohort() -> None:
    found = proportions.confidence(np.repeat([1.0, 0.0], [80, 20]), 1)
    assert (found.cases, found.rate) == (100, 0.8)
    assert (found.low, found.high) == wilson(80, 100)
    assert found.adequacy.mde == pytest.approx(0.1776, abs=1e-4)
    assert found.adequacy.verdict == "underpowered"
    assert found.mde_normal == pytest.approx(0.1585, abs=1e-4)
    everything = proportions.confidence(np.ones(100), 1)
    assert everything.mde_normal == 0
    assert everything.adequacy.mde is not None
    assert everything.adequacy.mde > 0.03
    nothing = proportions.confidence(np.empty(0), 1)
    assert (nothing.cases, nothing.rate, nothing.low, nothing.adequacy.mde) == (0, None, None, None)
    assert nothing.adequacy.verdict == "insufficient"


def test_significance_waits_for_both_sides() -> None:
    found = proportions.significance(np.ones(5), np.empty(0))
    assert (found.p_value, found.significant, found.reason) == (None, False, "a side has no outcome yet")


def test_repetitions_are_not_counted_as_cases() -> None:
    shares = np.repeat([1.0, 2 / 3, 0.0], [50, 30, 20])
    single = proportions.significance(np.repeat([1.0, 0.0], [70, 30]), np.repeat([1.0, 0.0], [60, 40]))
    repeated = proportions.significance(shares, np.repeat([1.0, 0.0], [60, 40]))
    assert repeated.p_value == pytest.approx(single.p_value, abs=1e-12)


def test_welch_is_scipy() -> None:
    rng = np.random.default_rng(2)
    first, second = rng.normal(0.5, 1, 12), rng.normal(0, 3, 7)
    assert unpaired.welch_p(first, second) == pytest.approx(
        float(stats.ttest_ind(first, second, equal_var=False).pvalue), abs=1e-12
    )


def test_the_unpaired_bootstrap_is_near_welch_and_negates() -> None:
    rng = np.random.default_rng(3)
    first, second = rng.normal(0.5, 1, 60), rng.normal(0, 2, 45)
    found = unpaired.unpaired_bootstrap(first, second, b"seed", flipped=False)
    back = unpaired.unpaired_bootstrap(second, first, b"seed", flipped=True)
    expected = welch_t(first, second)
    assert found is not None
    assert back is not None
    assert expected is not None
    assert (back.low, back.high) == (-found.high, -found.low)
    assert found == pytest.approx(tuple(expected), abs=0.12 * (expected.high - expected.low))


@pytest.mark.parametrize(("first", "second"), [(np.ones(2), np.zeros(9)), (np.ones(9), np.empty(0))])
def test_two_runs_are_too_few(first: np.ndarray, second: np.ndarray) -> None:
    assert unpaired.welch_p(first, second) is None
    assert unpaired.unpaired_bootstrap(first, second, b"s", flipped=False) is None


def test_arms_that_do_not_vary() -> None:
    assert unpaired.welch_p(np.ones(5), np.zeros(5)) is None
    assert unpaired.unpaired_bootstrap(np.ones(5), np.zeros(5), b"s", flipped=False) == (1, 1)
    with pytest.raises(ValueError, match="finite"):
        unpaired.welch_p(np.array([NAN, 1, 2]), np.ones(3))


# --- failure classes


def test_a_baseline_without_a_score_has_no_say() -> None:
    candidate = np.array([1, 0, 1, 0, NAN, 1, 0])
    baselines = np.array([[NAN, NAN, 1, 1, 1, NAN, NAN], [1, 0, NAN, NAN, 1, NAN, NAN]])
    names = [FailureClass(code).name for code in failures.classify(candidate, baselines)]
    assert names == ["AGREE", "BOTH_WRONG", "AGREE", "REGRESSED", "NOT_SCORED", "NOT_SCORED", "NOT_SCORED"]


def test_classes_are_complete_and_exclusive() -> None:
    rng = np.random.default_rng(1)
    candidate, baselines = rng.choice([0, 1, NAN], 500), rng.choice([0, 1, NAN], (3, 500))
    counts = failures.count(failures.classify(candidate, baselines))
    total = counts.regressions + counts.improvements + counts.both_wrong + counts.agree + counts.not_scored
    assert total == 500
    assert counts.diverged == counts.regressions + counts.improvements
    assert failures.count(failures.classify(np.empty(0), np.empty((2, 0)))) == failures.FailureCounts(0, 0, 0, 0, 0)


def test_a_share_is_no_outcome() -> None:
    with pytest.raises(ValueError, match="shares are decided before"):
        failures.classify(np.array([0.5]), np.array([[1.0]]))
    with pytest.raises(ValueError, match="one entry per case"):
        failures.classify(np.array([1.0]), np.array([1.0]))


# --- repetitions


def test_pass_at_k_edges() -> None:
    passes, runs = np.array([3, 0]), np.array([5, 4])
    assert repetitions.pass_at_k(passes, runs, 5) is None  # a case has four runs only
    assert repetitions.pass_hat_k(np.empty(0, dtype=int), np.empty(0, dtype=int), 1) is None
    assert repetitions.pass_at_k(passes, runs, 1) == repetitions.pass_hat_k(passes, runs, 1) == 0.3
    with pytest.raises(ValueError, match="At least one try"):
        repetitions.pass_at_k(passes, runs, 0)
    with pytest.raises(ValueError, match="no more passes"):
        repetitions.pass_hat_k(np.array([3]), np.array([2]), 1)


def test_flaky_cases_differ_inside_one_arm() -> None:
    case = np.array([2, 0, 0, 1, 1, 2, 3], dtype=np.int32)
    values = np.array([1, 1, 1, 0, 1, NAN, NAN])
    assert repetitions.flaky_cases(case, values, 5).tolist() == [False, True, False, False, False]


def test_the_lower_median_is_a_value_that_occurred() -> None:
    assert repetitions.lower_median(np.empty(0)) is None
    assert repetitions.lower_median(np.array([3.0])) == 3
    assert repetitions.lower_median(np.array([4.0, 1, 3, 2])) == 2
    with pytest.raises(ValueError, match="not known"):
        repetitions.lower_median(np.array([1.0, NAN]))


# --- spend


def group(
    coverage: CostCoverage, facts: int, micros: int = 0, currency: str = "USD", basis: str = "reported"
) -> CostGroup:
    return CostGroup(currency, basis, coverage, facts, micros)


def test_unknown_is_never_zero() -> None:
    nothing = fold([group(CostCoverage.NONE, 7)])
    assert (nothing.coverage, nothing.currency, nothing.facts, nothing.priced) == (CostCoverage.NONE, "", 7, 0)
    assert fold([]).coverage is CostCoverage.NONE
    free = fold([group(CostCoverage.COMPLETE, 7, 0)])
    assert (free.coverage, free.known_micros, free.priced) == (CostCoverage.COMPLETE, 0, 7)


@pytest.mark.parametrize(
    ("groups", "micros", "coverage", "priced"),
    [
        ([group(CostCoverage.COMPLETE, 3, 30), group(CostCoverage.COMPLETE, 2, 5)], 35, CostCoverage.COMPLETE, 5),
        ([group(CostCoverage.COMPLETE, 3, 30), group(CostCoverage.NONE, 1)], 30, CostCoverage.PARTIAL, 3),
        ([group(CostCoverage.COMPLETE, 3, 30), group(CostCoverage.PARTIAL, 1, 4)], 34, CostCoverage.PARTIAL, 3),
        ([group(CostCoverage.COMPLETE, 3, 30), group(CostCoverage.COMPLETE, 1, 9, "EUR")], 30, CostCoverage.PARTIAL, 4),
        ([group(CostCoverage.COMPLETE, 3, 30), group(CostCoverage.PARTIAL, 0)], 30, CostCoverage.COMPLETE, 3),
    ],
)
def test_folding(groups: list[CostGroup], micros: int, coverage: CostCoverage, priced: int) -> None:
    found = fold(groups)
    assert (found.known_micros, found.coverage, found.priced) == (micros, coverage, priced)
    assert found == fold(reversed(groups))


def test_currencies_are_never_added() -> None:
    groups = [group(CostCoverage.COMPLETE, 3, 30), group(CostCoverage.COMPLETE, 1, 9, "EUR", "computed")]
    euro, dollar = fold_by_currency(groups)
    assert (euro.currency, euro.known_micros, euro.priced, euro.facts) == ("EUR", 9, 1, 4)
    assert (dollar.currency, dollar.known_micros, dollar.priced, dollar.facts) == ("USD", 30, 3, 4)
    assert euro.coverage is dollar.coverage is CostCoverage.PARTIAL
    assert fold(groups).basis == "computed; reported; several currencies"
    assert fold_by_currency([]) == (fold([]),)
    with pytest.raises(ValueError, match="not negative"):
        fold([group(CostCoverage.COMPLETE, 1, -1)])
