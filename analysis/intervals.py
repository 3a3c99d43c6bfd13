"""Confidence intervals, each a pure function of counts or case values.

Shares are fractions of one, differences are candidate minus baseline. Exchanging the sides negates
a difference interval to the last digit. Quantiles come from `scipy.special`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

Z95 = float(special.ndtri(0.975))
"""1.959964: the two-sided 95 % quantile of the standard normal."""

EFFECTIVE_CASES_FROM = 100  # below, the effective sample of one arm's Wilson interval fails at high pass rates
MIXED_CASES_FROM = 5  # and it needs this many cases that do not always pass


class Limits(NamedTuple):
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class EffectiveSample:
    """A paired pass/fail table on the scale of independent cases (real numbers, not whole counts)."""

    candidate_only: float
    baseline_only: float
    cases: float
    factor: float


def wilson(passes: float, cases: float, z: float = Z95) -> Limits | None:
    """Score interval of one share, no continuity correction; None without cases.

    Wilson (1927), JASA 22, 209-212.
    """
    _finite(passes, cases, z)
    if not 0 <= passes <= cases:
        raise ValueError("Passes lie between 0 and the number of cases.")
    if cases == 0:
        return None
    centre = (passes + z * z / 2) / (cases + z * z)
    half = z / (cases + z * z) * math.sqrt(passes * (cases - passes) / cases + z * z / 4)
    return Limits(max(0.0, centre - half), min(1.0, centre + half))


def wilson_repeated(case_shares: NDArray[np.float64], repetitions: float, z: float = Z95) -> Limits | None:
    """Wilson interval of the mean of per-case pass shares (n,), each over `repetitions` runs.

    From 100 cases on, of which at least five do not always pass, the sample is the effective one,
    m (1 - m) / (variance of the mean), held between the cases and the runs; otherwise it is the
    cases, which is safe and wide. Runs are never counted as independent: that interval covers 72 to
    81 % instead of 95.
    """
    _finite_array(case_shares)
    cases = len(case_shares)
    if cases == 0:
        return None
    mean = float(case_shares.mean())
    effective = float(cases)
    mixed = int((case_shares < 1).sum())
    if cases >= EFFECTIVE_CASES_FROM and mixed >= MIXED_CASES_FROM and 0 < mean < 1:
        variance = float(case_shares.var(ddof=1)) / cases
        ideal = mean * (1 - mean) / variance if variance else math.inf
        effective = min(max(ideal, cases), cases * repetitions)
    return wilson(mean * effective, effective, z)


def newcombe(
    candidate_passes: float, candidate_cases: float, baseline_passes: float, baseline_cases: float, z: float = Z95
) -> Limits | None:
    """Difference of two independent shares by squaring and adding their Wilson limits; None without cases.

    Newcombe (1998), Statistics in Medicine 17, 873-890, method 10.
    """
    candidate = wilson(candidate_passes, candidate_cases, z)
    baseline = wilson(baseline_passes, baseline_cases, z)
    if candidate is None or baseline is None:
        return None
    share, other = candidate_passes / candidate_cases, baseline_passes / baseline_cases
    return Limits(
        share - other - math.hypot(share - candidate.low, baseline.high - other),
        share - other + math.hypot(candidate.high - share, other - baseline.low),
    )


def tango(candidate_only: float, baseline_only: float, cases: float, z: float = Z95) -> Limits | None:
    """Score interval of a paired difference of shares; None without cases.

    `candidate_only` and `baseline_only` count the discordant cases. Never of zero width.
    Tango (1998), Statistics in Medicine 17, 891-908.
    """
    _finite(candidate_only, baseline_only, cases, z)
    if candidate_only < 0 or baseline_only < 0 or candidate_only + baseline_only > cases * (1 + 1e-12):
        raise ValueError("Discordant cases are not negative and not more than the cases.")
    if cases == 0:
        return None
    # The upper limit is the lower limit of the exchanged table, so that exchanging negates exactly.
    return Limits(
        _tango_low(candidate_only, baseline_only, cases, z), -_tango_low(baseline_only, candidate_only, cases, z)
    )


def _tango_low(gain: float, loss: float, cases: float, z: float) -> float:
    estimate = (gain - loss) / cases

    def outside(difference: float) -> bool:
        """Whether the score statistic rejects a difference below the estimate."""
        a = 2 * cases
        b = -gain - loss + (2 * cases - gain + loss) * difference
        c = -loss * difference * (1 - difference)
        root = math.sqrt(max(0.0, b * b - 4 * a * c))
        # Two forms of one root of a quadratic: the other one would subtract nearly equal numbers.
        q = -2 * c / (root + b) if b > 0 else (root - b) / (2 * a)
        variance = cases * (2 * q + difference * (1 - difference))
        return gain - loss - cases * difference > z * math.sqrt(max(0.0, variance))

    low, high = -1.0, estimate
    if not outside(low):
        return low
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if outside(middle):
            low = middle
        else:
            high = middle
    return (low + high) / 2


def effective_sample(
    candidate_shares: NDArray[np.float64], baseline_shares: NDArray[np.float64], repetitions: float
) -> EffectiveSample:
    """The 2x2 table that independent cases would have shown, from per-case pass shares (n,) of both arms.

    Discordance is expected over all pairings of runs inside a case, so the order of runs has no part.
    The factor says how many single-run cases one repeated case is worth: v1 / s^2, the single-run
    variance over the observed variance of case differences, held between 1 and `repetitions`.
    Our own extension of Tango's interval; `docs/statistics.md` has its measured coverage.
    """
    _finite_array(candidate_shares)
    _finite_array(baseline_shares)
    cases = len(candidate_shares)
    gain = float((candidate_shares * (1 - baseline_shares)).sum())
    loss = float((baseline_shares * (1 - candidate_shares)).sum())
    factor = 1.0
    if cases > 1:
        differences = candidate_shares - baseline_shares
        single = (gain + loss) / cases - float(differences.mean()) ** 2
        observed = float(differences.var(ddof=1))
        if observed > 0:
            factor = min(max(single / observed, 1.0), max(repetitions, 1.0))
    return EffectiveSample(gain * factor, loss * factor, cases * factor, factor)


def effective_score(
    candidate_shares: NDArray[np.float64],
    baseline_shares: NDArray[np.float64],
    repetitions: float,
    z: float = Z95,
) -> Limits | None:
    """Score interval for repeated pass/fail runs: Tango on the effective sample; None without cases.

    With one repetition it is Tango's interval itself.
    """
    sample = effective_sample(candidate_shares, baseline_shares, repetitions)
    return tango(sample.candidate_only, sample.baseline_only, sample.cases, z)


def paired_t(differences: NDArray[np.float64], level: float = 0.95) -> Limits | None:
    """Student's interval of the mean case difference (n,), in the metric's unit.

    None below two cases, and where every case differs by the same amount: a width of zero would
    claim a certainty that no sample gives. Student (1908); on case means it is the clustered
    standard error of Miller (2024), arXiv 2411.00640, with t quantiles.
    """
    _finite_array(differences)
    cases = len(differences)
    if cases < 2 or (differences == differences[0]).all():
        return None
    mean = float(differences.mean())
    error = float(differences.std(ddof=1)) / math.sqrt(cases)
    half = float(special.stdtrit(cases - 1, (1 + level) / 2)) * error
    return Limits(mean - half, mean + half)


def welch_t(candidate: NDArray[np.float64], baseline: NDArray[np.float64], level: float = 0.95) -> Limits | None:
    """Difference of two independent means with unequal variances, in the metric's unit.

    None where an arm has fewer than three runs or neither arm varies. Welch (1947), Biometrika 34, 28-35.
    """
    _finite_array(candidate)
    _finite_array(baseline)
    if min(len(candidate), len(baseline)) < 3:
        return None
    first, second = float(candidate.var(ddof=1)) / len(candidate), float(baseline.var(ddof=1)) / len(baseline)
    if first + second == 0:
        return None
    freedom = (first + second) ** 2 / (first**2 / (len(candidate) - 1) + second**2 / (len(baseline) - 1))
    half = float(special.stdtrit(freedom, (1 + level) / 2)) * math.sqrt(first + second)
    difference = float(candidate.mean()) - float(baseline.mean())
    return Limits(difference - half, difference + half)


def _finite(*numbers: float) -> None:
    if not all(map(math.isfinite, numbers)):
        raise ValueError("An interval needs finite numbers; what was not scored must be left out before.")


def _finite_array(values: NDArray[np.float64]) -> None:
    if not np.isfinite(values).all():
        raise ValueError("An interval needs finite numbers; what was not scored must be left out before.")
