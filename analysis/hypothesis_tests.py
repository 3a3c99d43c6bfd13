"""Two-sided tests, each a pure function. They are shown in details only; intervals lead.

P-values are fractions of one. (The module's name keeps test collectors away from it.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import special

from analysis.resampling import stream

EXACT_FLIPS = 16  # up to this many differing cases all 2 ** m sign patterns count
PATTERN_BITS = 14  # beyond, 2 ** 14 patterns: p then has a standard error below 0.0017 at p = 0.05
TIE = 1e-12  # sums of flipped differences closer than this share of all sizes are the same sum


def mcnemar_midp(candidate_only: int, baseline_only: int) -> float:
    """Mid-p of the exact McNemar test on the discordant cases; 1 where no case is discordant.

    Fagerland, Lydersen & Laake (2013), BMC Medical Research Methodology 13:91.
    """
    if candidate_only < 0 or baseline_only < 0:
        raise ValueError("Discordant cases are not negative.")
    discordant, fewer = candidate_only + baseline_only, min(candidate_only, baseline_only)
    if discordant == 0:
        return 1.0
    point = _binomial_half(fewer, discordant)
    if candidate_only == baseline_only:
        return 1 - point / 2
    return min(1.0, 2 * float(special.bdtr(fewer, discordant, 0.5)) - point)


def _binomial_half(successes: int, trials: int) -> float:
    log = special.gammaln(trials + 1) - special.gammaln(successes + 1) - special.gammaln(trials - successes + 1)
    return math.exp(float(log) - trials * math.log(2))


def two_proportion_z(
    candidate_passes: float, candidate_cases: float, baseline_passes: float, baseline_cases: float
) -> tuple[float, float] | None:
    """(z, p) of the pooled two-proportion test of independent arms, candidate minus baseline; cases, never repetitions.

    None where a side has no case, or where no variation was seen (all passed or none did).
    statsmodels `proportions_ztest`; Fleiss, Statistical Methods for Rates and Proportions.
    """
    if not (0 <= candidate_passes <= candidate_cases and 0 <= baseline_passes <= baseline_cases):
        raise ValueError("Passes lie between 0 and the number of cases.")
    if candidate_cases == 0 or baseline_cases == 0:
        return None
    pooled = (candidate_passes + baseline_passes) / (candidate_cases + baseline_cases)
    variance = pooled * (1 - pooled) * (1 / candidate_cases + 1 / baseline_cases)
    if variance == 0:
        return None
    z = (candidate_passes / candidate_cases - baseline_passes / baseline_cases) / math.sqrt(variance)
    return z, 2 * float(special.ndtr(-abs(z)))


def sign_flip(differences: NDArray[np.float64], seed: bytes) -> float:
    """Sign-flip (randomisation) test of the mean case difference (n,).

    Every difference may have had either sign. Cases that do not differ are left out: their sign
    changes nothing. Up to 16 differing cases all 2^m patterns count; beyond, a random group of 2^14
    patterns that contains the observed one, so that p is never zero and the test is exact.

    Case i draws a code of 14 bits; in pattern x it changes sign where x AND code has an odd number of
    ones. Any two patterns are then independent coin tosses of all cases, so p varies as little as with
    16,383 patterns drawn one by one, but a Walsh-Hadamard transform adds up all patterns at once.
    Fisher (1935); Chung & Fraser (1958), JASA 53, 729-735, for groups of patterns; Phipson & Smyth (2010).
    """
    if not np.isfinite(differences).all():
        raise ValueError("A test needs finite differences; what was not scored must be left out before.")
    moved = differences[differences != 0]
    if not len(moved):
        return 1.0
    if len(moved) <= EXACT_FLIPS:
        sums = _sums_of_patterns(1 << np.arange(len(moved)), moved, len(moved))
    else:
        sums = _sums_of_patterns(_codes(len(moved), seed), moved, PATTERN_BITS)
    # Pattern 0 flips nothing. Equal sums may differ by the rounding of their parts.
    observed = abs(float(sums[0])) - TIE * float(np.abs(moved).sum())
    return float((np.abs(sums) >= observed).mean())


def _codes(cases: int, seed: bytes) -> NDArray[np.int64]:
    """One code per case: four to a raw word, the lowest 16 bits first, of each the lowest 14."""
    words = stream(seed).random_raw(-(-cases // 4)).astype("<u8", copy=False)
    return words.view("<u2")[:cases].astype(np.int64) & ((1 << PATTERN_BITS) - 1)


def _sums_of_patterns(codes: NDArray[np.int64], values: NDArray[np.float64], bits: int) -> NDArray[np.float64]:
    """The sum of the values under each of the 2 ** bits sign patterns; only additions, the same everywhere."""
    sums = np.bincount(codes, values, minlength=1 << bits)
    for _ in range(bits):
        even, odd = sums[0::2], sums[1::2]
        sums = np.concatenate((even + odd, even - odd))
    return sums


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjustment, in the given order. Holm (1979), Scandinavian Journal of Statistics 6, 65-70."""
    if not all(0 <= p <= 1 for p in p_values):
        raise ValueError("A p-value lies between 0 and 1.")
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = highest
    return adjusted


def e_value(candidate_only: int, baseline_only: int) -> float:
    """Evidence against equal arms on the discordant pairs seen so far; may be read at any time, strong from 20 on.

    2^m / ((m + 1) C(m, b)): a uniform mixture over the chance that the candidate wins a discordant pair.
    Robbins (1970); Ramdas et al. (2023), Statistical Science 38, 576-601.
    """
    if candidate_only < 0 or baseline_only < 0:
        raise ValueError("Discordant pairs are not negative.")
    discordant = candidate_only + baseline_only
    return float(math.exp(-math.log(discordant + 1)) / max(_binomial_half(candidate_only, discordant), 5e-324))
