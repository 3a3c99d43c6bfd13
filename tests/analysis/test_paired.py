"""The paired comparison: rules, denominators, notices, and what it must never do."""

from __future__ import annotations

import dataclasses
import json
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.observations import CostCoverage, Direction, FailureKind, Generation, Kind, Metric, Outcome, source_digest
from analysis.paired import compare
from analysis.resampling import bootstrap_interval
from analysis.results import Change, PairedComparison, PairedResult, plain
from tests.factories.arms import Mark, grader, metric, random_cases, rows, side

FORBIDDEN = ("winner", "ship", "recommended")


def named(marks: Sequence[Sequence[Mark]]) -> dict[str, Sequence[Mark]]:
    return {f"case-{index}": row for index, row in enumerate(marks)}


def single(candidate: str, baseline: str, measured: Metric | None = None) -> PairedResult:
    """Sides from strings of 0 and 1, one case per character; '.' is an abstention, '!' a failed generation."""
    return comparison(candidate, baseline, measured).result


def comparison(candidate: str, baseline: str, measured: Metric | None = None) -> PairedComparison:
    return compare(
        side(named([[mark(character)] for character in candidate]), label="New", measured=measured),
        side(named([[mark(character)] for character in baseline]), label="Old", measured=measured),
    )


def mark(character: str) -> Mark:
    special: dict[str, Mark] = {
        ".": Outcome.ABSTAINED,
        "!": FailureKind.TIMED_OUT,
        "n": Outcome.NOT_APPLICABLE,
        "_": None,
    }
    return special[character] if character in special else int(character)


def codes(result: PairedResult) -> set[str]:
    return {notice.code for notice in result.notices}


# --- the seed's own example


def test_twelve_of_thirteen_on_both_sides() -> None:
    """14/14 against 13/14 generated, both right in 12 of 13: descriptive, no interval."""
    result = single("1" * 12 + "01", "1" * 12 + "0!")
    assert (result.candidate.generation.completed, result.candidate.generation.planned) == (14, 14)
    assert (result.baseline.generation.completed, result.baseline.generation.planned) == (13, 14)
    assert result.baseline.generation.failures == (("timed_out", 1),)
    assert (result.quality.candidate.passed, result.quality.baseline.passed, result.quality.cases) == (12, 12, 13)
    assert result.quality.delta == 0
    assert result.interval95 is None
    assert result.small_sample
    assert "small_sample" in codes(result)
    assert result.finding.kind == "too_few"
    assert "12/13" in result.finding.text
    assert not any(interval.leads for interval in result.intervals)
    assert all(interval.descriptive for interval in result.intervals)


# --- which method leads


@pytest.mark.parametrize(
    ("kind", "repetitions", "method", "tests"),
    [
        (Kind.BOOLEAN, 1, "tango_score", ["mcnemar_midp", "two_proportion_z"]),
        (Kind.BOOLEAN, 3, "effective_score", ["sign_flip"]),
        (Kind.NUMERIC, 1, "paired_t", ["sign_flip"]),
        (Kind.NUMERIC, 3, "paired_t", ["sign_flip"]),
    ],
)
def test_the_rule_table(kind: Kind, repetitions: int, method: str, tests: list[str]) -> None:
    measured = metric(kind)
    result = compare(
        side(random_cases(60, repetitions, rate=0.7, seed=1, kind=kind), measured=measured),
        side(random_cases(60, repetitions, rate=0.6, seed=2, kind=kind), measured=measured),
    ).result
    lead, kept = result.intervals
    assert (lead.method, lead.leads, lead.descriptive) == (method, True, False)
    assert (kept.method, kept.leads) == ("percentile_bootstrap", False)
    assert result.interval95 == (kept.low, kept.high)
    assert [test.method for test in result.tests] == tests
    assert result.chance_flips_per_side is None or kind is Kind.BOOLEAN


def test_boolean_shares_are_not_pass_or_fail() -> None:
    """A boolean metric with values between 0 and 1 is judged by t, like any number."""
    marks: list[list[Mark]] = [[0.5], [1], [0.25], [0]] * 10
    result = compare(side(named(marks)), side(named(marks[1:] + marks[:1]))).result
    assert result.intervals[0].method == "paired_t"
    assert result.chance_flips_per_side is None


