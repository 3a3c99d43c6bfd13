"""Per-case columns behind the table of a paired comparison, and how many rows each filter keeps."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from analysis.observations import Arm, CostCoverage, Direction, Generation, Kind, Outcome, Side
from analysis.pairing import Pairing
from analysis.results import Change, FilterCounts, PairedCases
from analysis.scoring import Flags, Floats, Joint

ENDED_WITHOUT_ANSWER = (Generation.FAILED, Generation.BLOCKED, Generation.CANCELLED, Generation.INDETERMINATE)
JUDGE_FAILED = (Outcome.GRADER_ERROR, Outcome.INDETERMINATE)


def case_columns(candidate: Side, baseline: Side, joint: Joint, *, withheld: bool) -> PairedCases:
    """One entry per case found on both sides, in case-key order. Without a direction nothing is better or worse."""
    pairing, scored = joint.pairing, joint.scored
    size = len(pairing.candidate_case)
    candidate_first, candidate_count = _rows_of(candidate.arm, pairing.candidate_case)
    baseline_first, baseline_count = _rows_of(baseline.arm, pairing.baseline_case)
    latency, cost = _latency_and_cost(candidate.arm, baseline.arm, pairing, size)
    numbers = not joint.categorical
    low_c, high_c = _range(joint.case_of_pair, joint.candidate_value)
    low_b, high_b = _range(joint.case_of_pair, joint.baseline_value)

    def placed(values: Floats, shown: bool = numbers) -> Floats:
        column = np.full(size, np.nan)
        if shown:
            column[scored.case] = values
        return column

    differs, flaky, pairs = (np.zeros(size, dtype=kind) for kind in (bool, bool, np.int32))
    pairs[scored.case] = scored.pairs
    if candidate.metric.kind is baseline.metric.kind and candidate.metric.kind is not Kind.NUMERIC:
        moved = joint.candidate_value != joint.baseline_value
        differs[joint.case_of_pair[moved]] = True
        flaky[scored.case] = (low_c != high_c) | (low_b != high_b)
    return PairedCases(
        candidate_case=pairing.candidate_case,
        baseline_case=pairing.baseline_case,
        candidate_first=candidate_first,
        candidate_count=candidate_count,
        baseline_first=baseline_first,
        baseline_count=baseline_count,
        pairs=pairs,
        candidate_mean=placed(scored.candidate_mean),
        candidate_low=placed(low_c),
        candidate_high=placed(high_c),
        baseline_mean=placed(scored.baseline_mean),
        baseline_low=placed(low_b),
        baseline_high=placed(high_b),
        delta=placed(scored.delta, numbers and not withheld),
        change=_changes(candidate, joint, differs, withheld=withheld),
        changed_label=differs,
        flaky=flaky,
        generation_error=_with_row(candidate, baseline, pairing, generation=ENDED_WITHOUT_ANSWER),
        judge_error=_with_row(candidate, baseline, pairing, outcome=JUDGE_FAILED),
        abstention=_with_row(candidate, baseline, pairing, outcome=(Outcome.ABSTAINED,)),
        revision_unknown=pairing.revision_unknown,
        latency_delta_ms=latency,
        cost_delta_micros=cost,
    )


def filter_counts(cases: PairedCases) -> FilterCounts:
    """How many rows each outcome filter keeps."""
    return FilterCounts(
        all=len(cases.change),
        regressions=int((cases.change == Change.WORSE).sum()),
        improvements=int((cases.change == Change.BETTER).sum()),
        changed_labels=int(cases.changed_label.sum()),
        flaky=int(cases.flaky.sum()),
        generation_errors=int(cases.generation_error.sum()),
        judge_errors=int(cases.judge_error.sum()),
        abstentions=int(cases.abstention.sum()),
    )


def mean_by_case(of: NDArray[np.int32], values: Floats, kept: Flags, size: int) -> Floats:
    """Per case, the mean of the kept values of its pairs; NaN where none is kept."""
    count = np.bincount(of[kept], minlength=size)
    total = np.bincount(of[kept], values[kept], minlength=size)
    means = np.full(size, np.nan)
    np.divide(total, count, out=means, where=count > 0)
    return means


def completed(arm: Arm, row: NDArray[np.int32]) -> Flags:
    """Which of the given rows generated an answer."""
    return np.asarray(arm.generation[row] == Generation.COMPLETED)


def _changes(candidate: Side, joint: Joint, differs: Flags, *, withheld: bool) -> NDArray[np.uint8]:
    """What happened to each case, in the metric's own direction where it has one."""
    scored, direction = joint.scored, candidate.metric.direction
    change = np.full(len(differs), Change.NOT_SCORED, dtype=np.uint8)
    change[scored.case] = Change.SAME
    if joint.categorical:
        change[differs] = Change.CHANGED
    elif withheld or direction is Direction.UNORDERED:
        change[scored.case[scored.delta != 0]] = Change.CHANGED
    else:
        upwards = direction is Direction.HIGHER_IS_BETTER
        change[scored.case[scored.delta > 0]] = Change.BETTER if upwards else Change.WORSE
        change[scored.case[scored.delta < 0]] = Change.WORSE if upwards else Change.BETTER
    return change


