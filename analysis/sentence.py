"""What the evidence shows, in a sentence that a person can repeat.

Words only: every decision (which interval leads, whether anything is withheld) was made before.
Rounding happens here and nowhere earlier.
"""

from __future__ import annotations

import math

from analysis.adequacy import SMALLEST_SAMPLE
from analysis.observations import Direction, Kind, Metric
from analysis.results import Finding, Interval, LabelShare, Notice, PairedQuality, Segment

MINUS = "\N{MINUS SIGN}"
_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def figure(value: float) -> str:
    """A number on screen: three significant digits, a true minus, never a zero for what is not zero."""
    if value == 0:
        return "0"
    size = abs(value)
    digits = 2 - math.floor(math.log10(size))
    rounded = round(size, digits)
    if rounded >= 1e15 or rounded < 1e-6:
        text = f"{rounded:.3g}".replace("e-", f"e{MINUS}")
    else:
        text = f"{rounded:,.{max(digits, 0)}f}"
        if "." in text:
            text = text.rstrip("0").rstrip(".")
    return f"{MINUS}{text}" if value < 0 else text


def points(share: float) -> str:
    """A share's difference as points on screen: one decimal, more only where it would otherwise read as zero."""
    value = 100 * share
    if value != 0 and abs(value) < 0.1:
        digits = min(-math.floor(math.log10(abs(value))), 6)
        text = f"{abs(value):.{digits}f}"
    else:
        text = f"{abs(value):.1f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return f"{MINUS}{text}" if value < 0 and text != "0" else text


def amount(metric: Metric, value: float) -> str:
    """A difference with its unit: points for boolean metrics, else the metric's own unit."""
    if metric.kind is Kind.BOOLEAN:
        text = points(value)
        return f"{text} point" if text in ("1", f"{MINUS}1") else f"{text} points"
    return f"{figure(value)} {metric.unit}".rstrip()


def span(metric: Metric, low: float, high: float) -> str:
    """Both ends of an interval with the unit said once."""
    if metric.kind is Kind.BOOLEAN:
        return f"{points(low)} and {points(high)} points"
    return f"{figure(low)} and {figure(high)} {metric.unit}".rstrip()


def population(cases: int, all_cases: int) -> str:
    """The cases a statement is about; the split is named where some are left out."""
    if cases == all_cases:
        return f"On the same {cases:,} cases" if cases != 1 else "On the same case"
    return f"On the {cases:,} of {all_cases:,} cases scored on both sides"


def finding(
    *,
    metric: Metric,
    candidate: str,
    baseline: str,
    quality: PairedQuality,
    all_cases: int,
    repetitions: tuple[int, int],
    lead: Interval | None,
    resolved: bool,
    small_sample: bool,
    few_groups: int | None = None,
    chance: float | None,
    labels: tuple[LabelShare, ...],
    withheld: tuple[Notice, ...],
) -> Finding:
    """The finding of a paired comparison. `resolved` says that the leading intervals agree and exclude zero.

    `repetitions` is the smallest and largest number of jointly scored repetitions of a case; `few_groups`
    how many groups of related cases there are, where they are too few.
    """
    where = population(quality.cases, all_cases)
    why = _why(quality, all_cases, repetitions, chance, metric, bool(withheld))
    if withheld:
        reasons = " ".join(notice.text for notice in withheld)
        said = (
            Segment("No difference is given between "),
            Segment(candidate),
            Segment(" and "),
            Segment(baseline),
            Segment(f": {reasons} What each side shows on its own stays visible."),
        )
        return Finding("withheld", said, why)
    if quality.cases == 0:
        if all_cases == 0:
            text = "Neither side holds a case, so there is nothing to compare."
        elif quality.matched_pairs == 0:
            text = f"None of the {all_cases:,} cases pairs, so no difference can be given."
        else:
            text = f"No case of {all_cases:,} is scored on both sides, so no difference can be given."
        return Finding("no_pairs", (Segment(text),), why)
    if metric.kind is Kind.CATEGORICAL:
        return Finding("distribution", _distribution(where, candidate, baseline, quality, labels), why)
    if small_sample or few_groups is not None:
        return Finding("too_few", _too_few(metric, candidate, baseline, quality, all_cases, few_groups), why)
    delta = quality.delta if quality.delta is not None else math.nan
    if metric.direction is Direction.UNORDERED and lead is not None:
        unordered = (
            *_difference(where, metric, candidate, delta, lead, certain=resolved),
            Segment(f" {metric.name} has no better or worse direction."),
        )
        return Finding("distribution", unordered, why)
    if not resolved or lead is None:
        return Finding("not_resolved", _not_resolved(where, metric, candidate, baseline, delta, lead), why)
    better = (delta > 0) == (metric.direction is not Direction.LOWER_IS_BETTER)
    kind = "better" if better else "worse"
    return Finding(kind, _difference(where, metric, candidate, delta, lead, certain=True), why)


