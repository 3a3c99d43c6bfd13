"""Random groups of records, the same ones for the same seed."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from typing import Any

CLAIMS = ("causal", "score_comparison", "descriptive_registration", "score_compare", "record", "ranking")
SCALES: tuple[dict[str, Any] | None, ...] = (
    None,
    None,
    None,
    {"range": "0..1", "unit": "fraction", "verifier": "source"},
    {"verifier": "source", "unit": "fraction", "range": "0..1"},
    {"range": "0..1", "unit": "fraction", "verifier": "checker-2"},
    {"range": "0..100", "unit": "percent", "verifier": "source"},
    {"range": "0..1", "unit": "fraction", "verifier": "source", "note": 1},
    {"range": "0..1", "unit": "fraction", "verifier": "source", "note": 1.0},
    {},
)
NESTED: dict[str, Any] = {"range": "0..1", "note": [1, {"b": None, "a": 2}]}
"""A scale that the published tool cannot read: it needs the values of a scale to be hashable."""
REWARDS = (0, 1, 0.0, -0.0, 1.0, 0.5, 0.66, 1.0000001, -0.1, 85, 10**400)
STATUSES = ("verified", "verified", "unresolved_zero", "agent_claimed", "Verified")
NAMES = ("a", "a", "a", "b", "a/b", "line\nend", 'quote"', "it's", "задача", "cafe\u0301", "café")


def groups(seed: int, count: int, *, nested: bool = False) -> Iterator[dict[str, Any]]:
    """Valid cases of one to five records, mostly alike, so that every verdict occurs often."""
    scales = (*SCALES, NESTED) if nested else SCALES
    dice = random.Random(seed)
    for number in range(count):
        varied = dice.random()
        yield {"id": f"random-{number}", "records": [_record(dice, varied, scales) for _ in range(dice.randint(1, 5))]}


def _record(dice: random.Random, varied: float, scales: Sequence[dict[str, Any] | None]) -> dict[str, Any]:
    def pick(choices: Any, usual: Any) -> Any:
        return dice.choice(choices) if dice.random() < varied * 0.4 else usual

    record: dict[str, Any] = {
        "task_id": pick(NAMES, "t"),
        "harness": dice.choice(("h1", "h2")) if dice.random() < 0.5 else pick(NAMES, "h1"),
        "model": pick(NAMES, "m"),
        "reward": pick(REWARDS, dice.choice((0.0, 1.0, 0.5))),
        "reward_status": pick(STATUSES, "unresolved_zero" if dice.random() < 0.1 else "verified"),
    }
    scale = pick(scales, None)
    if scale is not None:
        record["score_scale"] = scale
    if dice.random() < varied * 0.3:
        record["trajectory_available"] = dice.random() < 0.7
    if dice.random() < 0.2:
        record["repetition_count"] = dice.randint(1, 5)
    if dice.random() < varied * 0.3:
        record[dice.choice(("zeta", "alpha", "поле"))] = dice.choice((1, None, "x", [2]))
    return record


def every_combination() -> Iterator[tuple[tuple[bool, ...], dict[str, Any]]]:
    """The 64 settings of six facts: task, model and harness differ, trace missing, zeros mixed, scale bad."""
    for facts in itertools.product((False, True), repeat=6):
        task, model, harness, trace, zeros, scale = facts
        first = {"task_id": "t1", "model": "m1", "harness": "h1", "reward": 0.0, "reward_status": "verified"}
        second = {
            "task_id": "t2" if task else "t1",
            "model": "m2" if model else "m1",
            "harness": "h2" if harness else "h1",
            "reward": 85 if scale else 0.0,
            "reward_status": "unresolved_zero" if zeros else "verified",
            "trajectory_available": not trace,
        }
        yield facts, {"id": "facts", "records": [first, second]}
