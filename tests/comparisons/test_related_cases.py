"""Cases that share a source, from a file's column to the interval: the same on every door."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from django.urls import reverse
from typer.testing import CliRunner

from cli.main import app
from datasets.models import ItemContent, ItemRevision
from intake.actions import import_now
from intake.readers import Limits, NamedFile
from intake.readers.suggest import suggest
from tests.comparisons.conftest import Compared
from tests.comparisons.test_real_evidence import words_of

COLUMNS = ["id", "model", "question", "document", "correct"]
MAPPING = {
    "case": ["id"],
    "arm": "model",
    "content": {"input": "question"},
    "group": "document",
    "scorers": [{"key": "correct", "kind": "boolean", "direction": "higher_is_better", "value": "correct"}],
}


def rows(model: str, seed: int, *, cases: int = 60, size: int = 4, rate: float = 0.7) -> list[dict[str, object]]:
    source = random.Random(seed)
    return [
        {
            "id": f"q{case}",
            "model": model,
            "question": f"What is {case}?",
            "document": f"contract {case // size}",
            "correct": int(source.random() < rate),
        }
        for case in range(cases)
    ]


def write(folder: Path, name: str, entries) -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf-8")
    return path


def bring(cast, path: Path, mapping=None, **how):
    access = cast.access(cast.ana)
    row = import_now(
        access=access, files=[(path.name, path)], dataset_name="Contracts", mapping=mapping or MAPPING, **how
    )
    [run] = row.importedrun_set.all()
    return run.experiment


@pytest.fixture
def files(tmp_path):
    return [
        write(tmp_path, "new.jsonl", rows("new", 1, rate=0.95)),
        write(tmp_path, "old.jsonl", rows("old", 2, rate=0.45)),
    ]


@pytest.mark.django_db
def test_files_and_store_count_the_same_groups(cast, files, tmp_path, api_client, page_client):
    compared = Compared(cast.team, *(bring(cast, path) for path in files))
    found = api_client(cast.ana, cast.team).get(compared.api()).json()["result"]
    assert found["grouping"]["groups"] == 15
    assert [one["method"] for one in found["intervals"]] == ["grouped_t", "grouped_bootstrap", "percentile_bootstrap"]
    assert found["tests"][0]["method"] == "grouped_sign_flip"

    mapping = tmp_path / "mapping.json"
    mapping.write_text(json.dumps(MAPPING))
    local = CliRunner().invoke(app, ["compare", str(files[1]), str(files[0]), "--mapping", str(mapping), "--json"])
    assert local.exit_code == 0, local.output
    said = json.loads(local.stdout)
    for part in ("grouping", "intervals", "tests", "quality", "adequacy", "interval95"):
        assert said[part] == found[part], part

    page = words_of(page_client(cast.ana).get(compared.url(cast.ana)))
    assert "T interval on groups, 15 groups" in page
    assert "60 paired cases form 15 groups" in page
    details = words_of(page_client(cast.ana).get(compared.url(cast.ana, tab="details")))
    assert "15 groups, the largest with 4 cases" in details
    told = CliRunner().invoke(app, ["compare", str(files[1]), str(files[0]), "--mapping", str(mapping)])
    assert "t interval on groups" in told.stdout
    assert "60 paired cases form 15 groups" in " ".join(told.stdout.split())


@pytest.mark.django_db
def test_groups_named_by_one_side_hold_for_both(cast, files):
    old = bring(cast, files[1], {name: value for name, value in MAPPING.items() if name != "group"})
    new = bring(cast, files[0])
    assert ItemRevision.objects.count() == 120  # the same cases, now with a group
    result = Compared(cast.team, new, old).view(cast.ana).result
    assert (result.quality.cases, result.quality.revision_unknown) == (60, 0)
    assert result.grouping is not None
    assert result.grouping.groups == 15
    swapped = Compared(cast.team, old, new).view(cast.ana).result
    lead, other = result.intervals[0], swapped.intervals[0]
    assert (lead.low, lead.high) == (-other.high, -other.low)


@pytest.mark.django_db
def test_an_import_without_groups_finds_the_cases_that_have_them(cast, files, tmp_path):
    new = bring(cast, files[0])
    plain = {name: value for name, value in MAPPING.items() if name != "group"}
    old = bring(cast, files[1], plain)
    assert ItemRevision.objects.count() == 60
    assert new.version == old.version
    assert ItemContent.objects.filter(group_name="contract 3").count() == 4


@pytest.mark.django_db
def test_few_groups_lead_to_nothing(cast, tmp_path, page_client):
    files = [
        write(tmp_path, f"{name}.jsonl", rows(name, seed, size=10, rate=rate))
        for name, seed, rate in (("new", 1, 0.95), ("old", 2, 0.4))
    ]
    compared = Compared(cast.team, *(bring(cast, path) for path in files))
    result = compared.view(cast.ana).result
    assert (result.finding.kind, result.intervals[0].descriptive) == ("too_few", True)
    page = words_of(page_client(cast.ana).get(compared.url(cast.ana)))
    assert "Too few groups" in page or "too few groups" in page
    assert "An interval needs at least 10 groups" in page
    plan = words_of(page_client(cast.ana).get(compared.url(cast.ana, tab="plan")))
    assert "6 groups of related cases. It takes 10" in plan


@pytest.mark.django_db
def test_one_case_in_two_groups_is_set_aside(cast, tmp_path):
    entries = [{**row, "repetition": repetition} for row in rows("new", 1, cases=2) for repetition in (1, 2)]
    entries[1]["document"] = "another"
    path = write(tmp_path, "new.jsonl", entries)
    mapping = {**MAPPING, "repetition": "repetition"}
    experiment = bring(cast, path, mapping, accept_rejected=True)
    assert experiment.planned == 3
    wrong = tmp_path / "mapping.json"
    wrong.write_text(json.dumps(mapping))
    done = CliRunner().invoke(app, ["compare", str(path), str(path), "--mapping", str(wrong)])
    assert done.exit_code != 0
    assert "contradictory_group" in done.output


@pytest.mark.django_db
def test_the_group_is_shown_with_the_content_and_only_there(cast, files, page_client, api_client):
    new = bring(cast, files[0])
    revision = ItemContent.objects.filter(group_name="contract 3").first().revision
    address = reverse(
        "datasets:revision",
        kwargs={"team": cast.team.slug, "dataset": new.version.dataset_id, "revision": revision.pk},
    )
    assert "contract 3" in words_of(page_client(cast.ana).get(address))
    assert "contract 3" not in words_of(page_client(cast.ben).get(address))


def test_a_column_of_groups_is_suggested(tmp_path):
    entries = [{**row, "document_id": row["document"]} for row in rows("new", 1)]
    path = write(tmp_path, "new.jsonl", entries)
    found = suggest([NamedFile("new.jsonl", path)], Limits())
    assert found is not None
    assert found.group == "document_id"
