"""The work of an import, claimed from its row: look at the files, or write what was confirmed.

A claim is a conditional update with a lease and an epoch, by the database's clock. Whoever works
renews the lease on a second connection, where the progress becomes visible at once; the one writing
transaction ends with a check of the epoch, so a worker that was thought dead writes nothing.
"""

from __future__ import annotations

import logging
import os
import resource
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import UUID

from celery import current_app
from django.conf import settings
from django.db import InterfaceError, OperationalError, connection, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg.types.json import Jsonb

from analysis.refusals import Refused
from datasets.actions import dataset_named
from datasets.models import Dataset
from intake import examining, storage, writing
from intake.examining import Tick
from intake.models import Import, ImportFile, ImportFileName, ImportState, ImportText, RejectedRow, RejectedText
from intake.readers import Limits, NamedFile, Recognised, Rejected, RunFacts, mapping, recognise
from teams import audit
from teams.access import Access, current_access
from teams.bulk import copy_rows, database_now, lock, next_ids, try_lock
from teams.permissions import IMPORT_RIGHTS
from teams.records import Availability
from teams.refusals import Refusal

log = logging.getLogger(__name__)

LEASE_SECONDS: Final = 30
RENEW_SECONDS: Final = 1.0
MOST_SECONDS: Final = 30 * 60  # no import of 64 MB files takes this long; something is stuck
MOST_ATTEMPTS: Final = 5
MEMORY_BYTES: Final = 2 * 1024**3  # on top of what the worker holds already
REJECTED_CHUNK: Final = 1000
MAPPING_FAULTS: Final = frozenset(
    {
        "import_mapping_invalid",
        "import_record_missing_field",
        "import_record_wrong_type",
        "import_score_unknown",
        "import_arm_missing",
        "import_value_too_long",
        "import_holds_nothing",
    }
)
"""Refusals after which another mapping may do; the import waits for one instead of ending."""


class Lost(Exception):
    """The claim is no longer ours: discarded, or taken up by another worker."""


class Busy(Exception):
    """Another import writes the team's evidence just now."""


@dataclass(frozen=True, slots=True)
class Claim:
    id: UUID
    epoch: int
    state: ImportState


def worker_name() -> str:
    return f"{socket.gethostname()}:{os.getpid()}"[:80]


def wake(import_id: UUID) -> None:
    """Tell a worker after the commit that there is something to do. A lost message costs one tick."""
    if not settings.CELERY_BROKER_URL:  # a polling worker looks by itself
        return

    def send() -> None:
        try:
            current_app.send_task("intake.tasks.advance_import", [str(import_id)], expires=60, retry=False)
        except Exception:  # whatever the broker's fault is, the row is the request
            log.warning("import %s waits for the next tick: the broker cannot be reached", import_id)

    transaction.on_commit(send)


# --- claims


def claim(import_id: UUID, worker: str = "") -> Claim | None:
    """Take up an import that waits, or whose worker was lost; one import of a team is written at a time."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            UPDATE intake_import i
            SET epoch = epoch + 1, attempts = attempts + 1, claimed_by = %s, done = 0,
                lease_until = clock_timestamp() + make_interval(secs => %s), started_at = clock_timestamp(),
                state = CASE WHEN state = 'queued' THEN 'running' ELSE state END
            WHERE id = %s AND state IN ('examining', 'queued', 'running')
              AND (lease_until IS NULL OR lease_until < clock_timestamp())
              AND (state = 'examining' OR NOT EXISTS (
                    SELECT 1 FROM intake_import o WHERE o.team_id = i.team_id AND o.id <> i.id
                    AND o.state = 'running' AND o.lease_until >= clock_timestamp()))
            RETURNING epoch, state, attempts
            """,
            [worker or worker_name(), _lease(), import_id],
        )
        row = cursor.fetchone()
    if row is None:
        return None
    taken = Claim(import_id, row[0], ImportState(row[1]))
    if row[2] > MOST_ATTEMPTS:
        _refuse(taken, Refusal("import_failed", "The worker was lost several times while it worked on this import."))
        return None
    return taken


def _lease() -> float:
    return float(getattr(settings, "IMPORT_LEASE_SECONDS", LEASE_SECONDS))


