"""What the reader must be told: why a direction is withheld, and what to mind about the figures."""

from __future__ import annotations

import math

from analysis import sentence
from analysis.adequacy import SMALLEST_SAMPLE
from analysis.groups import SMALLEST_GROUPS
from analysis.methods import worst_end
from analysis.observations import Kind, Side
from analysis.results import Bracket, Grouping, Notice, PairedQuality
from analysis.scoring import GENERATION, SCORED, Joint

NOTABLE_GAP = 0.05  # unscored shares of the two sides that differ by this much are pointed out


def withheld(candidate: Side, baseline: Side) -> tuple[Notice, ...]:
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


def notices(
    candidate: Side,
    baseline: Side,
    joint: Joint,
    quality: PairedQuality,
    bracket: Bracket | None,
    *,
    small_sample: bool,
    methods_disagree: bool,
    no_variation: bool,
    grouping: Grouping | None = None,
    idle_margin: bool = False,
) -> tuple[Notice, ...]:
    """Everything to mind, the weightiest first."""
    found = []
    if small_sample:
        found.append(_small_sample(quality.cases))
    if methods_disagree:
        found.append(
            Notice(
                "methods_disagree",
                "Methods disagree: the leading interval and a bootstrap differ on whether the difference "
                "could be zero. Treat it as unresolved.",
            )
        )
    if idle_margin:
        found.append(
            Notice(
                "margin_without_effect",
                "The margin has no effect here: this metric has no direction, or no bounds to take a share of.",
            )
        )
    if grouping is not None:
        found.append(_related_cases(grouping, quality.cases))
    if no_variation:
        found.append(
            Notice(
                "no_variation",
                "Every case differs by the same amount, so the bootstrap interval has no width. "
                "That is not certainty: no other outcome was in the sample.",
            )
        )
    gap = _generation_gap(candidate, baseline, joint, quality, bracket)
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
        averaged = candidate.metric.kind is not Kind.CATEGORICAL
        how = "averaged inside each case" if averaged else "compared one by one inside each case"
        uneven = " Cases with fewer scored repetitions weigh the same." if joint.scored.uneven else ""
        found.append(
            Notice(
                "repeated_cases",
                f"Repetitions are {how}: {quality.pairs:,} pairs over {quality.cases:,} cases, "
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


def _small_sample(cases: int) -> Notice:
    return Notice(
        "small_sample",
        f"Small sample: {cases} paired scored {'case' if cases == 1 else 'cases'}. "
        f"An interval needs at least {SMALLEST_SAMPLE}; results here are descriptive.",
    )


def _related_cases(grouping: Grouping, cases: int) -> Notice:
    counted = f"{cases:,} paired cases form {grouping.groups:,} {'group' if grouping.groups == 1 else 'groups'}"
    if grouping.groups < SMALLEST_GROUPS:
        return Notice(
            "few_groups",
            f"Few groups: the {counted} of related cases, which move together. "
            f"An interval needs at least {SMALLEST_GROUPS} groups; results here are descriptive.",
        )
    text = f"Related cases move together: the {counted}, and intervals and tests count groups."
    if grouping.design_effect is not None:
        wider = sentence.figure(math.sqrt(grouping.design_effect))
        text += f" The uncertainty is {wider} times that of as many unrelated cases."
    return Notice("related_cases", text)


def _generation_gap(
    candidate: Side, baseline: Side, joint: Joint, quality: PairedQuality, bracket: Bracket | None
) -> Notice | None:
    """One side lost notably more of the paired work than the other: leaving it out may flatter that side."""
    matched = joint.matched
    if not matched:
        return None
    candidate_reason, baseline_reason = joint.candidate_reason, joint.baseline_reason
    lost = int((candidate_reason != SCORED).sum()), int((baseline_reason != SCORED).sum())
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
        worst, metric = worst_end(candidate.metric), candidate.metric
        counted = "zero" if worst == 0 else sentence.figure(worst if worst is not None else 0.0)
        text += (
            f" Counting what was not scored as {counted} would put the difference at "
            f"{sentence.amount(metric, bracket.delta)} instead of {sentence.amount(metric, quality.delta)}."
        )
    return Notice("generation_gap", text)
