"""Passes of an experiment: how far they are, another one, and what may be done about one that is paused."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render

from grading import actions, queries
from grading.forms import RegradeForm
from grading.models import GradingPass
from runs.models import Experiment
from runs.queries import experiments_of, tallies
from teams import receipts
from teams.gates import READ_OR_POST, TeamRequest, team_page
from teams.permissions import GRADING_RIGHTS, Right
from teams.records import new_id
from teams.refusals import Refusal

STEPS: Final = {
    "pause": (actions.pause_pass, "Paused. What is under way settles."),
    "resume": (actions.resume_pass, "It goes on."),
    "cancel": (actions.cancel_pass, "Cancelled. What was judged stays."),
}


def _experiment(request: TeamRequest, experiment: UUID) -> Experiment:
    return request.access.find(experiments_of(request.access.team), pk=experiment)


@team_page(Right.EVALUATION_READ)
def passes(request: TeamRequest, experiment: UUID) -> HttpResponse:
    """The part of an experiment's page that follows its passes."""
    found = _experiment(request, experiment)
    context = {"experiment": found, "tally": tallies([found])[found.pk]}
    return render(request, "graders/_passes.html", context)


@team_page(*GRADING_RIGHTS, methods=READ_OR_POST)
def regrade(request: TeamRequest, experiment: UUID) -> HttpResponse:
    """Another pass over the answers of an experiment."""
    access, found = request.access, _experiment(request, experiment)
    form = RegradeForm(
        request.POST if request.method == "POST" else None,
        versions=queries.usable_versions(access),
        initial={"key": str(new_id())},
    )
    if form.is_bound and form.is_valid():
        try:
            plan = form.plan()
            receipts.once(
                access,
                "pass.open",
                form.cleaned_data["key"],
                {"experiment": str(found.pk), **form.said()},
                GradingPass,
                lambda: actions.regrade(access=access, experiment=found, plan=plan, name=form.cleaned_data["name"]),
            )
        except Refusal as refusal:
            form.add(refusal)
        else:
            messages.success(request, "The answers are being graded. Other passes stay as they are.")
            return redirect("experiments:detail", team=access.team.slug, experiment=found.pk)
    context: dict[str, Any] = {"section": "experiments", "experiment": found, "form": form}
    return render(request, "graders/regrade.html", context, status=422 if form.is_bound else 200)


@team_page(*GRADING_RIGHTS, methods=("POST",))
def steer(request: TeamRequest, experiment: UUID, number: int) -> HttpResponse:
    """Resume or cancel a pass."""
    access, found = request.access, _experiment(request, experiment)
    name = request.POST.get("step", "")
    if name not in STEPS:
        raise Refusal("invalid_field", f"step is one of {', '.join(STEPS)}.", place="step")
    rows = GradingPass.objects.filter(experiment=found)
    row = access.find(rows, team="experiment__team", number=number)
    step, said = STEPS[name]
    step(access=access, grading_pass=row)
    messages.success(request, said)
    return redirect("experiments:detail", team=access.team.slug, experiment=found.pk)
