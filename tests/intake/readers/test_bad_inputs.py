"""Every malformed file of the shared corpus gets its code and its place; every valid one is read exactly."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from analysis.refusals import CODES, Refused
from intake.readers import NamedFile, collect, recognise

MET = {
    "import_csv_header_duplicate",
    "import_csv_ragged_row",
    "import_csv_unterminated_quote",
    "import_duplicate_identity",
    "import_empty",
    "import_eval_count_mismatch",
    "import_eval_identity_mismatch",
    "import_eval_no_header",
    "import_eval_unknown_member",
    "import_eval_version_unsupported",
    "import_identity_control_character",
    "import_json_duplicate_key",
    "import_json_invalid",
    "import_json_nonfinite",
    "import_json_number_out_of_range",
    "import_json_too_deep",
    "import_lone_surrogate",
    "import_not_utf8",
    "import_nul_character",
    "import_record_missing_field",
    "import_record_too_large",
    "import_record_wrong_type",
    "import_score_out_of_scale",
    "import_type_mismatch",
    "import_zip_crc",
    "import_zip_duplicate_member",
    "import_zip_encrypted",
    "import_zip_invalid",
    "import_zip_member_path",
    "import_zip_method_unsupported",
    "import_zip_overlap",
    "import_zip_size_lie",
    "import_zip_too_large_unpacked",
    "import_zip_too_many_members",
}
"""Every code that a file of the corpus must get."""


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
    assert {entry["code"] for entry in expected if entry["code"]} == MET
    assert len(expected) == 177