CERTAIN = "; the evidence puts the difference between "
AS_OBSERVED = "As observed, not established: "


def as_observed(found: Finding) -> tuple[Segment, ...]:
    """The same sentence with the same figures where its claim may not be made: what was seen, and no more."""
    if not any(segment.text == CERTAIN for segment in found.segments):
        return found.segments  # it claims nothing
    first, *rest = found.segments
    start = first.text[:1].lower() + first.text[1:]
    said = (Segment("; the interval runs between ") if one.text == CERTAIN else one for one in rest)
    return (Segment(f"{AS_OBSERVED}{start}"), *said)


def _difference(
    where: str, metric: Metric, candidate: str, delta: float, lead: Interval, *, certain: bool
) -> tuple[Segment, ...]:
    if certain:
        # Both ends have the sign of the difference: sizes read more easily, the smaller one first.
        low, high = sorted((abs(lead.low), abs(lead.high)))
        sides = (Segment(CERTAIN), Segment(span(metric, low, high), True))
    else:
        sides = (Segment("; the difference could lie between "), Segment(span(metric, lead.low, lead.high), True))
    if metric.kind is Kind.BOOLEAN:
        size = Segment(f"{amount(metric, abs(delta))} {'more' if delta > 0 else 'less'} often", True)
        verb = "is marked" if metric.direction is Direction.LOWER_IS_BETTER else "passes"
        return (Segment(f"{where}, {candidate} {verb} {metric.name} "), size, *sides, Segment("."))
    size = Segment(f"{amount(metric, abs(delta))} {'higher' if delta > 0 else 'lower'}", True)
    return (Segment(f"{where}, the mean {metric.name} of {candidate} is "), size, *sides, Segment("."))


def _not_resolved(
    where: str, metric: Metric, candidate: str, baseline: str, delta: float, lead: Interval | None
) -> tuple[Segment, ...]:
    start = Segment(f"{where}, the evidence does not tell {candidate} and {baseline} apart on {metric.name}: ")
    seen = Segment(f"{amount(metric, delta)}", True)
    if lead is None:
        return (start, Segment("the observed difference is "), seen, Segment(", and the cases do not vary."))
    return (
        start,
        Segment("the observed difference is "),
        seen,
        Segment(", and it could lie between "),
        Segment(span(metric, lead.low, lead.high), True),
        Segment("."),
    )


