"""Two arms of independent runs (of one case, or of different cases): nothing pairs.

Welch's t leads; the percentile bootstrap of both arms stays beside it. Nothing is given below three
runs an arm.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import special

from analysis.intervals import Limits
from analysis.resampling import RESAMPLES, means_by_index, percentile_limits, stream

SMALLEST_ARM = 3


def welch_p(candidate: NDArray[np.float64], baseline: NDArray[np.float64]) -> float | None:
    """Two-sided p of equal means, variances unequal; None below three runs an arm or without variation.

    Welch (1947), Biometrika 34, 28-35.
    """
    _check(candidate, baseline)
    if min(len(candidate), len(baseline)) < SMALLEST_ARM:
        return None
    first, second = float(candidate.var(ddof=1)) / len(candidate), float(baseline.var(ddof=1)) / len(baseline)
    if first + second == 0:
        return None
    freedom = (first + second) ** 2 / (first**2 / (len(candidate) - 1) + second**2 / (len(baseline) - 1))
    t = (float(candidate.mean()) - float(baseline.mean())) / math.sqrt(first + second)
    return 2 * float(special.stdtr(freedom, -abs(t)))


def unpaired_bootstrap(
    candidate: NDArray[np.float64],
    baseline: NDArray[np.float64],
    seed: bytes,
    *,
    flipped: bool,
    resamples: int = RESAMPLES,
) -> Limits | None:
    """Percentile interval of the difference of means, each arm drawn with replacement by itself.

    Runs come in an order that is theirs (sorted run identities), which also makes the `seed`. The arm
    that `flipped` makes the first takes all its resamples from the raw stream, then the other; so
    swapping the arms negates the interval. None below three runs an arm.
    """
    _check(candidate, baseline)
    if min(len(candidate), len(baseline)) < SMALLEST_ARM:
        return None
    bits = stream(seed)
    first, second = (baseline, candidate) if flipped else (candidate, baseline)
    means = means_by_index(first, bits, resamples)
    low, high = percentile_limits(means - means_by_index(second, bits, resamples))
    return Limits(-high + 0.0, -low + 0.0) if flipped else Limits(low + 0.0, high + 0.0)


def _check(*arms: NDArray[np.float64]) -> None:
    if not all(np.isfinite(arm).all() for arm in arms):
        raise ValueError("Values are finite numbers; what was not scored must be left out before.")
