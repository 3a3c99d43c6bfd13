"""Snapshots: found, read, compared, varied and put into use."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render

from agents import actions, queries
from agents.actions.agents import EDIT
from agents.forms import VariantForm
from agents.models import Snapshot
from teams import lists
from teams.gates import READ_OR_POST, TeamRequest, team_page
from teams.permissions import Right
from teams.refusals import Refusal

FOUND = 25


def _snapshot(request: TeamRequest, snapshot: Any) -> Snapshot:
    return request.access.find(queries.found_snapshots(request.access), team="agent__team", pk=snapshot)


@team_page(Right.AGENT_READ)
def snapshot_list(request: TeamRequest) -> HttpResponse:
    """Every snapshot of the team, found by agent, number or id; more of them at the end of the list."""
    search = request.GET.get("q", "").strip()[:200]
    page = lists.page_of(request, queries.found_snapshots(request.access, search), FOUND)
    context = {"section": "agents", "page": page, "q": search}
    part = request.htmx and request.htmx.target == "more"
    return render(request, "agents/_found.html" if part else "agents/snapshots.html", context)


@team_page(Right.AGENT_READ)
def snapshot(request: TeamRequest, snapshot: UUID) -> HttpResponse:
    """One snapshot, or what another one does not share with it."""
    access = request.access
    found = _snapshot(request, snapshot)
    against = _snapshot(request, given) if (given := request.GET.get("against", "")) else None
    deployed = queries.deployed_of(found.agent)
    context: dict[str, Any] = {
        "section": "agents",
        "snapshot": found,
        "agent": found.agent,
        "against": against,
        "deployed": deployed is not None and deployed.snapshot_id == found.pk,
        "others": queries.snapshots_of(found.agent).exclude(pk=found.pk)[:50],
        "draft_revision": queries.draft_of(found.agent, content=False).revision,
    }
    if against is not None:
        context["differences"] = queries.snapshot_differences(against, found, content=access.reads_content)
    if access.reads_content:
        kept = queries.kept_definition(found)
        context |= {"definition": kept.body, "removed": kept.removed}
        if kept.body is not None:
            names = queries.names_of_connectors(access, (one["connector"] for one in kept.body["connectors"]))
            context["connectors"] = [
                (names.get(one["connector"], one["connector"]), queries.mode_label(one["mode"]))
                for one in kept.body["connectors"]
            ]
            context["tools"] = [
                (
                    one,
                    json.dumps(one["parameters"], indent=2, ensure_ascii=False),
                    names.get(one.get("connector", ""), one.get("connector", "")),
                )
                for one in kept.body["tools"]
            ]
            context["settings"] = [
                (name.replace("_", " ").capitalize(), _plain(value)) for name, value in kept.body["settings"].items()
            ]
    return render(request, "agents/snapshot.html", context)


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


@team_page(*EDIT, methods=READ_OR_POST)
def variant(request: TeamRequest, snapshot: UUID) -> HttpResponse:
    """Another model for the same definition. The draft and what is in use stay as they are."""
    access, base = request.access, _snapshot(request, snapshot)
    form = VariantForm(request.POST if request.method == "POST" else None, routes=queries.routes(active=True))
    if form.is_bound and form.is_valid():
        try:
            made = actions.make_variant(access=access, base=base, route=form.cleaned_data["route"])
        except Refusal as refusal:
            form.add_error(refusal.place if refusal.place in form.fields else None, refusal.message)
        else:
            messages.success(request, f"Snapshot {made.number} differs from {base.number} in the model alone.")
            return redirect("agents:snapshot", team=access.team.slug, snapshot=made.pk)
    context = {"section": "agents", "base": base, "agent": base.agent, "form": form}
    return render(request, "agents/variant.html", context, status=422 if form.is_bound else 200)


@team_page(*EDIT, methods=("POST",))
def deploy(request: TeamRequest, snapshot: UUID) -> HttpResponse:
    """Put this snapshot into use."""
    found = _snapshot(request, snapshot)
    actions.deploy_snapshot(access=request.access, snapshot=found)
    messages.success(request, f"Snapshot {found.number} is in use. The draft stays as it is.")
    return redirect("agents:agent", team=request.access.team.slug, agent=found.agent_id)
