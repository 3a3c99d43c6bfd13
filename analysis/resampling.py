"""The case bootstrap and the stream of random numbers behind it.

Everything here is part of `METHOD_VERSION`: a change that moves a digit of an interval needs a new
one. Random numbers are the raw 64-bit words of NumPy's SFC64, whose stream is stable across NumPy
releases (the methods of `Generator` are not). `docs/statistics.md` specifies the stream and
`docs/recompute_interval.py` reproduces an interval from that text without importing this module.

Two samplers draw whole cases with replacement from the same distribution:

* by index: each draw is one 32-bit half of a word, turned into a case by multiply-shift;
* by counts: cases with the same difference are interchangeable, so only how often each distinct
  difference is drawn matters. The counts are multinomial, drawn as conditional binomials, and a
  binomial is drawn exactly, with integers alone, from the binary digits of its probability.

Which of the two serves is decided by the evidence (`uses_counts`), never by the caller.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

METHOD_VERSION = "evenhand/paired/1"
"""Names everything that determines the digits: pairing, orientation, seed, stream, samplers, percentiles."""

RESAMPLES = 2_000
LEVEL = 0.95
TAIL_PER_THOUSAND = 25  # (1 - LEVEL) / 2 without a rounded binary fraction
CASES_PER_DISTINCT = 64  # counting pays above this; measured on 20 to 100,000 cases
CHUNK_DRAWS = 16_384  # draws gathered at once; even, so that a word never straddles two pieces
BLOCK_DRAWS = 131_072  # draws of one resample that are summed at once; larger sets add block sums in order
CHUNK_WORDS = 262_144  # raw words counted at once (2 MiB)


@dataclass(frozen=True, slots=True)
class BootstrapInterval:
    """Two-sided percentile interval of the mean paired difference, in the metric's unit."""

    low: float
    high: float
    sampler: str
    """`index` or `counts`."""


def stream_seed(metric_key: str, candidate_digest: str, baseline_digest: str) -> bytes:
    """32 bytes from content identity alone; the same whichever side is called the candidate."""
    first, second = sorted((candidate_digest, baseline_digest))
    text = "\0".join((METHOD_VERSION, metric_key, first, second))
    return hashlib.sha256(text.encode()).digest()


def stream(seed: bytes) -> np.random.SFC64:
    """The raw stream of a seed. The seed is read as one big-endian integer."""
    return np.random.SFC64(int.from_bytes(seed, "big"))


def uses_counts(cases: int, distinct: int) -> bool:
    """Whether the counts sampler serves a comparison of `cases` cases with `distinct` different differences."""
    return distinct * CASES_PER_DISTINCT <= cases


def bootstrap_interval(
    differences: NDArray[np.float64], seed: bytes, *, flipped: bool, resamples: int = RESAMPLES
) -> BootstrapInterval:
    """Percentile case-bootstrap interval of the mean of `differences` (n,), in canonical case order.

    `flipped` says that the sides were exchanged against the order of their series digests: the
    drawing is then done on the negated differences and the interval negated back, so that swapping
    candidate and baseline negates the interval to the last digit.

    Efron & Tibshirani, An Introduction to the Bootstrap (1993), section 13.3; whole cases are drawn
    with their repetitions kept together.
    """
    _refuse_nan(differences)
    if not len(differences):
        raise ValueError("A bootstrap needs at least one case.")
    oriented = -differences + 0.0 if flipped else differences + 0.0  # + 0.0: no negative zeros
    values, counts = np.unique(oriented, return_counts=True)
    by_counts = uses_counts(len(oriented), len(values))
    bits = stream(seed)
    means = (
        _means_by_counts(values, counts, bits, resamples) if by_counts else means_by_index(oriented, bits, resamples)
    )
    low, high = percentile_limits(means)
    if flipped:
        low, high = -high, -low
    return BootstrapInterval(low + 0.0, high + 0.0, "counts" if by_counts else "index")


def percentile_limits(means: NDArray[np.float64]) -> tuple[float, float]:
    """The 2.5 and 97.5 % quantiles, NumPy's type 7 (Hyndman & Fan 1996, definition 7).

    The upper one is the mirror image of the lower, so that negated means have the negated limits.
    """
    _refuse_nan(means)
    last = len(means) - 1
    lower, thousandths = divmod(TAIL_PER_THOUSAND * last, 1000)
    weight = thousandths / 1000
    next_rank = min(lower + 1, last)
    ordered = np.partition(means, sorted({lower, next_rank, last - next_rank, last - lower}))
    near, far = float(ordered[lower]), float(ordered[next_rank])
    low = near + weight * (far - near)
    near, far = float(ordered[last - lower]), float(ordered[last - next_rank])
    return low, near + weight * (far - near)


