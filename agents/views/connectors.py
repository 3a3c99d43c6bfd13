"""Connectors of a team, and the roles that read what came through them."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.db.models import Q
from django.http import HttpResponse
from django.shortcuts import redirect, render

from agents import actions, queries
from agents.actions.agents import EDIT
from agents.actions.connectors import MANAGE
from agents.forms import NameForm, ReadersForm
from agents.models import Connector, ConnectorReader
from teams import lists
from teams.gates import READ_OR_POST, TeamRequest, require, team_page
from teams.models import Role
from teams.permissions import Right
from teams.refusals import Refusal


def _connector(request: TeamRequest, connector: UUID) -> Connector:
    return request.access.find(Connector.objects.all(), pk=connector)


@team_page(Right.AGENT_READ)
def connector_list(request: TeamRequest) -> HttpResponse:
    archived = lists.chosen(request, "archived", ["1"]) == "1"
    rows = list(queries.connectors_of(request.access, archived=archived).order_by("name"))
    readable = queries.readable_connectors(request.access, rows)
    context = {"section": "agents", "rows": rows, "archived": archived, "readable": readable}
    return render(request, "agents/connectors.html", context)


@team_page(*EDIT, methods=READ_OR_POST)
def new_connector(request: TeamRequest) -> HttpResponse:
    form = NameForm(request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        try:
            made = actions.create_connector(access=request.access, name=form.cleaned_data["name"])
        except Refusal as refusal:
            form.add_error(refusal.place or None, f"{refusal.message} {refusal.allowed}")
        else:
            messages.success(request, f"{made.name} can be chosen in drafts. Owners read what comes through it.")
            return redirect("agents:connector", team=request.access.team.slug, connector=made.pk)
    context = {"section": "agents", "form": form}
    return render(request, "agents/connector_new.html", context, status=422 if form.is_bound else 200)


@team_page(Right.AGENT_READ, methods=READ_OR_POST)
def connector(request: TeamRequest, connector: UUID) -> HttpResponse:
    """One connector. Which roles read its content is set with `team.manage`."""
    access, found = request.access, _connector(request, connector)
    roles = Role.objects.filter(Q(team=access.team) | Q(team=None)).order_by("team", "name")
    readers = list(ConnectorReader.objects.filter(connector=found).select_related("role").order_by("role__name"))
    if request.method == "POST":
        require(access, *MANAGE)
    form = ReadersForm(
        request.POST if request.method == "POST" else None,
        roles=roles,
        initial={"readers": [one.role_id for one in readers], "revision": found.revision},
    )
    if form.is_bound and form.is_valid():
        try:
            actions.edit_connector(
                access=access,
                connector=found,
                revision=form.cleaned_data["revision"],
                readers=list(form.cleaned_data["readers"]),
            )
        except Refusal as refusal:
            form.add_error(None, f"{refusal.message} {refusal.allowed}")
        else:
            messages.success(request, "Saved.")
            return redirect("agents:connector", team=access.team.slug, connector=found.pk)
    context = {
        "section": "agents",
        "connector": found,
        "readers": [one.role for one in readers],
        "form": form if access.allows(*MANAGE) else None,
        "reads": queries.reads_connector(access, found),
    }
    return render(request, "agents/connector.html", context, status=422 if form.is_bound else 200)


@team_page(*EDIT, methods=("POST",))
def archive_connector(request: TeamRequest, connector: UUID) -> HttpResponse:
    kept = actions.archive_connector(access=request.access, connector=_connector(request, connector))
    messages.success(request, f"{kept.name} is archived. Snapshots that name it keep it.")
    return redirect("agents:connectors", team=request.access.team.slug)


@team_page(*EDIT, methods=("POST",))
def restore_connector(request: TeamRequest, connector: UUID) -> HttpResponse:
    kept = actions.restore_connector(access=request.access, connector=_connector(request, connector))
    messages.success(request, f"{kept.name} can be chosen again.")
    return redirect("agents:connector", team=request.access.team.slug, connector=kept.pk)
