"""All methods of one metric against the bootstrap alone, and what a very large comparison takes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from analysis.observations import CostCoverage, FailureKind, Generation, Kind, Outcome, Side, source_digest
from analysis.paired import compare
from analysis.resampling import RESAMPLES, bootstrap_interval, means_by_index, percentile_limits, stream
from tests.bench import workload
from tests.bench.measuring import Row, Section, in_turn, megabytes, ms
from tests.bench.resampling import SEED
from tests.factories.arms import metric, side

GIGABYTE = 2**30
LARGE = 100_000
BAR_FROM = 10_000
"""Cases from which on the bar holds: below, fixed costs are half of everything and nobody waits."""


def side_of(one: workload.Arm, measured: str) -> Side:
    """The arm as a side, through the same columns as an import."""
    values = one.values(measured)
    kind = Kind.BOOLEAN if measured == "correct" else Kind.NUMERIC
    digests = [source_digest(workload.item(case)) for case in range(one.cases)]
    rows = (
        (
            *(digests[case], digests[case], repetition + 1),
            *((Generation.FAILED, FailureKind.PROVIDER_ERROR) if failed else (Generation.COMPLETED, FailureKind.NONE)),
            *(float(one.latency_ms[case, repetition]), int(one.cost_micros[case, repetition]), CostCoverage.COMPLETE),
            *((Outcome.NONE, None) if failed else (Outcome.SCORED, float(values[case, repetition]))),
            None,
        )
        for case in range(one.cases)
        for repetition, failed in enumerate(one.failed[case].tolist())
    )
    return side(rows, label=one.name, measured=metric(kind))


def sides(cases: int, measured: str) -> tuple[Side, Side]:
    """Candidate and baseline."""
    baseline, candidate = workload.arms(cases, 3)
    return side_of(candidate, measured), side_of(baseline, measured)


def by_index(differences: NDArray[np.float64]) -> tuple[float, float]:
    """The case bootstrap as anybody would do it, whatever the number of distinct differences."""
    return percentile_limits(means_by_index(differences, stream(SEED), RESAMPLES))


def run(cases: int) -> Section:
    section = Section(
        "Statistics",
        "`compare()` of two arms in memory, three repetitions: pairing, both intervals, tests, adequacy, chance, "
        "counts, notices and digests. Floor: our case bootstrap alone, drawn by index, on the same differences. For "
        "few values it draws by counts instead, which takes a fraction; the rows that say so are against that.",
    )
    for size in sorted({1_000, cases}):
        for name, measured in (("numbers", "score"), ("pass or fail", "correct")):
            candidate, baseline = sides(size, measured)
            differences = compare(candidate, baseline).cases.delta
            differences = differences[np.isfinite(differences)]
            things = {
                "all": lambda candidate=candidate, baseline=baseline: compare(candidate, baseline),
                "index": lambda differences=differences: by_index(differences),
                "ours": lambda differences=differences: bootstrap_interval(differences, SEED, flipped=False),
            }
            found = in_turn(things, rounds=9)
            ours = ms(found.median("all"))
            bar = 1.5 if size >= BAR_FROM else None
            section.rows.append(
                Row(f"{name}, {size:,} x 3", ours, ms(found.median("index")), found.ratio("all", "index"), bar)
            )
            if measured == "correct":
                counted = ms(found.median("ours"))
                section.rows.append(
                    Row(f"{name}, {size:,} x 3, counted bootstrap", ours, counted, found.ratio("all", "ours"))
                )
    for name, measured in (("numbers", "score"), ("pass or fail", "correct")):
        most = largest(measured)
        section.rows.append(
            Row(
                f"memory of a process, {name}, {LARGE:,} x 3",
                megabytes(most),
                megabytes(GIGABYTE),
                most / GIGABYTE,
                1.0,
                shown=megabytes(most),
            )
        )
    return section


def largest(measured: str, cases: int = LARGE) -> int:
    """Peak resident bytes of a process of its own that builds both sides and compares them."""
    program = (
        "import resource\n"
        "from analysis.paired import compare\n"
        "from tests.bench.statistics import sides\n"
        f"compare(*sides({cases}, {measured!r}))\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)\n"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", program], cwd=root, check=True, capture_output=True, text=True)
    return int(done.stdout)
