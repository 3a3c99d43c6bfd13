"""What each side shows on its own, how the sides differ, and what does not enter paired quality."""

from __future__ import annotations

import numpy as np

from analysis.case_columns import completed, mean_by_case
from analysis.observations import Arm, FailureKind, Generation, Kind, Outcome, Side
from analysis.pairing import Pairing
from analysis.results import (
    Difference,
    GenerationCount,
    GraderCoverage,
    LabelChange,
    LabelShare,
    Latency,
    PassCompletion,
    SideResult,
    UnmatchedCount,
    UnmatchedRows,
)
from analysis.scoring import SCORED, UNMATCHED_REASONS, UNMATCHED_TEXT, Joint

UNKNOWN = "Unknown"


def side_result(side: Side, digest: str) -> SideResult:
    """The separate populations of one side: generation, the selected pass, the grader's coverage, spend."""
    generation = np.bincount(side.arm.generation, minlength=len(Generation))
    failures = np.bincount(side.arm.failure[side.arm.generation != Generation.COMPLETED], minlength=len(FailureKind))
    return SideResult(
        label=side.label,
        grader_name=side.grader.name,
        grader_version=side.grader.version,
        grader_identity=side.grader.identity,
        interpretation=side.grader.interpretation_label or side.grader.interpretation,
        series_digest=digest,
        generation=GenerationCount(
            planned=len(side.arm.case),
            completed=int(generation[Generation.COMPLETED]),
            failed=int(generation[Generation.FAILED]),
            blocked=int(generation[Generation.BLOCKED]),
            cancelled=int(generation[Generation.CANCELLED]),
            indeterminate=int(generation[Generation.INDETERMINATE]),
            running=int(generation[Generation.RUNNING]),
            failures=tuple(
                (kind.name.lower(), int(failures[kind]))
                for kind in FailureKind
                if kind is not FailureKind.NONE and failures[kind]
            ),
        ),
        completion=PassCompletion(side.pass_completed, side.pass_expected, side.pass_waiting),
        coverage=_coverage(side),
        spend=side.spend,
        facts=side.facts,
    )


def _coverage(side: Side) -> GraderCoverage:
    """Over completed answers: a judgment of a failed generation fills no gap of the automated coverage."""
    completed = side.arm.generation == Generation.COMPLETED
    outcome = np.bincount(side.series.outcome[completed], minlength=len(Outcome))
    scored = completed & (side.series.outcome == Outcome.SCORED)
    values = side.series.value[scored]
    values = values[np.isfinite(values)]
    numeric = side.metric.kind is not Kind.CATEGORICAL
    return GraderCoverage(
        eligible=int(completed.sum()),
        not_applicable=int(outcome[Outcome.NOT_APPLICABLE]),
        scored=int(outcome[Outcome.SCORED]),
        abstained=int(outcome[Outcome.ABSTAINED]),
        # A judgment whose end is not known is shown with the errors: it is unjudged, and not by choice.
        grader_error=int(outcome[Outcome.GRADER_ERROR] + outcome[Outcome.INDETERMINATE]),
        pending=int(outcome[Outcome.PENDING] + outcome[Outcome.WAITING_FOR_EVIDENCE]),
        cancelled=int(outcome[Outcome.CANCELLED]),
        missing=int(outcome[Outcome.NONE]),
        passed=int((values == 1).sum()) if side.metric.kind is Kind.BOOLEAN else None,
        scored_mean=float(values.mean()) if numeric and len(values) else None,
    )


def latency(candidate: Arm, baseline: Arm, pairing: Pairing) -> Latency:
    """Independent of grading: every paired repetition that both sides completed and measured."""
    row_c, row_b = pairing.candidate_row, pairing.baseline_row
    measured = (
        completed(candidate, row_c)
        & completed(baseline, row_b)
        & np.isfinite(candidate.latency_ms[row_c])
        & np.isfinite(baseline.latency_ms[row_b])
    )
    of, size = pairing.case_of_pair, len(pairing.candidate_case)
    mine = mean_by_case(of, candidate.latency_ms[row_c], measured, size)
    other = mean_by_case(of, baseline.latency_ms[row_b], measured, size)
    known = np.isfinite(mine)
    if not known.any():
        return Latency(0, None, None)
    return Latency(int(known.sum()), float(mine[known].mean()), float(other[known].mean()))


def label_shares(joint: Joint) -> tuple[tuple[LabelShare, ...], tuple[LabelChange, ...]]:
    """How often each label occurs on the jointly scored pairs, and which moved into which; most frequent first."""
    texts = joint.names.texts
    size = len(texts)
    mine, other = joint.candidate_value.astype(np.int64), joint.baseline_value.astype(np.int64)
    table = np.bincount(other * size + mine, minlength=size * size).reshape(size, size)
    shares = tuple(
        LabelShare(text, int(table[:, index].sum()), int(table[index].sum()))
        for index, text in enumerate(texts)
        if table[:, index].any() or table[index].any()
    )
    moves = [
        LabelChange(texts[before], texts[after], int(table[before, after]))
        for before, after in zip(*np.nonzero(table), strict=True)
        if before != after
    ]
    return shares, tuple(sorted(moves, key=lambda move: (-move.count, move.baseline, move.candidate)))


def unmatched_rows(joint: Joint) -> UnmatchedRows:
    """Every row without a partner, and of every pair not scored on both sides the row that caused it."""
    pairing, parts = joint.pairing, []
    for side, unpaired, row, reason in (
        (0, pairing.candidate_unpaired, pairing.candidate_row, joint.candidate_reason),
        (1, pairing.baseline_unpaired, pairing.baseline_row, joint.baseline_reason),
    ):
        unscored = reason != SCORED
        rows = np.concatenate((unpaired.row, row[unscored]))
        why = np.concatenate((unpaired.reason, reason[unscored]))
        order = np.argsort(rows, kind="stable")
        parts.append((np.full(len(rows), side, dtype=np.uint8), rows[order], why[order]))
    side_column, row_column, reason_column = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return UnmatchedRows(side_column, row_column, reason_column, UNMATCHED_REASONS)


def unmatched_counts(unmatched: UnmatchedRows, candidate: Side, baseline: Side) -> tuple[UnmatchedCount, ...]:
    """The unmatched rows by side and reason; rows that intake set aside are counted, not listed."""
    counts = []
    for number, (name, side) in enumerate((("candidate", candidate), ("baseline", baseline))):
        mine = unmatched.side == number
        for code, reason in enumerate(UNMATCHED_REASONS):
            rows = unmatched.row[mine & (unmatched.reason == code)]
            if len(rows):
                cases = len(np.unique(side.arm.case[rows]))
                counts.append(UnmatchedCount(reason, name, len(rows), cases, UNMATCHED_TEXT[reason]))
        if side.duplicates:
            counts.append(UnmatchedCount("duplicate", name, side.duplicates, 0, UNMATCHED_TEXT["duplicate"]))
    return tuple(counts)


def differences(
    candidate: tuple[tuple[str, str], ...], baseline: tuple[tuple[str, str], ...]
) -> tuple[Difference, ...]:
    """Facts of both sides by name. A fact that is unknown on a side proves no equality."""
    mine, other = dict(candidate), dict(baseline)
    found = []
    for name in (*mine, *(name for name in other if name not in mine)):
        here, there = mine.get(name, UNKNOWN), other.get(name, UNKNOWN)
        state = "unknown" if UNKNOWN in (here, there) else "same" if here == there else "different"
        found.append(Difference(name, here, there, state))
    return tuple(found)
