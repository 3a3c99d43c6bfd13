"""The end of passes: everything that was to be judged is, and the series are frozen."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from django.db import connection, transaction

from analysis.observations import Outcome
from grading import columns
from grading.actions.passes import complete
from grading.engine.expecting import COMPLETED
from grading.engine.work import JUDGMENTS
from grading.models import GradingPass, Judgment, PassGrader
from runs import columns as arm_columns
from runs.engine import ledger
from runs.engine.claims import Claim
from runs.models import ArmColumns, State
from teams import audit
from teams.bulk import database_now

OPEN: Final = f"outcome IN ({Outcome.PENDING.value}, {Outcome.WAITING_FOR_EVIDENCE.value})"

DONE: Final = f"""
    SELECT p.id FROM grading_gradingpass p JOIN runs_experiment e ON e.id = p.experiment_id
    WHERE p.state = 'running' AND p.origin <> 'import' AND (
        e.state IN ('cancelled', 'failed')
        OR e.state = 'completed'
        AND NOT EXISTS (SELECT 1 FROM grading_judgment j WHERE j.grading_pass_id = p.id AND j.{OPEN})
        AND NOT EXISTS (
            SELECT 1 FROM runs_execution x JOIN grading_passgrader g ON g.grading_pass_id = p.id
            WHERE x.experiment_id = e.id AND {COMPLETED} AND NOT EXISTS (
                SELECT 1 FROM grading_judgment j
                WHERE j.grading_pass_id = p.id AND j.execution_id = x.id AND j.version_id = g.version_id)))
    LIMIT 100
"""


def finish_all() -> int:
    """End the passes whose work is done. Returns how many."""
    with connection.cursor() as cursor:
        cursor.execute(DONE)
        rows = cursor.fetchall()
    return sum(finish(row[0]) for row in rows)


def finish(pk: UUID) -> bool:
    """End a pass whose work is done, or whose experiment was cancelled. Returns whether it ended now."""
    with transaction.atomic():
        row = GradingPass.objects.select_for_update(no_key=True, of=("self",)).select_related("experiment").get(pk=pk)
        if row.state != State.RUNNING:
            return False
        kept = ArmColumns.objects.filter(experiment=row.experiment_id).first()
        if row.experiment.state == State.COMPLETED and kept is not None:
            frozen = arm_columns.thaw(kept)
            for planned in PassGrader.objects.filter(grading_pass=row).select_related("version"):
                columns.freeze(row, planned.version, frozen)
            complete(row)
        else:
            cancel(row)
        audit.record(
            f"pass.{row.state}",
            team=row.experiment.team,
            by=None,
            object_type="gradingpass",
            object_id=row.pk,
            experiment=str(row.experiment_id),
        )
    return True


def cancel(row: GradingPass) -> None:
    """What was not judged stays apart as cancelled; a call that is under way settles late, with its cost."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE grading_judgment SET outcome = {Outcome.CANCELLED.value}, lease_until = NULL, "
            f"settled_at = clock_timestamp() WHERE grading_pass_id = %s AND {OPEN}",
            [row.pk],
        )
        cursor.execute(
            "UPDATE grading_judgmentattempt a SET state = 'indeterminate', settled_at = clock_timestamp(), "
            "failure_code = 'invocation_indeterminate' FROM grading_judgment j "
            "WHERE j.id = a.judgment_id AND j.grading_pass_id = %s AND a.state = 'admitted'",
            [row.pk],
        )
    begun = Judgment.objects.filter(grading_pass=row, outcome=Outcome.CANCELLED, epoch__gt=0)
    for pk in begun.values_list("pk", flat=True):
        ledger.count_anew(Claim(JUDGMENTS, pk, 0))
    row.state, row.finished_at = State.CANCELLED, database_now()
    row.save(update_fields=["state", "finished_at"])
