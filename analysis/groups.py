"""Cases that share a source (a document, a template, a family of conversations) move together.

Counted as independent, 20 groups of 15 cases with a shared effect give intervals that cover 83 to 88 %
instead of 95. Here the group is the unit: the estimate stays the mean over cases, as shown, and its
uncertainty comes from how groups differ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, special
from scipy.sparse import csgraph

from analysis.adequacy import Z_SUM
from analysis.hypothesis_tests import sign_flip
from analysis.intervals import Limits
from analysis.resampling import RESAMPLES, percentile_limits, stream

SMALLEST_GROUPS = 10
"""Groups below which nothing may lead."""


@dataclass(frozen=True, slots=True)
class GroupedError:
    """Standard errors of the mean case difference.

    `plain` counts cases as independent, `clustered` lets groups differ (CR0), `corrected` is that with
    the factor G / (G - 1) for few groups (CR1) and is the one used. `design_effect` is how many times
    larger the corrected variance is than the plain one; None where cases do not vary.
    """

    groups: int
    plain: float
    clustered: float
    corrected: float
    design_effect: float | None


def related(*claims: NDArray[np.bytes_]) -> NDArray[np.int64]:
    """Number of the group of each case (n,), from one or more columns ('S32', n) of group digests.

    Cases are together if any column puts them together; a case without a group stands alone. So two
    sides may name the same groups differently, and swapping them changes nothing. Groups are numbered
    in the order of their first case.
    """
    cases = len(claims[0])
    edges: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
    nodes = cases
    for claim in claims:
        named = np.flatnonzero(claim != b"")
        names, numbers = np.unique(claim[named], return_inverse=True)
        edges.append((named, numbers.astype(np.int64) + nodes))
        nodes += len(names)
    start, end = np.concatenate([one for one, _ in edges]), np.concatenate([other for _, other in edges])
    graph = sparse.coo_array((np.ones(len(start), dtype=np.int8), (start, end)), shape=(nodes, nodes))
    labels = csgraph.connected_components(graph, directed=False)[1][:cases]
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return np.asarray(rank[inverse])


def group_numbers(keys: NDArray[np.generic]) -> tuple[NDArray[np.int64], int]:
    """One number per case, the same for cases of the same key, and how many groups there are."""
    names, numbers = np.unique(keys, return_inverse=True)
    return numbers.astype(np.int64), len(names)


def grouped_error(differences: NDArray[np.float64], keys: NDArray[np.generic]) -> GroupedError | None:
    """Errors of the mean of `differences` (n,) with the group key of each case; None below two groups.

    Liang & Zeger (1986), Biometrika 73, 13-22; Miller (2024), arXiv 2411.00640, for evaluations (CR0).
    """
    _check(differences, keys)
    numbers, groups = group_numbers(keys)
    if groups < 2:
        return None
    cases = len(differences)
    away = differences - differences.mean()
    # Equal differences leave rounding behind where their mean is not one of them.
    varies = bool((differences != differences[0]).any())
    sums = np.bincount(numbers, away) if varies else np.zeros(groups)
    clustered = math.sqrt(float((sums**2).sum())) / cases
    corrected = clustered * math.sqrt(groups / (groups - 1))
    plain = float(differences.std(ddof=1)) / math.sqrt(cases) if varies else 0.0
    return GroupedError(groups, plain, clustered, corrected, (corrected / plain) ** 2 if plain else None)


def clustered_t(differences: NDArray[np.float64], keys: NDArray[np.generic], level: float = 0.95) -> Limits | None:
    """Interval of the mean case difference with G - 1 degrees of freedom; for equal groups, t on group means.

    None below two groups or without variation between them. Nothing leads below `SMALLEST_GROUPS`.
    """
    error = grouped_error(differences, keys)
    if error is None or error.corrected == 0:
        return None
    mean = float(differences.mean())
    half = float(special.stdtrit(error.groups - 1, (1 + level) / 2)) * error.corrected
    return Limits(mean - half, mean + half)


def clustered_sign_flip(differences: NDArray[np.float64], keys: NDArray[np.generic], seed: bytes) -> float:
    """Sign-flip test that turns whole groups: the differences of a group keep their signs to each other."""
    _check(differences, keys)
    numbers, groups = group_numbers(keys)
    sums = np.bincount(numbers, differences, minlength=groups)
    size = np.bincount(numbers, np.abs(differences), minlength=groups)
    sums[np.abs(sums) <= 1e-12 * size] = 0.0  # a group that cancels out does not move
    return sign_flip(sums, seed)


def mde_grouped(differences: NDArray[np.float64], keys: NDArray[np.generic]) -> float | None:
    """Smallest mean difference that such groups reveal at 80 % power: 2.8016 standard errors; None as for t."""
    error = grouped_error(differences, keys)
    return None if error is None or error.corrected == 0 else Z_SUM * error.corrected


def grouped_bootstrap(
    differences: NDArray[np.float64], keys: NDArray[np.generic], seed: bytes, *, resamples: int = RESAMPLES
) -> Limits | None:
    """Percentile interval of the mean case difference, whole groups drawn with replacement; None without cases.

    Groups in the order of their keys; each draw is a 32-bit half of a raw word as in `resampling`. A
    resample's mean is its sum over its number of cases, which varies where groups are of unequal size.
    """
    _check(differences, keys)
    numbers, groups = group_numbers(keys)
    if not groups:
        return None
    sums, sizes = np.bincount(numbers, differences), np.bincount(numbers)
    bits = stream(seed)
    means = np.empty(resamples)
    rows = max(1, 16_384 // groups)
    for start in range(0, resamples, rows):
        count = min(rows, resamples - start)
        words = bits.random_raw(count * ((groups + 1) // 2)).astype("<u8", copy=False)
        drawn = words.view("<u4").reshape(count, -1)[:, :groups].astype(np.uint64)
        place = ((drawn * np.uint64(groups)) >> np.uint64(32)).astype(np.int64)
        means[start : start + count] = sums[place].sum(axis=1) / sizes[place].sum(axis=1)
    return Limits(*percentile_limits(means))


def _check(differences: NDArray[np.float64], keys: NDArray[np.generic]) -> None:
    if len(differences) != len(keys):
        raise ValueError("Every case has one group key.")
    if not np.isfinite(differences).all():
        raise ValueError("Differences are finite numbers; what was not scored must be left out before.")
