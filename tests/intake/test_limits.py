"""What ends an import that is too large, too slow, or no longer what was looked at."""

from __future__ import annotations

import subprocess
import sys

import pytest
from django.utils import timezone

from datasets.models import Dataset
from intake import actions, examining, storage, working
from intake.models import Import, ImportState
from runs.models import Experiment
from teams.refusals import Refusal
from tests.conftest import ROOT
from tests.intake.conftest import LONG, jsonl, rows, work

pytestmark = pytest.mark.django_db

HUNGRY = """
import django
django.setup()
from django.conf import settings
from intake import working
settings.IMPORT_MEMORY_BYTES = 50_000_000
try:
    with working.bounded_memory():
        bytearray(80_000_000)
except MemoryError:
    print("refused")
print(len(bytearray(80_000_000)))
"""


def test_memory_is_bounded_while_files_are_read():
    """F33: the ceiling holds inside, and is gone afterwards."""
    told = subprocess.run(
        [sys.executable, "-c", HUNGRY], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    ).stdout
    assert told.split() == ["refused", "80000000"]


def test_an_import_that_needs_too_much_memory_says_so(upload, put, monkeypatch):
    def hungry(*args, **kwargs):
        raise MemoryError

    monkeypatch.setattr(examining, "examine", hungry)
    row = work(upload(put("a.jsonl", rows()), mapping=LONG))
    assert (row.state, row.refusal_code) == (ImportState.REFUSED, "import_too_much_memory")


def test_an_import_that_takes_too_long_ends(upload, put, monkeypatch):
    monkeypatch.setattr(working, "RENEW_SECONDS", 0.0)
    monkeypatch.setattr(working, "MOST_SECONDS", 0)
    row = work(upload(put("a.jsonl", rows()), mapping=LONG))
    assert (row.state, row.refusal_code) == (ImportState.REFUSED, "import_takes_too_long")


def test_a_fault_of_ours_writes_nothing_and_tells_nothing_of_itself(cast, upload, put, monkeypatch):
    row = work(upload(put("a.jsonl", rows()), mapping=LONG, dataset_name="Cases"))
    actions.confirm(access=cast.access(cast.ana), row=row)

    def broken(*args, **kwargs):
        raise RuntimeError("canary of an exception")

    monkeypatch.setattr("intake.writing.exact_version", broken)
    work(row)
    assert (row.state, row.refusal_code) == (ImportState.REFUSED, "import_failed")
    assert "canary" not in row.importtext.refusal_message
    assert Experiment.objects.count() == Dataset.objects.count() == 0


def test_files_that_read_differently_than_the_dry_run_are_not_written(cast, upload, put):
    """A new build, or damaged bytes: what is written is what the person saw."""
    row = work(upload(put("a.jsonl", rows()), mapping=LONG, dataset_name="Cases"))
    actions.confirm(access=cast.access(cast.ana), row=row)
    storage.path_of(row.importfile_set.get().sha256).write_text(jsonl(rows()[:-1]))
    work(row)
    assert (row.state, row.refusal_code) == (ImportState.REFUSED, "import_changed_meanwhile")
    assert Experiment.objects.count() == 0


def test_an_archived_dataset_takes_nothing(bring, put):
    bring(put("a.jsonl", rows()), mapping=LONG)
    Dataset.objects.update(archived_at=timezone.now())
    with pytest.raises(Refusal) as refused:
        bring(put("b.jsonl", rows("m2")), mapping=LONG)
    assert (refused.value.code, refused.value.place) == ("dataset_archived", "dataset")
    assert Import.objects.count() == 1


def test_a_team_keeps_a_bounded_number_of_mappings(cast, monkeypatch):
    monkeypatch.setattr(actions, "MOST_MAPPINGS", 1)
    actions.save_mapping(access=cast.access(cast.ana), name="One", body=LONG)
    with pytest.raises(Refusal) as refused:
        actions.save_mapping(access=cast.access(cast.ana), name="Two", body=LONG)
    assert refused.value.code == "mapping_limit"