def _settle(taken: Claim, **fields: Any) -> None:
    """Write what became of a claim, if it is still ours. The caller's transaction stands or falls with it."""
    columns = ", ".join(f"{name} = %s" for name in fields)
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            UPDATE intake_import SET {columns}, lease_until = NULL, attempts = 0
            WHERE id = %s AND epoch = %s AND state = %s AND lease_until >= clock_timestamp()
            """,
            [*fields.values(), taken.id, taken.epoch, taken.state.value],
        )
        if cursor.rowcount != 1:
            raise Lost


def _release(taken: Claim) -> None:
    """Give the claim back untouched; the next tick takes it up."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE intake_import SET state = %s, lease_until = NULL, attempts = 0 WHERE id = %s AND epoch = %s",
            ["queued" if taken.state == ImportState.RUNNING else taken.state.value, taken.id, taken.epoch],
        )


class Progress:
    """Tells how far the work is and renews the lease, about once a second.

    On a connection of its own everybody sees it at once; on the work's own one it stands or falls with the work.
    """

    def __init__(self, taken: Claim, own_connection: bool) -> None:
        self._taken = taken
        self._own = own_connection
        self._side: BaseDatabaseWrapper = connection.copy() if own_connection else connections[connection.alias]
        self._started = self._told = time.monotonic()

    def __call__(self, done: int) -> None:
        now = time.monotonic()
        if now - self._told < RENEW_SECONDS:
            return
        self._told = now
        if now - self._started > MOST_SECONDS:
            raise Refusal("import_takes_too_long")
        with self._side.cursor() as cursor:
            cursor.execute(
                """
                UPDATE intake_import SET done = %s, lease_until = clock_timestamp() + make_interval(secs => %s)
                WHERE id = %s AND epoch = %s AND state = %s
                """,
                [done, _lease(), self._taken.id, self._taken.epoch, self._taken.state.value],
            )
            if cursor.rowcount != 1:
                raise Lost

    def close(self) -> None:
        if self._own:
            self._side.close()


# --- one step of work


def advance(import_id: UUID, *, worker: str = "", own_connection: bool = True) -> bool:
    """Claim an import and do its next step. Returns whether there was one that could be done now."""
    taken = claim(import_id, worker)
    if taken is None:
        return False
    progress = Progress(taken, own_connection)
    try:
        step: Callable[[Claim, Tick], None] = look if taken.state == ImportState.EXAMINING else put
        step(taken, progress)
    except Lost:
        log.info("import %s is no longer ours, nothing was written", import_id)
    except Busy:
        _release(taken)
        return False  # nothing was done, and nobody is woken only to find the same
    except (Refusal, Refused) as refused:
        _refuse(taken, refused)
    except MemoryError:
        _refuse(taken, Refusal("import_too_much_memory"))
    except (OperationalError, InterfaceError):
        raise  # the database went away; the lease runs out and another worker takes the import up
    except Exception:
        log.exception("import %s failed", import_id)
        _refuse(taken, Refusal("import_failed"))
    finally:
        progress.close()
    _wake_next(import_id)
    return True


def _wake_next(import_id: UUID) -> None:
    """The team's next waiting import, and this one if it has another step, need not wait for a tick."""
    teams = Import.objects.filter(pk=import_id).values("team_id")
    waiting = Import.objects.filter(team_id__in=teams, state=ImportState.QUEUED).order_by("id")
    following = waiting.values_list("id", flat=True).first()
    if following is not None:
        wake(following)


def _refuse(taken: Claim, refused: Refusal | Refused) -> None:
    """End the import, or ask for another mapping where that is what was wrong."""
    with transaction.atomic():
        row = Import.objects.select_for_update().get(pk=taken.id)
        another = taken.state == ImportState.EXAMINING and not row.one_shot and row.mapping is not None
        waits = another and refused.code in MAPPING_FAULTS
        ImportText.objects.filter(owner=row).update(
            refusal_message=refused.message[:500], refusal_place=refused.place[:300]
        )
        fields: dict[str, Any] = {"refusal_code": refused.code}
        if waits:
            fields["state"] = ImportState.NEEDS_MAPPING.value
        else:
            fields |= {"state": ImportState.REFUSED.value, "finished_at": database_now()}
        try:
            with transaction.atomic():
                _settle(taken, **fields)
        except Lost:
            return
        if not waits:
            audit.record(
                "import.refused",
                team=row.team,
                by=row.by,
                object_type="import",
                object_id=row.pk,
                code=refused.code,
            )


def starter(row: Import) -> Access:
    """The rights of whoever started the import, as they stand now."""
    try:
        access = current_access(row.by, row.team_id)
        access.require(*IMPORT_RIGHTS)
    except Refusal:
        raise Refusal("import_starter_unauthorized") from None
    return access