@pytest.mark.parametrize(("cases", "leads"), [(19, False), (20, True)])
def test_twenty_cases_are_needed(cases: int, leads: bool) -> None:
    result = single("1" * cases, "10" * (cases // 2) + "1" * (cases % 2))
    assert result.small_sample is not leads
    assert (result.interval95 is not None) is leads
    assert result.adequacy is not None
    assert (result.adequacy.verdict == "insufficient") is not leads


def test_no_variation_is_not_certainty() -> None:
    result = single("1" * 30, "1" * 30)
    assert result.interval95 == (0, 0)
    assert "no_variation" in codes(result)
    (score, _) = result.intervals
    assert score.low < 0 < score.high
    assert result.finding.kind == "not_resolved"
    assert result.adequacy is not None
    assert result.adequacy.mde is not None
    assert result.adequacy.mde > 0
    assert result.tests[1].p_value is None
    assert "no variation" in result.tests[1].reason


def test_repeated_cases_without_variation_keep_an_mde() -> None:
    marks: dict[str, Sequence[Mark]] = named([[1, 1, 1] for _ in range(30)])
    adequacy = compare(side(marks), side(marks)).result.adequacy
    assert adequacy is not None
    assert adequacy.mde is not None
    assert adequacy.mde > 0
    assert adequacy.cases_needed is not None


def test_numbers_without_variation_resolve_nothing() -> None:
    measured = metric(Kind.NUMERIC)
    result = compare(side(named([[2.5]] * 30), measured=measured), side(named([[2.0]] * 30), measured=measured)).result
    assert result.finding.kind == "not_resolved"
    assert not any(interval.leads for interval in result.intervals)
    assert result.adequacy is not None
    assert (result.adequacy.verdict, result.adequacy.mde, result.adequacy.q) == ("insufficient", None, None)


def test_methods_that_disagree_about_zero_leave_it_unresolved() -> None:
    """One far outlier: t takes it into its width, the bootstrap cannot draw a mean below the smallest difference."""
    measured = metric(Kind.NUMERIC)
    marks = [[0.01]] * 20 + [[5.0]]
    result = compare(side(named(marks), measured=measured), side(named([[0.0]] * 21), measured=measured)).result
    (t, bootstrap) = result.intervals
    assert t.low < 0 < bootstrap.low
    assert "methods_disagree" in codes(result)
    assert result.finding.kind == "not_resolved"


def test_the_target_and_the_margin_are_shares_of_the_scale() -> None:
    measured = metric(Kind.NUMERIC, low=1, high=11)
    marks: dict[str, Sequence[Mark]] = named([[5 + index % 3] for index in range(30)])
    other: dict[str, Sequence[Mark]] = named([[5 + (index + 1) % 3] for index in range(30)])
    result = compare(side(marks, measured=measured), side(other, measured=measured), target=0.05, margin=0.1).result
    assert result.adequacy is not None
    assert result.adequacy.target == 0.5
    assert result.non_inferiority is not None
    assert result.non_inferiority.margin == 1.0


def test_without_bounds_there_is_no_share_to_aim_at() -> None:
    measured = metric(Kind.NUMERIC, unit="ms")
    result = compare(
        side(random_cases(50, 1, rate=0.7, seed=1, kind=Kind.NUMERIC), measured=measured),
        side(random_cases(50, 1, rate=0.6, seed=2, kind=Kind.NUMERIC), measured=measured),
        margin=0.1,
    ).result
    assert result.non_inferiority is None
    assert "margin_without_effect" in codes(result)
    assert result.adequacy is not None
    assert (result.adequacy.verdict, result.adequacy.target, result.adequacy.q) == ("no_target", None, None)
    assert result.adequacy.mde is not None
    assert "ms" in result.finding.text


@pytest.mark.parametrize("changes", [{"target": 0.0}, {"target": float("nan")}, {"margin": -0.1}])
def test_a_target_that_is_none_is_refused(changes: dict[str, float]) -> None:
    empty = side({})
    with pytest.raises(ValueError, match="greater than zero"):
        compare(empty, empty, **changes)


# --- outcomes stay apart


def test_what_was_not_scored_never_enters_a_mean() -> None:
    result = single("1" * 25 + "..", "1" * 25 + "11")
    assert result.quality.cases == 25
    assert result.quality.candidate.mean == 1
    assert result.candidate.coverage.abstained == 2
    assert result.candidate.coverage.scored == 25
    assert result.candidate.coverage.scored_mean == 1


def test_unmatched_rows_are_listed_with_their_reason() -> None:
    marks: dict[str, list[Mark]] = {
        "a": [1],
        "b": [1, 1],
        "c": [Outcome.ABSTAINED],
        "d": [FailureKind.HUNG],
        "e": [1],
        "g": [Outcome.NONE],
        "h": [1],
    }
    candidate = side(marks, contents={"e": "revised"}, duplicates=2)
    others: dict[str, list[Mark]] = {name: [1] for name in "abcdeg"}
    baseline = side(others | {"f": [0], "h": [Outcome.GRADER_ERROR]})
    found = compare(candidate, baseline)
    listed = {(count.reason, count.side): (count.rows, count.cases) for count in found.result.unmatched}
    assert listed == {
        ("repetition_count", "candidate"): (1, 1),
        ("abstained", "candidate"): (1, 1),
        ("generation", "candidate"): (1, 1),
        ("not_judged", "candidate"): (1, 1),
        ("revised", "candidate"): (1, 1),
        ("duplicate", "candidate"): (2, 0),
        ("revised", "baseline"): (1, 1),
        ("missing", "baseline"): (1, 1),
        ("grader_error", "baseline"): (1, 1),
    }
    assert all(count.text for count in found.result.unmatched)
    for number, arm in ((0, candidate.arm), (1, baseline.arm)):
        of_side = found.unmatched.row[found.unmatched.side == number]
        assert of_side.tolist() == sorted(set(of_side.tolist()))
        assert of_side.max() < len(arm.case)
    assert found.result.all_cases == 8
    assert found.result.quality.cases == 2


def test_a_review_of_a_failed_generation_fills_no_coverage() -> None:
    (row, other) = rows({"a": [FailureKind.HUNG], "b": [1]})
    reviewed = row._replace(outcome=Outcome.SCORED, value=1.0)
    result = compare(side([reviewed, other]), side({"a": [1], "b": [1]})).result
    assert result.candidate.coverage.eligible == 1
    assert result.candidate.coverage.scored == 1
    assert result.quality.cases == 1


def test_coverage_adds_up() -> None:
    marks: list[list[Mark]] = [[1], [Outcome.PENDING], [Outcome.WAITING_FOR_EVIDENCE], [Outcome.NOT_APPLICABLE]]
    marks += [[Outcome.CANCELLED], [Outcome.INDETERMINATE], [Outcome.NONE], [FailureKind.HUNG], [Generation.BLOCKED]]
    coverage = compare(side(named(marks)), side(named(marks))).result.candidate.coverage
    assert coverage.eligible == 7
    assert coverage.eligible == (
        coverage.not_applicable
        + coverage.scored
        + coverage.abstained
        + coverage.grader_error
        + coverage.pending
        + coverage.cancelled
        + coverage.missing
    )
    assert (coverage.pending, coverage.grader_error, coverage.missing) == (2, 1, 1)


def test_a_generation_gap_is_said_with_its_bracket() -> None:
    result = single("1" * 30 + "!" * 10, "0" * 5 + "1" * 35)
    assert result.quality.delta == pytest.approx(5 / 30)
    assert result.bracket is not None
    assert result.bracket.delta == pytest.approx(30 / 40 - 35 / 40)
    assert (result.bracket.candidate_unscored, result.bracket.baseline_unscored) == (10, 0)
    (notice,) = (notice for notice in result.notices if notice.code == "generation_gap")
    assert "New has 10 generation errors; Old has 0 generation errors" in notice.text
    assert "−12.5 points instead of 16.7 points" in notice.text
    assert "On the 30 of 40 cases scored on both sides" in result.finding.text


def test_a_bracket_needs_a_known_worst_end_and_something_unscored() -> None:
    assert single("1" * 30, "0" * 30).bracket is None
    assert single("1" * 29 + "n", "1" * 30).bracket is None
    unbounded = metric(Kind.NUMERIC)
    assert single("1" * 29 + ".", "1" * 30, measured=unbounded).bracket is None
    lower = metric(direction=Direction.LOWER_IS_BETTER)
    bracket = single("0" * 29 + "!", "0" * 30, measured=lower).bracket
    assert bracket is not None
    assert bracket.delta == pytest.approx(1 / 30)


# --- directions


def test_lower_is_better_flips_labels_and_keeps_deltas() -> None:
    candidate, baseline = "1" * 30 + "0" * 10, "0" * 28 + "1" * 12
    higher = single(candidate, baseline)
    lower = single(candidate, baseline, measured=metric(direction=Direction.LOWER_IS_BETTER))
    assert higher.quality.delta == lower.quality.delta
    assert higher.interval95 == lower.interval95
    assert (higher.quality.better, higher.quality.worse) == (lower.quality.worse, lower.quality.better)
    assert (higher.filters.regressions, higher.filters.improvements) == (
        lower.filters.improvements,
        lower.filters.regressions,
    )
    assert (higher.finding.kind, lower.finding.kind) == ("better", "worse")


def test_unordered_numbers_have_no_better_or_worse() -> None:
    measured = metric(Kind.NUMERIC, Direction.UNORDERED, name="Length")
    found = compare(
        side(random_cases(50, 1, rate=0.9, seed=1, kind=Kind.NUMERIC), measured=measured),
        side(random_cases(50, 1, rate=0.3, seed=2, kind=Kind.NUMERIC), measured=measured),
    )
    assert (found.result.quality.better, found.result.quality.worse) == (0, 0)
    assert found.result.quality.delta is not None
    assert found.result.finding.kind == "distribution"
    assert "better or worse" in found.result.finding.text
    assert set(found.cases.change.tolist()) == {Change.CHANGED}
    assert not found.result.directional


def test_categories_show_distributions_and_changes() -> None:
    measured = metric(Kind.CATEGORICAL, Direction.UNORDERED, name="Tone")
    found = compare(
        side({"a": ["warm", "warm"], "b": ["cold", "warm"], "c": ["flat"]}, measured=measured),
        side({"a": ["warm", "cold"], "b": ["cold", "cold"], "c": ["flat"]}, measured=measured),
    )
    result = found.result
    assert result.quality.candidate.mean is None
    assert result.quality.delta is None
    assert [(share.label, share.candidate, share.baseline) for share in result.labels] == [
        ("cold", 1, 3),
        ("flat", 1, 1),
        ("warm", 3, 1),
    ]
    assert [(move.baseline, move.candidate, move.count) for move in result.label_changes] == [("cold", "warm", 2)]
    assert (result.quality.same, result.filters.changed_labels, result.filters.flaky) == (1, 2, 2)
    assert result.finding.kind == "distribution"
    assert result.intervals == ()
    assert np.isnan(found.cases.delta).all()


def test_a_share_that_happened_to_be_all_or_nothing_on_one_side_is_the_same_measurement() -> None:
    cases = {f"case {number}": [number % 2] for number in range(30)}
    partly = {name: [0.5 if number % 3 == 0 else values[0]] for number, (name, values) in enumerate(cases.items())}
    found = compare(side(partly, measured=metric(Kind.NUMERIC, low=0, high=1)), side(cases)).result
    assert found.withheld == ()
    assert found.metric.kind is Kind.NUMERIC
    assert found.quality.delta == pytest.approx(0.0)
    assert found.intervals[0].method == "paired_t"


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"graded_by": grader("another/1")}, "different_grader"),
        ({"graded_by": grader(interpretation="mapping")}, "different_interpretation"),
        ({"measured": metric(direction=Direction.LOWER_IS_BETTER)}, "different_direction"),
        ({"measured": metric(Kind.NUMERIC, low=0, high=5)}, "different_kind"),
        ({"measured": metric(low=0, high=2)}, "different_range"),
        ({"measured": metric(key="other")}, "different_metric"),
    ],
)
def test_what_differs_in_meaning_withholds_the_direction(changes: dict[str, Any], code: str) -> None:
    found = compare(side(random_cases(40, 1, rate=0.7, seed=1)), side(random_cases(40, 1, rate=0.6, seed=2), **changes))
    result = found.result
    assert code in [notice.code for notice in result.withheld]
    assert result.finding.kind == "withheld"
    assert result.quality.delta is None
    assert (result.quality.better, result.quality.worse) == (0, 0)
    assert (result.intervals, result.interval95, result.tests, result.adequacy, result.bracket) == (
        (),
        None,
        (),
        None,
        None,
    )
    assert result.quality.candidate.mean is not None  # what was observed stays visible
    assert result.candidate.coverage.scored_mean is not None
    assert np.isnan(found.cases.delta).all()
    assert not set(found.cases.change.tolist()) & {Change.BETTER, Change.WORSE}


