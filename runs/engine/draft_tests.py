"""One Agent Test: a draft as it was saved, asked once."""

from __future__ import annotations

import logging
from typing import Any

from django.conf import settings
from django.db import connection

from analysis.observations import FailureKind, Generation
from runs.engine import ledger, standing
from runs.engine.claims import DRAFT_TESTS, Claim, Lost, renewed, settle, worker_name
from runs.engine.ledger import Account, by_route
from runs.engine.standing import RightsLost
from runs.engine.subjects import Asker
from runs.executors import executor_for
from runs.executors.contract import CallFailed, Message, Reply
from runs.models import DraftTest, DraftTestAnswer, ToolPolicy
from teams.bulk import database_now
from teams.permissions import TEST_RIGHTS

log = logging.getLogger(__name__)


def claim_next(worker: str = "") -> Claim | None:
    """Claim the oldest Agent Test that waits."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            UPDATE runs_drafttest SET state = {Generation.RUNNING.value}, epoch = epoch + 1, claimed_by = %s,
                lease_until = clock_timestamp() + make_interval(secs => %s),
                started_at = COALESCE(started_at, clock_timestamp())
            WHERE id = (SELECT id FROM runs_drafttest WHERE state = {Generation.PLANNED.value}
                        ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED)
            RETURNING id, epoch
            """,
            [worker or worker_name(), settings.LEASE_SECONDS],
        )
        row = cursor.fetchone()
    return None if row is None else Claim(DRAFT_TESTS, row[0], row[1])


def waiting() -> int:
    return DraftTest.objects.filter(state=Generation.PLANNED).count()


def work_on(claim: Claim) -> None:
    """Ask once, and write down what came back."""
    row = DraftTest.objects.select_related("drafttestcontent", "route_revision__provider", "route_revision__route").get(
        pk=claim.id
    )

    def may_go_on() -> None:
        standing.starter_access(row.by_id, row.team_id, *TEST_RIGHTS)

    with renewed(claim):
        try:
            may_go_on()
            content = row.drafttestcontent
            if content.definition is None or content.asked is None:
                _end(claim, Generation.BLOCKED, code="draft_unavailable")
                return
            asker = Asker(content.definition, row.route_revision, ToolPolicy.RECORD)
            route = row.route_revision
            account = Account(claim, executor_for(route.provider.kind), may_go_on, by_route(route), route)
            reference, reply = account.reply(asker.ask([Message("user", content.asked)]), 0)
            account.close(
                reference,
                reply,
                keep=lambda: _keep(row, reply),
                end=lambda: _settle(claim, Generation.COMPLETED, finish_reason=reply.finish_reason[:60]),
            )
        except Lost:
            log.warning("Agent Test %s is no longer ours", claim.id)
        except RightsLost as reason:
            _end(claim, Generation.FAILED, FailureKind.RIGHTS_LOST, reason.code)
        except CallFailed as failure:
            _end(claim, Generation.FAILED, failure.kind, failure.code)


def _keep(row: DraftTest, reply: Reply) -> None:
    calls = [{"name": call.name, "arguments": call.arguments} for call in reply.tool_calls]
    DraftTestAnswer.objects.create(
        draft_test=row, text=reply.text, structured=reply.structured, tool_calls=calls or None
    )


def _settle(claim: Claim, state: Generation, **columns: Any) -> None:
    totals = ledger.totals(ledger.calls_of(claim))
    settle(claim, state=state.value, finished_at=database_now(), **totals, **columns)


def _end(claim: Claim, state: Generation, kind: FailureKind = FailureKind.NONE, code: str = "") -> None:
    try:
        _settle(claim, state, failure_kind=kind.value, error_code=code)
    except Lost:
        log.warning("Agent Test %s is no longer ours", claim.id)
