"""Steering what runs: pause, resume, cancel. What has left settles in any case."""

from __future__ import annotations

from django.db import transaction

from runs.engine import finishing, standing, wakes
from runs.models import Batch, Experiment, State
from teams import audit
from teams.access import Access
from teams.bulk import database_now
from teams.permissions import LAUNCH_RIGHTS
from teams.refusals import Refusal


def _held(access: Access, experiment: Experiment) -> Experiment:
    """The running experiment, under the lock of its batch, so that no claim comes in between."""
    access.require(*LAUNCH_RIGHTS)
    if experiment.batch_id is not None:
        Batch.objects.select_for_update(no_key=True).get(pk=experiment.batch_id)
    found = access.find(Experiment.objects.select_for_update(no_key=True), pk=experiment.pk)
    if found.state != State.RUNNING or found.batch_id is None:
        raise Refusal("experiment_not_running", f"Experiment {found.number} is {found.get_state_display().lower()}.")
    return found


@transaction.atomic
def pause(*, access: Access, experiment: Experiment) -> Experiment:
    """Nothing new begins; what is under way comes to its end."""
    found = _held(access, experiment)
    if found.paused_at is None:
        found.paused_at, found.pause_code = database_now(), ""
        found.save(update_fields=["paused_at", "pause_code"])
        audit.by("experiment.paused", access, found, number=found.number)
    return found


@transaction.atomic
def resume(*, access: Access, experiment: Experiment) -> Experiment:
    """Go on, if whoever started it may."""
    found = _held(access, experiment)
    if found.paused_at is None:
        return found
    batch = found.batch
    assert batch is not None
    if not standing.may_start(batch.starter_id, batch.team_id):
        raise Refusal("starter_unauthorized", f"{batch.starter} may not run experiments of this team any more.")
    found.paused_at, found.pause_code = None, ""
    found.save(update_fields=["paused_at", "pause_code"])
    audit.by("experiment.resumed", access, found, number=found.number)
    wakes.wake(batch.parallel)
    return found


@transaction.atomic
def cancel(*, access: Access, experiment: Experiment) -> Experiment:
    """What waits is cancelled now; what has left settles, keeps its cost, and then the experiment is cancelled."""
    found = _held(access, experiment)
    if found.cancel_asked_at is None:
        found.cancel_asked_at = database_now()
        found.save(update_fields=["cancel_asked_at"])
        stopped = finishing.cancel_waiting(found.pk)
        audit.by("experiment.cancel_asked", access, found, number=found.number, not_begun=stopped)
        finishing.finish(found.pk)
        found.refresh_from_db()
    return found
