"""Small result files, imported in one go or step by step."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from intake import actions, working
from intake.models import Import
from runs.models import Experiment

LONG = {
    "case": ["item"],
    "arm": "model",
    "repetition": "rep",
    "answer": "answer",
    "error": ["error"],
    "content": {"input": "question"},
    "content_optional": True,
    "scorers": [
        {"key": "correct", "kind": "boolean", "direction": "higher_is_better", "value": "correct"},
        {"key": "score", "kind": "numeric", "direction": "higher_is_better", "value": "score", "low": 0, "high": 1},
    ],
}


def rows(model: str = "m1", cases: int = 3, repetitions: int = 2, **changes: Any) -> list[dict[str, Any]]:
    return [
        {
            "item": f"case-{case}",
            "model": model,
            "rep": repetition,
            "question": f"What is {case}?",
            "answer": f"answer {case} {repetition}",
            "error": None,
            "correct": (case + repetition) % 2,
            "score": round((case % 7) / 10, 2),
            **changes,
        }
        for case in range(cases)
        for repetition in range(1, repetitions + 1)
    ]


def jsonl(entries: Iterable[dict[str, Any]]) -> str:
    return "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries)


@pytest.fixture
def put(tmp_path) -> Callable[..., Path]:
    """Write a file; a list of rows becomes JSON Lines."""

    def write(name: str, content: Any) -> Path:
        path: Path = tmp_path / "given" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content if isinstance(content, str) else jsonl(content), encoding="utf-8")
        return path

    return write


@pytest.fixture
def bring(cast) -> Callable[..., Import]:
    """Import files at once, as ana."""

    def run(*files: Path, dataset: str = "Cases", **how: Any) -> Import:
        return actions.import_now(
            access=cast.access(cast.ana), files=[(path.name, path) for path in files], dataset_name=dataset, **how
        )

    return run


@pytest.fixture
def upload(cast) -> Callable[..., Import]:
    """Upload files and leave them to a worker, as ana."""
    count = iter(range(1000))

    def run(*files: Path, key: str = "", **how: Any) -> Import:
        row, _ = actions.create(
            access=how.pop("access", None) or cast.access(cast.ana),
            files=[(path.name, [path.read_bytes()]) for path in files],
            key=key or f"upload-key-{next(count)}",
            **how,
        )
        return row

    return run


def work(row: Import) -> Import:
    """Do the import's next step in this process, as a worker would."""
    working.advance(row.pk, own_connection=False)
    row.refresh_from_db()
    return row


def experiments(row: Import) -> list[Experiment]:
    found = {str(one.pk): one for one in Experiment.objects.select_related("subject", "version")}
    return [found[entry["experiment"]] for entry in row.summary["results"]]