def open_files(row: Import) -> Recognised:
    """The uploaded files, recognised anew."""
    files = []
    left_out: tuple[str, ...] = ()
    for file in row.importfile_set.select_related("importfilename"):
        path = storage.path_of(file.sha256)
        if not path.is_file():
            raise Refusal("import_files_gone")
        files.append(NamedFile(file.importfilename.name or f"file-{file.position + 1}", path))
    given = None if row.mapping is None else mapping.from_json(row.mapping)
    if given is not None and given.format != "auto" and any("/" in file.name for file in files):
        # A folder brings what lies beside the results; the same rule as on the command line.
        beside = [file.name for file in files if file.format != given.format]
        if len(beside) < len(files):
            files = [file for file in files if file.format == given.format]
            left_out = tuple(f"Not read, because the mapping reads {given.format}: {name}" for name in beside)
    found = recognise(files, given, Limits(file_bytes=settings.MAX_UPLOAD_BYTES))
    return replace(found, notes=(*found.notes, *left_out))


def look(taken: Claim, tick: Tick) -> None:
    """Read everything once and keep what a person must know before anything is written.

    Where nobody is going to be asked, and the dataset is named, it is written while it is read.
    """
    row = Import.objects.select_related("by", "team").get(pk=taken.id)
    access = starter(row)
    found = open_files(row)
    if found.needs_mapping:
        _ask_for_mapping(taken, row, found)
        return
    with transaction.atomic():
        if row.one_shot and row.dataset_name and try_lock("evidence", row.team_id):
            _straight(taken, row, found, access, tick)
            return
        rejects = _Rejects(row)
        result = examining.examine(found, tick=tick, reject=rejects.add)
        rejects.flush()
        _judge(row, result)
        name = row.dataset_name or " ".join(_suggested_dataset(result).split())[:120]
        if row.one_shot and not name:
            raise Refusal("import_dataset_missing", place="dataset")
        _keep_texts(row, found, result, _labels(row))
        _settle(
            taken,
            state=(ImportState.QUEUED if row.one_shot else ImportState.READY).value,
            done=0,
            dataset_name=name,
            summary=Jsonb(examining.summary(result)),
            **_seen(found, result),
        )


def _straight(taken: Claim, row: Import, found: Recognised, access: Access, tick: Tick) -> None:
    """Look and write in one reading; what must be refused takes everything back."""
    row.mapping_sha256 = _mapping_digest(found)
    result, rejects, label = examining.Examination(), _Rejects(row), _labels(row)
    dataset = dataset_named(access=access, name=row.dataset_name)
    results = writing.write(
        owner=row,
        found=found,
        dataset=dataset,
        access=access,
        label=label,
        tick=lambda _: tick(result.read),  # the count never goes back
        read=lambda position, run: examining.examined(result, position, run, tick=tick, reject=rejects.add),
    )
    rejects.flush()
    _judge(row, result)
    _keep_texts(row, found, result, label)
    row.summary = examining.summary(result)
    _complete(taken, row, dataset, results, **_seen(found, result))


def _seen(found: Recognised, result: examining.Examination) -> dict[str, Any]:
    return {
        "reader": found.reader[:40],
        "reader_version": found.version[:40],
        "mapping_sha256": _mapping_digest(found),
        "rejected": result.rejected,
        "total": result.executions,
        "refusal_code": "",
    }


def _mapping_digest(found: Recognised) -> str:
    return "" if found.mapping is None else found.mapping.digest()


def _labels(row: Import) -> writing.Label:
    """What a run's subject is called: as was asked for, else as the file says, else by a name that tells nothing."""
    asked = ImportText.objects.values_list("labels", flat=True).get(owner=row)

    def label(_: int, facts: RunFacts) -> str:
        neutral = row.one_shot and facts.arm_from_file_name
        return asked.get(facts.arm) or (examining.neutral_label if neutral else examining.suggested_label)(facts)

    return label


def _suggested_dataset(result: examining.Examination) -> str:
    return next((run.facts.dataset for run in result.runs if run.facts.dataset), "")


def _keep_texts(row: Import, found: Recognised, result: examining.Examination, label: writing.Label) -> None:
    texts = examining.run_texts(result)
    for position, (text, run) in enumerate(zip(texts, result.runs, strict=True)):
        text["label"] = label(position, run.facts)
    ImportText.objects.filter(owner=row).update(
        runs=texts,
        notes=list(found.notes),
        cases=result.packed_cases(),
        refusal_message="",
        refusal_place="",
    )


