"""Agent Test: try the draft as it is saved, on one input."""

from __future__ import annotations

from typing import Final

from django.db import transaction

from agents.actions import draft_to_run
from agents.models import Agent
from analysis.observations import Generation
from runs.engine import wakes
from runs.models import DraftTest, DraftTestContent
from teams import audit
from teams.access import Access
from teams.given import storable
from teams.permissions import TEST_RIGHTS
from teams.refusals import Refusal

LONGEST: Final = 100_000
MOST_WAITING: Final = 5
"""Tests of one person that are under way; each is a call that somebody pays for."""


@transaction.atomic
def test_draft(*, access: Access, agent: Agent, draft_revision: int, asked: str) -> DraftTest:
    """Ask the saved draft. `draft_revision` is the one that the person saw; nothing about the agent changes."""
    access.require(*TEST_RIGHTS)
    if not asked.strip() or len(asked) > LONGEST or not storable(asked):
        raise Refusal("invalid_field", f"Say something, in at most {LONGEST:,} characters.", place="asked")
    draft, body, route = draft_to_run(access=access, agent=agent, revision=draft_revision)
    waiting = DraftTest.objects.filter(
        team=access.team, by=access.user, state__in=[Generation.PLANNED, Generation.RUNNING]
    ).count()
    if waiting >= MOST_WAITING:
        raise Refusal("draft_test_busy", f"{waiting} of your tests have not ended yet.")
    row = DraftTest.objects.create(
        team=access.team,
        agent=agent,
        draft_revision=draft.revision,
        draft_sha256=draft.sha256,
        route_revision=route,
        by=access.user,
    )
    DraftTestContent.objects.create(draft_test=row, definition=body, asked=asked)
    audit.by("agent.tested", access, agent, draft=draft.revision, test=str(row.pk))
    wakes.wake()
    return row
