"""Small files, written and read."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from analysis.refusals import Refused
from intake.readers import Collected, Limits, Mapping, NamedFile, collect, recognise


@pytest.fixture
def put(tmp_path) -> Callable[..., NamedFile]:
    """Write a file and name it; a text, bytes, or a value as JSON."""

    def write(name: str, content: object) -> NamedFile:
        path: Path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return NamedFile(name, path)

    return write


def read(
    *files: NamedFile,
    mapping: Mapping | None = None,
    accept: bool = False,
    reader: str = "",
    limits: Limits | None = None,
) -> dict[str, Collected]:
    """Every arm of the files, by name."""
    found = recognise(files, mapping, limits, reader=reader)
    return {run.facts.arm: collect(run, accept) for run in found.runs()}


def refusal(*files: NamedFile, **how: object) -> Refused:
    with pytest.raises(Refused) as refused:
        read(*files, **how)  # type: ignore[arg-type]
    return refused.value
