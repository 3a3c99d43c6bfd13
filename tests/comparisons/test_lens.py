"""The paired lens over stored evidence: right figures, kept once, the same whoever asks."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from analysis.observations import CostCoverage, FailureKind, Outcome
from analysis.paired import compare as analyse
from analysis.results import Change, plain
from analysis.spend import CostGroup, fold
from comparisons import kept
from comparisons.lenses import paired as lens
from comparisons.models import KeptResult
from tests.factories import arms, evidence
from tests.factories.arms import metric, random_cases


def same_columns(one, other):
    for field in dataclasses.fields(one):
        mine, theirs = getattr(one, field.name), getattr(other, field.name)
        if isinstance(mine, np.ndarray):
            assert mine.dtype == theirs.dtype, field.name
            assert np.array_equal(mine, theirs, equal_nan=mine.dtype.kind == "f"), field.name
        else:
            assert mine == theirs, field.name


def test_stored_and_plain_evidence_give_one_result(usual, cast):
    """The database and files agree to the last digit."""
    mine, theirs = random_cases(60, 3, rate=0.55, seed=1), random_cases(60, 3, rate=0.7, seed=2)
    stored = usual.view(cast.ana).result
    direct = analyse(arms.side(mine, label="nano"), arms.side(theirs, label="mini")).result
    assert stored.quality == direct.quality
    assert stored.filters == direct.filters
    assert stored.candidate.generation == direct.candidate.generation
    # Contents differ between the two factories, so the series digest and with it the bootstrap's seed do too.
    assert stored.intervals[0] == direct.intervals[0]


def test_a_kept_result_is_the_computed_one(usual, cast):
    computed = usual.view(cast.ana).comparison
    assert KeptResult.objects.count() == 1
    lens.forget()
    again = usual.view(cast.ana)
    assert KeptResult.objects.count() == 1
    assert again.result == computed.result
    assert plain(again.result) == plain(computed.result)
    same_columns(again.cases, computed.cases)
    same_columns(again.unmatched, computed.unmatched)


def test_a_kept_result_is_used_again(usual, cast, monkeypatch):
    usual.view(cast.ana)
    lens.forget()
    monkeypatch.setattr(lens, "compare", lambda *_, **__: pytest.fail("computed again"))
    usual.view(cast.ana)
    usual.view(cast.ben)


def test_packing_keeps_every_kind_of_result(compare, cast):
    words = {name: [label, "z"] for name, label in zip("abcd", ("x", "y", "x", "y"), strict=True)}
    for found in (
        compare(words, words | {"a": ["y", "z"]}, metric=evidence.categorical()),
        compare({"a": [FailureKind.TIMED_OUT]}, {"b": [1]}),
    ):
        comparison = found.view(cast.ana).comparison
        again = kept.unpack(kept.pack(comparison))
        assert again.result == comparison.result
        same_columns(again.cases, comparison.cases)


def test_bytes_of_another_build_are_refused():
    with pytest.raises(ValueError, match="another build"):
        kept.unpack(b"EVPC0\0")


def test_swapping_negates_and_swaps(usual, cast):
    one = usual.view(cast.ana)
    usual.candidate, usual.baseline = usual.baseline, usual.candidate
    other = usual.view(cast.ana)
    assert other.result.quality.delta == -one.result.quality.delta
    assert other.result.quality.better == one.result.quality.worse
    assert other.result.interval95 == tuple(-end for end in reversed(one.result.interval95))
    assert other.result.candidate.label == one.result.baseline.label


def test_a_pass_counts_all_its_graders_on_completed_answers(compare, cast):
    marks = {"a": [1], "b": [FailureKind.TIMED_OUT], "c": [0]}
    half = {"a": [Outcome.WAITING_FOR_EVIDENCE], "b": [None], "c": [1]}
    more = [evidence.Graded(half, metric=metric(key="polite", name="Polite"), grader="tone")]
    result = compare(marks, marks, of_candidate={"more": more}).view(cast.ana, metric="correct").result
    assert dataclasses.astuple(result.candidate.completion) == (3, 4, 1)
    assert dataclasses.astuple(result.baseline.completion) == (2, 2, 0)
    assert (result.candidate.coverage.scored, result.candidate.coverage.eligible) == (2, 2)


@pytest.mark.parametrize(
    ("groups", "known", "coverage", "priced"),
    [
        pytest.param([], 0, CostCoverage.NONE, 0, id="nothing ran"),
        pytest.param([("", "", 0, 5, 0)], 0, CostCoverage.NONE, 0, id="unknown is not zero"),
        pytest.param([("USD", "reported", 2, 5, 0)], 0, CostCoverage.COMPLETE, 5, id="a known zero"),
        pytest.param([("USD", "reported", 2, 5, 90)], 90, CostCoverage.COMPLETE, 5, id="complete"),
        pytest.param([("USD", "r", 2, 4, 90), ("", "", 0, 1, 0)], 90, CostCoverage.PARTIAL, 4, id="one unknown"),
        pytest.param([("USD", "r", 1, 4, 90)], 90, CostCoverage.PARTIAL, 0, id="known in part"),
        pytest.param([("USD", "r", 2, 4, 90), ("EUR", "r", 2, 1, 7)], 90, CostCoverage.PARTIAL, 5, id="currencies"),
    ],
)
def test_spend_folds_without_inventing(groups, known, coverage, priced):
    spend = fold(CostGroup(name, basis, CostCoverage(how), count, micros) for name, basis, how, count, micros in groups)
    assert (spend.known_micros, spend.coverage, spend.priced) == (known, coverage, priced)


def test_full_run_spend_counts_generation_and_every_pass(compare, cast):
    marks = {"a": [1, 0], "b": [FailureKind.TIMED_OUT, 1]}
    found = compare(marks, marks, cost_micros=100, judgment_cost_micros=10)
    evidence.add_pass(found.candidate, cast.ana, evidence.Graded(marks, cost_micros=1))
    result = found.view(cast.ana, candidate_pass="1").result
    assert (result.candidate.spend.known_micros, result.baseline.spend.known_micros) == (433, 430)
    assert result.candidate.spend.coverage is CostCoverage.COMPLETE


def test_an_interpretation_gives_categories_values_and_abstentions(compare, cast):
    mine = {f"c{i}": ["good" if i % 3 else "bad"] for i in range(24)} | {"x": ["unclear"]}
    theirs = {f"c{i}": ["good" if i % 2 else "bad"] for i in range(24)} | {"x": ["good"]}
    found = compare(mine, theirs, metric=evidence.categorical())
    raw = found.view(cast.ana)
    assert raw.result.metric.kind.value == "categorical"
    assert raw.result.quality.delta is None
    mapping = {"good": 1, "bad": 0, "unclear": None}
    pinned = [
        str(evidence.interpretation(one.gradingpass_set.get(), cast.ana, mapping).pk)
        for one in (found.candidate, found.baseline)
    ]
    read = found.view(cast.ana, candidate_interpretation=pinned[0], baseline_interpretation=pinned[1]).result
    assert not read.withheld  # equal mappings of two passes are compatible
    assert read.metric.kind.value == "boolean"
    assert read.quality.delta == pytest.approx(16 / 24 - 12 / 24, abs=1e-12)
    assert read.candidate.coverage.abstained == 1
    half = found.view(cast.ana, candidate_interpretation=pinned[0]).result
    assert {notice.code for notice in half.withheld} >= {"different_interpretation"}


def test_withheld_keeps_what_each_side_shows(compare, cast):
    cases = random_cases(30, 1, rate=0.6, seed=3)
    found = compare(cases, cases, of_candidate={"version": 5})
    result = found.view(cast.ana).result
    assert [notice.code for notice in result.withheld] == ["different_grader"]
    assert result.finding.kind == "withheld"
    assert result.interval95 is None
    assert result.candidate.coverage.scored_mean is not None


def test_unknown_facts_stay_unknown_on_both_sides(compare, cast):
    found = compare({"a": [1]}, {"a": [1]}, of_candidate={"facts": [("Runtime", "py")]})
    states = {one.name: one.state for one in found.view(cast.ana).result.differences}
    assert states["Runtime"] == states["Provider"] == "unknown"
    assert states["Model"] == "different"
    assert states["Grader"] == "same"


def test_loading_and_comparing_ask_a_fixed_number_of_queries(compare, cast):
    counts = []
    for size in (50, 300):
        name = {"in_dataset": f"Of {size}"}
        found = compare(
            random_cases(size, 2, rate=0.5, seed=1), random_cases(size, 2, rate=0.6, seed=2), **name, answers=None
        )
        lens.forget()
        with CaptureQueriesContext(connection) as asked:
            found.view(cast.ana)
        counts.append(len(asked))
    assert counts[0] == counts[1] <= 15


# what peers get wrong (performance.md, faults of substance)


def test_fault_1_no_cap_over_a_thousand_distinct_values(compare, cast):
    rng = np.random.default_rng(4)
    mine, theirs = rng.random(2_500), rng.random(2_500)
    scale = metric(arms.Kind.NUMERIC, low=0.0, high=1.0)
    found = compare(
        {f"c{i}": [float(value)] for i, value in enumerate(mine)},
        {f"c{i}": [float(value)] for i, value in enumerate(theirs)},
        metric=scale,
        answers=None,
    )
    quality = found.view(cast.ana).result.quality
    assert quality.cases == 2_500
    assert quality.candidate.mean == pytest.approx(mine.mean(), abs=1e-12)
    assert quality.delta == pytest.approx((mine - theirs).mean(), abs=1e-12)
    assert quality.delta_spread == pytest.approx((mine - theirs).std(), abs=1e-12)


def test_fault_2_an_errored_candidate_is_no_regression(compare, cast):
    found = compare({"a": [FailureKind.TIMED_OUT], "b": [0]}, {"a": [1], "b": [1]}).view(cast.ana)
    assert found.result.filters.regressions == 1
    assert sorted(Change(code).name for code in found.cases.change) == ["NOT_SCORED", "WORSE"]


def test_fault_3_repetitions_pair_by_number(compare, cast):
    found = compare({"a": [1, 0, 0]}, {"a": [None, 0, 1]}).view(cast.ana)
    assert (found.result.quality.pairs, found.result.quality.delta) == (2, -0.5)


def test_fault_5_points_are_absolute(compare, cast):
    found = compare(
        {f"c{i}": [float(i < 67)] for i in range(100)}, {f"c{i}": [float(i < 66)] for i in range(100)}
    ).view(cast.ana)
    assert found.result.quality.delta == pytest.approx(0.01, abs=1e-12)


def test_fault_6_one_denominator_per_metric(compare, cast):
    mine = {f"c{i}": [1.0 if i else Outcome.ABSTAINED] for i in range(25)}
    theirs = {f"c{i}": [0.0 if i < 24 else FailureKind.HUNG] for i in range(25)}
    result = compare(mine, theirs).view(cast.ana).result
    assert (result.candidate.coverage.scored, result.baseline.coverage.scored) == (24, 24)
    assert result.quality.cases == 23  # both means below are over these
    assert (result.quality.candidate.passed, result.quality.baseline.passed) == (23, 0)