def _range(case_of_pair: NDArray[np.int32], values: Floats) -> tuple[Floats, Floats]:
    """Lowest and highest value of each scored case; `case_of_pair` is ascending."""
    if not len(values):
        return values, values
    starts = np.flatnonzero(np.r_[True, case_of_pair[1:] != case_of_pair[:-1]])
    return np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts)


def _rows_of(arm: Arm, case: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """First row and number of rows of each given case."""
    count = np.bincount(arm.case, minlength=len(arm.source))
    first = np.cumsum(count) - count
    return first[case].astype(np.int32), count[case].astype(np.int32)


def _with_row(
    candidate: Side,
    baseline: Side,
    pairing: Pairing,
    *,
    generation: tuple[Generation, ...] = (),
    outcome: tuple[Outcome, ...] = (),
) -> Flags:
    """Paired cases with a row, on either side and paired or not, in one of the given states."""
    found = np.zeros(len(pairing.candidate_case), dtype=bool)
    for side, case in ((candidate, pairing.candidate_case), (baseline, pairing.baseline_case)):
        hit = np.zeros(len(side.arm.case), dtype=bool)
        for state in generation:
            hit |= side.arm.generation == state
        for end in outcome:
            hit |= side.series.outcome == end
        in_case = np.zeros(len(side.arm.source), dtype=bool)
        in_case[side.arm.case[hit]] = True
        found |= in_case[case]
    return found


def _latency_and_cost(candidate: Arm, baseline: Arm, pairing: Pairing, size: int) -> tuple[Floats, Floats]:
    """Mean latency and cost difference per paired case over its paired repetitions; NaN where not known.

    A latency needs both sides completed and measured; a cost needs every paired repetition completed
    with complete cost on both sides: a part of a cost proves no saving.
    """
    row_c, row_b, of = pairing.candidate_row, pairing.baseline_row, pairing.case_of_pair
    both = completed(candidate, row_c) & completed(baseline, row_b)
    latency = candidate.latency_ms[row_c] - baseline.latency_ms[row_b]
    measured = both & np.isfinite(latency)
    latency_delta = mean_by_case(of, latency, measured, size)
    priced = (
        both
        & (candidate.cost_coverage[row_c] == CostCoverage.COMPLETE)
        & (baseline.cost_coverage[row_b] == CostCoverage.COMPLETE)
    )
    cost = (candidate.cost_micros[row_c] - baseline.cost_micros[row_b]).astype(np.float64)
    cost_delta = mean_by_case(of, cost, priced, size)
    cost_delta[np.bincount(of[~priced], minlength=size) > 0] = np.nan
    return latency_delta, cost_delta
