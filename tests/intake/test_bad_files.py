"""Malformed files through the import: a code, a place, and nothing stored."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from datasets.models import Item
from intake import actions
from intake.models import ImportText, RejectedRow
from runs.models import Answer, Execution, Experiment
from teams.refusals import CATALOGUE, Refusal
from tests.intake.conftest import LONG, rows, work

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def corpus(shared, tmp_path_factory) -> tuple[Path, list[dict]]:
    folder = tmp_path_factory.mktemp("corpus")
    made = subprocess.run(
        [sys.executable, shared / "tools" / "bad_inputs.py", folder, "--seed", "11", "--mutants", "12"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    return folder, json.loads((folder / "expected.json").read_text())["files"]


def test_the_corpus_stores_all_or_nothing(cast, corpus):
    """Every third malformed file, every mutant and every control: refused whole with a listed code, or exact."""
    folder, expected = corpus
    access = cast.access(cast.ana)
    refused = kept = 0
    for index, one in enumerate(expected):
        if (one["kind"] == "refuse" and index % 3) or one["file"].startswith("bomb"):
            continue
        before = Execution.objects.count()
        try:
            row = actions.import_now(
                access=access, files=[(one["file"], folder / one["file"])], dataset_name=f"Corpus {index}"
            )
        except Refusal as refusal:
            assert refusal.code in CATALOGUE
            assert refusal.code not in ("import_failed", "server_error")
            assert one["kind"] != "accept" or refusal.code == "import_mapping_needed", (one, refusal)
            assert Execution.objects.count() == before
            refused += 1
        else:
            assert one["kind"] != "refuse", one
            if one["kind"] == "accept" and one["rows"] is not None:
                assert Execution.objects.count() - before == one["rows"], one
            assert row.total == Execution.objects.count() - before
            kept += 1
    assert refused > 30
    assert kept > 15
    assert Experiment.objects.count() <= kept + 2


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b'{"item": "a", "item": "b"}\n', "import_json_duplicate_key"),
        (b'{"item": "a", "score": NaN}\n', "import_json_nonfinite"),
        (b'{"item": "\\u0000"}\n', "import_nul_character"),
        (b'{"item": "\\ud800"}\n', "import_lone_surrogate"),
        (b'{"item": "\xff"}\n', "import_not_utf8"),
        (b"[" * 200 + b"]" * 200, "import_json_too_deep"),
        (b"\x1f\x8b\x08", "import_type_mismatch"),
    ],
)
def test_a_broken_file_is_refused_whole(upload, put, content, code):
    row = work(upload(put("a.jsonl", content), mapping=LONG, dataset_name="Cases"))
    assert (row.state, row.refusal_code) == ("refused", code)
    assert ImportText.objects.get(owner=row).refusal_message
    assert not RejectedRow.objects.exists()
    assert not Item.objects.exists()


def test_values_that_no_column_holds_are_rows_left_out(bring, put):
    long = "x" * 300
    entries = rows(cases=4, repetitions=1)
    entries[0] |= {"cost": 1e300}
    entries[1] |= {"kind": long}
    mapping = LONG | {
        "cost": {"path": "cost", "unit": "units"},
        "scorers": [
            *LONG["scorers"],
            {"key": "kind", "kind": "categorical", "direction": "unordered", "value": "kind"},
        ],
    }
    row = bring(put("a.jsonl", entries), mapping=mapping, accept_rejected=True)
    assert row.rejected == 2
    assert row.total == 2


def test_hostile_text_is_kept_as_it_is(bring, put):
    nasty = "=cmd|' /C calc'!A0 <script>alert(1)</script> \u202e \u0301"
    bring(put("a.jsonl", rows(cases=1, repetitions=1, answer=nasty)), mapping=LONG)
    assert Answer.objects.get().text == nasty


def test_names_of_metrics_that_do_not_fit_are_refused(bring, put):
    mapping = LONG | {"scorers": [{**LONG["scorers"][0], "key": "k" * 121}]}
    with pytest.raises(Refusal) as refused:
        bring(put("a.jsonl", rows()), mapping=mapping)
    assert refused.value.code == "import_value_too_long"