def _ask_for_mapping(taken: Claim, row: Import, found: Recognised) -> None:
    if row.one_shot:
        raise Refused("import_mapping_needed", "This file needs a mapping that says which field means what.")
    with transaction.atomic():
        ImportText.objects.filter(owner=row).update(
            suggestion=None if found.suggestion is None else mapping.to_json(found.suggestion),
            notes=list(found.notes),
            refusal_message="",
            refusal_place="",
        )
        _settle(
            taken,
            state=ImportState.NEEDS_MAPPING.value,
            reader=found.reader[:40],
            reader_version=found.version[:40],
            refusal_code="",
        )


def _judge(row: Import, result: examining.Examination) -> None:
    """Refuse what cannot be imported as it is."""
    first = RejectedRow.objects.filter(owner=row).select_related("rejectedtext").order_by("number").first()
    if row.one_shot and first is not None and not row.accept_rejected:
        raise Refused(first.code, first.rejectedtext.message or "", first.rejectedtext.place or "")
    if result.executions:
        return
    if first is None:
        raise Refused("import_holds_nothing", "The files hold no row.")
    raise Refused(
        "import_holds_nothing",
        f"All {result.rejected} rows were rejected. The first: {first.rejectedtext.message}",
        first.rejectedtext.place or "",
    )


class _Rejects:
    """Rejected rows on their way into the tables, a chunk at a time. Those of an earlier look go first."""

    def __init__(self, row: Import) -> None:
        self._row = row
        self._number = 0
        self._waiting: list[tuple[int, int, Rejected]] = []
        forget_rejected(row.pk)

    def add(self, run: int, rejected: Rejected) -> None:
        self._number += 1
        self._waiting.append((self._number, run, rejected))
        if len(self._waiting) >= REJECTED_CHUNK:
            self.flush()

    def flush(self) -> None:
        if not self._waiting:
            return
        ids = next_ids(RejectedRow, len(self._waiting))
        copy_rows(
            RejectedRow,
            ("id", "owner", "run", "number", "code"),
            (
                (pk, self._row.pk, run, number, rejected.code)
                for pk, (number, run, rejected) in zip(ids, self._waiting, strict=True)
            ),
        )
        copy_rows(
            RejectedText,
            ("row", "place", "message", "excerpt"),
            (
                (pk, rejected.place, rejected.message, rejected.excerpt)
                for pk, (_, _, rejected) in zip(ids, self._waiting, strict=True)
            ),
        )
        self._waiting.clear()


def forget_rejected(import_id: UUID) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM intake_rejectedtext USING intake_rejectedrow r WHERE row_id = r.id AND r.owner_id = %s",
            [import_id],
        )
        cursor.execute("DELETE FROM intake_rejectedrow WHERE owner_id = %s", [import_id])


def forget(import_id: UUID, why: Availability) -> list[str]:
    """Take away everything that an unwritten import says about content; returns the digests of its files."""
    forget_rejected(import_id)
    ImportText.objects.filter(owner=import_id).update(
        runs=[], notes=[], suggestion=None, labels={}, cases=b"", refusal_message="", refusal_place=""
    )
    ImportFileName.objects.filter(file__owner=import_id, availability=Availability.AVAILABLE).update(
        name=None, availability=why
    )
    files = ImportFile.objects.filter(owner=import_id)
    files.update(kept=False)
    return list(files.values_list("sha256", flat=True))


def put(taken: Claim, tick: Tick) -> None:
    """Write what was confirmed: one transaction, which ends with the check that the claim is still ours."""
    row = Import.objects.select_related("by", "team").get(pk=taken.id)
    access = starter(row)
    found = open_files(row)
    labels = [run["label"] for run in ImportText.objects.values_list("runs", flat=True).get(owner=row)]
    with transaction.atomic():
        if not try_lock("evidence", row.team_id):
            raise Busy
        dataset = dataset_named(access=access, name=row.dataset_name)
        results = writing.write(
            owner=row,
            found=found,
            dataset=dataset,
            access=access,
            label=lambda position, _: labels[position],
            tick=tick,
        )
        _same_as_examined(row, results)
        _complete(taken, row, dataset, results)


def _complete(taken: Claim, row: Import, dataset: Dataset, results: list[writing.Written], **seen: Any) -> None:
    """The last step of the writing transaction: what came of it, and the check that the claim is still ours.

    `seen` is what a look in the same reading found; otherwise the row holds it already.
    """
    starter(row)
    summary = dict(row.summary or {})
    summary["results"] = [
        {"run": result.position, "experiment": str(result.experiment), "new": result.new}
        for result in results
        if result.experiment is not None
    ]
    # The first rows served the person's judgment; a copy of them must not outlive the evidence itself.
    runs = ImportText.objects.values_list("runs", flat=True).get(owner=row)
    ImportText.objects.filter(owner=row).update(
        runs=[{**run, "examples": []} for run in runs], cases=b"", suggestion=None
    )
    audit.record(
        "import.completed",
        team=row.team,
        by=row.by,
        object_type="import",
        object_id=row.pk,
        experiments=[entry["experiment"] for entry in summary["results"] if entry["new"]],
        executions=sum(result.executions for result in results),
        rejected=seen.get("rejected", row.rejected),
    )
    total = seen.pop("total", row.total)
    _settle(
        taken,
        state=ImportState.COMPLETED.value,
        dataset_id=dataset.pk,
        dataset_name=dataset.name,
        summary=Jsonb(summary),
        total=total,
        done=total,
        finished_at=database_now(),
        **seen,
    )


