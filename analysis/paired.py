"""The paired comparison: two sides in, one frozen result with its per-case columns out.

What pairs and is scored (`scoring`), per-case columns (`case_columns`), which interval leads
(`methods`), what each side shows (`sides`), what to mind (`notices`), the sentence (`sentence`).
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from analysis import methods, sentence, sides
from analysis.adequacy import SMALLEST_SAMPLE
from analysis.case_columns import case_columns, filter_counts
from analysis.notices import notices, withheld
from analysis.observations import Direction, Kind, Metric, Side, series_digest
from analysis.resampling import METHOD_VERSION
from analysis.results import ArmQuality, Change, PairedCases, PairedComparison, PairedQuality, PairedResult
from analysis.scoring import Floats, Joint, related_cases, score


def _one_kind(candidate: Side, baseline: Side) -> tuple[Side, Side]:
    """One grader whose values on one side happen to be only 0 and 1 is one measurement: numeric on both sides."""
    mine, other = candidate.metric, baseline.metric
    if {mine.kind, other.kind} != {Kind.BOOLEAN, Kind.NUMERIC} or {mine.low, mine.high, other.low, other.high} != {
        0,
        1,
    }:
        return candidate, baseline
    return (
        replace(candidate, metric=replace(mine, kind=Kind.NUMERIC)),
        replace(baseline, metric=replace(other, kind=Kind.NUMERIC)),
    )


def compare(candidate: Side, baseline: Side, *, target: float = 0.05, margin: float | None = None) -> PairedComparison:
    """Compare two sides. Swapping them negates deltas and swaps labels; it changes nothing else.

    `target` (the effect that matters) and `margin` (how much worse is tolerable) are shares of the
    scale: of one for boolean metrics, of the range for bounded numeric ones. A numeric metric
    without bounds has neither; its detectable difference is given all the same.
    """
    if not (math.isfinite(target) and target > 0):
        raise ValueError("The target effect is greater than zero.")
    if margin is not None and not (math.isfinite(margin) and margin > 0):
        raise ValueError("The margin is greater than zero.")
    candidate, baseline = _one_kind(candidate, baseline)
    metric = candidate.metric
    reasons = withheld(candidate, baseline)
    joint = score(candidate, baseline)
    scored = joint.scored
    digests = (series_digest(candidate.arm, candidate.series), series_digest(baseline.arm, baseline.series))
    cases = case_columns(candidate, baseline, joint, withheld=bool(reasons))
    comparable = not reasons and not joint.categorical
    quality = _quality(metric, joint, cases, comparable=comparable)
    small_sample = scored.cases < SMALLEST_SAMPLE

    passes_or_fails = metric.kind is Kind.BOOLEAN and joint.passes_or_fails
    evidence = None
    if comparable and scored.cases:
        related = related_cases(candidate.arm, baseline.arm, joint)
        evidence = methods.Evidence(metric, scored, digests, passes_or_fails, related)
    few_groups = evidence is not None and evidence.too_few_groups
    leading = evidence.score_or_t(leads=not small_sample and not few_groups) if evidence else None
    bootstrap = evidence.bootstrap() if evidence and not small_sample else None
    by_group = evidence.grouped_bootstrap() if evidence and not small_sample else None
    others = [one for one in (by_group, bootstrap) if one is not None]
    grouping = evidence.grouping() if evidence else None
    chance = evidence.chance() if evidence else None
    bracket = methods.bracket(candidate, baseline, joint) if comparable else None
    tolerated = methods.share_of_scale(metric, margin)
    undirected = metric.direction is Direction.UNORDERED or metric.kind is Kind.CATEGORICAL
    labels, label_changes = sides.label_shares(joint) if joint.categorical else ((), ())
    unmatched = sides.unmatched_rows(joint)
    result = PairedResult(
        method_version=METHOD_VERSION,
        metric=metric,
        candidate=sides.side_result(candidate, digests[0]),
        baseline=sides.side_result(baseline, digests[1]),
        finding=sentence.finding(
            metric=metric,
            candidate=candidate.label,
            baseline=baseline.label,
            quality=quality,
            all_cases=joint.pairing.cases,
            repetitions=(int(scored.pairs.min(initial=2**31)), int(scored.pairs.max(initial=0))),
            lead=leading if leading is not None and leading.leads else None,
            resolved=methods.resolved(leading, others),
            small_sample=small_sample,
            few_groups=grouping.groups if few_groups and grouping is not None else None,
            chance=None if chance is None else chance[1],
            labels=labels,
            withheld=reasons,
        ),
        quality=quality,
        intervals=methods.interval_list(leading, bootstrap, by_group),
        interval95=None if bootstrap is None else (bootstrap.low, bootstrap.high),
        interval95_method=methods.bootstrap_label(bootstrap),
        small_sample=small_sample,
        tests=evidence.tests() if evidence else (),
        adequacy=evidence.adequacy(methods.share_of_scale(metric, target)) if evidence else None,
        chance_flips_per_side=None if chance is None else chance[0],
        chance_moves_per_side=None if chance is None else chance[1],
        bracket=bracket,
        latency=sides.latency(candidate.arm, baseline.arm, joint.pairing),
        labels=labels,
        label_changes=label_changes,
        unmatched=sides.unmatched_counts(unmatched, candidate, baseline),
        differences=sides.differences(candidate.facts, baseline.facts),
        withheld=reasons,
        notices=notices(
            candidate,
            baseline,
            joint,
            quality,
            bracket,
            small_sample=small_sample and comparable,
            methods_disagree=methods.disagree(leading, others),
            grouping=grouping,
            no_variation=bootstrap is not None and bootstrap.low == bootstrap.high,
            idle_margin=margin is not None and not reasons and (undirected or tolerated is None),
        ),
        filters=filter_counts(cases),
        all_cases=joint.pairing.cases,
        variation=methods.variation(joint) if evidence else None,
        non_inferiority=methods.non_inferiority(metric, leading, tolerated) if comparable else None,
        grouping=grouping,
    )
    return PairedComparison(result=result, cases=cases, unmatched=unmatched)


def _quality(metric: Metric, joint: Joint, cases: PairedCases, *, comparable: bool) -> PairedQuality:
    """Equal-weight means of case means and their population spread, over the cases scored on both sides."""
    scored = joint.scored
    changes = np.bincount(cases.change, minlength=len(Change))
    single = bool((scored.pairs == 1).all()) and metric.kind is Kind.BOOLEAN

    def arm(means: Floats) -> ArmQuality:
        if not len(means) or joint.categorical:
            return ArmQuality(None, None, None)
        return ArmQuality(float(means.mean()), float(means.std()), int((means == 1).sum()) if single else None)

    given = comparable and scored.cases > 0
    return PairedQuality(
        cases=scored.cases,
        pairs=int(scored.pairs.sum()),
        matched_pairs=joint.matched,
        candidate=arm(scored.candidate_mean),
        baseline=arm(scored.baseline_mean),
        delta=float(scored.delta.mean()) + 0.0 if given else None,
        delta_spread=float(scored.delta.std()) if given else None,
        better=int(changes[Change.BETTER]),
        worse=int(changes[Change.WORSE]),
        same=int(changes[Change.SAME]),
        revision_unknown=int(joint.pairing.revision_unknown[scored.case].sum()),
    )
