"""Buttons of an experiment: pause, resume, cancel, retry, archive, restore."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect

from runs import actions, queries
from teams.gates import TeamRequest, team_page
from teams.permissions import LAUNCH_RIGHTS, Right
from teams.refusals import Refusal

STEPS: Final = {
    "pause": (actions.pause, "Paused. What is under way comes to its end."),
    "resume": (actions.resume, "It goes on."),
    "cancel": (actions.cancel, "Cancelled. What has left settles first."),
}


@team_page(*LAUNCH_RIGHTS, methods=("POST",))
def steer(request: TeamRequest, experiment: UUID) -> HttpResponse:
    access = request.access
    found = access.find(queries.experiments_of(access.team), pk=experiment)
    name = request.POST.get("step", "")
    if name not in STEPS:
        raise Refusal("invalid_field", f"step is one of {', '.join(STEPS)}.", place="step")
    step, said = STEPS[name]
    step(access=access, experiment=found)
    messages.success(request, said)
    return redirect("experiments:detail", team=access.team.slug, experiment=found.pk)


@team_page(*LAUNCH_RIGHTS, methods=("POST",))
def retry(request: TeamRequest, experiment: UUID, position: int) -> HttpResponse:
    access = request.access
    found = access.find(queries.experiments_of(access.team), pk=experiment)
    chosen = access.find(queries.executions_of(found), team="experiment__team", position=position)
    actions.retry(access=access, execution=chosen)
    messages.success(request, "It is done again, beside what was. The earlier one keeps its attempts and its cost.")
    return redirect("experiments:execution", team=access.team.slug, experiment=found.pk, position=position)


@team_page(Right.EVALUATION_MANAGE, methods=("POST",))
def archive(request: TeamRequest, experiment: UUID) -> HttpResponse:
    found = actions.archive(access=request.access, experiment=experiment)
    messages.success(request, f"Experiment {found.number} is archived. You find it under Archived.")
    return redirect("experiments:detail", team=request.access.team.slug, experiment=found.pk)


@team_page(Right.EVALUATION_MANAGE, methods=("POST",))
def restore(request: TeamRequest, experiment: UUID) -> HttpResponse:
    found = actions.restore(access=request.access, experiment=experiment)
    messages.success(request, f"Experiment {found.number} is back in the lists.")
    return redirect("experiments:detail", team=request.access.team.slug, experiment=found.pk)
