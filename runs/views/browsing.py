"""Pages of experiments: the list, one experiment, one execution."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse

from analysis.observations import FailureKind, Generation
from datasets.queries import content_of
from runs import codes, queries
from runs.actions.retrying import AGAIN, may_have_written
from runs.models import Experiment, State, TrustTier
from teams import lists
from teams.gates import TeamRequest, team_page
from teams.permissions import Right

ORDERS = {
    "number": "number",
    "subject": "subject__label",
    "dataset": "version__dataset__name",
    "repetitions": "repetitions",
    "planned": "planned",
    "state": "state",
}
EXECUTION_ORDERS = {"position": "position", "duration": "duration_ms", "cost": "cost_micros"}
EXPERIMENTS = 25
STATES = {state.name.lower(): state for state in Generation}
FAILURES = {kind.name.lower(): kind for kind in FailureKind if kind}


@team_page(Right.EVALUATION_READ)
def experiment_list(request: TeamRequest) -> HttpResponse:
    """The run history, newest first."""
    team = request.access.team
    datasets = list(queries.datasets_with_experiments(team))
    subjects = list(queries.subjects_with_experiments(team))
    chosen = {
        "dataset": lists.chosen(request, "dataset", [str(dataset.pk) for dataset in datasets]),
        "subject": lists.chosen(request, "subject", [str(subject.pk) for subject in subjects]),
        "state": lists.chosen(request, "state", State.values),
        "trust": lists.chosen(request, "trust", TrustTier.values),
    }
    archived = lists.chosen(request, "archived", ["1"]) == "1"
    found = queries.filtered(queries.experiments_of(team), **chosen, archived=archived)
    rows, sort = lists.order_by(request, found, ORDERS, "-number")
    page = lists.page_of(request, rows, EXPERIMENTS)
    context = {
        "section": "experiments",
        "page": page,
        "tallies": queries.tallies(page.object_list),
        "sort": sort,
        "datasets": datasets,
        "subjects": subjects,
        "states": State.choices,
        "trusts": TrustTier.choices,
        "chosen": chosen,
        "narrowed": any(chosen.values()),
        "archived": archived,
    }
    return render(request, "runs/list.html", context)


def _experiment(request: TeamRequest, experiment: UUID) -> Experiment:
    return request.access.find(queries.experiments_of(request.access.team), pk=experiment)


@team_page(Right.EVALUATION_READ)
def detail(request: TeamRequest, experiment: UUID) -> HttpResponse:
    """What was done, what came of it, at what cost, and with what it can be compared."""
    found = _experiment(request, experiment)
    state = lists.chosen(request, "state", STATES)
    failure = lists.chosen(request, "failure", FAILURES)
    executions = queries.executions_of(found, state=STATES.get(state), failure=FAILURES.get(failure))
    rows, sort = lists.order_by(request, executions, EXECUTION_ORDERS, "position")
    page = lists.page_of(request, rows)
    tally = queries.tallies([found])[found.pk]
    context = {
        **live(request, found, tally),
        "section": "experiments",
        "experiment": found,
        "tally": tally,
        "provenance": json.dumps(found.provenance, indent=2, ensure_ascii=False) if found.provenance else "",
        "others": queries.comparable_with(found),
        "page": page,
        "rows": queries.execution_rows(page.object_list, content=request.access.reads_content),
        "sort": sort,
        "state": state,
        "failure": failure,
    }
    return render(request, "runs/detail.html", context)


def live(request: TeamRequest, experiment: Experiment, tally: queries.Tally) -> dict[str, Any]:
    """What the part of the page needs that follows the work."""
    launched = experiment.batch_id is not None
    return {
        "poll": reverse("experiments:progress", kwargs={"team": request.access.team.slug, "experiment": experiment.pk}),
        "working": launched and experiment.state == State.RUNNING,
        "pace": queries.pace_of(experiment, tally) if launched else None,
        "paused": codes.pause(experiment.pause_code),
        "outcomes": [(name, tally.states.get(member, 0)) for name, member in STATES.items()],
        "failures": [(name, tally.failures[member]) for name, member in FAILURES.items() if member in tally.failures],
        "latency": queries.latency_of(experiment),
    }


@team_page(Right.EVALUATION_READ)
def progress(request: TeamRequest, experiment: UUID) -> HttpResponse:
    """The part of an experiment's page that follows the work."""
    found = _experiment(request, experiment)
    tally = queries.tallies([found])[found.pk]
    context = {"experiment": found, "tally": tally, "polled": True, **live(request, found, tally)}
    return render(request, "runs/_live.html", context)


@team_page(Right.EVALUATION_READ)
def execution(request: TeamRequest, experiment: UUID, position: int) -> HttpResponse:
    """One case and repetition; its answer, error and reasoning for readers of content."""
    found = _experiment(request, experiment)
    chosen = request.access.find(queries.executions_of(found), team="experiment__team", position=position)
    again = chosen.state in AGAIN and found.batch_id is not None and found.archived_at is None
    wrote = may_have_written(chosen)
    context: dict[str, Any] = {
        "section": "experiments",
        "experiment": found,
        "execution": chosen,
        "attempts": queries.attempts_of(chosen),
        "repetitions": queries.repetitions_of(chosen),
        "last": position + 1 >= found.planned,
        "earlier": queries.earlier_of(chosen),
        "failure": codes.ending(chosen.error_code),
        "may_retry": again and not wrote,
        "wrote": again and wrote,
    }
    if request.access.reads_content:
        answer, asked = queries.answer_of(chosen), content_of(chosen.revision_id)
        context |= {
            "asked": asked,
            "turns": queries.turns_of(chosen),
            "tool_calls": queries.tool_calls(queries.tool_spans_of(chosen), request.access),
            "content": asked.content,
            "answer": answer,
            "structured": json.dumps(answer.structured, indent=2, ensure_ascii=False)
            if answer and answer.structured is not None
            else "",
        }
    return render(request, "runs/execution.html", context)
