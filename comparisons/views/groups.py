"""Pages of comparison groups: the list, and one group."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from comparisons.groups import queries, setups, starting
from comparisons.models import Group
from teams import lists
from teams.gates import TeamRequest, team_page
from teams.permissions import LAUNCH_RIGHTS, Right


@team_page(Right.EVALUATION_READ)
def group_list(request: TeamRequest) -> HttpResponse:
    """Groups that were started, newest first."""
    rows = queries.groups_of(request.access).order_by("-made_at", "-pk")
    context = {
        "section": "comparisons",
        "page": lists.page_of(request, rows),
        "setups": setups.unstarted(request.access)[:20],
    }
    return render(request, "comparisons/groups/list.html", context)


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
        "all_paused": all(one.held for one in arms if one.working),
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
