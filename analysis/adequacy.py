"""Could this comparison have seen what matters? And how much would move by chance alone?

All effects are at 80 % power and two-sided alpha 0.05. Shares are fractions of one, other effects
are in the metric's unit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from analysis.intervals import Z95
from analysis.results import Adequacy

Z80 = float(special.ndtri(0.8))
"""0.841621: the normal quantile that stands for 80 % power."""

Z_SUM = Z95 + Z80
SMALLEST_SAMPLE = 20
"""Distinct paired scored cases below which nothing leads."""


@dataclass(frozen=True, slots=True)
class Split:
    """Where the variance of case differences comes from; variances in the metric's unit squared.

    `within_*` is the variance of single repetitions inside a case, `between` what is left of the
    variance of case differences without the repetition noise.
    """

    within_candidate: float
    within_baseline: float
    between: float
    repetitions: float


def mde_paired(differences: NDArray[np.float64]) -> float | None:
    """Smallest mean difference that n such cases reveal: 2.8016 sd / sqrt(n).

    None below two cases or without variation.
    Bloom (1995), Evaluation Review 19, 547-556.
    """
    if not np.isfinite(differences).all():
        raise ValueError("Differences are finite numbers; what was not scored must be left out before.")
    if len(differences) < 2 or (differences == differences[0]).all():
        return None
    return Z_SUM * float(differences.std(ddof=1)) / math.sqrt(len(differences))


def mde_paired_passes(candidate_only: float, baseline_only: float, cases: float) -> float | None:
    """Smallest difference of paired pass shares that `cases` cases reveal, one repetition each; None without cases.

    Solves d sqrt(n) = 1.96 sqrt(psi + d/2) + 0.8416 sqrt(psi + d/2 - d^2), psi = discordant share.
    Connor (1987), Biometrics 43, 207-211; the d/2 is ours: a real drop adds discordance, and without
    it the true power is 9 to 78 % instead of 80. Never zero; 1 where even a difference of 1 would be missed.
    """
    if candidate_only < 0 or baseline_only < 0 or candidate_only + baseline_only > cases * (1 + 1e-12):
        raise ValueError("Discordant cases are not negative and not more than the cases.")
    if cases <= 0:
        return None
    discordant = (candidate_only + baseline_only) / cases
    low, high = 0.0, 1.0
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if needed_paired_passes(discordant, middle) > cases:
            low = middle
        else:
            high = middle
    return high


def needed_paired_passes(discordant: float, difference: float) -> float:
    """Cases (a real number) that reveal `difference` of paired pass shares, one repetition each; see above."""
    spread = discordant + difference / 2
    root = Z95 * math.sqrt(spread) + Z80 * math.sqrt(max(0.0, spread - difference**2))
    return (root / difference) ** 2


def mde_arcsine(passes: float, cases: float) -> float | None:
    """Smallest drop from passes/cases that an equally large independent arm reveals; None without cases.

    Cohen's h (1988, chapter 6): p - sin^2(asin(sqrt p) - h/2), h = 2.8016 sqrt(2/n). At none or all
    passed the rate (x + 1) / (n + 2) is used: no finite sample resolves a drop of zero.
    """
    if not 0 <= passes <= cases:
        raise ValueError("Passes lie between 0 and the number of cases.")
    if cases == 0:
        return None
    rate = passes / cases if 0 < passes < cases else (passes + 1) / (cases + 2)
    lowered = math.asin(math.sqrt(rate)) - Z_SUM * math.sqrt(2 / cases) / 2
    return rate - math.sin(max(lowered, 0.0)) ** 2


def mde_normal(passes: float, cases: float) -> float | None:
    """The textbook formula 2.8016 sqrt(2 p (1 - p) / n), for comparison only: it is 0 at none or all passed."""
    if not 0 <= passes <= cases:
        raise ValueError("Passes lie between 0 and the number of cases.")
    if cases == 0:
        return None
    rate = passes / cases
    return Z_SUM * math.sqrt(2 * rate * (1 - rate) / cases)


def adequacy_paired(
    differences: NDArray[np.float64],
    *,
    target: float | None,
    discordant: tuple[float, float, float] | None = None,
) -> Adequacy:
    """Verdict on paired case differences (n,), `target` in the metric's unit or None where it has no scale.

    `discordant` is (candidate only, baseline only, cases) where the case differences are pass/fail
    with one repetition, or where they do not vary and only the (effective) table can speak.
    insufficient: fewer than 20 cases, or no variation to judge by. adequate: MDE up to the target;
    limited: up to twice the target; underpowered: beyond.
    """
    cases = len(differences)
    if discordant is None:
        return adequacy_of(mde_paired(differences), cases, target=target)
    mde = mde_paired_passes(*discordant)
    gain, loss, weight = discordant
    # `weight` may be an effective number of cases; what is asked for is real ones.
    share = (gain + loss) / weight if weight else 0.0
    needed = None
    if weight and target is not None:
        needed = needed_paired_passes(share, min(target, 1.0)) * cases / weight
    return _verdict(mde, target, cases, needed)


def adequacy_of(mde: float | None, cases: int, *, target: float | None) -> Adequacy:
    """Verdict on a detectable difference that falls with the root of the cases; the rules as above."""
    needed = None if mde is None or target is None else cases * (mde / target) ** 2
    return _verdict(mde, target, cases, needed)


def adequacy_of_arm(passes: float, cases: int, *, target: float) -> Adequacy:
    """Verdict on one arm alone, by the arcsine formula; `target` is a share."""
    if not (math.isfinite(target) and target > 0):
        raise ValueError("The target effect is greater than zero.")
    mde = mde_arcsine(passes, cases)
    needed = None
    if mde is not None:
        rate = passes / cases if 0 < passes < cases else (passes + 1) / (cases + 2)
        step = 2 * (math.asin(math.sqrt(rate)) - math.asin(math.sqrt(max(rate - target, 0.0))))
        needed = 2 * (Z_SUM / step) ** 2
    return _verdict(mde, target, cases, needed)


def _verdict(mde: float | None, target: float | None, cases: int, needed: float | None) -> Adequacy:
    if target is not None and not (math.isfinite(target) and target > 0):
        raise ValueError("The target effect is greater than zero.")
    if cases < SMALLEST_SAMPLE or mde is None:
        verdict = "insufficient"
    elif target is None:
        verdict = "no_target"
    elif mde <= target:
        verdict = "adequate"
    elif mde <= 2 * target:
        verdict = "limited"
    else:
        verdict = "underpowered"
    return Adequacy(
        verdict=verdict,
        mde=mde,
        target=target,
        q=cases / needed if needed else None,
        cases_needed=math.ceil(needed * (1 - 1e-12)) if needed else None,
    )


def planned_cases(split: Split, repetitions: float, target: float) -> int:
    """Cases needed to see `target` with `repetitions` per case and side.

    7.849 (between + (within A + within B) / R) / T^2: Miller (2024), arXiv 2411.00640, equation 9.
    """
    if target <= 0 or repetitions < 1:
        raise ValueError("Planning needs a target above zero and at least one repetition.")
    spread = split.between + (split.within_candidate + split.within_baseline) / repetitions
    return max(1, math.ceil(Z_SUM**2 * spread / target**2))


def split_of(
    differences: NDArray[np.float64],
    within_candidate: NDArray[np.float64],
    within_baseline: NDArray[np.float64],
    repetitions: float,
) -> Split | None:
    """Within/between split from case differences (n,) and per-case variances (ddof 1) of the repetitions.

    The `within` arrays hold the cases with at least two repetitions; None where there are none, or
    fewer than two cases.
    """
    if len(differences) < 2 or not len(within_candidate) or not len(within_baseline):
        return None
    candidate, baseline = float(within_candidate.mean()), float(within_baseline.mean())
    between = float(differences.var(ddof=1)) - (candidate + baseline) / repetitions
    return Split(candidate, baseline, max(0.0, between), repetitions)


def chance_flips(passes: NDArray[np.int64], runs: NDArray[np.int64]) -> float:
    """Cases per side that flip between two single runs if nothing changed.

    `passes` of the `runs` of both arms of each case (n,). Half the sum of 2 k (N - k) / (N (N - 1)),
    the unbiased chance that two runs of a case differ; with one repetition (b + c) / 2.
    """
    if (runs < 2).any() or (passes < 0).any() or (passes > runs).any():
        raise ValueError("A paired case has at least two runs, and no more passes than runs.")
    return float((passes * (runs - passes) / (runs * (runs - 1))).sum())


def chance_moves(passes: NDArray[np.int64], pairs: NDArray[np.int64]) -> float:
    """Cases per side whose mean moves if nothing changed, with the repetitions that were run.

    The `passes` of the 2 * `pairs` runs of a case could have fallen to either arm: half the chance
    that they do not split evenly (hypergeometric). With one repetition the same as `chance_flips`.
    """
    if (pairs < 1).any() or (passes < 0).any() or (passes > 2 * pairs).any():
        raise ValueError("A paired case has at least one pair, and no more passes than runs.")
    expected = 0.0
    width = 2 * int(pairs.max(initial=0)) + 1
    shapes, counts = np.unique(pairs * width + passes, return_counts=True)
    for shape, count in zip(shapes.tolist(), counts.tolist(), strict=True):
        paired, passed = divmod(shape, width)
        even = 0.0
        if passed % 2 == 0:
            even = math.comb(paired, passed // 2) ** 2 / math.comb(2 * paired, passed)
        expected += count * (1 - even) / 2
    return expected