def test_a_category_against_a_number_is_withheld() -> None:
    found = compare(
        side({"a": ["x"], "b": ["y"]}, measured=metric(Kind.CATEGORICAL, Direction.UNORDERED)),
        side({"a": [1], "b": [0]}),
    )
    assert found.result.finding.kind == "withheld"
    assert plain(found.result)


# --- per-case columns


def test_case_columns_follow_the_case_keys() -> None:
    first = side(
        {"a": [1, 0, 1], "b": [0, 0, FailureKind.HUNG], "c": [Outcome.ABSTAINED, 1]}, latency_ms=10, cost_micros=5
    )
    second = side({"a": [0, 0, 0], "b": [1, 0, 1], "c": [1, Outcome.GRADER_ERROR]}, latency_ms=4, cost_micros=2)
    cases = compare(first, second).cases
    keys = [first.arm.source[index] for index in cases.candidate_case]
    assert keys == sorted(keys)
    a, b, c = (keys.index(source_digest(name).rstrip(b"\0")) for name in "abc")  # numpy drops trailing zeros
    assert cases.pairs[[a, b, c]].tolist() == [3, 2, 0]
    assert cases.delta[a] == pytest.approx(2 / 3)
    assert cases.delta[b] == -0.5
    assert np.isnan(cases.delta[c])
    assert [Change(value) for value in cases.change[[a, b, c]]] == [Change.BETTER, Change.WORSE, Change.NOT_SCORED]
    assert (cases.candidate_low[a], cases.candidate_high[a]) == (0, 1)
    assert cases.flaky[[a, b, c]].tolist() == [True, True, False]
    assert cases.generation_error[[a, b, c]].tolist() == [False, True, False]
    assert cases.abstention[[a, b, c]].tolist() == [False, False, True]
    assert cases.judge_error[[a, b, c]].tolist() == [False, False, True]
    assert cases.latency_delta_ms[[a, b, c]].tolist() == [6, 6, 6]
    assert cases.cost_delta_micros[a] == 3
    assert np.isnan(cases.cost_delta_micros[b])  # one generation failed: no saving can be told
    for position in (a, b, c):
        start, count = cases.candidate_first[position], cases.candidate_count[position]
        assert (first.arm.case[start : start + count] == cases.candidate_case[position]).all()


