"""Which method speaks for which data: the rule table of `docs/statistics.md`.

No choice is left to the person who reads: the data decide which interval leads, and every other
method stays visible beside it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis import adequacy, groups, intervals
from analysis.hypothesis_tests import mcnemar_midp, sign_flip, two_proportion_z
from analysis.observations import Direction, Kind, Metric, Side
from analysis.resampling import LEVEL, RESAMPLES, BootstrapInterval, bootstrap_interval, stream_seed
from analysis.results import Adequacy, Bracket, Grouping, Interval, NonInferiority, Test, Variation
from analysis.scoring import NOT_APPLICABLE, SCORED, Floats, Joint, Scored, Whole, collapse


@dataclass(frozen=True, slots=True)
class Evidence:
    """The case differences with what decides the method: the rule table of `docs/statistics.md`."""

    metric: Metric
    scored: Scored
    digests: tuple[str, str]
    passes_or_fails: bool
    group_of_case: Whole | None = None
    """Number of each scored case's group, where some share one: then groups are the unit."""

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
        """The interval of the rule table: score for pass/fail, t for numbers; None where none can be given."""
        if self.group_of_case is not None:
            limits = groups.clustered_t(self.scored.delta, self.group_of_case, LEVEL)
            method, label = "grouped_t", "t interval on groups"
        elif self.passes_or_fails:
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
        """The percentile case bootstrap, seeded by what was measured and oriented by the sorted digests."""
        first, second = self.digests
        return bootstrap_interval(self.scored.delta, self.seed, flipped=first > second)

    def grouped_bootstrap(self) -> Interval | None:
        """The percentile bootstrap of whole groups; None where no cases share one."""
        if self.group_of_case is None:
            return None
        first, second = self.digests
        sign = -1.0 if first > second else 1.0
        seed = hashlib.sha256(self.seed + b"groups").digest()
        limits = groups.grouped_bootstrap(sign * self.scored.delta + 0.0, self.group_of_case, seed)
        if limits is None:
            return None
        low, high = sorted((sign * limits.low, sign * limits.high))
        label = f"group bootstrap, {RESAMPLES:,} resamples"
        return Interval("grouped_bootstrap", label, LEVEL, low + 0.0, high + 0.0, leads=False, descriptive=False)

    def grouping(self) -> Grouping | None:
        """How many groups stand behind the cases, and what that costs."""
        if self.group_of_case is None:
            return None
        error = groups.grouped_error(self.scored.delta, self.group_of_case)
        sizes = np.bincount(self.group_of_case)
        return Grouping(
            groups=len(sizes),
            grouped_cases=int(sizes[sizes > 1].sum()),
            largest=int(sizes.max()),
            standard_error=None if error is None else error.corrected,
            design_effect=None if error is None else error.design_effect,
        )

    @property
    def too_few_groups(self) -> bool:
        return self.group_of_case is not None and int(self.group_of_case.max()) + 1 < groups.SMALLEST_GROUPS

    def tests(self) -> tuple[Test, ...]:
        """Two-sided tests for the details."""
        if self.group_of_case is not None:
            flips = hashlib.sha256(self.seed + b"sign-flip groups").digest()
            by_group = groups.clustered_sign_flip(self.scored.delta, self.group_of_case, flips)
            return (Test("grouped_sign_flip", "sign-flip test on groups", by_group), *self._unpaired_z())
        if not self.passes_or_fails or not self.single:
            flips = hashlib.sha256(self.seed + b"sign-flip").digest()
            return (Test("sign_flip", "sign-flip test on case means", sign_flip(self.scored.delta, flips)),)
        gain, loss = self.discordant
        return (Test("mcnemar_midp", "McNemar mid-p", mcnemar_midp(gain, loss)), *self._unpaired_z())

    def _unpaired_z(self) -> tuple[Test, ...]:
        """The z-test that takes the arms for independent ones; for single passes or fails only."""
        if not self.passes_or_fails or not self.single:
            return ()
        cases = self.scored.cases
        passed = int(self.scored.candidate_sum.sum()), int(self.scored.baseline_sum.sum())
        unpaired = two_proportion_z(passed[0], cases, passed[1], cases)
        return (
            Test(
                "two_proportion_z",
                "two-proportion z, unpaired, conservative",
                None if unpaired is None else unpaired[1],
                "" if unpaired is not None else "no variation: all passed or none did",
            ),
        )

    def adequacy(self, target: float | None) -> Adequacy:
        """Whether `target`, in the metric's unit, could have been seen."""
        if self.group_of_case is not None:
            return adequacy.adequacy_of(
                None if self.too_few_groups else groups.mde_grouped(self.scored.delta, self.group_of_case),
                self.scored.cases,
                target=target,
            )
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

    def chance(self) -> tuple[float, float] | None:
        """Flips and moves per side by chance alone; None unless every value is pass or fail."""
        if not self.passes_or_fails:
            return None
        passes = np.rint(self.scored.candidate_sum + self.scored.baseline_sum).astype(np.int64)
        return adequacy.chance_flips(passes, 2 * self.scored.pairs), adequacy.chance_moves(passes, self.scored.pairs)


def _sign(low: float, high: float) -> int:
    """1 or -1 where an interval lies on one side of zero, else 0."""
    return int(low > 0) - int(high < 0)


type Range = Interval | BootstrapInterval


