"""Pages of comparison groups: the list, the setup in four steps, one group."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse

from agents.queries import found_snapshots, routes
from comparisons.groups import queries, starting
from comparisons.groups.forms import ARMS, SetupForm
from comparisons.groups.readiness import Readiness, check
from comparisons.models import Group
from grading.queries import usable_versions
from runs.queries import slices_to_run, versions_to_run
from teams import lists, receipts
from teams.gates import READ_OR_POST, TeamRequest, team_page
from teams.permissions import LAUNCH_RIGHTS, Right
from teams.records import new_id
from teams.refusals import Refusal

OFFERED: Final = 100
RETRY: Final = ("stale_preflight",)


@team_page(Right.EVALUATION_READ)
def group_list(request: TeamRequest) -> HttpResponse:
    """Groups that were started, newest first."""
    rows = queries.groups_of(request.access).order_by("-made_at", "-pk")
    context = {"section": "comparisons", "page": lists.page_of(request, rows)}
    return render(request, "comparisons/groups/list.html", context)


def _form(request: TeamRequest, data: QueryDict | None) -> SetupForm:
    access = request.access
    words = (request.POST.get("q") or request.GET.get("q", ""))[:200]
    snapshots = list(found_snapshots(access, words)[:OFFERED])
    given = data or QueryDict()
    chosen = [given.get("base", ""), *(given.get(name, "").removeprefix("snapshot:") for name in ARMS)]
    chosen.append(lists.one_id(request, "base"))
    known = {str(one.pk) for one in snapshots}
    for pk in dict.fromkeys(one for one in chosen if one and one not in known):
        snapshots += [row for row in found_snapshots(access, pk)[:1] if str(row.pk) == pk]  # stays chosen
    return SetupForm(
        data,
        snapshots=snapshots,
        routes=routes(active=True),
        versions=versions_to_run(access),
        slices=slices_to_run(access),
        graders=usable_versions(access),
        initial={"key": str(new_id()), "base": lists.one_id(request, "base")},
    )


@team_page(*LAUNCH_RIGHTS, methods=READ_OR_POST)
def new_group(request: TeamRequest) -> HttpResponse:
    """Subject and data, arms, grading; then what is ready and what it takes; then the start.

    Every step carries every field, so that Back, a failure or a lost answer loses nothing.
    """
    step = request.POST.get("step", "")
    form = _form(request, request.POST if request.method == "POST" else None)
    if step in ("back", "search"):
        form.errors.clear()  # nothing was submitted to be judged
        return _setup(request, form, 200)
    if not form.is_bound or not form.is_valid():
        return _setup(request, form, 422 if form.is_bound else 200)
    access = request.access
    try:
        intent = form.intent()
        readiness = check(access, intent)
    except Refusal as refusal:
        form.add(refusal)
        return _setup(request, form, 422)
    if step != "start":
        return _ready(request, form, readiness)
    seen = request.POST.get("readiness_sha256", "")
    try:
        group, _ = receipts.once(
            access,
            "group.start",
            form.cleaned_data["key"],
            intent.plain(),
            Group,
            lambda: starting.start(access=access, intent=intent, readiness_sha256=seen),
        )
    except Refusal as refusal:
        return _ready(request, form, readiness, refusal)
    messages.success(request, "All arms are running.")
    return redirect("comparisons:group", team=access.team.slug, group=group.pk)


def _setup(request: TeamRequest, form: SetupForm, status: int) -> HttpResponse:
    words = (request.POST.get("q") or request.GET.get("q", ""))[:200]
    context = {"section": "comparisons", "form": form, "words": words, "offered": OFFERED}
    return render(request, "comparisons/groups/setup.html", context, status=status)


def _ready(request: TeamRequest, form: SetupForm, readiness: Readiness, refused: Refusal | None = None) -> HttpResponse:
    kept = [(name, value) for name, values in request.POST.lists() if name in form.fields for value in values]
    context = {"section": "comparisons", "form": form, "readiness": readiness, "kept": kept, "refused": refused}
    return render(request, "comparisons/groups/readiness.html", context, status=409 if refused else 200)


def _group(request: TeamRequest, group: UUID) -> Group:
    return request.access.find(queries.groups_of(request.access), pk=group)


def _shown(request: TeamRequest, group: UUID) -> dict[str, Any]:
    found = _group(request, group)
    arms = queries.arm_states(found)
    slug = request.access.team.slug
    paired = reverse("comparisons:paired", kwargs={"team": slug})
    first = arms[0]
    return {
        "section": "comparisons",
        "group": found,
        "arms": arms,
        "first": first.experiment,
        "running": any(one.experiment.state == "running" for one in arms),
        "all_paused": all(one.experiment.paused_at for one in arms if one.experiment.state == "running"),
        "working": any(one.working for one in arms),
        "comparisons": [
            (one.arm.letter, first.arm.letter, f"{paired}?{queries.comparison_of(found, one, first)}")
            for one in arms[1:]
            if one.comparable and first.comparable
        ],
        "poll": reverse("comparisons:group_state", kwargs={"team": slug, "group": found.pk}),
    }


@team_page(Right.EVALUATION_READ)
def group(request: TeamRequest, group: UUID) -> HttpResponse:
    """The arms of a group: how far they are, what they cost, and how to compare them."""
    return render(request, "comparisons/groups/group.html", _shown(request, group))


@team_page(Right.EVALUATION_READ)
def group_state(request: TeamRequest, group: UUID) -> HttpResponse:
    """The part of it that follows the work."""
    return render(request, "comparisons/groups/_state.html", _shown(request, group))


@team_page(*LAUNCH_RIGHTS, methods=("POST",))
def steer_group(request: TeamRequest, group: UUID) -> HttpResponse:
    found = _group(request, group)
    starting.steer(access=request.access, group=found, step=request.POST.get("step", ""))
    messages.success(request, "Done. What is under way settles in any case.")
    return redirect("comparisons:group", team=request.access.team.slug, group=found.pk)
