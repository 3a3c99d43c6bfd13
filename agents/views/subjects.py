"""Pages of subjects: the list and one subject."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render

from agents import queries
from agents.models import Subject
from teams import lists
from teams.gates import TeamRequest, team_page
from teams.permissions import Right

ORDERS = {"label": "label", "kind": "kind", "seen": "created_at"}


@team_page(Right.AGENT_READ)
def subject_list(request: TeamRequest) -> HttpResponse:
    search = request.GET.get("q", "").strip()[:200]
    rows, sort = lists.order_by(request, queries.subjects_of(request.access, search=search), ORDERS, "-seen")
    context = {"section": "agents", "page": lists.page_of(request, rows), "sort": sort, "q": search}
    return render(request, "agents/subjects.html", context)


@team_page(Right.AGENT_READ)
def detail(request: TeamRequest, subject: UUID) -> HttpResponse:
    found = request.access.find(Subject.objects.all(), pk=subject)
    definition = queries.definition_of(found) if request.access.reads_content else None
    context = {"section": "agents", "subject": found, "definition": definition, "made_from": queries.made_from(found)}
    return render(request, "agents/subject.html", context)
