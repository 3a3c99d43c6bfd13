"""An explicit linked retry: another execution takes the place of one that ended without an answer."""

from __future__ import annotations

from django.db import connection, transaction

from analysis.observations import Generation
from runs.engine import wakes
from runs.models import ArmColumns, Attempt, Batch, Execution, Experiment, State
from teams import audit
from teams.access import Access
from teams.permissions import LAUNCH_RIGHTS
from teams.refusals import Refusal

AGAIN = (Generation.FAILED, Generation.INDETERMINATE)


@transaction.atomic
def retry(*, access: Access, execution: Execution) -> Execution:
    """Do one case and repetition again. What was stays as it ended, with its attempts and its cost.

    A completed experiment is opened again for it; its manifest stays, and so do passes that judged it.
    """
    access.require(*LAUNCH_RIGHTS)
    experiment = access.find(Experiment.objects.select_related("batch"), pk=execution.experiment_id)
    if experiment.batch_id is None:
        raise Refusal("retry_not_possible", "Imported executions were run elsewhere.")
    Batch.objects.select_for_update(no_key=True).get(pk=experiment.batch_id)
    experiment = Experiment.objects.select_for_update(no_key=True).get(pk=experiment.pk)
    if experiment.archived_at is not None:
        raise Refusal("retry_not_possible", "The experiment is archived. Restore it first.")
    if experiment.state not in (State.RUNNING, State.COMPLETED) or experiment.cancel_asked_at is not None:
        raise Refusal("retry_not_possible", "The experiment was cancelled. Start a new one.")
    old = Execution.objects.select_for_update(no_key=True).get(pk=execution.pk)
    if old.superseded or old.state not in AGAIN:
        raise Refusal("retry_not_possible", "It did not fail, or a retry has taken its place already.")
    if may_have_written(old):
        message = "A tool was called over a connector that writes; whether it changed something is not known here."
        raise Refusal("retry_side_effect_uncertain", message)
    if experiment.state == State.COMPLETED:
        _open_again(experiment)
    old.superseded = True
    old.save(update_fields=["superseded"])
    made = Execution.objects.create(
        experiment=experiment,
        position=old.position,
        revision_id=old.revision_id,
        repetition=old.repetition,
        state=Generation.PLANNED,
        retry_of=old,
    )
    audit.by("execution.retried", access, experiment, number=experiment.number, position=old.position)
    wakes.wake()
    return made


def may_have_written(execution: Execution) -> bool:
    """Whether a call over a connector that writes was admitted, whatever became of it."""
    return Attempt.objects.filter(execution=execution, writes=True).exists()


def _open_again(experiment: Experiment) -> None:
    """The columns that were frozen are derived from the rows; they are made anew at the end."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE runs_experiment SET state = 'running', completed_at = NULL WHERE id = %s", [experiment.pk]
        )
        cursor.execute("UPDATE runs_batch SET state = 'running' WHERE id = %s", [experiment.batch_id])
        cursor.execute(f"DELETE FROM {ArmColumns._meta.db_table} WHERE experiment_id = %s", [experiment.pk])
        cursor.execute("UPDATE runs_deployment SET ended_at = NULL WHERE experiment_id = %s", [experiment.pk])