def resolved(leading: Interval | None, others: Sequence[Range]) -> bool:
    """All intervals exclude zero on the same side."""
    if leading is None or not leading.leads or not others:
        return False
    side = _sign(leading.low, leading.high)
    return side != 0 and all(_sign(one.low, one.high) == side for one in others)


def disagree(leading: Interval | None, others: Sequence[Range]) -> bool:
    """One interval excludes zero on a side and another does not."""
    if leading is None or not leading.leads:
        return False
    side = _sign(leading.low, leading.high)
    return any(_sign(one.low, one.high) != side for one in others)


def bootstrap_label(bootstrap: BootstrapInterval | None) -> str:
    """The method of `interval95` in words, with the sampler that served."""
    base = f"percentile case-cluster bootstrap, {RESAMPLES:,} resamples"
    if bootstrap is None:
        return base
    return f"{base}, {'cases by index' if bootstrap.sampler == 'index' else 'exact counts of distinct differences'}"


def interval_list(
    leading: Interval | None, bootstrap: BootstrapInterval | None, by_group: Interval | None = None
) -> tuple[Interval, ...]:
    """Every interval given, the leading one first."""
    found = [one for one in (leading, by_group) if one is not None]
    if bootstrap is not None:
        label = f"case bootstrap, {RESAMPLES:,} resamples"
        if by_group is not None:
            label += ", as if cases were independent"
        found.append(
            Interval(
                "percentile_bootstrap", label, LEVEL, bootstrap.low, bootstrap.high, leads=False, descriptive=False
            )
        )
    return tuple(found)


def variation(joint: Joint) -> Variation | None:
    """How much repetitions vary inside cases and how much cases differ; None without repetitions."""
    scored = joint.scored
    repeated = scored.pairs > 1
    if not repeated.any():
        return None
    split = adequacy.split_of(
        scored.delta,
        _within(joint, joint.candidate_value, scored.candidate_mean)[repeated],
        _within(joint, joint.baseline_value, scored.baseline_mean)[repeated],
        float(scored.pairs.mean()),
    )
    if split is None:
        return None
    return Variation(split.within_candidate, split.within_baseline, split.between, split.repetitions)


def _within(joint: Joint, values: Floats, means: Floats) -> Floats:
    """Variance (ddof 1) of the repetitions of each scored case; meaningless where a case has one."""
    scored = joint.scored
    place = np.searchsorted(scored.case, joint.case_of_pair)
    squares = np.bincount(place, (values - means[place]) ** 2, minlength=scored.cases)
    return squares / np.maximum(scored.pairs - 1, 1)


def worst_end(metric: Metric) -> float | None:
    """The worst end of the scale, where there is a direction and that end is known."""
    if metric.direction is Direction.HIGHER_IS_BETTER:
        return metric.low if metric.low is not None else (0.0 if metric.kind is Kind.BOOLEAN else None)
    if metric.direction is Direction.LOWER_IS_BETTER:
        return metric.high if metric.high is not None else (1.0 if metric.kind is Kind.BOOLEAN else None)
    return None


def bracket(candidate: Side, baseline: Side, joint: Joint) -> Bracket | None:
    """The comparison with every unscored pair at the worst end of the scale; None where nothing is unscored."""
    pairing, worst = joint.pairing, worst_end(candidate.metric)
    if worst is None:
        return None
    candidate_reason, baseline_reason = joint.candidate_reason, joint.baseline_reason
    row_c, row_b = pairing.candidate_row, pairing.baseline_row
    counted = (candidate_reason != NOT_APPLICABLE) & (baseline_reason != NOT_APPLICABLE)
    if not (counted & ~joint.scored_pair).any():
        return None
    value_c = np.where(candidate_reason == SCORED, candidate.series.value[row_c], worst)[counted]
    value_b = np.where(baseline_reason == SCORED, baseline.series.value[row_b], worst)[counted]
    whole = collapse(pairing.case_of_pair[counted], value_c, value_b, len(pairing.candidate_case))
    return Bracket(
        cases=whole.cases,
        pairs=int(counted.sum()),
        candidate_mean=float(whole.candidate_mean.mean()),
        baseline_mean=float(whole.baseline_mean.mean()),
        delta=float(whole.delta.mean()) + 0.0,
        candidate_unscored=int((counted & (candidate_reason != SCORED)).sum()),
        baseline_unscored=int((counted & (baseline_reason != SCORED)).sum()),
    )


def share_of_scale(metric: Metric, share: float | None) -> float | None:
    """A share of the metric's scale in its own unit; None where the scale has no bounds, or nothing was asked."""
    if share is None or metric.kind is Kind.BOOLEAN:
        return share
    if metric.low is None or metric.high is None or metric.high <= metric.low:
        return None
    return share * (metric.high - metric.low)


def non_inferiority(metric: Metric, leading: Interval | None, margin: float | None) -> NonInferiority | None:
    """Passes if the worse end of the leading interval is less than `margin` (in the metric's unit) worse."""
    if margin is None or metric.direction is Direction.UNORDERED:
        return None
    if leading is None or not leading.leads:
        return NonInferiority(margin, None, None)
    if metric.direction is Direction.LOWER_IS_BETTER:
        return NonInferiority(margin, leading.high, leading.high < margin)
    return NonInferiority(margin, leading.low, leading.low > -margin)