def test_an_unknown_cost_is_never_a_saving() -> None:
    partial = [row._replace(coverage=CostCoverage.PARTIAL) for row in rows({"a": [1]}, cost_micros=5)]
    assert np.isnan(compare(side(partial), side({"a": [1]}, cost_micros=9)).cases.cost_delta_micros[0])
    assert np.isnan(compare(side({"a": [1]}), side({"a": [1]}, cost_micros=9)).cases.cost_delta_micros[0])


def test_equal_sums_of_decimals_are_the_same() -> None:
    measured = metric(Kind.NUMERIC)
    found = compare(side({"a": [0.1, 0.2]}, measured=measured), side({"a": [0.3, 0.0]}, measured=measured))
    assert found.result.quality.same == 1
    assert found.cases.delta.tolist() == [0]


def test_latency_is_independent_of_grading() -> None:
    marks: dict[str, list[Mark]] = {"a": [Outcome.ABSTAINED], "b": [1], "c": [FailureKind.HUNG]}
    result = compare(
        side(marks, latency_ms=30),
        side({"a": [1], "b": [1], "c": [1]}, latency_ms=10),
    ).result
    assert (result.latency.cases, result.latency.candidate_ms, result.latency.baseline_ms) == (2, 30, 10)
    assert single("1", "1").latency.candidate_ms is None


