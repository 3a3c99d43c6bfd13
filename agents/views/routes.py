"""Model routes as members see them: what each means, without addresses and secrets."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render

from agents import queries
from agents.models import ModelRoute
from teams.gates import TeamRequest, team_page
from teams.permissions import Right
from teams.refusals import Refusal


@team_page(Right.AGENT_READ)
def route_list(request: TeamRequest) -> HttpResponse:
    return render(request, "agents/routes.html", {"section": "agents", "routes": list(queries.routes())})


@team_page(Right.AGENT_READ)
def route(request: TeamRequest, route: UUID) -> HttpResponse:
    found = ModelRoute.objects.select_related("active__provider").filter(pk=route).first()
    if found is None:
        raise Refusal("not_found")
    context = {"section": "agents", "route": found, "revisions": list(queries.route_revisions(found))}
    return render(request, "agents/route.html", context)
