"""Seeded evidence of two arms: cases x repetitions, two metrics, answers of about 600 characters, 2 % errors.

The candidate is truly better by about two points, so improvements and regressions both exist. The arms
are kept as plain arrays beside the files made of them: what the files say is known without reading them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

SEED = 20_240_607
WORDS = (
    *("refund", "policy", "order", "shipping", "invoice", "customer", "account", "window", "delay", "credit"),
    *("support", "agent", "ticket", "receipt", "charge", "transfer", "contract", "clause", "notice", "period"),
    *("liability", "evidence", "statute", "appeal", "ruling", "tenant", "landlord", "deposit", "lease", "repair"),
)
TEXTS = 997
ERROR = "ProviderError: upstream 503 after 3 retries"
MAPPING: dict[str, Any] = {
    "name": "bench",
    "case": ["item"],
    "arm": "$file",
    "repetition": "rep",
    "content": {"input": "question", "expected": "expected"},
    "answer": "answer",
    "error": ["error"],
    "error_kind": "provider_error",
    "cost": {"path": "cost_usd", "unit": "units"},
    "latency": {"path": "latency_ms", "unit": "ms"},
    "scorers": [
        {"key": "correct", "kind": "boolean", "direction": "higher_is_better", "value": "correct"},
        {"key": "score", "kind": "numeric", "direction": "higher_is_better", "value": "score", "low": 0, "high": 1},
    ],
}


@dataclass(frozen=True)
class Arm:
    """What one arm did, each array (cases, repetitions)."""

    name: str
    failed: NDArray[np.bool_]
    correct: NDArray[np.int64]
    score: NDArray[np.float64]
    latency_ms: NDArray[np.float64]
    cost_micros: NDArray[np.int64]

    @property
    def cases(self) -> int:
        return len(self.failed)

    @property
    def executions(self) -> int:
        return self.failed.size

    def values(self, metric: str) -> NDArray[np.float64]:
        """Values of a metric, NaN where the generation failed."""
        found = (self.correct if metric == "correct" else self.score).astype(float)
        return np.where(self.failed, np.nan, found)


def arm(name: str, cases: int, repetitions: int, *, skill: float, stream: int) -> Arm:
    difficulty = np.random.default_rng(SEED).normal(0, 1.2, cases)
    rng = np.random.default_rng([SEED, stream])
    shape = (cases, repetitions)
    p = 1 / (1 + np.exp(difficulty - skill))[:, None]
    correct = (rng.random(shape) < p).astype(np.int64)
    return Arm(
        name=name,
        failed=rng.random(shape) < 0.02,
        correct=correct,
        score=np.round(np.clip(rng.normal(0.35 + 0.5 * p + 0.1 * correct, 0.08), 0, 1), 4),
        latency_ms=np.round(rng.lognormal(7.0, 0.5, shape), 1),
        cost_micros=np.round(rng.lognormal(-6.0, 0.4, shape) * 1e6).astype(np.int64),
    )


def arms(cases: int, repetitions: int) -> tuple[Arm, Arm]:
    """Baseline and candidate over the same cases."""
    return (
        arm("base", cases, repetitions, skill=0.80, stream=0),
        arm("cand", cases, repetitions, skill=0.92, stream=1),
    )


def item(case: int) -> str:
    return f"item-{case:06d}"


def write(folder: Path, cases: int, repetitions: int) -> tuple[tuple[Arm, Path], tuple[Arm, Path]]:
    """One JSONL file per arm, a line per case and repetition."""
    made = arms(cases, repetitions)
    found = []
    for one in made:
        path = folder / f"{one.name}-{cases}x{repetitions}.jsonl"
        with path.open("w") as file:
            for line in lines(one):
                file.write(line)
        found.append((one, path))
    return found[0], found[1]


def lines(one: Arm):
    rng = np.random.default_rng([SEED, 9])
    pool = [" ".join(rng.choice(WORDS, 110))[:700] for _ in range(TEXTS)]
    picked = rng.integers(0, TEXTS, one.failed.shape)
    cut = rng.integers(520, 680, one.failed.shape)
    for case in range(one.cases):
        question = f"Case {case:06d}: {pool[case % TEXTS][:110]}?"
        expected = pool[case * 7 % TEXTS][:80]
        for at in range(one.failed.shape[1]):
            failed = bool(one.failed[case, at])
            row = {
                "item": item(case),
                "rep": at + 1,
                "question": question,
                "expected": expected,
                "answer": None if failed else f"[{one.name} {at + 1}] {pool[picked[case, at]][: cut[case, at]]}",
                "correct": None if failed else int(one.correct[case, at]),
                "score": None if failed else float(one.score[case, at]),
                "latency_ms": float(one.latency_ms[case, at]),
                "cost_usd": None if failed else int(one.cost_micros[case, at]) / 1e6,
                "error": ERROR if failed else None,
            }
            yield json.dumps(row) + "\n"