def test_facts_that_are_unknown_prove_no_equality() -> None:
    result = compare(
        side({"a": [1]}, facts=(("model", "x"), ("provider", "Unknown"), ("prompt", "1"))),
        side({"a": [1]}, facts=(("model", "y"), ("provider", "Unknown"), ("prompt", "1"), ("tools", "z"))),
    ).result
    assert [(fact.name, fact.state) for fact in result.differences] == [
        ("model", "different"),
        ("provider", "unknown"),
        ("prompt", "same"),
        ("tools", "unknown"),
    ]


# --- the sentence


@pytest.mark.parametrize(
    ("result", "kind"),
    [
        (compare(side({}), side({})).result, "no_pairs"),
        (compare(side({"a": [1]}), side({"b": [1]})).result, "no_pairs"),
        (single(".", "1"), "no_pairs"),
        (single("1", "0"), "too_few"),
        (single("1" * 40, "0" * 20 + "1" * 20), "better"),
        (single("0" * 20 + "1" * 20, "1" * 40), "worse"),
        (single("10" * 20, "01" * 20), "not_resolved"),
    ],
)
def test_every_finding_is_a_sentence_without_a_verdict_on_shipping(result: PairedResult, kind: str) -> None:
    assert result.finding.kind == kind
    text = f"{result.finding.text} {result.finding.why}".lower()
    assert result.finding.text.endswith(".")
    assert not any(word in text for word in FORBIDDEN)
    assert "nan" not in text.split()
    json.dumps(plain(result), allow_nan=False)


