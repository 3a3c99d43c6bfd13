"""Whether work may go on: the starter's rights as they stand now, and pauses that say what is missing."""

from __future__ import annotations

from uuid import UUID

from django.db import connection

from runs.models import Experiment, State
from teams import audit
from teams.access import Access, current_access
from teams.models import Team, User
from teams.permissions import LAUNCH_RIGHTS, Right
from teams.refusals import Refusal


class RightsLost(Exception):
    """Whoever started the work may not have it go on. Nothing left since that was found."""

    code = "starter_unauthorized"


class Unready(Exception):
    """The arm cannot go on until somebody puts something right; the code says what."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


def starter_access(user: UUID, team: UUID, *needed: Right) -> Access:
    """The rights of whoever started the work, asked anew."""
    try:
        access = current_access(User(pk=user), team)
        access.require(*(needed or LAUNCH_RIGHTS))
    except Refusal:
        raise RightsLost from None
    return access


def may_start(user: UUID, team: UUID, *needed: Right) -> bool:
    try:
        starter_access(user, team, *needed)
    except RightsLost:
        return False
    return True


def pause_batch(batch: UUID, code: str) -> None:
    """Nothing new begins in any arm until somebody resumes it. What is under way settles."""
    for experiment in Experiment.objects.filter(batch=batch, state=State.RUNNING, paused_at=None):
        pause(experiment, code)


def pause(experiment: Experiment, code: str) -> None:
    """Pause one arm; once, by whichever worker finds the reason first."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE runs_experiment SET paused_at = clock_timestamp(), pause_code = %s "
            "WHERE id = %s AND state = 'running' AND paused_at IS NULL",
            [code, experiment.pk],
        )
        if cursor.rowcount != 1:
            return
    audit.record(
        "experiment.paused",
        team=Team(pk=experiment.team_id),
        by=None,
        object_type="experiment",
        object_id=experiment.pk,
        code=code,
    )
