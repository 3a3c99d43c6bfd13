"""Putting experiments away and taking them back. Nothing is lost by it."""

from __future__ import annotations

from uuid import UUID

from django.db import transaction
from django.utils import timezone

from runs.models import Experiment, State
from teams import audit
from teams.access import Access
from teams.permissions import Right
from teams.refusals import Refusal


def _held(access: Access, experiment: UUID) -> Experiment:
    """The row, locked, so that two people cannot both find it unarchived."""
    access.require(Right.EVALUATION_MANAGE)
    return access.find(Experiment.objects.select_for_update(no_key=True), pk=experiment)


@transaction.atomic
def archive(*, access: Access, experiment: UUID) -> Experiment:
    """Out of the lists and out of new comparisons; its evidence, links and audit stay."""
    found = _held(access, experiment)
    if found.archived_at is not None:
        raise Refusal("conflict", f"Experiment {found.number} is archived already.")
    if found.state == State.RUNNING:
        raise Refusal("experiment_running", f"Experiment {found.number} is still running.")
    found.archived_at = timezone.now()
    found.save(update_fields=["archived_at"])
    _record("experiment.archived", access, found)
    return found


@transaction.atomic
def restore(*, access: Access, experiment: UUID) -> Experiment:
    found = _held(access, experiment)
    if found.archived_at is None:
        raise Refusal("conflict", f"Experiment {found.number} is not archived.")
    found.archived_at = None
    found.save(update_fields=["archived_at"])
    _record("experiment.restored", access, found)
    return found


def _record(action: str, access: Access, experiment: Experiment) -> None:
    audit.record(
        action,
        team=access.team,
        by=access.user,
        object_type="experiment",
        object_id=experiment.pk,
        request_id=access.request_id,
        number=experiment.number,
    )
