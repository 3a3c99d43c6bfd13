"""2,000 case resamples: Evenhand's interval against the cheapest honest drawing, and against SciPy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from analysis.resampling import RESAMPLES, bootstrap_interval
from tests.bench import workload
from tests.bench.measuring import Row, Section, extra_bytes, in_turn, megabytes, ms

Floats = NDArray[np.float64]
CHUNK = 65_536
SIZES = (1_000, 10_000, 100_000)
SEED = bytes(range(32))
MEMORY = 16 * 2**20


def raw_words(values: Floats) -> tuple[float, float]:
    """The floor: raw words, two cases a word, multiply-shift, take, mean; nothing checked, nothing kept."""
    bits = np.random.SFC64(1)
    cases = len(values)
    rows = max(1, CHUNK // cases)
    half = (cases + 1) // 2
    means = np.empty(RESAMPLES)
    for start in range(0, RESAMPLES, rows):
        count = min(rows, RESAMPLES - start)
        drawn = bits.random_raw(count * half).view(np.uint32).reshape(count, -1)[:, :cases].astype(np.uint64)
        drawn *= np.uint64(cases)
        drawn >>= np.uint64(32)
        means[start : start + count] = values.take(drawn.view(np.int64)).mean(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)


def distinct(values: Floats) -> tuple[float, float]:
    """The fastest exact drawing known to us for few values: one multinomial over the distinct ones."""
    found, counts = np.unique(values, return_counts=True)
    means = np.random.default_rng(1).multinomial(len(values), counts / len(values), RESAMPLES) @ found / len(values)
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)


def scipys(candidate: Floats, baseline: Floats) -> Callable[[], object]:
    def call() -> object:
        return stats.bootstrap(
            (candidate, baseline),
            lambda a, b, axis: (a - b).mean(axis=axis),
            paired=True,
            vectorized=True,
            n_resamples=RESAMPLES,
            batch=50,
            method="percentile",
            rng=np.random.default_rng(1),
        )

    return call


def run(cases: int) -> Section:
    section = Section(
        "Resampling",
        "2,000 resamples of whole cases. Floor: raw 64-bit words, multiply-shift, take and mean in chunks of 65,536 "
        "draws. Peer: `scipy.stats.bootstrap`, paired, percentile, vectorised, batches of 50. *Few-valued* is pass "
        "or fail in three repetitions.",
    )
    for size in sorted({*SIZES[:2], cases, SIZES[2]}):
        baseline, candidate = workload.arms(size, 3)
        few = (candidate.correct.sum(axis=1) - baseline.correct.sum(axis=1)) / 3
        first, second = candidate.score.mean(axis=1), baseline.score.mean(axis=1)
        many = first - second
        things = {
            "floats": lambda many=many: bootstrap_interval(many, SEED, flipped=False),
            "floor": lambda many=many: raw_words(many),
            "few": lambda few=few: bootstrap_interval(few, SEED, flipped=False),
            "distinct": lambda few=few: distinct(few),
            "scipy": scipys(first, second),
        }
        found = in_turn(things, rounds=9 if size <= 10_000 else 3)
        floor = ms(found.median("floor"))
        section.rows += [
            Row(f"numbers, {size:,} cases", ms(found.median("floats")), floor, found.ratio("floats", "floor"), 1.5),
            Row(f"few-valued, {size:,} cases", ms(found.median("few")), floor, found.ratio("few", "floor"), 1.0),
            Row(
                f"SciPy, {size:,} cases, against the same floor",
                ms(found.median("scipy")),
                floor,
                found.ratio("scipy", "floor"),
            ),
        ]
        for name, values in (("numbers", many), ("few-valued", few)):
            held = extra_bytes(lambda values=values: bootstrap_interval(values, SEED, flipped=False))
            section.rows.append(
                Row(
                    f"extra memory, {name}, {size:,} cases",
                    megabytes(held),
                    "16 MiB",
                    held / MEMORY,
                    1.0,
                    shown=megabytes(held),
                )
            )
    return section
