"""Claims, leases, epochs: what a killed, late or doubled worker leaves behind, on a real database."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from django.conf import settings as django_settings
from django.db import connection, connections

from grading.models import Judgment
from intake import actions, working
from intake.models import Import, ImportedRun, ImportState
from runs.models import Execution, Experiment
from tests.conftest import ROOT
from tests.intake.conftest import LONG, experiments, rows

pytestmark = pytest.mark.django_db(transaction=True)

WORKER = """
import sys, django
django.setup()
from django.conf import settings
from intake import working, writing
settings.DATABASES["default"]["NAME"] = sys.argv[2]
settings.UPLOAD_DIR = sys.argv[3]
settings.IMPORT_LEASE_SECONDS = 2
writing.CHUNK = 100
working.RENEW_SECONDS = 0.05
working.advance(sys.argv[1])
"""


def start_worker(row: Import) -> subprocess.Popen[bytes]:
    name = connection.settings_dict["NAME"]
    return subprocess.Popen(
        [sys.executable, "-c", WORKER, str(row.pk), name, str(django_settings.UPLOAD_DIR)],
        cwd=ROOT,
        env=os.environ | {"DJANGO_SETTINGS_MODULE": "config.settings"},
    )


def confirmed(cast, upload, file) -> Import:
    row = upload(file, mapping=LONG, dataset_name="Cases")
    working.advance(row.pk)
    row.refresh_from_db()
    actions.confirm(access=cast.access(cast.ana), row=row)
    return row


def wait_for(row: Import, ready, seconds: float = 30) -> Import:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        row.refresh_from_db()
        if ready(row):
            return row
        time.sleep(0.02)
    raise AssertionError(f"still {row.state} {row.done}/{row.total}")


def test_a_killed_worker_leaves_nothing_and_the_import_is_taken_up_again(cast, upload, put):
    """S4: kill -9 in the middle of writing."""
    row = confirmed(cast, upload, put("a.jsonl", rows(cases=3000)))
    worker = start_worker(row)
    wait_for(row, lambda one: one.state == ImportState.RUNNING and one.done >= 300)
    assert row.done < row.total == 6000
    worker.send_signal(signal.SIGKILL)
    worker.wait()
    for kind in (Execution, Judgment, Experiment, ImportedRun):  # all or nothing
        assert kind.objects.count() == 0
    assert working.claim(row.pk) is None  # the lease still runs
    wait_for(row, lambda one: one.lease_until is not None and working.tick() >= 1, 10)
    assert working.advance(row.pk)
    row.refresh_from_db()
    assert row.state == ImportState.COMPLETED
    assert Execution.objects.count() == 6000
    assert Judgment.objects.count() == 12000
    assert Experiment.objects.count() == 1


def test_a_stale_epoch_writes_nothing(cast, upload, put):
    """A worker that was thought dead reaches its last step: its transaction is rolled back whole."""
    row = confirmed(cast, upload, put("a.jsonl", rows()))
    late = working.claim(row.pk, "late")
    Import.objects.filter(pk=row.pk).update(lease_until="2020-01-01T00:00:00Z")
    second = working.claim(row.pk, "second")
    assert late is not None and second is not None and second.epoch == late.epoch + 1
    with pytest.raises(working.Lost):
        working.put(late, lambda done: None)
    assert Experiment.objects.count() == 0
    working.put(second, lambda done: None)
    assert Experiment.objects.count() == 1


def test_an_ended_lease_writes_nothing_even_without_a_rival(cast, upload, put):
    row = confirmed(cast, upload, put("a.jsonl", rows()))
    taken = working.claim(row.pk)
    Import.objects.filter(pk=row.pk).update(lease_until="2020-01-01T00:00:00Z")
    with pytest.raises(working.Lost):
        working.put(taken, lambda done: None)
    assert Experiment.objects.count() == 0


def test_discarding_stops_a_worker_in_the_middle(cast, upload, put, monkeypatch):
    """The progress of a running import is a live check of its claim."""
    monkeypatch.setattr(working, "RENEW_SECONDS", 0.0)
    monkeypatch.setattr("intake.writing.CHUNK", 10)
    row = confirmed(cast, upload, put("a.jsonl", rows(cases=40)))
    done = []
    real = working.Progress.__call__

    def discard_soon(self, count):
        done.append(count)
        if len(done) == 3:
            thread = threading.Thread(target=other_person)
            thread.start()
            thread.join()
        real(self, count)

    def other_person():
        try:
            actions.discard(access=cast.access(cast.ana), row=Import.objects.get(pk=row.pk))
        finally:
            connections.close_all()

    monkeypatch.setattr(working.Progress, "__call__", discard_soon)
    working.advance(row.pk)
    row.refresh_from_db()
    assert row.state == ImportState.CANCELLED
    assert len(done) == 3
    assert Execution.objects.count() == Experiment.objects.count() == 0


def test_progress_is_seen_while_the_transaction_is_open(cast, upload, put, monkeypatch):
    monkeypatch.setattr(working, "RENEW_SECONDS", 0.0)
    monkeypatch.setattr("intake.writing.CHUNK", 20)
    row = confirmed(cast, upload, put("a.jsonl", rows(cases=50)))
    seen = []
    real = working.Progress.__call__

    def look(self, count):
        real(self, count)

        def read():
            try:
                seen.append((Import.objects.get(pk=row.pk).done, Execution.objects.count()))
            finally:
                connections.close_all()

        thread = threading.Thread(target=read)
        thread.start()
        thread.join()

    monkeypatch.setattr(working.Progress, "__call__", look)
    working.advance(row.pk)
    assert [done for done, _ in seen][:5] == [20, 40, 60, 80, 100]
    assert {written for _, written in seen} == {0}


def test_one_import_of_a_team_is_written_at_a_time(cast, upload, put):
    one = confirmed(cast, upload, put("a.jsonl", rows("m1")))
    other = confirmed(cast, upload, put("b.jsonl", rows("m2")))
    assert working.claim(one.pk) is not None
    assert working.claim(other.pk) is None
    assert working.claim(one.pk) is None  # a doubled message


def test_a_worker_lost_again_and_again_ends_the_import(cast, upload, put):
    row = confirmed(cast, upload, put("a.jsonl", rows()))
    for _ in range(working.MOST_ATTEMPTS):
        assert working.claim(row.pk) is not None
        Import.objects.filter(pk=row.pk).update(lease_until="2020-01-01T00:00:00Z")
    assert working.claim(row.pk) is None
    row.refresh_from_db()
    assert (row.state, row.refusal_code) == (ImportState.REFUSED, "import_failed")


def test_identical_uploads_at_once(cast, put):
    """F24, R1: twenty requests with one key make one import; twenty keys write one experiment."""
    file = put("a.jsonl", rows())
    made: list[object] = []
    start = threading.Barrier(10)

    def send(key: str) -> None:
        try:
            start.wait()
            row, _ = actions.create(
                access=cast.access(cast.ana),
                files=[("a.jsonl", [file.read_bytes()])],
                key=key,
                mapping=LONG,
                dataset_name="Cases",
                one_shot=True,
            )
            made.append(row.pk)
        finally:
            connections.close_all()

    for keys in (["one-and-the-same"] * 10, [f"key-number-{n}" for n in range(10)]):
        threads = [threading.Thread(target=send, args=[key]) for key in keys]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(made) == 20
    assert Import.objects.count() == 11

    def drain() -> None:
        try:
            working.poll()
        finally:
            connections.close_all()

    workers = [threading.Thread(target=drain) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    working.poll()
    assert set(Import.objects.values_list("state", flat=True)) == {ImportState.COMPLETED}
    assert Experiment.objects.count() == 1
    assert len({str(one.pk) for row in Import.objects.all() for one in experiments(row)}) == 1


def test_without_a_broker_the_row_is_the_request(cast, upload, put, monkeypatch):
    """F18: what cannot be sent costs a tick, never an import."""

    def refuse(*args, **kwargs):
        raise ConnectionError("no broker")

    monkeypatch.setattr(working.current_app, "send_task", refuse)
    row = upload(put("a.jsonl", rows()), mapping=LONG, dataset_name="Cases", one_shot=True)
    assert working.poll() == 1  # nobody is to be asked, so one step does it all
    row.refresh_from_db()
    assert row.state == ImportState.COMPLETED


def test_the_same_key_with_other_files_is_refused(cast, upload, put):
    """R2"""
    from teams.refusals import Refusal

    upload(put("a.jsonl", rows()), key="the-same-key")
    with pytest.raises(Refusal) as refused:
        upload(put("b.jsonl", rows("m2")), key="the-same-key")
    assert refused.value.code == "request_key_conflict"
    assert Import.objects.count() == 1


def test_retention_takes_bytes_that_nobody_names(cast, upload, put):
    from intake import storage

    file = put("a.jsonl", rows())
    one, other = upload(file, mapping=LONG), upload(file, mapping=LONG, dataset_name="B")
    sha256 = one.importfile_set.get().sha256
    path = storage.path_of(sha256)
    assert path.stat().st_mode & 0o077 == 0
    assert path.parent.stat().st_mode & 0o077 == 0
    actions.discard(access=cast.access(cast.ana), row=one)
    assert path.is_file()  # another import still names them
    actions.discard(access=cast.access(cast.ana), row=other)
    assert not path.exists()
    stray = storage.path_of("ab" * 32)
    stray.parent.mkdir(parents=True, exist_ok=True)
    stray.write_bytes(b"left by a crash")
    os.utime(stray, (1, 1))
    assert working.expire() == 1
    assert not stray.exists()


def test_an_import_that_nobody_confirmed_expires(cast, upload, bring, put, settings):
    from intake.models import ImportText

    waiting = upload(put("a.jsonl", [*rows(), rows()[0]]), mapping=LONG)
    working.advance(waiting.pk)
    written = bring(put("b.jsonl", rows("m2")), mapping=LONG)
    assert working.expire() == 0
    settings.UPLOAD_RETENTION_DAYS = -1
    assert working.expire() == 2
    waiting.refresh_from_db()
    assert waiting.state == ImportState.CANCELLED
    assert ImportText.objects.get(owner=waiting).runs == []
    name = waiting.importfile_set.get().importfilename
    assert (name.name, name.availability) == (None, "expired")
    assert written.importfile_set.get().importfilename.name == "b.jsonl"
    assert not written.importfile_set.get().kept
    assert Execution.objects.count() == 6


def test_files_that_are_gone_are_said(cast, upload, put):
    from intake import storage

    row = confirmed(cast, upload, put("a.jsonl", rows()))
    storage.drop(row.importfile_set.get().sha256)
    working.advance(row.pk)
    row.refresh_from_db()
    assert (row.state, row.refusal_code) == (ImportState.REFUSED, "import_files_gone")
