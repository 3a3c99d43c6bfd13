"""Whose turn it is: the batch that waited longest, inside it the next arm, of that its next item."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction

from analysis.observations import Generation
from runs.engine import standing
from runs.engine.claims import EXECUTIONS, Claim, worker_name
from runs.engine.limits import full_routes
from runs.models import BatchMode, State

WAITING: Final = f"x.state = {Generation.PLANNED.value}"
RUNNING: Final = f"x.state = {Generation.RUNNING.value}"
OPEN: Final = f"e.state = '{State.RUNNING}' AND e.paused_at IS NULL AND e.cancel_asked_at IS NULL"


@cache
def _arms() -> str:
    """The next arm after the one that was served last, with something to do."""
    return f"""
    SELECT e.id, e.arm FROM runs_experiment e
    JOIN agents_modelrouterevision v ON v.id = e.route_revision_id
    WHERE e.batch_id = %s AND {OPEN}
      AND EXISTS (SELECT 1 FROM runs_execution x WHERE x.experiment_id = e.id AND {WAITING})
      AND v.route_id NOT IN ({full_routes()})
      AND (%s = '{BatchMode.ROTATE}' OR NOT EXISTS (
            SELECT 1 FROM runs_experiment o
            WHERE o.batch_id = e.batch_id AND o.arm < e.arm AND o.state = '{State.RUNNING}'))
    ORDER BY e.arm <= %s, e.arm LIMIT 1
"""


@cache
def _batches() -> str:
    """Batches that have something to do now, the one that waited longest first."""
    return f"""
    SELECT b.id, b.mode, b.pointer, b.parallel, b.team_id, b.starter_id FROM runs_batch b
    WHERE b.state = '{State.RUNNING}'
      AND b.parallel > (
            SELECT count(*) FROM runs_execution x JOIN runs_experiment e ON e.id = x.experiment_id
            WHERE e.batch_id = b.id AND {RUNNING})
      AND EXISTS (
            SELECT 1 FROM runs_experiment e
            JOIN agents_modelrouterevision v ON v.id = e.route_revision_id
            WHERE e.batch_id = b.id AND {OPEN} AND v.route_id NOT IN ({full_routes()})
              AND EXISTS (SELECT 1 FROM runs_execution x WHERE x.experiment_id = e.id AND {WAITING}))
    ORDER BY b.served_at NULLS FIRST, b.id
"""


TRIES: Final = 5


@dataclass(frozen=True, slots=True)
class Next:
    """What to work on: a claimed execution of an experiment."""

    claim: Claim
    experiment: UUID


def claim_next(worker: str = "") -> Next | None:
    """Claim the next item, or nothing where there is nothing to do.

    A batch whose starter lacks a right is paused instead; so is nothing claimed without the rights to it.
    """
    for _ in range(TRIES):
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute(f"{_batches()} LIMIT 1 FOR NO KEY UPDATE OF b")
                batch = cursor.fetchone()
            if batch is None:
                return None
            pk, mode, pointer, parallel, team, starter = batch
            if not standing.may_start(starter, team):
                standing.pause_batch(pk, "starter_unauthorized")
                continue
            taken = _claim(pk, mode, pointer, parallel, worker or worker_name())
        if taken is not None:
            return taken
    return None


def _claim(batch: UUID, mode: str, pointer: int, parallel: int, worker: str) -> Next | None:
    """Under the batch's lock, so what was seen before it was had is asked again."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT count(*) FROM runs_execution x JOIN runs_experiment e ON e.id = x.experiment_id "
            f"WHERE e.batch_id = %s AND {RUNNING}",
            [batch],
        )
        if _one(cursor) >= parallel:
            return None
        cursor.execute(_arms(), [batch, mode, pointer])
        arm = cursor.fetchone()
        if arm is None:
            return None
        cursor.execute(
            f"""
            UPDATE runs_execution SET state = {Generation.RUNNING.value}, epoch = epoch + 1, claimed_by = %s,
                lease_until = clock_timestamp() + make_interval(secs => %s),
                started_at = COALESCE(started_at, clock_timestamp())
            WHERE id = (SELECT x.id FROM runs_execution x WHERE x.experiment_id = %s AND {WAITING}
                        ORDER BY x.position LIMIT 1)
            RETURNING id, epoch
            """,
            [worker, settings.LEASE_SECONDS, arm[0]],
        )
        row = cursor.fetchone()
        if row is None:
            return None
        cursor.execute(
            "UPDATE runs_batch SET pointer = %s, served_at = clock_timestamp() WHERE id = %s", [arm[1], batch]
        )
    return Next(Claim(EXECUTIONS, row[0], row[1]), arm[0])


def _one(cursor: Any) -> int:
    row = cursor.fetchone()
    assert row is not None
    return int(row[0])


def claimable() -> int:
    """How many items could be begun now: by batch what is waiting, at most what may be under way."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            SELECT coalesce(sum(least(free, waiting)), 0) FROM (
                SELECT b.parallel - (
                    SELECT count(*) FROM runs_execution x JOIN runs_experiment e ON e.id = x.experiment_id
                    WHERE e.batch_id = b.id AND {RUNNING}) AS free,
                  (SELECT count(*) FROM (
                    SELECT 1 FROM runs_execution x JOIN runs_experiment e ON e.id = x.experiment_id
                    WHERE e.batch_id = b.id AND {OPEN} AND {WAITING} LIMIT 64) few) AS waiting
                FROM ({_batches()}) b) counted
            """
        )
        return _one(cursor)
