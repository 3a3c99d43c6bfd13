"""Which difference could a comparison see that nobody has run yet? From cases, repetitions and an earlier result.

The other direction of `planning`, for the moment before a launch.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from analysis.adequacy import SMALLEST_SAMPLE, Z_SUM, mde_paired_passes
from analysis.groups import SMALLEST_GROUPS
from analysis.observations import Kind, Metric
from analysis.planning import Spread, spread_of
from analysis.results import PairedResult
from analysis.sentence import amount


@dataclass(frozen=True, slots=True)
class Foresight:
    """The smallest difference, in the metric's unit, that shows at 80 % power and a two-sided 5 %.

    `basis` is `earlier` (cases vary as in an earlier comparison), `bound` (no metric of this scale needs more,
    however the arms turn out) or empty, where `mde` is None. `verdict` holds `mde` against `target`: `adequate`,
    `limited` (up to twice the target), `underpowered`; `insufficient` below 20 cases, `no_target` without a scale to
    take a share of, `unknown` where only the bound is known and exceeds the target. `text` says it in a sentence.
    """

    mde: float | None
    basis: str
    verdict: str
    target: float | None
    text: str
    assumptions: tuple[str, ...] = ()


def foresee(
    metric: Metric, cases: int, repetitions: int, *, target: float | None, earlier: PairedResult | None = None
) -> Foresight:
    """What `cases` with `repetitions` each per arm could show between two arms; `target` in the metric's unit.

    `earlier` is a result of the same metric, on cases of the same population. Miller (2024), arXiv 2411.00640,
    section 5; one run per case of pass or fail by Connor (1987); the bound is the variance of a difference on a
    scale of width w, at most w squared.
    """
    if metric.kind is Kind.CATEGORICAL:
        return Foresight(None, "", "no_target", None, "Categories have no difference of means to be seen.")
    if cases < SMALLEST_SAMPLE:
        text = f"{cases:,} {_cases(cases)}: no interval leads below {SMALLEST_SAMPLE}, so nothing can be told apart."
        return Foresight(None, "", "insufficient", target, text)
    spread = _usable(earlier)
    if spread is not None:
        mde, assumptions = _from(spread, cases, repetitions)
        verdict = _verdict(mde, target)
        text = f"A difference of {amount(metric, mde)} or more would be seen{_beside(metric, verdict, target)}."
        return Foresight(mde, "earlier", verdict, target, text, assumptions)
    if (metric.low is None or metric.high is None) and metric.kind is not Kind.BOOLEAN:
        text = "Unknown: no earlier comparison tells how cases vary, and the metric's scale has no ends."
        return Foresight(None, "", "unknown", target, text)
    width = 1.0 if metric.kind is Kind.BOOLEAN else float(metric.high or 0) - float(metric.low or 0)
    bound = Z_SUM * width / math.sqrt(cases)
    verdict = "adequate" if target is not None and bound <= target else "unknown"
    text = (
        f"A difference of {amount(metric, bound)} would be seen in any case. How much smaller ones would be, "
        "no earlier comparison tells."
    )
    assumption = "No two arms can differ more from case to case than the scale allows; most differ far less."
    return Foresight(bound, "bound", verdict, target, text, (assumption,))


def _usable(earlier: PairedResult | None) -> Spread | None:
    """The variation of an earlier result, where enough cases tell it."""
    if earlier is None or earlier.withheld or earlier.quality.cases < SMALLEST_SAMPLE:
        return None
    if earlier.grouping is not None and earlier.grouping.groups < SMALLEST_GROUPS:
        return None
    found = spread_of(earlier)
    return found if found is not None and (found.varies or found.discordant is not None) else None


def _from(spread: Spread, cases: int, repetitions: int) -> tuple[float, tuple[str, ...]]:
    assumptions = [f"Cases vary as the {spread.cases:,} paired ones of the earlier comparison did."]
    if spread.discordant is not None and repetitions == 1:
        side = spread.discordant * cases
        mde = mde_paired_passes(side, 0.0, cases)
        assert mde is not None
        return mde, tuple(assumptions)
    variance = spread.variance
    if spread.noise_of_one is not None:
        between = variance - spread.noise_of_one / spread.repetitions
        variance = between + spread.noise_of_one / repetitions
        assumptions.append("Repetitions of a case vary independently, as much as they did there on average.")
    elif repetitions > spread.repetitions:
        assumptions.append("What more repetitions save is not known, as no case was run more than once; so none is.")
    return Z_SUM * math.sqrt(variance / cases), tuple(assumptions)


def _verdict(mde: float, target: float | None) -> str:
    if target is None:
        return "no_target"
    return "adequate" if mde <= target else "limited" if mde <= 2 * target else "underpowered"


def _beside(metric: Metric, verdict: str, target: float | None) -> str:
    if target is None or verdict == "adequate":
        return ""
    return f", not one of {amount(metric, target)}"


def _cases(count: int) -> str:
    return "case" if count == 1 else "cases"