def means_by_index(values: NDArray[np.float64], bits: np.random.SFC64, resamples: int) -> NDArray[np.float64]:
    """Means of resamples drawn case by case.

    A resample of n cases takes ceil(n / 2) words; each word gives its low half, then its high half;
    a half h draws case floor(h * n / 2 ** 32). Against exactly equal chances the error is below
    n / 2 ** 32.
    """
    cases = len(values)
    block = min(cases, BLOCK_DRAWS)
    rows = max(1, CHUNK_DRAWS // cases)
    drawn = np.empty((rows, block))
    # Buffers are made once, and raw words asked for in small pieces: freed and allocated anew for each
    # chunk, the allocator may give them back to the system every time, which doubled the time.
    place = np.empty(min(rows * block, CHUNK_DRAWS), dtype=np.uint64)
    sums = np.zeros(resamples)
    if rows > 1:
        for start in range(0, resamples, rows):
            count = min(rows, resamples - start)
            _draw(values, bits, drawn[:count], place)
            sums[start : start + count] = drawn[:count].sum(axis=1)
        return sums / cases
    for resample in range(resamples):
        for start in range(0, cases, BLOCK_DRAWS):
            size = min(BLOCK_DRAWS, cases - start)
            for piece in range(0, size, CHUNK_DRAWS):
                _draw(values, bits, drawn[:, piece : min(piece + CHUNK_DRAWS, size)], place)
            sums[resample] += drawn[0, :size].sum()
    return sums / cases


def _draw(
    values: NDArray[np.float64], bits: np.random.SFC64, drawn: NDArray[np.float64], place: NDArray[np.uint64]
) -> None:
    """Fill `drawn` with drawn values; every row begins with a new word. `place` is room for the indices."""
    rows, draws = drawn.shape
    words = bits.random_raw(rows * ((draws + 1) // 2)).astype("<u8", copy=False)
    halves = words.view("<u4").reshape(rows, -1)[:, :draws]
    scaled = place[: rows * draws].reshape(rows, draws)
    np.multiply(halves, np.uint64(len(values)), out=scaled, dtype=np.uint64)
    np.right_shift(scaled, np.uint64(32), out=scaled)
    np.take(values, scaled.view(np.int64), out=drawn, mode="clip")  # never clips; "raise" would copy


def _means_by_counts(
    values: NDArray[np.float64], counts: NDArray[np.intp], bits: np.random.SFC64, resamples: int
) -> NDArray[np.float64]:
    """Means of resamples drawn as counts of the distinct values, the most frequent value first.

    Equal frequencies are ordered by value. Given how many draws are left, the count of the next value is
    binomial with probability (its cases) / (cases of the values not yet counted).
    """
    order = np.lexsort((values, -counts))
    cases_left = cases = int(counts.sum())
    draws_left = np.full(resamples, cases, dtype=np.int64)
    sums = np.zeros(resamples)
    for index in order[:-1]:
        drawn = binomial(draws_left, int(counts[index]), cases_left, bits)
        # Products and sums one value at a time: a matrix product rounds differently from machine to machine.
        sums += drawn * values[index]
        draws_left -= drawn
        cases_left -= int(counts[index])
    sums += draws_left * values[order[-1]]
    return sums / cases


def binomial(trials: NDArray[np.int64], numerator: int, denominator: int, bits: np.random.SFC64) -> NDArray[np.int64]:
    """One exact Binomial(trials[i], numerator / denominator) draw per entry, from raw bits and integers alone.

    A trial succeeds if a uniform number, taken bit by bit, is below p. At each binary digit of p the
    trials that are still undecided toss a fair coin, all at once: how many show 1 is the number of ones
    among that many random bits. Where the digit is 1, those that show 0 have succeeded; where it is 0,
    those that show 1 have failed; the rest stay undecided. Two bits per trial decide on average, so
    64 trials cost about two words. (Compare Knuth & Yao 1976 on drawing from fair coins.)
    """
    successes = np.zeros_like(trials)
    rest = numerator
    active = np.flatnonzero(trials)
    undecided = trials[active]
    while len(active) and rest:  # rest == 0: all further digits of p are 0, so the undecided fail
        rest *= 2
        digit = rest >= denominator
        if digit:
            rest -= denominator
        ones = _ones(undecided, bits)
        if digit:
            successes[active] += undecided - ones
            undecided = ones
        else:
            undecided = undecided - ones
        keep = undecided > 0
        active, undecided = active[keep], undecided[keep]
    return successes


def _ones(sizes: NDArray[np.int64], bits: np.random.SFC64) -> NDArray[np.int64]:
    """How many of the next sizes[i] (each at least 1) random bits are ones.

    Entry i takes ceil(sizes[i] / 64) words after those of entry i - 1; of its last word the lowest bits count.
    """
    words = (sizes + 63) >> 6
    tails = ((np.uint64(1) << ((sizes - 1) & 63).astype(np.uint64)) << np.uint64(1)) - np.uint64(1)
    ends = np.cumsum(words)
    ones = np.empty(len(sizes), dtype=np.int64)
    start = 0
    while start < len(sizes):
        taken = int(ends[start - 1]) if start else 0
        # At least one entry at a time; the words of an entry follow one another whatever the chunk.
        stop = max(start + 1, int(np.searchsorted(ends, taken + CHUNK_WORDS, side="right")))
        if stop == start + 1:
            ones[start] = _ones_of_one(int(sizes[start]), bits)
        else:
            last = ends[start:stop] - taken - 1
            drawn = bits.random_raw(int(last[-1]) + 1)
            drawn[last] &= tails[start:stop]
            counted = np.bitwise_count(drawn)
            if int(last[-1]) + 1 == stop - start:
                ones[start:stop] = counted
            else:
                first = last - words[start:stop] + 1
                ones[start:stop] = np.add.reduceat(counted, first, dtype=np.int64)
        start = stop
    return ones


def _ones_of_one(size: int, bits: np.random.SFC64) -> int:
    total = 0
    while size > 0:
        words = min((size + 63) >> 6, CHUNK_WORDS)
        drawn = bits.random_raw(words)
        spare = words * 64 - size
        if spare > 0:
            drawn[-1] &= np.uint64((1 << (64 - spare)) - 1)
        total += int(np.bitwise_count(drawn).sum(dtype=np.int64))
        size -= words * 64
    return total


def _refuse_nan(values: NDArray[np.float64]) -> None:
    if not np.isfinite(values).all():
        raise ValueError("Differences are finite numbers; what was not scored must be left out before.")
