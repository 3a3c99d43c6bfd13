"""A new experiment: of a snapshot, or of an agent's draft as it is saved (Agent Evaluate)."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render

from agents.models import Agent
from agents.queries import draft_of, found_snapshots
from runs import actions, queries
from runs.forms import LaunchForm
from runs.models import Experiment
from teams import lists, receipts
from teams.gates import READ_OR_POST, TeamRequest, team_page
from teams.permissions import LAUNCH_RIGHTS
from teams.records import new_id
from teams.refusals import Refusal

OFFERED: Final = 100
PLACES: Final = {"version": "version", "slice": "slice", "repetitions": "repetitions", "snapshot": "snapshot"}


@team_page(*LAUNCH_RIGHTS, methods=READ_OR_POST)
def new(request: TeamRequest) -> HttpResponse:
    """Run a snapshot on a dataset version."""
    access = request.access
    words = request.GET.get("q", "")[:200]
    snapshots = list(found_snapshots(access, words)[:OFFERED])
    wanted = request.POST.get("snapshot") or lists.one_id(request, "snapshot")
    if wanted and wanted not in {str(one.pk) for one in snapshots}:  # it stays chosen when the search moves on
        snapshots = [*found_snapshots(access, wanted)[:1], *snapshots]
    form = _form(request, snapshots=snapshots, initial={"snapshot": wanted})
    if form.is_bound and form.is_valid():
        given = form.cleaned_data
        snapshot = next(one for one in snapshots if str(one.pk) == given["snapshot"])
        made = _started(
            request,
            form,
            {"snapshot": str(snapshot.pk)},
            lambda plan: actions.launch(access=access, snapshot=snapshot, plan=plan),
        )
        if made is not None:
            return made
    context = {"section": "experiments", "form": form, "words": words, "more": len(snapshots) >= OFFERED}
    return render(request, "runs/new.html", context, status=422 if form.is_bound else 200)


@team_page(*LAUNCH_RIGHTS, methods=READ_OR_POST)
def evaluate(request: TeamRequest, agent: UUID) -> HttpResponse:
    """Agent Evaluate: the saved draft on a dataset version."""
    access = request.access
    found = access.find(Agent.objects.all(), pk=agent)
    draft = draft_of(found, content=False)
    form = _form(request, snapshots=None, initial={})
    if form.is_bound and form.is_valid():
        revision = draft.revision if not request.POST.get("draft_revision") else _whole(request.POST["draft_revision"])
        made = _started(
            request,
            form,
            {"agent": str(found.pk), "draft_revision": revision},
            lambda plan: actions.evaluate_draft(access=access, agent=found, draft_revision=revision, plan=plan),
        )
        if made is not None:
            return made
    context = {"section": "agents", "form": form, "agent": found, "draft": draft}
    return render(request, "runs/evaluate.html", context, status=422 if form.is_bound else 200)


def _whole(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 9 else 0


def _form(request: TeamRequest, *, snapshots: Any, initial: dict[str, Any]) -> LaunchForm:
    access = request.access
    versions, slices = queries.versions_to_run(access), queries.slices_to_run(access)
    first = lists.one_id(request, "version")
    return LaunchForm(
        request.POST if request.method == "POST" else None,
        snapshots=snapshots,
        versions=versions,
        slices=slices,
        initial={"key": str(new_id()), "version": first, **initial},
    )


def _started(request: TeamRequest, form: LaunchForm, body: dict[str, Any], launch: Any) -> HttpResponse | None:
    """Start what the form says, once; or put what refused it beside its field."""
    given, access = form.cleaned_data, request.access
    body |= {name: given[name] for name in ("version", "slice", "repetitions", "tool_policy")}
    try:
        plan = actions.plan_of(access, given)
        row, _ = receipts.once(access, "experiment.launch", given["key"], body, Experiment, lambda: launch(plan))
    except Refusal as refusal:
        if refusal.code == "not_found":
            raise
        name = PLACES.get(refusal.place)
        form.add_error(name if name in form.fields else None, f"{refusal.message} {refusal.allowed}")
        return None
    messages.success(request, f"Experiment {row.number} is running.")
    return redirect("experiments:detail", team=access.team.slug, experiment=row.pk)
