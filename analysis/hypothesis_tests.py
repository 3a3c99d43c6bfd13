"""Two-sided tests, each a pure function. They are shown in details only; intervals lead.

P-values are fractions of one. (The module's name keeps test collectors away from it.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import special

from analysis.resampling import EXACT_FLIPS, FLIPS, binomial, stream

TIE = 1e-12  # sums of flipped differences closer than this share of their size are the same sum
LARGE_GROUP = 16  # equal differences are counted together where on average this many share a value


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
    candidate_passes: int, candidate_cases: int, baseline_passes: int, baseline_cases: int
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
    changes nothing. Up to 2^16 patterns are enumerated; beyond, 9,999 are drawn from the raw stream
    of `seed` and p = (1 + at least as extreme) / (1 + drawn), which is never zero.
    Fisher (1935); Phipson & Smyth (2010) for the added one.
    """
    if not np.isfinite(differences).all():
        raise ValueError("A test needs finite differences; what was not scored must be left out before.")
    sizes = np.abs(differences[differences != 0])
    if not len(sizes):
        return 1.0
    # Which sign a difference was observed with does not matter to the flipped sums, only to the observed one.
    observed = abs(float(differences.sum())) * (1 - TIE)
    if len(sizes) <= EXACT_FLIPS:
        patterns = (np.arange(2 ** len(sizes))[:, None] >> np.arange(len(sizes))) & 1
        sums = np.zeros(len(patterns))
        for column, size in enumerate(sizes):
            sums += (2 * patterns[:, column] - 1) * size
        return float((np.abs(sums) >= observed).mean())
    values, counts = np.unique(sizes, return_counts=True)
    grouped = len(values) * LARGE_GROUP <= len(sizes)
    sums = _flipped_by_count(values, counts, seed) if grouped else _flipped_one_by_one(np.sort(sizes), seed)
    return (1 + int((np.abs(sums) >= observed).sum())) / (1 + FLIPS)


def _flipped_by_count(values: NDArray[np.float64], counts: NDArray[np.intp], seed: bytes) -> NDArray[np.float64]:
    """Sums of flipped differences where few sizes occur: of m equal ones, a fair binomial number stays positive."""
    bits = stream(seed)
    sums = np.zeros(FLIPS)
    for value, count in zip(values.tolist(), counts.tolist(), strict=True):
        positive = binomial(np.full(FLIPS, count, dtype=np.int64), 1, 2, bits)
        sums += (2 * positive - count) * value
    return sums


def _flipped_one_by_one(sizes: NDArray[np.float64], seed: bytes) -> NDArray[np.float64]:
    """Sums of flipped differences, one random bit each: 64 cases to a word, eight cases to a looked-up partial sum."""
    bits = stream(seed)
    padded = np.zeros(-(-len(sizes) // 64) * 64)
    padded[: len(sizes)] = sizes
    signs = ((np.arange(256)[:, None] >> np.arange(8)) & 1) * 2.0 - 1.0
    sums = np.zeros(FLIPS)
    for start in range(0, len(padded), 64):
        drawn = np.ascontiguousarray(
            bits.random_raw(FLIPS).astype("<u8", copy=False).view(np.uint8).reshape(FLIPS, 8).T
        )
        for byte in range(8):
            eight = padded[start + 8 * byte : start + 8 * byte + 8]
            partial = np.zeros(256)
            for position in range(8):
                partial += signs[:, position] * eight[position]
            sums += partial.take(drawn[byte])
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
