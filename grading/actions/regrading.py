"""Grading answers that are there: another pass over an experiment, beside those it has."""

from __future__ import annotations

from django.db import transaction

from grading.actions.planning import GradingPlan, checked_plan, open_planned_pass
from grading.engine import claiming, finishing
from grading.models import GradingPass, PassOrigin
from runs.engine import wakes
from runs.models import Experiment, State
from teams import audit
from teams.access import Access
from teams.bulk import database_now
from teams.given import line
from teams.permissions import GRADING_RIGHTS
from teams.refusals import Code, Refusal, register

register(
    {
        "pass_not_running": Code(409, "Only a running pass can be paused, resumed or cancelled."),
        "grading_creator_unauthorized": Code(
            409, "Give whoever made the pass the rights back, or start another pass yourself."
        ),
    }
)


@transaction.atomic
def regrade(*, access: Access, experiment: Experiment, plan: GradingPlan, name: str = "") -> GradingPass:
    """A new pass over the answers of an experiment, running or completed. What other passes said stays."""
    access.require(*GRADING_RIGHTS)
    found = access.find(Experiment.objects.select_for_update(no_key=True), pk=experiment.pk)
    if found.archived_at is not None or found.state not in (State.RUNNING, State.COMPLETED):
        raise Refusal("conflict", "Only experiments that run or are completed, and are not archived, can be graded.")
    checked_plan(access, plan)
    opened = open_planned_pass(
        access=access, experiment=found, plan=plan, origin=PassOrigin.REGRADE, name=line(name, "name", 120)
    )
    wakes.wake(1, "grading.tasks.tick")
    return opened


@transaction.atomic
def resume_pass(*, access: Access, grading_pass: GradingPass) -> GradingPass:
    """Go on with a pass that was paused, if whoever made it may."""
    found = _held(access, grading_pass)
    if found.paused_at is None:
        return found
    code = claiming.hindrance(found)
    if code == "experiment_archived":
        raise Refusal("conflict", f"Experiment {found.experiment.number} is archived; restore it first.")
    if code:
        raise Refusal("grading_creator_unauthorized", f"{found.creator} may not grade in this team any more.")
    found.paused_at, found.pause_code = None, ""
    found.save(update_fields=["paused_at", "pause_code"])
    audit.by("pass.resumed", access, found, number=found.number)
    wakes.wake(found.parallel, "grading.tasks.work")
    return found


@transaction.atomic
def pause_pass(*, access: Access, grading_pass: GradingPass) -> GradingPass:
    """Nothing new is judged until somebody resumes it. What is under way settles."""
    found = _held(access, grading_pass)
    if found.paused_at is None:
        found.paused_at, found.pause_code = database_now(), ""
        found.save(update_fields=["paused_at", "pause_code"])
        audit.by("pass.paused", access, found, number=found.number)
    return found


@transaction.atomic
def cancel_pass(*, access: Access, grading_pass: GradingPass) -> GradingPass:
    """What was not judged is cancelled, what was judged stays. A call that is under way settles late."""
    found = _held(access, grading_pass)
    finishing.cancel(found)
    audit.by("pass.cancelled", access, found, number=found.number)
    return found


def _held(access: Access, grading_pass: GradingPass) -> GradingPass:
    access.require(*GRADING_RIGHTS)
    rows = GradingPass.objects.select_for_update(no_key=True, of=("self",)).select_related("experiment", "creator")
    found = access.find(rows, team="experiment__team", pk=grading_pass.pk)
    if found.state != State.RUNNING:
        raise Refusal("pass_not_running", f"Pass {found.number} is {found.get_state_display().lower()}.")
    return found
