"""Agent Test: ask the draft as it is saved, and read what came back."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from agents.models import Agent
from agents.queries import draft_of
from analysis.observations import Generation
from runs import actions, codes, queries
from runs.forms import DraftTestForm
from runs.models import DraftTest
from teams import lists, receipts
from teams.gates import READ_OR_POST, TeamRequest, team_page
from teams.permissions import TEST_RIGHTS
from teams.records import new_id
from teams.refusals import Refusal

LISTED = 20
UNDER_WAY = (Generation.PLANNED, Generation.RUNNING)


@team_page(*TEST_RIGHTS, methods=READ_OR_POST)
def tests(request: TeamRequest, agent: UUID) -> HttpResponse:
    """What was asked so far, newest first, and the next question."""
    access = request.access
    found = access.find(Agent.objects.all(), pk=agent)
    draft = draft_of(found, content=False)
    form = DraftTestForm(
        request.POST if request.method == "POST" else None,
        initial={"draft_revision": draft.revision, "key": str(new_id())},
    )
    if form.is_bound and form.is_valid():
        given = form.cleaned_data
        try:
            row, _ = receipts.once(
                access,
                "agent.test",
                given["key"],
                {"agent": str(found.pk), "draft_revision": given["draft_revision"], "asked": given["asked"]},
                DraftTest,
                lambda: actions.test_draft(
                    access=access, agent=found, draft_revision=given["draft_revision"], asked=given["asked"]
                ),
            )
        except Refusal as refusal:
            if refusal.code == "revision_stale":
                form = DraftTestForm({**request.POST.dict(), "draft_revision": str(draft.revision)})
                form.add_error(None, "Somebody saved the draft meanwhile. Look at it, and ask again.")
            else:
                form.add_error("asked" if refusal.place == "asked" else None, f"{refusal.message} {refusal.allowed}")
        else:
            return redirect("experiments:test", team=access.team.slug, agent=found.pk, test=row.pk)
    rows = queries.draft_tests_of(access, found).select_related("drafttestcontent")
    context = {
        "section": "agents",
        "agent": found,
        "draft": draft,
        "form": form,
        "page": lists.page_of(request, rows, LISTED),
    }
    return render(request, "runs/tests.html", context, status=422 if form.is_bound else 200)


def _shown(request: TeamRequest, agent: UUID, test: UUID) -> dict[str, Any]:
    access = request.access
    found = access.find(Agent.objects.all(), pk=agent)
    row = access.find(
        DraftTest.objects.select_related("drafttestcontent", "drafttestanswer", "by", "route_revision__route"),
        pk=test,
        agent=found,
    )
    answer = getattr(row, "drafttestanswer", None)
    where = {"team": access.team.slug, "agent": found.pk, "test": row.pk}
    return {
        "section": "agents",
        "agent": found,
        "row": row,
        "content": row.drafttestcontent,
        "answer": answer,
        "structured": _pretty(answer.structured) if answer else "",
        "tool_calls": [(one["name"], _pretty(one["arguments"])) for one in (answer.tool_calls or [])] if answer else [],
        "attempts": queries.attempts_of_test(row),
        "ending": codes.ending(row.error_code),
        "working": row.state in UNDER_WAY,
        "poll": reverse("experiments:test_state", kwargs=where),
    }


def _pretty(value: Any) -> str:
    return "" if value is None else json.dumps(value, indent=2, ensure_ascii=False)


@team_page(*TEST_RIGHTS)
def test(request: TeamRequest, agent: UUID, test: UUID) -> HttpResponse:
    """One question, and what came back."""
    return render(request, "runs/test.html", _shown(request, agent, test))


@team_page(*TEST_RIGHTS)
def test_state(request: TeamRequest, agent: UUID, test: UUID) -> HttpResponse:
    """The part of it that follows the work."""
    return render(request, "runs/_test.html", _shown(request, agent, test))
