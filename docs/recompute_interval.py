#!/usr/bin/env python3
"""Recompute interval95 from its description in statistics.md. Needs NumPy only, none of Evenhand.

Reads JSON from standard input: method_version, metric_key, candidate_digest, baseline_digest, and
differences (candidate minus baseline per paired scored case, in case-key order). Writes [low, high].
"""

import hashlib
import json
import sys

import numpy as np


def interval(
    method_version: str, metric_key: str, candidate_digest: str, baseline_digest: str, differences: list[float]
) -> list[float]:
    flipped = candidate_digest > baseline_digest
    d = (-np.array(differences) if flipped else np.array(differences)) + 0.0
    text = "\0".join([method_version, metric_key, *sorted([candidate_digest, baseline_digest])])
    raw = np.random.SFC64(int.from_bytes(hashlib.sha256(text.encode()).digest(), "big")).random_raw
    n, resamples = len(d), 2000
    values, counts = np.unique(d, return_counts=True)
    sums = np.zeros(resamples)
    if 64 * len(values) <= n:  # counts of the distinct differences, the most frequent first
        order = sorted(range(len(values)), key=lambda k: (-counts[k], values[k]))
        left, cases = np.full(resamples, n), n
        for k in order:
            hits, undecided, rest = np.zeros(resamples, int), left.copy(), int(counts[k])
            if rest == cases:
                hits, undecided = left, np.zeros(resamples, int)  # the last value takes what is left
            while undecided.any() and rest:
                digit, rest = divmod(2 * rest, cases)  # the next binary digit of counts[k] / cases
                ones = np.zeros(resamples, int)
                for i in np.flatnonzero(undecided):
                    words = raw((undecided[i] + 63) // 64)
                    words[-1] &= np.uint64(2 ** ((int(undecided[i]) - 1) % 64 + 1) - 1)
                    ones[i] = np.bitwise_count(words).sum()
                hits += (undecided - ones) * digit
                undecided = ones if digit else undecided - ones
            sums, left, cases = sums + hits * values[k], left - hits, cases - int(counts[k])
    else:  # cases by index: 32-bit halves, the low one first, case floor(half * n / 2^32)
        for b in range(resamples):
            for block in range(0, n, 131072):
                size = min(131072, n - block)
                words = raw((size + 1) // 2)
                halves = np.stack([words & np.uint64(2**32 - 1), words >> np.uint64(32)], axis=1).ravel()[:size]
                sums[b] += d[((halves * np.uint64(n)) >> np.uint64(32)).astype(int)].sum()
    s = np.sort(sums / n)
    low, high = s[49] + 0.975 * (s[50] - s[49]), s[1950] + 0.975 * (s[1949] - s[1950])  # ranks 49.975 and 1949.025
    return [-float(high) + 0.0, -float(low) + 0.0] if flipped else [float(low) + 0.0, float(high) + 0.0]


if __name__ == "__main__":
    sys.stdout.write(json.dumps(interval(**json.load(sys.stdin))) + "\n")
