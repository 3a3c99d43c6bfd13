"""Where a file lies in a chosen folder reaches the mapping, and nothing else does."""

from __future__ import annotations

import io
import json

import pytest

from intake import actions, storage
from intake.models import Import
from runs.models import Experiment
from tests.intake.conftest import work

URL = "/api/v1/imports"
MAPPING = {
    "name": "by folder",
    "case": ["id"],
    "arm": "$folder",
    "scorers": [{"key": "ok", "kind": "boolean", "direction": "higher_is_better", "value": "ok"}],
}


def sent(api, paths, names=("a.jsonl", "a.jsonl")):
    files = []
    for mark, name in enumerate(names):
        file = io.BytesIO(f'{{"id": 1, "ok": {mark % 2}}}\n'.encode())
        file.name = name
        files.append(file)
    body = {"files": files, "mapping": json.dumps(MAPPING), "dataset": "Folders"}
    if paths is not None:
        body["paths"] = paths if isinstance(paths, str) else json.dumps(paths)
    return api.post(URL, body, headers={"idempotency-key": "folders-1"})


@pytest.fixture
def api(cast, api_client):
    return api_client(cast.ana, cast.team)


def test_folders_tell_the_arms_apart(api):
    answer = sent(api, ["run/one/a.jsonl", "run/two/a.jsonl"])
    assert answer.status_code == 202, answer.content
    row = Import.objects.get(pk=answer.json()["id"])
    work(row)
    assert row.state == "completed", row.refusal_code
    assert Experiment.objects.count() == 2


def test_what_lies_beside_the_results_is_left_out_and_named(cast, tmp_path):
    files = []
    for name, text in (("run/one/a.jsonl", '{"id": 1, "ok": 1}\n'), ("run/one/metrics.json", '{"ok": 1}')):
        path = tmp_path / name.replace("/", "-")
        path.write_text(text)
        files.append((name, storage.chunks_of(path)))
    row, _ = actions.create(
        access=cast.access(cast.ana),
        files=files,
        key="beside-1",
        dataset_name="D",
        mapping={**MAPPING, "format": "jsonl"},
    )
    work(row)
    assert row.state == "ready", row.refusal_code
    assert "Not read, because the mapping reads jsonl: run/one/metrics.json" in row.importtext.notes


@pytest.mark.parametrize(
    "paths",
    [
        ["../a.jsonl", "b/a.jsonl"],
        ["/etc/a.jsonl", "b/a.jsonl"],
        ["x//a.jsonl", "b/a.jsonl"],
        ["x\\a.jsonl", "b/a.jsonl"],
        ["x/other.jsonl", "b/a.jsonl"],
        ["x/a.jsonl"],
        [1, 2],
        {"a": 1},
        "no json",
        ["x" * 500 + "/a.jsonl", "b/a.jsonl"],
        ["x\n/a.jsonl", "b/a.jsonl"],
    ],
)
def test_any_other_path_is_refused_with_its_place(api, paths):
    answer = sent(api, paths)
    assert answer.status_code == 400, answer.content
    fault = answer.json()
    assert "paths" in json.dumps(fault)
    assert not Import.objects.exists()
