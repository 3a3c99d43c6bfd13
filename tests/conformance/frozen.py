"""The frozen cases of the published package, read from where they lie; expectations are never touched.

Set B ships with its records. Set A ships without: only an id, a category and what is expected. Its
six groups are **ours**, rebuilt from the categories; they are below, and every pair says whose its
records are.
"""

from __future__ import annotations

import importlib.resources
import json
from pathlib import Path
from typing import Any, NamedTuple

PUBLISHED = "agent_comparability"
SHARED = Path(__file__).resolve().parents[3] / "shared" / "data" / "agent_comparability_cases"
SET_A, SET_B = "frozen-cases-a.json", "boundary-cases.json"


class Pair(NamedTuple):
    """One case with one claim, and the admissibility that was frozen for it."""

    case: dict[str, Any]
    claim: str
    expected: str
    records_by: str
    """`published` or `ours`."""

    @property
    def name(self) -> str:
        return f"{self.case['id']}-{self.claim}"


def _run(harness: str, reward: float, status: str = "verified", **more: Any) -> dict[str, Any]:
    record = {"task_id": "task-1", "harness": harness, "model": "model-1", "reward": reward, "reward_status": status}
    return {**record, **more}


REBUILT: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "C1": ("same-task-same-model-diff-harness", [_run("harness-1", 1.0), _run("harness-2", 0.5)]),
    "C2": ("same-task-diff-model-diff-harness", [_run("harness-1", 1.0), _run("harness-2", 0.0, model="model-2")]),
    "C3": ("verified-vs-unresolved-zero", [_run("harness-1", 0.0), _run("harness-2", 0.0, "unresolved_zero")]),
    "C4": ("missing-trace", [_run("harness-1", 1.0), _run("harness-2", 1.0, trajectory_available=False)]),
    "C5": ("score-scale-variation", [_run("harness-1", 0.25), _run("harness-2", 0.5), _run("harness-3", 1.0)]),
    "C6": ("provenance-binding", [_run("harness-1", 1.0, trajectory_available=True)]),
}
"""Ours, by category. C1, C3 and C5 have undeclared scales with all rewards in [0, 1], as set B's erratum says."""


def from_package() -> list[Pair]:
    """The pairs as the installed package ships them; ImportError where it is not installed."""
    folder = importlib.resources.files(PUBLISHED) / "data"
    return _pairs(*((folder / name).read_text("utf-8") for name in (SET_A, SET_B)))


def from_shared() -> list[Pair]:
    """The pairs from the copy beside the project."""
    return _pairs(*((SHARED / name).read_text("utf-8") for name in (SET_A, SET_B)))


def _pairs(set_a: str, set_b: str) -> list[Pair]:
    pairs: list[Pair] = []
    for case in json.loads(set_a)["cases"]:
        category, records = REBUILT[case["id"]]
        if category != case["category"]:
            raise ValueError(f"{case['id']} is of the category {case['category']}, not {category}")
        for claim, expected in case["expected_admissibility_by_claim"].items():
            pairs.append(Pair({"id": case["id"], "records": records}, claim, expected, "ours"))
    for case in json.loads(set_b)["cases"]:
        for claim, expected in case["claims"].items():
            pairs.append(Pair({"id": case["id"], "records": case["records"]}, claim, expected, "published"))
    return pairs
