"""The audit log as a page and as a file."""

from __future__ import annotations

import json
from typing import cast
from urllib.parse import urlencode

from django.http import HttpResponse
from django.shortcuts import render

from teams import audit, csv_export, lists, queries
from teams.gates import TeamRequest, team_page
from teams.permissions import Right

COLUMNS = ("at", "by", "action", "code", "object_type", "object_id", "request_id", "detail")


@team_page(Right.TEAM_MANAGE)
def audit_log(request: TeamRequest) -> HttpResponse:
    team = request.access.team
    actors = queries.audit_actors(team)
    names = queries.audit_actions(team)
    action = lists.chosen(request, "action", names)
    actor = lists.chosen(request, "actor", [str(user.pk) for user in actors])
    page = lists.page_of(request, queries.audit_events(team, **queries.audit_filter(request.GET)))
    context = {
        "section": "team",
        "page": page,
        "events": [(event, queries.event_facts(event)) for event in page],
        "actions": names,
        "actors": actors,
        "action": action,
        "actor": actor,
        "since": request.GET.get("since", ""),
        "until": request.GET.get("until", ""),
        "query": urlencode({name: request.GET[name] for name in queries.AUDIT_WORDS if request.GET.get(name)}),
    }
    return render(request, "teams/audit.html", context)


@team_page(Right.TEAM_MANAGE)
def export(request: TeamRequest) -> HttpResponse:
    """The events that the filter leaves, as CSV, read from the database in pieces."""
    access = request.access
    chosen = queries.audit_filter(request.GET)
    audit.record("audit.exported", team=access.team, by=access.user, request_id=access.request_id)
    events = queries.audit_events(access.team, **chosen).iterator(chunk_size=1000)
    rows = (
        (
            event.at.isoformat(),
            event.actor.email if event.actor is not None else "",
            event.action,
            event.code,
            event.object_type,
            event.object_id,
            event.request_id,
            json.dumps(event.detail, ensure_ascii=False, sort_keys=True) if event.detail else "",
        )
        for event in events
    )
    answer = csv_export.response(f"audit-{access.team.slug}", COLUMNS, rows)
    return cast("HttpResponse", answer)  # a stream, on which the door only sets a header
