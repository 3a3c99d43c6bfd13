"""How many more cases or repetitions would settle a comparison? From its frozen result alone.

Used beside a result and, before a launch, from the last comparison of the same kind.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from analysis.adequacy import SMALLEST_SAMPLE, Z_SUM, needed_paired_passes
from analysis.groups import SMALLEST_GROUPS
from analysis.observations import Kind
from analysis.results import PairedResult
from analysis.sentence import amount

MOST_REPETITIONS = 50  # what a launch may ask for


@dataclass(frozen=True, slots=True)
class Option:
    """`cases` with `repetitions` per case and side see the target; `more_cases` beyond those at hand."""

    repetitions: float
    cases: int
    more_cases: int
    runs: int
    """Executions over both sides that the option takes in all."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What it takes to see a difference of `target` (in the metric's unit) at 80 % power and alpha 0.05.

    `options` begin with the repetitions at hand. `repetitions_alone` is how many per case and side would
    do with the present cases; None where no number would, or where that is not known. `limit_cases` is
    the number of cases that no number of repetitions can go below. `answered`: the comparison already
    tells the sides apart, or it already could have seen the target.
    """

    target: float
    cases: int
    repetitions: float
    answered: bool
    options: tuple[Option, ...]
    repetitions_alone: int | None
    limit_cases: int | None
    assumptions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """The plan in words. Where none can be made, `plan` is None and `code` and `text` say why."""

    code: str
    """`planned` or `answered`; without a plan `withheld`, `categorical`, `too_few_cases`, `too_few_groups`,
    `no_target` or `no_variation`."""
    text: str
    plan: Plan | None


def answer(result: PairedResult, difference: float | None = None) -> Answer:
    """How many more cases or repetitions would settle it, or why no number can be given.

    `difference` (in the metric's unit, above zero) is the one that matters; the target of the comparison
    unless given. Nothing is planned from fewer than 20 paired cases or 10 groups of related ones: their
    variation is no estimate.
    """
    if result.withheld:
        return Answer("withheld", f"No plan: {result.withheld[0].text} More cases would not settle that.", None)
    if result.metric.kind is Kind.CATEGORICAL:
        return Answer("categorical", "No plan: categories have no difference that cases could settle.", None)
    cases = result.quality.cases
    if cases < SMALLEST_SAMPLE:
        text = f"No plan: {cases:,} paired scored {_plural(cases, 'case')}. It takes {SMALLEST_SAMPLE} to estimate how "
        return Answer("too_few_cases", f"{text}much cases vary; run that many first.", None)
    groups = None if result.grouping is None else result.grouping.groups
    if groups is not None and groups < SMALLEST_GROUPS:
        text = (
            f"No plan: {groups:,} {_plural(groups, 'group')} of related cases. It takes {SMALLEST_GROUPS} to estimate "
        )
        return Answer("too_few_groups", f"{text}how much groups vary; run that many first.", None)
    if difference is None and (result.adequacy is None or result.adequacy.target is None):
        text = "No plan: the metric has no bounds to take a share of. Say the difference that matters in its own unit."
        return Answer("no_target", text, None)
    found = plan(result, difference)
    if found is None:
        return Answer("no_variation", "No plan: the differences do not vary, so there is no spread to plan from.", None)
    return Answer("answered" if found.answered else "planned", _said(result, found), found)


def _said(result: PairedResult, found: Plan) -> str:
    size, first = amount(result.metric, found.target), found.options[0]
    if first.more_cases == 0:
        return f"No more are needed: the {found.cases:,} cases at hand see a difference of {size}."
    more = f"{first.more_cases:,} more {_plural(first.more_cases, 'case')} ({first.cases:,} in all)"
    text = f"Seeing a difference of {size} takes {more} with as many repetitions as now"
    if found.repetitions_alone is not None:
        alone = f"{found.repetitions_alone:,} {_plural(found.repetitions_alone, 'repetition')}"
        text += f", or {alone} of each present case"
    elif found.limit_cases is not None and found.limit_cases > found.cases:
        text += f"; no number of repetitions does with fewer than {found.limit_cases:,}"
    if result.finding.kind in ("better", "worse"):
        return f"The comparison already tells the sides apart. {text}."
    return f"{text}."


def _plural(count: int, noun: str) -> str:
    return noun if count == 1 else f"{noun}s"


def plan(result: PairedResult, target: float | None = None) -> Plan | None:
    """The plan for a result; `target` in the metric's unit, that of its adequacy unless given.

    None where nothing can be planned from it: no direction or difference given, no target (a number
    without bounds has none of its own), fewer than two cases, or numbers that do not vary.
    Miller (2024), arXiv 2411.00640, section 5; for one run per case of pass or fail, Connor (1987).
    """
    if target is None:
        target = result.adequacy.target if result.adequacy is not None else None
    if target is not None and not (math.isfinite(target) and target > 0):
        raise ValueError("The target effect is greater than zero.")
    spread = spread_of(result)
    if target is None or spread is None:
        return None
    cases, repetitions, variance, varies = spread.cases, spread.repetitions, spread.variance, spread.varies
    if spread.discordant is not None:
        needed = needed_paired_passes(spread.discordant, min(target, 1.0))
    elif varies:
        needed = Z_SUM**2 * variance / target**2
    elif result.adequacy is not None and result.adequacy.target == target and result.adequacy.cases_needed:
        needed = float(result.adequacy.cases_needed)
    else:
        return None
    now = _whole(needed)
    options = [_option(repetitions, now, cases)]
    alone = limit = None
    assumptions = [
        f"A true difference of {amount(result.metric, target)} is to be seen with 80 % power at a two-sided 5 %.",
        f"New cases vary as the {cases:,} paired ones did; they come from the same population, and as many pair.",
    ]
    if result.grouping is not None:
        assumptions.append("New cases come in new groups of related cases, as large as those at hand.")
    if spread.noise_of_one is not None and varies:
        noise = spread.noise_of_one / repetitions
        between = variance - noise
        for more in _further(repetitions):
            at = Z_SUM**2 * (between + noise * repetitions / more) / target**2
            options.append(_option(more, _whole(at), cases))
        limit = _whole(Z_SUM**2 * between / target**2)
        alone = _repetitions_alone(between, noise * repetitions, cases, target)
        assumptions.append("Repetitions of a case vary independently, as much as they did here on average.")
    elif result.variation is None:
        assumptions.append("No case was run more than once, so what repetitions would save is not known.")
    return Plan(
        target=target,
        cases=cases,
        repetitions=repetitions,
        answered=result.finding.kind in ("better", "worse") or now <= cases,
        options=tuple(options),
        repetitions_alone=alone,
        limit_cases=limit,
        assumptions=tuple(assumptions),
    )


@dataclass(frozen=True, slots=True)
class Spread:
    """How paired case differences vary in a result; variances in the metric's unit squared.

    `discordant` is the share of cases in which the sides differ, where each was run once and passed or failed;
    `noise_of_one` what a single repetition per side adds, where cases were run more than once.
    """

    cases: int
    repetitions: float
    variance: float
    varies: bool
    discordant: float | None
    noise_of_one: float | None


def spread_of(result: PairedResult) -> Spread | None:
    """The variation that plans are made from; None without a direction, or with fewer than two cases or groups."""
    quality = result.quality
    if quality.delta_spread is None or quality.cases < 2:
        return None
    cases, repetitions = quality.cases, quality.pairs / quality.cases
    # The spread is a population deviation; planning needs the variance that n cases estimate.
    variance = quality.delta_spread**2 * cases / (cases - 1)
    if result.grouping is not None:
        if result.grouping.standard_error is None:
            return None
        variance = cases * result.grouping.standard_error**2  # groups of related cases vary, not single cases
    single = quality.pairs == cases and _passes_or_fails(result) and result.grouping is None
    noise = None
    if result.variation is not None:
        # repetition noise cannot exceed what was seen; the excess is estimation error
        within = result.variation.within_candidate + result.variation.within_baseline
        noise = min(within, variance * repetitions)
    return Spread(
        cases=cases,
        repetitions=repetitions,
        variance=variance,
        varies=variance > (1e-12 * abs(quality.delta or 0.0)) ** 2,
        discordant=(cases - quality.same) / cases if result.metric.kind is Kind.BOOLEAN and single else None,
        noise_of_one=noise,
    )


def _passes_or_fails(result: PairedResult) -> bool:
    """Whether every value was 0 or 1: only then chance flips are given."""
    return result.chance_flips_per_side is not None


def _whole(needed: float) -> int:
    """Whole cases, never fewer than an interval needs."""
    return max(SMALLEST_SAMPLE, math.ceil(needed * (1 - 1e-12)))


def _option(repetitions: float, cases: int, at_hand: int) -> Option:
    return Option(repetitions, cases, max(0, cases - at_hand), math.ceil(2 * cases * repetitions * (1 - 1e-12)))


def _further(repetitions: float) -> list[int]:
    """Round numbers of repetitions beyond those at hand."""
    return [number for number in (1, 2, 3, 5, 10) if number > repetitions]


def _repetitions_alone(between: float, noise_of_one: float, cases: int, target: float) -> int | None:
    """Repetitions with which the present cases suffice: between + noise / R <= cases (T / 2.8016)^2."""
    room = cases * (target / Z_SUM) ** 2 - between
    if room <= 0:
        return None
    needed = max(1, math.ceil(noise_of_one / room * (1 - 1e-12)))
    return needed if needed <= MOST_REPETITIONS else None
