"""The end of experiments and batches, and what a lost worker left behind."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from django.db import connection, transaction

from analysis.observations import Generation
from runs import actions, columns
from runs.engine import deployments, ledger
from runs.engine.claims import DRAFT_TESTS, EXECUTIONS, Claim, Work
from runs.models import AttemptState, Experiment, State
from teams import audit
from teams.bulk import database_now

UNDER_WAY: Final = " OR ".join(
    f"EXISTS (SELECT 1 FROM runs_execution x WHERE x.experiment_id = e.id AND x.state = {state.value})"
    for state in (Generation.PLANNED, Generation.RUNNING)
)
"""One question per state, because each has an index of its own, which stays small."""
MOST_SWEPT: Final = 500


def finish(experiment: UUID) -> bool:
    """End an experiment whose items have all ended. Returns whether it ended now."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT 1 FROM runs_experiment e WHERE e.id = %s AND ({UNDER_WAY})", [experiment])
        if cursor.fetchone() is not None:
            return False
    with transaction.atomic():
        row = Experiment.objects.select_for_update(no_key=True).get(pk=experiment)
        if row.state != State.RUNNING:
            return False
        if row.cancel_asked_at is None:
            columns.freeze(row)
            actions.complete(row)
        else:
            row.state, row.completed_at = State.CANCELLED, database_now()
            row.save(update_fields=["state", "completed_at"])
        deployments.end(row)
        with connection.cursor() as cursor:
            cursor.execute(
                """
                UPDATE runs_batch b SET state = CASE WHEN EXISTS (
                        SELECT 1 FROM runs_experiment e WHERE e.batch_id = b.id AND e.state = 'completed')
                    THEN 'completed' ELSE 'cancelled' END
                WHERE b.id = %s AND b.state = 'running'
                  AND NOT EXISTS (SELECT 1 FROM runs_experiment e WHERE e.batch_id = b.id AND e.state = 'running')
                """,
                [row.batch_id],
            )
        audit.record(f"experiment.{row.state}", team=row.team, by=None, object_type="experiment", object_id=row.pk)
    return True


@transaction.atomic
def cancel_waiting(experiment: UUID) -> int:
    """Items that wait are cancelled. Those that waited again after some of their turns keep what these cost."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE runs_execution SET state = {Generation.CANCELLED.value}, error_code = 'cancelled', "
            f"finished_at = clock_timestamp() WHERE experiment_id = %s AND state = {Generation.PLANNED.value} "
            "RETURNING id, epoch",
            [experiment],
        )
        rows = cursor.fetchall()
    for pk, epoch in rows:
        if epoch:
            ledger.count_anew(Claim(EXECUTIONS, pk, epoch))
    return len(rows)


def finish_all() -> int:
    """End what should have ended: the worker that did the last item was lost before it could.

    What was under way when somebody cancelled may wait again since, because it lost its worker or was given back.
    """
    asked = Experiment.objects.filter(state=State.RUNNING, cancel_asked_at__isnull=False)
    for pk in asked.values_list("pk", flat=True):
        cancel_waiting(pk)
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            SELECT e.id FROM runs_experiment e WHERE e.state = 'running' AND e.batch_id IS NOT NULL
            AND NOT ({UNDER_WAY})
            LIMIT {MOST_SWEPT}
            """
        )
        rows = cursor.fetchall()
    return sum(finish(row[0]) for row in rows)


def sweep(*works: Work) -> int:
    """Judge claims whose lease ran out. Returns how many there were.

    Where a call had left, nobody knows what became of it: the item is indeterminate, keeps what it has, and is never
    done again by itself. Where none had, nothing happened, and the item waits again; its completed turns stay. One
    that was among the tools of a turn ends there: doing the turn again would call them again.
    """
    return sum(_judge(claim) for work in works or (EXECUTIONS, DRAFT_TESTS) for claim in _expired(work))


def _expired(work: Work) -> list[Claim]:
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT id, epoch FROM {work.table} WHERE {work.column} = {work.running} "
            f"AND lease_until < clock_timestamp() ORDER BY lease_until LIMIT {MOST_SWEPT}"
        )
        return [Claim(work, *row) for row in cursor.fetchall()]


def _judge(claim: Claim) -> bool:
    """One claim, whose worker may come back at any moment: the row is locked, and asked again."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            f"SELECT 1 FROM {claim.work.table} WHERE id = %s AND epoch = %s "
            f"AND {claim.work.column} = {claim.work.running} AND lease_until < clock_timestamp() "
            "FOR NO KEY UPDATE SKIP LOCKED",
            [claim.id, claim.epoch],
        )
        if cursor.fetchone() is None:
            return False
        if ledger.has_open_call(claim):
            _indeterminate(claim)
        elif ledger.torn(claim):
            _end(claim, **dict(claim.work.interrupted), error_code="interrupted_among_tools")
        else:
            _again(claim)
    return True


def _indeterminate(claim: Claim) -> None:
    mine = {f"{claim.work.owner}_id": claim.id, "state": AttemptState.ADMITTED}
    claim.work.calls._default_manager.filter(**mine).update(
        state=AttemptState.INDETERMINATE, failure_code="invocation_indeterminate", settled_at=database_now()
    )
    work = claim.work
    _end(claim, **{work.column: work.indeterminate, "error_code": "invocation_indeterminate"})


def _again(claim: Claim) -> None:
    """Wait again, unless that was tried often enough: something about the item itself ends its workers."""
    if claim.epoch >= MOST_CLAIMS:
        _end(claim, **dict(claim.work.interrupted), error_code="interrupted")
    else:
        _write(claim, **{claim.work.column: claim.work.waiting, "claimed_by": ""})


def _end(claim: Claim, **told: Any) -> None:
    totals = ledger.totals(ledger.calls_of(claim), claim.work.totals)
    _write(claim, **told, **{claim.work.ended: database_now()}, **totals)


MOST_CLAIMS: Final = 10


def _write(claim: Claim, **told: Any) -> None:
    names = "".join(f"{name} = %s, " for name in told)
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE {claim.work.table} SET {names}lease_until = NULL WHERE id = %s", [*told.values(), claim.id]
        )
