"""Which paired executions are scored on both sides, and their per-case means.

Everything that has a denominator counts from `score`: columns, quality, brackets and notices.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.groups import related
from analysis.observations import Arm, Generation, Kind, Outcome, Series, Side
from analysis.pairing import REASONS, Pairing, pair

type Floats = NDArray[np.float64]
type Flags = NDArray[np.bool_]
type Whole = NDArray[np.int64]

SAME_SUM = 1e-12  # sums of one case closer than this share of their size are equal: 0.1 + 0.2 is 0.3

GENERATION, NOT_JUDGED, NO_VALUE = len(REASONS), len(REASONS) + 1, len(REASONS) + 2
_FIRST_OUTCOME = len(REASONS) + 3
NOT_APPLICABLE = _FIRST_OUTCOME + Outcome.NOT_APPLICABLE
SCORED = _FIRST_OUTCOME + Outcome.SCORED
UNMATCHED_REASONS = (
    *REASONS,
    "generation",
    "not_judged",
    "no_value",
    *(outcome.name.lower() for outcome in Outcome),
)
"""Every reason why a row does not enter paired quality, in the order of their codes; SCORED rows do enter it."""

UNMATCHED_TEXT = {
    "missing": "Only on this side: the other side has no such case.",
    "revised": "The content of the case differs between the sides.",
    "repetition_count": "The other side has no such repetition of the case.",
    "duplicate": "Set aside when read: the case and repetition had been read before.",
    "generation": "Generation did not complete.",
    "not_judged": "The selected pass holds no judgment.",
    "no_value": "The judgment holds no value of this metric's kind.",
    "pending": "The judgment is pending.",
    "waiting_for_evidence": "The judgment waits for evidence.",
    "abstained": "The grader abstained.",
    "not_applicable": "The grader found the metric not applicable.",
    "grader_error": "The grader failed.",
    "cancelled": "The judgment was cancelled.",
    "indeterminate": "The judgment has no known end.",
}


@dataclass(frozen=True, slots=True)
class Names:
    """The categories of both sides under one numbering, by text."""

    texts: tuple[str, ...]
    candidate: Whole
    baseline: Whole

    @classmethod
    def of(cls, candidate: Series, baseline: Series) -> Names:
        texts = tuple(sorted(set(candidate.categories) | set(baseline.categories)))
        place = {text: index for index, text in enumerate(texts)}
        return cls(
            texts,
            np.array([place[text] for text in candidate.categories], dtype=np.int64),
            np.array([place[text] for text in baseline.categories], dtype=np.int64),
        )


@dataclass(frozen=True, slots=True)
class Scored:
    """Jointly scored pairs collapsed to the cases that have any: all columns in case-key order."""

    case: Whole
    """Index into the paired cases."""
    pairs: Whole
    candidate_sum: Floats
    baseline_sum: Floats
    delta: Floats
    candidate_mean: Floats
    baseline_mean: Floats

    @property
    def cases(self) -> int:
        return len(self.case)

    @property
    def uneven(self) -> bool:
        return bool(self.cases) and bool((self.pairs != self.pairs[0]).any())


@dataclass(frozen=True, slots=True)
class Joint:
    """Both sides brought together.

    `*_reason` (one per paired row) says why a row is not scored, SCORED where it is. `scored_pair`
    marks the pairs scored on both sides; the columns below it have one entry per such pair.
    """

    pairing: Pairing
    candidate_reason: NDArray[np.uint8]
    baseline_reason: NDArray[np.uint8]
    scored_pair: Flags
    case_of_pair: NDArray[np.int32]
    candidate_value: Floats
    baseline_value: Floats
    names: Names
    categorical: bool
    scored: Scored

    @property
    def matched(self) -> int:
        """Pairs present on both sides, scored or not."""
        return len(self.pairing.candidate_row)

    @property
    def passes_or_fails(self) -> bool:
        """Whether every value is 0 or 1."""
        return all(bool(((v == 0) | (v == 1)).all()) for v in (self.candidate_value, self.baseline_value))


def score(candidate: Side, baseline: Side) -> Joint:
    """Pair two sides and collapse what both have scored to case means."""
    pairing = pair(candidate.arm, baseline.arm)
    candidate_reason = _reasons(candidate, pairing.candidate_row)
    baseline_reason = _reasons(baseline, pairing.baseline_row)
    scored_pair = (candidate_reason == SCORED) & (baseline_reason == SCORED)
    categorical = Kind.CATEGORICAL in (candidate.metric.kind, baseline.metric.kind)
    names = Names.of(candidate.series, baseline.series)
    rows = pairing.candidate_row[scored_pair], pairing.baseline_row[scored_pair]
    if not categorical:
        values = candidate.series.value[rows[0]], baseline.series.value[rows[1]]
    elif candidate.metric.kind is baseline.metric.kind:
        # Numbers of categories: they only ever compare for equality.
        values = (
            names.candidate[candidate.series.category[rows[0]]].astype(np.float64),
            names.baseline[baseline.series.category[rows[1]]].astype(np.float64),
        )
    else:
        values = np.zeros(len(rows[0])), np.zeros(len(rows[1]))  # withheld: a category and a number do not compare
    case_of_pair = pairing.case_of_pair[scored_pair]
    return Joint(
        pairing=pairing,
        candidate_reason=candidate_reason,
        baseline_reason=baseline_reason,
        scored_pair=scored_pair,
        case_of_pair=case_of_pair,
        candidate_value=values[0],
        baseline_value=values[1],
        names=names,
        categorical=categorical,
        scored=collapse(case_of_pair, *values, len(pairing.candidate_case)),
    )


def related_cases(candidate: Arm, baseline: Arm, joint: Joint) -> Whole | None:
    """Number of each scored case's group by either side's naming; None where no two cases share one."""
    claims = [
        arm.group[case[joint.scored.case]]
        for arm, case in (
            (candidate, joint.pairing.candidate_case),
            (baseline, joint.pairing.baseline_case),
        )
        if len(arm.group)
    ]
    if not claims:
        return None
    numbers = related(*claims)
    return numbers if int(numbers.max(initial=-1)) + 1 < len(numbers) else None


def _reasons(side: Side, row: NDArray[np.int32]) -> NDArray[np.uint8]:
    """Why each paired row of a side is not scored, as an index into UNMATCHED_REASONS; SCORED where it is."""
    outcome = side.series.outcome[row]
    if side.metric.kind is Kind.CATEGORICAL:
        has_value = side.series.category[row] >= 0
    else:
        has_value = np.isfinite(side.series.value[row])
    reason = (outcome + _FIRST_OUTCOME).astype(np.uint8)
    reason[outcome == Outcome.NONE] = NOT_JUDGED
    reason[(outcome == Outcome.SCORED) & ~has_value] = NO_VALUE
    reason[side.arm.generation[row] != Generation.COMPLETED] = GENERATION
    return reason


def collapse(case_of_pair: NDArray[np.int32], candidate: Floats, baseline: Floats, paired_cases: int) -> Scored:
    """Equal-weight case means. The difference comes from the sums, so that equal sums differ by exactly zero."""
    pairs = np.bincount(case_of_pair, minlength=paired_cases)
    case = np.flatnonzero(pairs)
    count = pairs[case]
    candidate_sum = np.bincount(case_of_pair, candidate, minlength=paired_cases)[case]
    baseline_sum = np.bincount(case_of_pair, baseline, minlength=paired_cases)[case]
    difference = candidate_sum - baseline_sum
    size = np.maximum(np.abs(candidate_sum), np.abs(baseline_sum))
    difference[np.abs(difference) <= SAME_SUM * size] = 0.0
    return Scored(
        case=case,
        pairs=count,
        candidate_sum=candidate_sum,
        baseline_sum=baseline_sum,
        delta=difference / count,
        candidate_mean=candidate_sum / count,
        baseline_mean=baseline_sum / count,
    )