def _same_as_examined(row: Import, results: list[writing.Written]) -> None:
    """What is written is what the person saw: the same rows kept and the same rows left out."""
    told = (row.summary or {}).get("runs", [])
    for result in results:
        if result.experiment is not None and not result.new:
            continue
        seen = told[result.position]
        if (seen["executions"], sum(seen["rejected"].values())) != (result.executions, result.rejected):
            raise Refusal("import_changed_meanwhile")


# --- ticks


def tick() -> int:
    """Wake workers for whatever waits or whose worker was lost. Harmless when doubled."""
    with transaction.atomic():
        if not try_lock("advance imports"):
            return 0
        waiting = _waiting()
    for import_id in waiting:
        wake(import_id)
    return len(waiting)


def step() -> bool:
    """Do the next step of the import that waits longest and can be done now, as `config.polling` asks for it."""
    with bounded_memory():
        return any(advance(import_id) for import_id in _waiting())


def poll(worker: str = "") -> int:
    """Do everything that waits, in this process: for scripts and tests."""
    done = 0
    while did := sum(advance(import_id, worker=worker) for import_id in _waiting()):
        done += did
    return done


def _waiting() -> list[UUID]:
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT id FROM intake_import
            WHERE state IN ('examining', 'queued', 'running')
              AND (lease_until IS NULL OR lease_until < clock_timestamp())
            ORDER BY id LIMIT 100
            """
        )
        return [row[0] for row in cursor.fetchall()]


@contextmanager
def bounded_memory() -> Iterator[None]:
    """A ceiling on this process's address space while it reads what other people wrote."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm") as status:
        held = int(status.read().split()[0]) * resource.getpagesize()
    ceiling = held + int(getattr(settings, "IMPORT_MEMORY_BYTES", MEMORY_BYTES))
    if soft != resource.RLIM_INFINITY:
        ceiling = min(ceiling, soft)
    resource.setrlimit(resource.RLIMIT_AS, (ceiling, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def expire() -> int:
    """After the retention: the bytes of ended imports go, and with those never written all that was read from them.

    An import that nobody confirmed for so long is discarded. Bytes that no import names go after a day.
    """
    days = settings.UPLOAD_RETENTION_DAYS
    with transaction.atomic():
        if not try_lock("expire uploads"):
            return 0
        with connection.cursor() as cursor:
            cursor.execute(
                """
                UPDATE intake_import
                SET state = 'cancelled', epoch = epoch + 1, summary = NULL, rejected = 0,
                    finished_at = clock_timestamp() - make_interval(days => %s)
                WHERE state IN ('needs_mapping', 'ready')
                  AND created_at < clock_timestamp() - make_interval(days => %s)
                """,
                [days, days],
            )
            cursor.execute(
                """
                UPDATE intake_importfile f SET kept = false FROM intake_import i
                WHERE i.id = f.owner_id AND f.kept AND i.state IN ('completed', 'refused', 'cancelled')
                  AND coalesce(i.finished_at, i.created_at) <= clock_timestamp() - make_interval(days => %s)
                RETURNING f.sha256, i.id, i.state
                """,
                [days],
            )
            rows = cursor.fetchall()
        ended = {sha256 for sha256, _, _ in rows}
        for import_id in {import_id for _, import_id, state in rows if state != ImportState.COMPLETED}:
            forget(import_id, Availability.EXPIRED)
    dropped = 0
    for path in storage.left_over(time.time() - 24 * 3600):
        if drop_unused(path.name):
            dropped += 1
    return dropped + sum(drop_unused(sha256) for sha256 in ended)


def drop_unused(sha256: str) -> bool:
    """Remove the bytes that no import keeps any more. A new upload of the same bytes writes them anew."""
    with transaction.atomic():
        lock("upload", sha256)
        if ImportFile.objects.filter(sha256=sha256, kept=True).exists():
            return False
        storage.drop(sha256)
    return True
