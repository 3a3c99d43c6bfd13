"""The draft of an agent: edited, compared with what is in use, published."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render

from agents import actions, queries
from agents.actions.agents import EDIT_CONTENT, not_archived
from agents.actions.snapshots import route_facts
from agents.forms import ROWS, DefinitionForms
from agents.models import Snapshot
from agents.views.managing import agent_of
from teams.gates import READ_OR_POST, TeamRequest, team_page
from teams.refusals import Refusal


@team_page(*EDIT_CONTENT, methods=READ_OR_POST)
def draft(request: TeamRequest, agent: UUID) -> HttpResponse:
    """What the agent is told and given, to edit."""
    access, found = request.access, agent_of(request, agent)
    if request.method != "POST":
        not_archived(found)
    kept = queries.draft_of(found, content=True)
    wanted = request.POST.get("more_rows", "")
    wanted = wanted if wanted in ROWS else ""
    posted = request.method == "POST" and not wanted
    forms = DefinitionForms(
        request.POST if posted else None,
        kept.body,
        revision=kept.revision,
        routes=queries.routes(),
        connectors=list(queries.connectors_of(access)),
        names=queries.names_of_connectors(access, (one["connector"] for one in kept.body["connectors"])),
    )
    if wanted:
        forms.more_rows(wanted, request.POST)
    elif posted and forms.is_valid():
        try:
            saved = actions.save_draft(
                access=access,
                agent=found,
                definition=forms.definition(),
                revision=forms.form.cleaned_data["revision"],
            )
        except Refusal as refusal:
            forms.add(refusal)
        else:
            same = saved.revision == kept.revision
            messages.success(request, "Nothing was changed." if same else "The draft is saved. Nothing else changed.")
            return redirect("agents:agent", team=access.team.slug, agent=found.pk)
    context = {"section": "agents", "agent": found, "draft": kept, "forms": forms, "form": forms.form}
    return render(request, "agents/draft.html", context, status=422 if posted else 200)


@team_page(*EDIT_CONTENT)
def changes(request: TeamRequest, agent: UUID) -> HttpResponse:
    """What publishing the draft would change."""
    found = agent_of(request, agent)
    kept, deployed = queries.draft_of(found, content=True), queries.deployed_of(found)
    before = queries.kept_definition(deployed.snapshot) if deployed else None
    parts = []
    if before is not None and before.body is not None:
        after = {**kept.body, "route": _route(kept.body["route"])}
        ids = {one["connector"] for side in (before.body, after) for one in side["connectors"]}
        told = queries.definition_differences(before.body, after, queries.names_of_connectors(request.access, ids))
        parts = [(queries.label_of(name), fields) for name, fields in told.items()]
    context = {
        "section": "agents",
        "agent": found,
        "draft": kept,
        "deployed": deployed,
        "removed": before.removed if before else "",
        "parts": parts,
    }
    return render(request, "agents/changes.html", context)


def _route(key: str) -> Any:
    """What a snapshot would keep of the draft's route; of one that is not active, its key alone."""
    route = queries.route_by_key(key)
    return route_facts(route.active) if route is not None and route.active is not None else key


def _revision(request: TeamRequest) -> int:
    given = request.POST.get("revision", "")
    return int(given) if given.isascii() and given.isdecimal() and len(given) < 9 else 0


@team_page(*EDIT_CONTENT, methods=("POST",))
def publish(request: TeamRequest, agent: UUID) -> HttpResponse:
    """The saved draft as a snapshot, in use from now on."""
    found = agent_of(request, agent)
    made = actions.publish_draft(access=request.access, agent=found, revision=_revision(request))
    messages.success(request, f"Snapshot {made.snapshot.number} is in use. It never changes.")
    return redirect("agents:agent", team=request.access.team.slug, agent=found.pk)


@team_page(*EDIT_CONTENT, methods=("POST",))
def start_over(request: TeamRequest, snapshot: UUID) -> HttpResponse:
    """The draft says what a snapshot says."""
    access = request.access
    found = access.find(Snapshot.objects.select_related("agent"), team="agent__team", pk=snapshot)
    actions.draft_from_snapshot(access=access, snapshot=found, revision=_revision(request))
    messages.success(request, f"The draft says what snapshot {found.number} says.")
    return redirect("agents:draft", team=access.team.slug, agent=found.agent_id)
