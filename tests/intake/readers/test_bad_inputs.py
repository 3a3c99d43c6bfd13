"""Every malformed file of the shared corpus gets its code and its place; every valid one is read exactly."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from analysis.refusals import CODES, Refused
from intake.readers import NamedFile, collect, recognise


def one_shot(path: Path) -> tuple[str, str, int]:
    """Code, place and rows of an all-or-nothing reading."""
    reader = "" if path.suffix == ".eval" else "records"
    try:
        found = recognise([NamedFile(path.name, path)], reader=reader)
        rows = sum(len(collect(run).rows) for run in found.runs())
    except Refused as refused:
        assert refused.code in CODES
        assert "\0" not in refused.place
        return refused.code, refused.place.replace("␀", "\0"), 0
    return "", "", rows


@pytest.mark.parametrize("seed", [7, 1])
def test_corpus_of_bad_files(shared, tmp_path, seed):
    subprocess.run(
        [sys.executable, str(shared / "tools" / "bad_inputs.py"), str(tmp_path), "--seed", str(seed)],
        check=True,
        capture_output=True,
    )
    expected = json.loads((tmp_path / "expected.json").read_text())["files"]
    faults = []
    for entry in expected:
        code, place, rows = one_shot(tmp_path / entry["file"])
        if entry["kind"] == "accept":
            right = code == "" and rows == entry["rows"]
        elif entry["kind"] == "refuse":
            right = code == entry["code"] and (entry["where"] or "") in place
        else:
            right = True
        if not right:
            faults.append((entry["file"], entry["code"] or entry["rows"], code or rows, place))
    assert faults == []
    assert len(expected) == 177