def test_the_sentence_of_a_resolved_difference() -> None:
    result = single("1" * 35 + "0" * 5, "0" * 15 + "1" * 20 + "0" * 5)
    assert result.finding.text.startswith("On the same 40 cases, New passes Correct 37.5 points more often; ")
    assert next(segment.text for segment in result.finding.segments if segment.strong) == "37.5 points more often"
    assert result.finding.why.startswith("15 cases better, 0 worse, 25 the same.")


# --- what always holds


marks = st.sampled_from([0, 1, 1, Outcome.ABSTAINED, FailureKind.TIMED_OUT, Outcome.GRADER_ERROR, None])
arms = st.lists(st.lists(marks, min_size=3, max_size=3), min_size=0, max_size=60)


@settings(max_examples=60, deadline=None)
@given(arms, arms, st.sampled_from([Direction.HIGHER_IS_BETTER, Direction.LOWER_IS_BETTER]), st.randoms())
def test_swapping_negates_and_order_has_no_part(
    first: list[list[Mark]], second: list[list[Mark]], direction: Direction, shuffle: random.Random
) -> None:
    measured = metric(direction=direction)
    mine, other = list(rows(named(first))), list(rows(named(second)))
    there = compare(side(mine, measured=measured, label="A"), side(other, measured=measured, label="B")).result
    shuffle.shuffle(mine)
    shuffle.shuffle(other)
    again = compare(side(mine, measured=measured, label="A"), side(other, measured=measured, label="B")).result
    assert plain(again) == plain(there)
    back = compare(side(other, measured=measured, label="B"), side(mine, measured=measured, label="A")).result
    assert back.quality.cases == there.quality.cases
    if there.quality.delta is not None:
        assert back.quality.delta == -there.quality.delta
    assert (back.quality.better, back.quality.worse) == (there.quality.worse, there.quality.better)
    assert back.tests == there.tests
    assert back.adequacy == there.adequacy
    for mirrored, interval in zip(back.intervals, there.intervals, strict=True):
        assert (mirrored.low, mirrored.high) == (-interval.high, -interval.low)
        assert mirrored.method == interval.method
    if there.interval95 is not None:
        assert back.interval95 == (-there.interval95[1], -there.interval95[0])
    opposite = {"better": "worse", "worse": "better"}
    assert back.finding.kind == opposite.get(there.finding.kind, there.finding.kind)
    json.dumps(plain(there), allow_nan=False)


