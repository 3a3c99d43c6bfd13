"""The paired comparison: two sides in, one frozen result with its per-case columns out.

The rules of `docs/statistics.md`, in the order in which they depend on one another: what pairs,
what is scored on both sides, per-case means, which interval leads, what must be said about it.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis import adequacy, intervals, sentence
from analysis.hypothesis_tests import mcnemar_midp, sign_flip, two_proportion_z
from analysis.observations import (
    Arm,
    CostCoverage,
    Direction,
    FailureKind,
    Generation,
    Kind,
    Metric,
    Outcome,
    Series,
    Side,
    series_digest,
)
from analysis.pairing import REASONS, Pairing, pair
from analysis.resampling import (
    LEVEL,
    METHOD_VERSION,
    RESAMPLES,
    BootstrapInterval,
    bootstrap_interval,
    stream_seed,
)
from analysis.results import (
    Adequacy,
    ArmQuality,
    Bracket,
    Change,
    Difference,
    FilterCounts,
    GenerationCount,
    GraderCoverage,
    Interval,
    LabelChange,
    LabelShare,
    Latency,
    NonInferiority,
    Notice,
    PairedCases,
    PairedComparison,
    PairedQuality,
    PairedResult,
    PassCompletion,
    SideResult,
    Test,
    UnmatchedCount,
    UnmatchedRows,
    Variation,
)

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Whole = NDArray[np.int64]

SMALLEST_SAMPLE = adequacy.SMALLEST_SAMPLE
SAME_SUM = 1e-12  # sums of one case closer than this share of their size are equal: 0.1 + 0.2 is 0.3
NOTABLE_GAP = 0.05  # unscored shares of the two sides that differ by this much are pointed out
UNKNOWN = "Unknown"

GENERATION, NOT_JUDGED, NO_VALUE = len(REASONS), len(REASONS) + 1, len(REASONS) + 2
_FIRST_OUTCOME = len(REASONS) + 3
UNMATCHED_REASONS = (
    *REASONS,
    "generation",
    "not_judged",
    "no_value",
    *(outcome.name.lower() for outcome in Outcome),
)
"""Reasons of `UnmatchedRows`, in the order of their codes."""

_UNMATCHED_TEXT = {
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
class _Scored:
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


def compare(candidate: Side, baseline: Side, *, target: float = 0.05, margin: float | None = None) -> PairedComparison:
    """Compare two sides. Swapping them negates deltas and swaps labels; it changes nothing else.

    `target` (the effect that matters) and `margin` (how much worse is tolerable) are shares of the
    scale: of one for boolean metrics, of the range for bounded numeric ones. A numeric metric
    without bounds takes them in its own unit.
    """
    if not (math.isfinite(target) and target > 0):
        raise ValueError("The target effect is greater than zero.")
    if margin is not None and not (math.isfinite(margin) and margin > 0):
        raise ValueError("The margin is greater than zero.")
    metric = candidate.metric
    withheld = _withheld(candidate, baseline)
    pairing = pair(candidate.arm, baseline.arm)
    candidate_reason = _reasons(candidate, pairing.candidate_row)
    baseline_reason = _reasons(baseline, pairing.baseline_row)
    joint = (candidate_reason == 0) & (baseline_reason == 0)
    categorical = metric.kind is Kind.CATEGORICAL or baseline.metric.kind is Kind.CATEGORICAL
    names = _Names.of(candidate.series, baseline.series)
    candidate_value, baseline_value = _paired_values(
        candidate, baseline, pairing, joint, names, categorical=categorical
    )
    case_of_pair = pairing.case_of_pair[joint]
    scored = _collapse(case_of_pair, candidate_value, baseline_value, len(pairing.candidate_case))
    digests = (series_digest(candidate.arm, candidate.series), series_digest(baseline.arm, baseline.series))

    label_differs = candidate_value != baseline_value
    passes_or_fails = metric.kind is Kind.BOOLEAN and _only_zero_and_one(candidate_value, baseline_value)
    numbers = not withheld and not categorical
    cases = _cases(candidate, baseline, pairing, scored, categorical=categorical, withheld=bool(withheld))
    cases = _marked(cases, candidate, baseline, case_of_pair, candidate_value, baseline_value, label_differs, metric)
    quality = _quality(metric, pairing, scored, cases, numbers=numbers, categorical=categorical)
    scale = _scale(metric)
    small_sample = scored.cases < SMALLEST_SAMPLE

    evidence = _Evidence(metric, scored, digests, passes_or_fails)
    leading = evidence.score_or_t(leads=not small_sample) if numbers and scored.cases else None
    bootstrap = evidence.bootstrap() if numbers and not small_sample else None
    resolved = _resolved(leading, bootstrap)
    chance = _chance(scored) if numbers and passes_or_fails and scored.cases else None
    bracket = _bracket(metric, pairing, joint, candidate, baseline) if numbers else None
    labels, label_changes = _labels(names, candidate_value, baseline_value) if categorical else ((), ())
    repetitions = (int(scored.pairs.min()), int(scored.pairs.max())) if scored.cases else (0, 0)

    unmatched_rows = _unmatched_rows(pairing, candidate_reason, baseline_reason)
    result = PairedResult(
        method_version=METHOD_VERSION,
        metric=metric,
        candidate=_side_result(candidate, digests[0]),
        baseline=_side_result(baseline, digests[1]),
        finding=sentence.finding(
            metric=metric,
            candidate=candidate.label,
            baseline=baseline.label,
            quality=quality,
            all_cases=pairing.cases,
            repetitions=repetitions,
            lead=leading if leading is not None and leading.leads else None,
            resolved=resolved,
            small_sample=small_sample,
            chance=None if chance is None else chance[1],
            labels=labels,
            withheld=withheld,
        ),
        quality=quality,
        intervals=_intervals(leading, bootstrap),
        interval95=None if bootstrap is None else (bootstrap.low, bootstrap.high),
        interval95_method=_bootstrap_label(bootstrap),
        small_sample=small_sample,
        tests=evidence.tests() if numbers and scored.cases else (),
        adequacy=evidence.adequacy(target * scale) if numbers and scored.cases else None,
        chance_flips_per_side=None if chance is None else chance[0],
        chance_moves_per_side=None if chance is None else chance[1],
        bracket=bracket,
        latency=_latency(candidate.arm, baseline.arm, pairing),
        labels=labels,
        label_changes=label_changes,
        unmatched=_unmatched_counts(unmatched_rows, candidate, baseline),
        differences=_differences(candidate.facts, baseline.facts),
        withheld=withheld,
        notices=_notices(
            candidate,
            baseline,
            metric=metric,
            quality=quality,
            scored=scored,
            candidate_reason=candidate_reason,
            baseline_reason=baseline_reason,
            bracket=bracket,
            leading=leading,
            bootstrap=bootstrap,
            small_sample=small_sample,
            numbers=numbers,
        ),
        filters=_filters(cases),
        all_cases=pairing.cases,
        variation=_variation(scored, case_of_pair, candidate_value, baseline_value) if numbers else None,
        non_inferiority=_non_inferiority(metric, leading, margin, scale) if numbers else None,
    )
    return PairedComparison(result=result, cases=cases, unmatched=unmatched_rows)


# --- what may be compared -----------------------------------------------------------------------


def _withheld(candidate: Side, baseline: Side) -> tuple[Notice, ...]:
    """Why no direction may be given: what is measured must be the same thing on both sides."""
    mine, other = candidate.metric, baseline.metric
    checks = (
        (mine.key == other.key, "different_metric", "the sides show different metrics."),
        (mine.kind is other.kind, "different_kind", "the metric is of a different kind on each side."),
        (mine.direction is other.direction, "different_direction", "the sides disagree about which way is better."),
        (
            (mine.low, mine.high, mine.unit) == (other.low, other.high, other.unit),
            "different_range",
            "the metric has a different range or unit on each side.",
        ),
        (
            candidate.grader.identity == baseline.grader.identity,
            "different_grader",
            "the sides were graded by different graders or grader versions.",
        ),
        (
            candidate.grader.interpretation == baseline.grader.interpretation,
            "different_interpretation",
            "the sides read the grader's categories differently.",
        ),
    )
    return tuple(Notice(code, text) for same, code, text in checks if not same)


def _scale(metric: Metric) -> float:
    """The width of the scale that a target or margin is a share of; 1 (the unit itself) where it has no bounds."""
    if metric.kind is Kind.BOOLEAN or metric.low is None or metric.high is None or metric.high <= metric.low:
        return 1.0
    return metric.high - metric.low


def _only_zero_and_one(candidate: Floats, baseline: Floats) -> bool:
    return all(bool(((values == 0) | (values == 1)).all()) for values in (candidate, baseline))


# --- what is scored -----------------------------------------------------------------------------


def _reasons(side: Side, row: NDArray[np.int32]) -> NDArray[np.uint8]:
    """Why each paired row of a side is not scored, as an index into UNMATCHED_REASONS; 0 where it is."""
    outcome = side.series.outcome[row]
    if side.metric.kind is Kind.CATEGORICAL:
        has_value = side.series.category[row] >= 0
    else:
        has_value = np.isfinite(side.series.value[row])
    reason = (outcome + _FIRST_OUTCOME).astype(np.uint8)
    reason[outcome == Outcome.NONE] = NOT_JUDGED
    reason[outcome == Outcome.SCORED] = NO_VALUE
    reason[(outcome == Outcome.SCORED) & has_value] = 0
    reason[side.arm.generation[row] != Generation.COMPLETED] = GENERATION
    return reason


@dataclass(frozen=True, slots=True)
class _Names:
    """The categories of both sides under one numbering, by text."""

    texts: tuple[str, ...]
    candidate: Whole
    baseline: Whole

    @classmethod
    def of(cls, candidate: Series, baseline: Series) -> _Names:
        texts = tuple(sorted(set(candidate.categories) | set(baseline.categories)))
        place = {text: index for index, text in enumerate(texts)}
        return cls(
            texts,
            np.array([place[text] for text in candidate.categories], dtype=np.int64),
            np.array([place[text] for text in baseline.categories], dtype=np.int64),
        )


def _paired_values(
    candidate: Side, baseline: Side, pairing: Pairing, joint: Flags, names: _Names, *, categorical: bool
) -> tuple[Floats, Floats]:
    """Values of the jointly scored pairs; for categories their number in `names`, which only compares for equality."""
    rows = pairing.candidate_row[joint], pairing.baseline_row[joint]
    if not categorical:
        return candidate.series.value[rows[0]], baseline.series.value[rows[1]]
    if candidate.metric.kind is not baseline.metric.kind:
        return np.zeros(len(rows[0])), np.zeros(len(rows[1]))  # withheld: a category and a number do not compare
    return (
        names.candidate[candidate.series.category[rows[0]]].astype(np.float64),
        names.baseline[baseline.series.category[rows[1]]].astype(np.float64),
    )


def _collapse(case_of_pair: NDArray[np.int32], candidate: Floats, baseline: Floats, paired_cases: int) -> _Scored:
    """Equal-weight case means. The difference comes from the sums, so that equal sums differ by exactly zero."""
    pairs = np.bincount(case_of_pair, minlength=paired_cases)
    case = np.flatnonzero(pairs)
    count = pairs[case]
    candidate_sum = np.bincount(case_of_pair, candidate, minlength=paired_cases)[case]
    baseline_sum = np.bincount(case_of_pair, baseline, minlength=paired_cases)[case]
    difference = candidate_sum - baseline_sum
    size = np.maximum(np.abs(candidate_sum), np.abs(baseline_sum))
    difference[np.abs(difference) <= SAME_SUM * size] = 0.0
    return _Scored(
        case=case,
        pairs=count,
        candidate_sum=candidate_sum,
        baseline_sum=baseline_sum,
        delta=difference / count,
        candidate_mean=candidate_sum / count,
        baseline_mean=baseline_sum / count,
    )


# --- per-case columns ---------------------------------------------------------------------------


def _cases(
    candidate: Side, baseline: Side, pairing: Pairing, scored: _Scored, *, categorical: bool, withheld: bool
) -> PairedCases:
    """The columns that need no look at single values; `_marked` fills in the rest."""
    size = len(pairing.candidate_case)
    first_c, count_c = _ranges(candidate.arm, pairing.candidate_case)
    first_b, count_b = _ranges(baseline.arm, pairing.baseline_case)
    pairs = np.zeros(size, dtype=np.int32)
    pairs[scored.case] = scored.pairs
    shown = not categorical
    change = np.full(size, Change.NOT_SCORED, dtype=np.uint8)
    change[scored.case] = Change.SAME
    latency, cost = _case_costs(candidate.arm, baseline.arm, pairing, size)
    ended = (Generation.FAILED, Generation.BLOCKED, Generation.CANCELLED, Generation.INDETERMINATE)
    judge = (Outcome.GRADER_ERROR, Outcome.INDETERMINATE)
    return PairedCases(
        candidate_case=pairing.candidate_case,
        baseline_case=pairing.baseline_case,
        candidate_first=first_c,
        candidate_count=count_c,
        baseline_first=first_b,
        baseline_count=count_b,
        pairs=pairs,
        candidate_mean=_spread(size, scored.case, scored.candidate_mean, shown),
        candidate_low=np.full(size, np.nan),
        candidate_high=np.full(size, np.nan),
        baseline_mean=_spread(size, scored.case, scored.baseline_mean, shown),
        baseline_low=np.full(size, np.nan),
        baseline_high=np.full(size, np.nan),
        delta=_spread(size, scored.case, scored.delta, shown and not withheld),
        change=change,
        changed_label=np.zeros(size, dtype=bool),
        flaky=np.zeros(size, dtype=bool),
        generation_error=_any_row(candidate, baseline, pairing, generation=ended),
        judge_error=_any_row(candidate, baseline, pairing, outcome=judge),
        abstention=_any_row(candidate, baseline, pairing, outcome=(Outcome.ABSTAINED,)),
        revision_unknown=pairing.revision_unknown,
        latency_delta_ms=latency,
        cost_delta_micros=cost,
    )


def _marked(
    cases: PairedCases,
    candidate: Side,
    baseline: Side,
    case_of_pair: NDArray[np.int32],
    candidate_value: Floats,
    baseline_value: Floats,
    label_differs: Flags,
    metric: Metric,
) -> PairedCases:
    """Ranges, what changed and which cases flip inside one arm. Writes into the columns just made by `_cases`."""
    if not len(case_of_pair):
        return cases
    starts = np.flatnonzero(np.r_[True, case_of_pair[1:] != case_of_pair[:-1]])
    case = case_of_pair[starts]
    low_c, high_c = np.minimum.reduceat(candidate_value, starts), np.maximum.reduceat(candidate_value, starts)
    low_b, high_b = np.minimum.reduceat(baseline_value, starts), np.maximum.reduceat(baseline_value, starts)
    withheld = bool(_withheld(candidate, baseline))
    differs = np.logical_or.reduceat(label_differs, starts)
    if metric.kind is not Kind.CATEGORICAL and baseline.metric.kind is not Kind.CATEGORICAL:
        cases.candidate_low[case], cases.candidate_high[case] = low_c, high_c
        cases.baseline_low[case], cases.baseline_high[case] = low_b, high_b
        moved = cases.delta[case] if not withheld else cases.candidate_mean[case] - cases.baseline_mean[case]
        if withheld or metric.direction is Direction.UNORDERED:
            cases.change[case[moved != 0]] = Change.CHANGED
        else:
            upwards = metric.direction is Direction.HIGHER_IS_BETTER
            cases.change[case[moved > 0]] = Change.BETTER if upwards else Change.WORSE
            cases.change[case[moved < 0]] = Change.WORSE if upwards else Change.BETTER
    elif metric.kind is baseline.metric.kind:
        cases.change[case[differs]] = Change.CHANGED
    if metric.kind is baseline.metric.kind and metric.kind is not Kind.NUMERIC:
        cases.changed_label[case] = differs
        cases.flaky[case] = (low_c != high_c) | (low_b != high_b)
    return cases


def _ranges(arm: Arm, case: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    count = np.bincount(arm.case, minlength=len(arm.source))
    first = np.cumsum(count) - count
    return first[case].astype(np.int32), count[case].astype(np.int32)


def _spread(size: int, at: Whole, values: Floats, shown: bool) -> Floats:
    column = np.full(size, np.nan)
    if shown:
        column[at] = values
    return column


def _any_row(
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


def _case_costs(candidate: Arm, baseline: Arm, pairing: Pairing, size: int) -> tuple[Floats, Floats]:
    """Mean latency and cost difference per paired case over its paired repetitions; NaN where not known.

    A latency needs both sides completed and measured; a cost needs every paired repetition completed
    with complete cost on both sides: a part of a cost proves no saving.
    """
    row_c, row_b, of = pairing.candidate_row, pairing.baseline_row, pairing.case_of_pair
    completed = _completed(candidate, row_c) & _completed(baseline, row_b)
    latency = candidate.latency_ms[row_c] - baseline.latency_ms[row_b]
    measured = completed & np.isfinite(latency)
    latency_delta = _mean_by_case(of, latency, measured, size)
    priced = (
        completed
        & (candidate.cost_coverage[row_c] == CostCoverage.COMPLETE)
        & (baseline.cost_coverage[row_b] == CostCoverage.COMPLETE)
    )
    cost = (candidate.cost_micros[row_c] - baseline.cost_micros[row_b]).astype(np.float64)
    cost_delta = _mean_by_case(of, cost, priced, size)
    cost_delta[np.bincount(of[~priced], minlength=size) > 0] = np.nan
    return latency_delta, cost_delta


def _mean_by_case(of: NDArray[np.int32], values: Floats, kept: Flags, size: int) -> Floats:
    count = np.bincount(of[kept], minlength=size)
    total = np.bincount(of[kept], values[kept], minlength=size)
    means = np.full(size, np.nan)
    np.divide(total, count, out=means, where=count > 0)
    return means


def _completed(arm: Arm, row: NDArray[np.int32]) -> Flags:
    return np.asarray(arm.generation[row] == Generation.COMPLETED)


def _filters(cases: PairedCases) -> FilterCounts:
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


# --- quality, intervals, tests ------------------------------------------------------------------


def _quality(
    metric: Metric, pairing: Pairing, scored: _Scored, cases: PairedCases, *, numbers: bool, categorical: bool
) -> PairedQuality:
    changes = np.bincount(cases.change, minlength=len(Change))
    same = int(changes[Change.SAME])
    single = bool(scored.cases) and bool((scored.pairs == 1).all()) and metric.kind is Kind.BOOLEAN
    shown = bool(scored.cases) and not categorical

    def arm(means: Floats) -> ArmQuality:
        if not shown:
            return ArmQuality(None, None, None)
        return ArmQuality(float(means.mean()), float(means.std()), int((means == 1).sum()) if single else None)

    given = numbers and bool(scored.cases)
    return PairedQuality(
        cases=scored.cases,
        pairs=int(scored.pairs.sum()),
        matched_pairs=len(pairing.candidate_row),
        candidate=arm(scored.candidate_mean),
        baseline=arm(scored.baseline_mean),
        delta=float(scored.delta.mean()) + 0.0 if given else None,
        delta_spread=float(scored.delta.std()) if given else None,
        better=int(changes[Change.BETTER]),
        worse=int(changes[Change.WORSE]),
        same=same,
        revision_unknown=int(pairing.revision_unknown[scored.case].sum()),
    )


@dataclass(frozen=True, slots=True)
class _Evidence:
    """The case differences with what decides the method: the rule table of `docs/statistics.md`."""

    metric: Metric
    scored: _Scored
    digests: tuple[str, str]
    passes_or_fails: bool

    @property
    def single(self) -> bool:
        return bool((self.scored.pairs == 1).all())

    @property
    def seed(self) -> bytes:
        return stream_seed(self.metric.key, *self.digests)

    @property
    def repetitions(self) -> float:
        """Jointly scored repetitions per case, on average where cases have unequal numbers."""
        return float(self.scored.pairs.mean())

    @property
    def discordant(self) -> tuple[int, int]:
        return int((self.scored.delta > 0).sum()), int((self.scored.delta < 0).sum())

    def score_or_t(self, *, leads: bool) -> Interval | None:
        if self.passes_or_fails:
            limits = intervals.effective_score(self.scored.candidate_mean, self.scored.baseline_mean, self.repetitions)
            method = "tango_score" if self.single else "effective_score"
            label = "score interval"
        else:
            limits = intervals.paired_t(self.scored.delta, LEVEL)
            method, label = "paired_t", "t interval on case means"
        if limits is None:
            return None
        return Interval(method, label, LEVEL, limits.low + 0.0, limits.high + 0.0, leads=leads, descriptive=not leads)

    def bootstrap(self) -> BootstrapInterval:
        first, second = self.digests
        return bootstrap_interval(self.scored.delta, self.seed, flipped=first > second)

    def tests(self) -> tuple[Test, ...]:
        if not self.passes_or_fails or not self.single:
            flips = hashlib.sha256(self.seed + b"sign-flip").digest()
            return (Test("sign_flip", "sign-flip test on case means", sign_flip(self.scored.delta, flips)),)
        gain, loss = self.discordant
        cases = self.scored.cases
        passed = int(self.scored.candidate_sum.sum()), int(self.scored.baseline_sum.sum())
        unpaired = two_proportion_z(passed[0], cases, passed[1], cases)
        return (
            Test("mcnemar_midp", "McNemar mid-p", mcnemar_midp(gain, loss)),
            Test(
                "two_proportion_z",
                "two-proportion z, unpaired, conservative",
                None if unpaired is None else unpaired[1],
                "" if unpaired is not None else "no variation: all passed or none did",
            ),
        )

    def adequacy(self, target: float) -> Adequacy:
        table: tuple[float, float, float] | None = None
        if self.passes_or_fails:
            varies = bool((self.scored.delta != self.scored.delta[0]).any())
            if self.single:
                gain, loss = self.discordant
                table = (float(gain), float(loss), float(self.scored.cases))
            elif not varies:
                # A standard deviation of zero would claim that nothing is too small to see.
                sample = intervals.effective_sample(
                    self.scored.candidate_mean, self.scored.baseline_mean, self.repetitions
                )
                table = (sample.candidate_only, sample.baseline_only, sample.cases)
        return adequacy.adequacy_paired(self.scored.delta, target=target, discordant=table)


def _sign(low: float, high: float) -> int:
    """1 or -1 where an interval lies on one side of zero, else 0."""
    return int(low > 0) - int(high < 0)


def _resolved(leading: Interval | None, bootstrap: BootstrapInterval | None) -> bool:
    """Both intervals exclude zero on the same side."""
    if leading is None or not leading.leads or bootstrap is None:
        return False
    side = _sign(leading.low, leading.high)
    return side != 0 and side == _sign(bootstrap.low, bootstrap.high)


def _disagree(leading: Interval | None, bootstrap: BootstrapInterval | None) -> bool:
    if leading is None or not leading.leads or bootstrap is None:
        return False
    return _sign(leading.low, leading.high) != _sign(bootstrap.low, bootstrap.high)


def _bootstrap_label(bootstrap: BootstrapInterval | None) -> str:
    base = f"percentile case-cluster bootstrap, {RESAMPLES:,} resamples"
    if bootstrap is None:
        return base
    return f"{base}, {'cases by index' if bootstrap.sampler == 'index' else 'exact counts of distinct differences'}"


def _intervals(leading: Interval | None, bootstrap: BootstrapInterval | None) -> tuple[Interval, ...]:
    found = [] if leading is None else [leading]
    if bootstrap is not None:
        label = f"case bootstrap, {RESAMPLES:,} resamples"
        found.append(
            Interval(
                "percentile_bootstrap", label, LEVEL, bootstrap.low, bootstrap.high, leads=False, descriptive=False
            )
        )
    return tuple(found)


def _chance(scored: _Scored) -> tuple[float, float]:
    passes = np.rint(scored.candidate_sum + scored.baseline_sum).astype(np.int64)
    return adequacy.chance_flips(passes, 2 * scored.pairs), adequacy.chance_moves(passes, scored.pairs)


def _variation(
    scored: _Scored, case_of_pair: NDArray[np.int32], candidate: Floats, baseline: Floats
) -> Variation | None:
    repeated = scored.pairs > 1
    if not repeated.any():
        return None
    split = adequacy.split_of(
        scored.delta,
        _within(scored, case_of_pair, candidate, scored.candidate_mean)[repeated],
        _within(scored, case_of_pair, baseline, scored.baseline_mean)[repeated],
        float(scored.pairs.mean()),
    )
    if split is None:
        return None
    return Variation(split.within_candidate, split.within_baseline, split.between, split.repetitions)


def _within(scored: _Scored, case_of_pair: NDArray[np.int32], values: Floats, means: Floats) -> Floats:
    """Variance (ddof 1) of the repetitions of each scored case; meaningless where a case has one."""
    place = np.searchsorted(scored.case, case_of_pair)
    squares = np.bincount(place, (values - means[place]) ** 2, minlength=scored.cases)
    return squares / np.maximum(scored.pairs - 1, 1)


def _worst(metric: Metric) -> float | None:
    """The worst end of the scale, where there is a direction and that end is known."""
    if metric.direction is Direction.HIGHER_IS_BETTER:
        return metric.low if metric.low is not None else (0.0 if metric.kind is Kind.BOOLEAN else None)
    if metric.direction is Direction.LOWER_IS_BETTER:
        return metric.high if metric.high is not None else (1.0 if metric.kind is Kind.BOOLEAN else None)
    return None


def _bracket(metric: Metric, pairing: Pairing, joint: Flags, candidate: Side, baseline: Side) -> Bracket | None:
    worst = _worst(metric)
    if worst is None:
        return None
    row_c, row_b = pairing.candidate_row, pairing.baseline_row
    candidate_reason, baseline_reason = _reasons(candidate, row_c), _reasons(baseline, row_b)
    not_applicable = _FIRST_OUTCOME + Outcome.NOT_APPLICABLE
    counted = (candidate_reason != not_applicable) & (baseline_reason != not_applicable)
    if not (counted & ~joint).any():
        return None
    value_c = np.where(candidate_reason == 0, candidate.series.value[row_c], worst)[counted]
    value_b = np.where(baseline_reason == 0, baseline.series.value[row_b], worst)[counted]
    whole = _collapse(pairing.case_of_pair[counted], value_c, value_b, len(pairing.candidate_case))
    return Bracket(
        cases=whole.cases,
        pairs=int(counted.sum()),
        candidate_mean=float(whole.candidate_mean.mean()),
        baseline_mean=float(whole.baseline_mean.mean()),
        delta=float(whole.delta.mean()) + 0.0,
        candidate_unscored=int((counted & (candidate_reason != 0)).sum()),
        baseline_unscored=int((counted & (baseline_reason != 0)).sum()),
    )


def _non_inferiority(
    metric: Metric, leading: Interval | None, margin: float | None, scale: float
) -> NonInferiority | None:
    """Passes if the worse end of the leading interval is less than the margin worse. Direction-aware."""
    if margin is None or metric.direction is Direction.UNORDERED:
        return None
    allowed = margin * scale
    if leading is None or not leading.leads:
        return NonInferiority(allowed, None, None)
    if metric.direction is Direction.LOWER_IS_BETTER:
        return NonInferiority(allowed, leading.high, leading.high < allowed)
    return NonInferiority(allowed, leading.low, leading.low > -allowed)


# --- latency, labels, unmatched, facts ----------------------------------------------------------


def _latency(candidate: Arm, baseline: Arm, pairing: Pairing) -> Latency:
    """Independent of grading: every paired repetition that both sides completed and measured."""
    row_c, row_b = pairing.candidate_row, pairing.baseline_row
    measured = (
        _completed(candidate, row_c)
        & _completed(baseline, row_b)
        & np.isfinite(candidate.latency_ms[row_c])
        & np.isfinite(baseline.latency_ms[row_b])
    )
    of, size = pairing.case_of_pair, len(pairing.candidate_case)
    mine = _mean_by_case(of, candidate.latency_ms[row_c], measured, size)
    other = _mean_by_case(of, baseline.latency_ms[row_b], measured, size)
    known = np.isfinite(mine)
    if not known.any():
        return Latency(0, None, None)
    return Latency(int(known.sum()), float(mine[known].mean()), float(other[known].mean()))


def _labels(
    names: _Names, candidate: Floats, baseline: Floats
) -> tuple[tuple[LabelShare, ...], tuple[LabelChange, ...]]:
    """How often each label occurs on the jointly scored pairs, and which moved into which; most frequent first."""
    size = len(names.texts)
    mine, other = candidate.astype(np.int64), baseline.astype(np.int64)
    table = np.bincount(other * size + mine, minlength=size * size).reshape(size, size)
    shares = tuple(
        LabelShare(text, int(table[:, index].sum()), int(table[index].sum()))
        for index, text in enumerate(names.texts)
        if table[:, index].any() or table[index].any()
    )
    moves = [
        LabelChange(names.texts[before], names.texts[after], int(table[before, after]))
        for before, after in zip(*np.nonzero(table), strict=True)
        if before != after
    ]
    return shares, tuple(sorted(moves, key=lambda move: (-move.count, move.baseline, move.candidate)))


def _unmatched_rows(
    pairing: Pairing, candidate_reason: NDArray[np.uint8], baseline_reason: NDArray[np.uint8]
) -> UnmatchedRows:
    parts = []
    for side, unpaired, row, reason in (
        (0, pairing.candidate_unpaired, pairing.candidate_row, candidate_reason),
        (1, pairing.baseline_unpaired, pairing.baseline_row, baseline_reason),
    ):
        unscored = reason != 0
        rows = np.concatenate((unpaired.row, row[unscored]))
        why = np.concatenate((unpaired.reason, reason[unscored]))
        order = np.argsort(rows, kind="stable")
        parts.append((np.full(len(rows), side, dtype=np.uint8), rows[order], why[order]))
    side_column, row_column, reason_column = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return UnmatchedRows(side_column, row_column, reason_column, UNMATCHED_REASONS)


def _unmatched_counts(unmatched: UnmatchedRows, candidate: Side, baseline: Side) -> tuple[UnmatchedCount, ...]:
    counts = []
    for number, (name, side) in enumerate((("candidate", candidate), ("baseline", baseline))):
        mine = unmatched.side == number
        for code, reason in enumerate(UNMATCHED_REASONS):
            rows = unmatched.row[mine & (unmatched.reason == code)]
            if len(rows):
                cases = len(np.unique(side.arm.case[rows]))
                counts.append(UnmatchedCount(reason, name, len(rows), cases, _UNMATCHED_TEXT[reason]))
        if side.duplicates:
            counts.append(UnmatchedCount("duplicate", name, side.duplicates, 0, _UNMATCHED_TEXT["duplicate"]))
    return tuple(counts)


def _differences(
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


# --- sides --------------------------------------------------------------------------------------


def _side_result(side: Side, digest: str) -> SideResult:
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


# --- notices ------------------------------------------------------------------------------------


def _notices(
    candidate: Side,
    baseline: Side,
    *,
    metric: Metric,
    quality: PairedQuality,
    scored: _Scored,
    candidate_reason: NDArray[np.uint8],
    baseline_reason: NDArray[np.uint8],
    bracket: Bracket | None,
    leading: Interval | None,
    bootstrap: BootstrapInterval | None,
    small_sample: bool,
    numbers: bool,
) -> tuple[Notice, ...]:
    found = []
    if small_sample and numbers:
        found.append(
            Notice(
                "small_sample",
                f"Small sample: {scored.cases} paired scored {'case' if scored.cases == 1 else 'cases'}. "
                f"An interval needs at least {SMALLEST_SAMPLE}; results here are descriptive.",
            )
        )
    if _disagree(leading, bootstrap):
        found.append(
            Notice(
                "methods_disagree",
                "Methods disagree: the leading interval and the case bootstrap differ on whether the difference "
                "could be zero. Treat it as unresolved.",
            )
        )
    if bootstrap is not None and bootstrap.low == bootstrap.high:
        found.append(
            Notice(
                "no_variation",
                "Every case differs by the same amount, so the bootstrap interval has no width. "
                "That is not certainty: no other outcome was in the sample.",
            )
        )
    gap = _generation_gap(candidate, baseline, metric, quality, candidate_reason, baseline_reason, bracket)
    if gap is not None:
        found.append(gap)
    if quality.revision_unknown:
        several = quality.revision_unknown != 1
        found.append(
            Notice(
                "revision_unknown",
                f"{quality.revision_unknown:,} paired {'cases have' if several else 'case has'} content that was not "
                "captured on at least one side; they pair by source id alone.",
            )
        )
    if quality.pairs > quality.cases:
        uneven = " Cases with fewer scored repetitions weigh the same." if scored.uneven else ""
        found.append(
            Notice(
                "repeated_cases",
                f"Repetitions are averaged inside each case: {quality.pairs:,} pairs over {quality.cases:,} cases, "
                f"each case with equal weight.{uneven}",
            )
        )
    for side in (candidate, baseline):
        if side.duplicates:
            rows = "row was" if side.duplicates == 1 else "rows were"
            found.append(
                Notice(
                    "duplicates",
                    f"{side.label}: {side.duplicates:,} {rows} set aside because the case and repetition "
                    "had already been read.",
                )
            )
    return tuple(found)


def _generation_gap(
    candidate: Side,
    baseline: Side,
    metric: Metric,
    quality: PairedQuality,
    candidate_reason: NDArray[np.uint8],
    baseline_reason: NDArray[np.uint8],
    bracket: Bracket | None,
) -> Notice | None:
    """One side lost notably more of the paired work than the other: leaving it out may flatter that side."""
    matched = quality.matched_pairs
    if not matched:
        return None
    lost = int((candidate_reason != 0).sum()), int((baseline_reason != 0).sum())
    if abs(lost[0] - lost[1]) < NOTABLE_GAP * matched:
        return None
    parts = []
    for side, reason, unscored in ((candidate, candidate_reason, lost[0]), (baseline, baseline_reason, lost[1])):
        errors = int((reason == GENERATION).sum())
        others = unscored - errors
        text = f"{side.label} has {errors:,} generation {'error' if errors == 1 else 'errors'}"
        if others:
            text += f" and {others:,} unscored {'answer' if others == 1 else 'answers'}"
        parts.append(text)
    text = f"Of {matched:,} paired executions, {parts[0]}; {parts[1]}."
    if bracket is not None and quality.delta is not None:
        worst = _worst(metric)
        counted = "zero" if worst == 0 else sentence.figure(worst if worst is not None else 0.0)
        text += (
            f" Counting what was not scored as {counted} would put the difference at "
            f"{sentence.amount(metric, bracket.delta)} instead of {sentence.amount(metric, quality.delta)}."
        )
    return Notice("generation_gap", text)
