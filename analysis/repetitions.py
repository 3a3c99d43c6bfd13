"""What repeated runs of the same cases say: success in k tries, and cases that do not repeat."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray


def pass_at_k(passes: NDArray[np.int64], runs: NDArray[np.int64], k: int) -> float | None:
    """Chance that at least one of k runs of a case passes, averaged over cases (n,).

    None without cases, or where a case has fewer than k runs: nothing is extrapolated.
    Chen et al. (2021), arXiv 2107.03374: 1 - C(runs - passes, k) / C(runs, k).
    """
    return _mean_of_cases(passes, runs, k, lambda passed, run: 1 - math.comb(run - passed, k) / math.comb(run, k))


def pass_hat_k(passes: NDArray[np.int64], runs: NDArray[np.int64], k: int) -> float | None:
    """Chance that all of k runs of a case pass (pass^k), averaged over cases (n,); None as for `pass_at_k`.

    Yao et al. (2024), tau-bench, arXiv 2406.12045: C(passes, k) / C(runs, k).
    """
    return _mean_of_cases(passes, runs, k, lambda passed, run: math.comb(passed, k) / math.comb(run, k))


def _mean_of_cases(
    passes: NDArray[np.int64], runs: NDArray[np.int64], k: int, chance: Callable[[int, int], float]
) -> float | None:
    if k < 1 or (passes < 0).any() or (passes > runs).any():
        raise ValueError("At least one try is asked for, and a case has no more passes than runs.")
    if not len(runs) or (runs < k).any():
        return None
    shapes, counts = np.unique(np.stack((passes, runs)), axis=1, return_counts=True)
    chances = [chance(passed, run) for passed, run in shapes.T.tolist()]
    return math.fsum(value * count for value, count in zip(chances, counts.tolist(), strict=True)) / len(runs)


def flaky_cases(case: NDArray[np.int32], values: NDArray[np.float64], cases: int) -> NDArray[np.bool_]:
    """Which of `cases` have scored runs of one arm that differ among themselves.

    `case` and `values` have one entry per run, in any order; NaN is not scored. A case that is flaky
    inside an arm changes between two arms without any cause.
    """
    low, high = np.full(cases, np.inf), np.full(cases, -np.inf)
    scored = ~np.isnan(values)
    np.minimum.at(low, case[scored], values[scored])
    np.maximum.at(high, case[scored], values[scored])
    return low < high


def lower_median(values: NDArray[np.float64]) -> float | None:
    """The middle value; of an even number the lower of the two middle ones, so that it is one that occurred.

    None of nothing. What is not known must be left out before: NaN is refused.
    """
    if np.isnan(values).any():
        raise ValueError("A median needs known values; what is not known must be left out before.")
    if not len(values):
        return None
    rank = (len(values) - 1) // 2
    return float(np.partition(values, rank)[rank])