def _too_few(
    metric: Metric, candidate: str, baseline: str, quality: PairedQuality, all_cases: int, groups: int | None
) -> tuple[Segment, ...]:
    only = f"{quality.cases:,} case{'' if quality.cases == 1 else 's'}"
    split = "" if quality.cases == all_cases else f" of {all_cases:,}"
    verb = "is" if quality.cases == 1 else "are"
    if groups is not None and quality.cases >= SMALLEST_SAMPLE:
        only, split = f"{groups} {'group' if groups == 1 else 'groups'} of related cases", ""
        verb = "is" if groups == 1 else "are"
    first, second = _level(metric, quality, candidate=True), _level(metric, quality, candidate=False)
    what = (
        f"{candidate} has {metric.name} in"
        if metric.kind is Kind.BOOLEAN
        else f"the mean {metric.name} of {candidate} is"
    )
    return (
        Segment("Only "),
        Segment(f"{only}{split}", True),
        Segment(f" {verb} scored on both sides: too few to tell a difference. Observed: {what} "),
        Segment(first, True),
        Segment(f", {baseline} {'in ' if metric.kind is Kind.BOOLEAN else 'has '}"),
        Segment(second, True),
        Segment("."),
    )


def _level(metric: Metric, quality: PairedQuality, *, candidate: bool) -> str:
    arm = quality.candidate if candidate else quality.baseline
    if arm.passed is not None:
        return f"{arm.passed:,}/{quality.cases:,}"
    if metric.kind is Kind.BOOLEAN:
        return f"{points(arm.mean or 0.0)} %"
    return f"{figure(arm.mean or 0.0)} {metric.unit}".rstrip()


def _distribution(
    where: str, candidate: str, baseline: str, quality: PairedQuality, labels: tuple[LabelShare, ...]
) -> tuple[Segment, ...]:
    changed = quality.cases - quality.same
    verb = "changes" if changed == 1 else "change"
    said = [Segment(f"{where}, "), Segment(f"{changed:,} {verb} label", True), Segment(".")]
    if labels:
        most = max(labels, key=lambda share: abs(share.candidate - share.baseline))
        if most.candidate != most.baseline:
            said.append(
                Segment(
                    f" The largest shift is {most.label}: {most.candidate:,} for {candidate}, "
                    f"{most.baseline:,} for {baseline}."
                )
            )
    return tuple(said)


def _why(
    quality: PairedQuality,
    all_cases: int,
    repetitions: tuple[int, int],
    chance: float | None,
    metric: Metric,
    withheld: bool,
) -> str:
    parts = []
    if quality.cases and not withheld:
        if metric.kind is Kind.CATEGORICAL or metric.direction is Direction.UNORDERED:
            moved = quality.cases - quality.same
            counts = (
                f"{moved:,} {'case differs' if moved == 1 else 'cases differ'}, "
                f"{quality.same:,} {'is' if quality.same == 1 else 'are'} the same"
            )
        else:
            better = f"{quality.better:,} {'case' if quality.better == 1 else 'cases'} better"
            counts = f"{better}, {quality.worse:,} worse, {quality.same:,} the same"
        parts.append(counts + _repeated(repetitions, metric) + ".")
        if chance is not None and chance > 0:
            parts.append(f"If nothing had changed, about {_about(chance)} would have moved on each side.")
    left_out = all_cases - quality.cases
    if quality.cases and left_out:
        verb = "case is" if left_out == 1 else "cases are"
        parts.append(
            f"Everything here is on the {quality.cases:,} of {all_cases:,} cases scored on both sides; "
            f"{left_out:,} {verb} left out."
        )
    return " ".join(parts)


def _about(cases: float) -> str:
    """A count of cases that is an expectation: whole from ten on, one decimal below."""
    return f"{cases:,.0f}" if cases >= 10 else figure(round(cases, 1) or 0.1)


def _repeated(repetitions: tuple[int, int], metric: Metric) -> str:
    fewest, most = repetitions
    if most <= 1:
        return ""
    if metric.kind is Kind.CATEGORICAL:
        return f"; up to {_word(most)} repetitions are compared one by one"
    if fewest == most:
        return f"; {_word(most)} repetitions are averaged inside each case"
    return f"; {_word(fewest)} to {_word(most)} repetitions are averaged inside each case"


def _word(count: int) -> str:
    return _WORDS[count] if count < len(_WORDS) else str(count)
