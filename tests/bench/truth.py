"""What a comparison of two generated arms must say, computed from the arrays and from docs/statistics.md alone.

Nothing of Evenhand is imported: sums by `math.fsum`, the interval by the script of the documentation.
"""

from __future__ import annotations

import hashlib
import importlib.util
import math
from pathlib import Path
from typing import Any

import numpy as np

from tests.bench.workload import Arm, item

SCRIPT = Path(__file__).parents[2] / "docs" / "recompute_interval.py"
TOLERANCE = 1e-12


def expected(candidate: Arm, baseline: Arm, metric: str) -> tuple[dict[str, Any], list[float]]:
    """Figures by name, and the differences of the scored cases in case-key order."""
    mine, theirs = candidate.values(metric), baseline.values(metric)
    names = [hashlib.sha256(b"evenhand/source/1\0text\0" + item(case).encode()).digest() for case in range(len(mine))]
    means: list[tuple[float, float]] = []
    differences: list[float] = []
    pairs = 0
    for case in sorted(range(len(mine)), key=names.__getitem__):
        both = np.isfinite(mine[case]) & np.isfinite(theirs[case])
        count = int(both.sum())
        if not count:
            continue
        pairs += count
        first, second = math.fsum(mine[case][both]), math.fsum(theirs[case][both])
        difference = first - second
        if abs(difference) <= 1e-12 * max(abs(first), abs(second)):
            difference = 0.0
        means.append((first / count, second / count))
        differences.append(difference / count)
    cases = len(differences)
    return {
        "cases": cases,
        "pairs": pairs,
        "matched_pairs": candidate.executions,
        "candidate.mean": _mean([first for first, _ in means]),
        "candidate.spread": _spread([first for first, _ in means]),
        "baseline.mean": _mean([second for _, second in means]),
        "baseline.spread": _spread([second for _, second in means]),
        "delta": _mean(differences),
        "delta_spread": _spread(differences),
        "better": sum(difference > 0 for difference in differences),
        "worse": sum(difference < 0 for difference in differences),
        "same": sum(difference == 0 for difference in differences),
    }, differences


def interval(result: dict[str, Any], differences: list[float]) -> list[float]:
    """`interval95`, recomputed from the differences and the digests that the result names."""
    spec = importlib.util.spec_from_file_location("recompute_interval", SCRIPT)
    assert spec and spec.loader
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    found: list[float] = script.interval(
        result["method_version"],
        result["metric"]["key"],
        result["candidate"]["series_digest"],
        result["baseline"]["series_digest"],
        differences,
    )
    return found


def faults(result: dict[str, Any], candidate: Arm, baseline: Arm, metric: str) -> list[str]:
    """Where a result of the API differs from the truth; empty if it does not."""
    figures, differences = expected(candidate, baseline, metric)
    found = []
    for name, right in figures.items():
        said: Any = result["quality"]
        for part in name.split("."):
            said = said[part]
        if not _close(said, right):
            found.append(f"{metric} {name}: {said!r}, not {right!r}")
    for name, count in (("regressions", figures["worse"]), ("improvements", figures["better"])):
        if result["filters"][name] != count:
            found.append(f"{metric} filter {name}: {result['filters'][name]}, not {count}")
    for side, one in (("candidate", candidate), ("baseline", baseline)):
        generation = result[side]["generation"]
        if (generation["planned"], generation["failed"]) != (one.executions, int(one.failed.sum())):
            found.append(f"{side} generations: {generation}")
        micros = int(one.cost_micros[~one.failed].sum())
        if result[side]["spend"]["known_micros"] != micros:
            found.append(f"{side} spend: {result[side]['spend']['known_micros']}, not {micros}")
    right_limits = interval(result, differences)
    if not all(map(_close, result["interval95"], right_limits)):
        found.append(f"{metric} interval: {result['interval95']}, not {right_limits}")
    return found


def _close(said: float, right: float) -> bool:
    return abs(said - right) <= TOLERANCE * max(1.0, abs(right))


def _mean(values: list[float]) -> float:
    return math.fsum(values) / len(values)


def _spread(values: list[float]) -> float:
    middle = _mean(values)
    return math.sqrt(math.fsum((value - middle) ** 2 for value in values) / len(values))