@settings(max_examples=30, deadline=None)
@given(arms, arms)
def test_rows_that_do_not_pair_change_no_leading_figure(first: list[list[Mark]], second: list[list[Mark]]) -> None:
    """The bootstrap's seed names the whole series, so its draws move within their own noise; nothing else moves."""
    there = compare(side(named(first)), side(named(second)))
    more: dict[str, Sequence[Mark]] = named(first) | {"only here": [1, 0, 1], "and here": [FailureKind.HUNG]}
    longer = compare(side(more), side(named(second)))
    for name in ("cases", "pairs", "delta", "delta_spread", "better", "worse", "same", "candidate", "baseline"):
        assert getattr(longer.result.quality, name) == getattr(there.result.quality, name)
    assert longer.result.adequacy == there.result.adequacy
    assert [lead for lead in longer.result.intervals if lead.leads] == [
        lead for lead in there.result.intervals if lead.leads
    ]
    before, after = (found.cases.delta[np.isfinite(found.cases.delta)] for found in (there, longer))
    if len(before):
        assert bootstrap_interval(before, b"seed", flipped=False) == bootstrap_interval(after, b"seed", flipped=False)


def test_late_costs_and_labels_change_no_digit() -> None:
    marks_by_case = random_cases(40, 2, rate=0.7, seed=3)
    other = side(random_cases(40, 2, rate=0.6, seed=4))
    early = compare(side(marks_by_case), other).result
    late = compare(side(marks_by_case, cost_micros=77, latency_ms=5, label="renamed"), other).result
    assert late.interval95 == early.interval95
    assert late.candidate.series_digest == early.candidate.series_digest


def test_a_series_against_itself_is_no_difference() -> None:
    one = side(random_cases(60, 3, rate=0.7, seed=3))
    result = compare(one, dataclasses.replace(one, label="again")).result
    assert result.quality.delta == 0
    assert result.interval95 == (0, 0)
    assert result.finding.kind == "not_resolved"


@pytest.mark.parametrize("kind", [Kind.BOOLEAN, Kind.NUMERIC])
def test_ten_thousand_cases_equal_a_plain_oracle(kind: Kind) -> None:
    first, second = (random_cases(10_000, 3, rate=0.75, seed=seed, kind=kind) for seed in (1, 2))
    result = compare(side(first, measured=metric(kind)), side(second, measured=metric(kind))).result
    mine, other = (np.array([np.mean(values) for values in arm.values()]) for arm in (first, second))
    assert result.quality.candidate.mean == pytest.approx(mine.mean(), abs=1e-12)
    assert result.quality.baseline.mean == pytest.approx(other.mean(), abs=1e-12)
    assert result.quality.delta == pytest.approx((mine - other).mean(), abs=1e-12)
    assert result.quality.delta_spread == pytest.approx((mine - other).std(), abs=1e-12)
    error = (mine - other).std() / 100
    assert result.interval95 is not None
    assert result.interval95[0] == pytest.approx((mine - other).mean() - 1.96 * error, abs=0.2 * error)


def test_one_case_of_a_kind_is_said_in_the_singular_and_labels_are_not_averaged() -> None:
    tone = metric(Kind.CATEGORICAL, Direction.UNORDERED, name="Tone")
    result = compare(
        side({"a": ["x", "x"], "b": ["x", "y"]}, measured=tone),
        side({"a": ["x", "x"], "b": ["y", "y"]}, measured=tone),
    ).result
    assert "1 case differs, 1 is the same" in result.finding.why
    [repeated] = [notice.text for notice in result.notices if notice.code == "repeated_cases"]
    assert repeated.startswith("Repetitions are compared one by one")
