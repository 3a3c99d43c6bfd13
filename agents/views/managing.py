"""Agents themselves: the list, one agent, made, renamed, put away and brought back."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render

from agents import actions, queries
from agents.actions.agents import EDIT
from agents.forms import NameForm
from agents.models import Agent
from teams import lists
from teams.gates import READ_OR_POST, TeamRequest, team_page
from teams.permissions import Right
from teams.refusals import Refusal

ORDERS = {
    "name": "name",
    "model": "deployed_model",
    "snapshots": "snapshots",
    "changed": "changed_at",
}
SNAPSHOTS = 20


def agent_of(request: TeamRequest, agent: UUID) -> Agent:
    return request.access.find(Agent.objects.all(), pk=agent)


@team_page(Right.AGENT_READ)
def agent_list(request: TeamRequest) -> HttpResponse:
    access = request.access
    archived = lists.chosen(request, "archived", ["1"]) == "1"
    search = request.GET.get("q", "").strip()[:200]
    found = queries.agents_of(access, archived=archived, search=search)
    rows, sort = lists.order_by(request, found, ORDERS, "name")
    context = {
        "section": "agents",
        "page": lists.page_of(request, rows),
        "sort": sort,
        "q": search,
        "archived": archived,
        "subjects": queries.subjects_of(access).exists(),
    }
    return render(request, "agents/list.html", context)


@team_page(Right.AGENT_READ)
def detail(request: TeamRequest, agent: UUID) -> HttpResponse:
    """What is in use, how the draft stands to it, and every snapshot and deployment."""
    found = agent_of(request, agent)
    draft, deployments = queries.draft_of(found, content=False), queries.deployments_of(found)
    deployed = deployments.first()
    context: dict[str, Any] = {
        "section": "agents",
        "agent": found,
        "draft": draft,
        "deployed": deployed,
        "state": queries.draft_state(draft, deployed),
        "page": lists.page_of(request, queries.snapshots_of(found), SNAPSHOTS),
        "releases": list(queries.releases_of(request.access, agent=found)[:SNAPSHOTS]),
        "deployments": list(deployments[:SNAPSHOTS]),
        "deployment_count": deployments.count(),
    }
    return render(request, "agents/agent.html", context)


@team_page(*EDIT, methods=READ_OR_POST)
def new(request: TeamRequest) -> HttpResponse:
    access = request.access
    form = NameForm(request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        try:
            made = actions.create_agent(access=access, name=form.cleaned_data["name"])
        except Refusal as refusal:
            form.add_error(refusal.place or None, f"{refusal.message} {refusal.allowed}")
        else:
            messages.success(request, f"{made.name} is there. Say what it is told, then publish it.")
            page = "agents:draft" if access.reads_content else "agents:agent"
            return redirect(page, team=access.team.slug, agent=made.pk)
    context = {"section": "agents", "agent": None, "form": form}
    return render(request, "agents/name.html", context, status=422 if form.is_bound else 200)


@team_page(*EDIT, methods=READ_OR_POST)
def rename(request: TeamRequest, agent: UUID) -> HttpResponse:
    access, found = request.access, agent_of(request, agent)
    seen = {"name": found.name, "revision": found.revision}
    form = NameForm(request.POST if request.method == "POST" else None, initial=seen)
    if form.is_bound and form.is_valid():
        try:
            kept = actions.rename_agent(access=access, agent=found, **form.cleaned_data)
        except Refusal as refusal:
            form.add_error(refusal.place or None, f"{refusal.message} {refusal.allowed}")
        else:
            messages.success(request, f"It is called {kept.name} now.")
            return redirect("agents:agent", team=access.team.slug, agent=kept.pk)
    context = {"section": "agents", "agent": found, "form": form}
    return render(request, "agents/name.html", context, status=422 if form.is_bound else 200)


@team_page(*EDIT, methods=("POST",))
def archive(request: TeamRequest, agent: UUID) -> HttpResponse:
    kept = actions.archive_agent(access=request.access, agent=agent_of(request, agent))
    messages.success(request, f"{kept.name} is archived. It stands under Archived and can be restored at any time.")
    return redirect("agents:list", team=request.access.team.slug)


@team_page(*EDIT, methods=("POST",))
def restore(request: TeamRequest, agent: UUID) -> HttpResponse:
    kept = actions.restore_agent(access=request.access, agent=agent_of(request, agent))
    messages.success(request, f"{kept.name} is back in the list.")
    return redirect("agents:agent", team=request.access.team.slug, agent=kept.pk)
