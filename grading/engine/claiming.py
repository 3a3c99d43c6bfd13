"""Whose turn it is among passes: the one that waited longest, of it the next judgment or enrichment."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Final

from django.conf import settings
from django.db import connection, transaction

from analysis.observations import Outcome
from grading.engine.work import ENRICHMENTS, JUDGMENTS
from grading.models import GraderKind, GradingPass, PassOrigin
from runs.engine import standing
from runs.engine.claims import Claim, Work, worker_name
from runs.engine.limits import full_routes
from runs.models import Experiment
from teams import audit
from teams.models import Team
from teams.permissions import GRADING_RIGHTS, LAUNCH_RIGHTS

PENDING: Final = f"outcome = {Outcome.PENDING.value}"
CALLING: Final = [GraderKind.JUDGE.value, GraderKind.VALIDATOR.value]


@cache
def of_pass(work: Work) -> str:
    """What waits in a pass `p`, of the kinds of graders that are given; no judge whose model route is full."""
    if work is ENRICHMENTS:
        return f"""
            FROM grading_enrichment j JOIN runs_execution x ON x.id = j.execution_id
            WHERE x.experiment_id = p.experiment_id AND j.version_id = p.enrichment_id
              AND j.{PENDING} AND j.lease_until IS NULL AND %s IS NOT NULL
        """
    return f"""
        FROM grading_judgment j
        JOIN grading_graderversion v ON v.id = j.version_id JOIN grading_grader g ON g.id = v.grader_id
        LEFT JOIN agents_modelrouterevision w ON w.id = v.route_revision_id
        WHERE j.grading_pass_id = p.id AND j.{PENDING} AND j.lease_until IS NULL AND g.kind = ANY(%s)
          AND (w.route_id IS NULL OR w.route_id NOT IN ({full_routes()}))
    """


def next_pass(work: Work, kinds: Sequence[str]) -> GradingPass | None:
    """The running pass with something of a kind to do that waited longest, locked until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            SELECT p.id FROM grading_gradingpass p
            WHERE p.state = 'running' AND p.paused_at IS NULL AND EXISTS (SELECT 1 {of_pass(work)})
              AND p.parallel > (SELECT count(*) FROM grading_judgment b
                                WHERE b.grading_pass_id = p.id AND b.{PENDING} AND b.lease_until IS NOT NULL)
            ORDER BY p.served_at NULLS FIRST, p.id LIMIT 1 FOR NO KEY UPDATE OF p
            """,
            [list(kinds)],
        )
        row = cursor.fetchone()
        if row is None:
            return None
        cursor.execute("UPDATE grading_gradingpass SET served_at = clock_timestamp() WHERE id = %s", [row[0]])
    found: GradingPass = GradingPass.objects.select_related("experiment").get(pk=row[0])
    return found


def claim_next(worker: str = "") -> Claim | None:
    """Claim the next judgment or enrichment that takes an outside call, or nothing."""
    return _claim(ENRICHMENTS, worker) or _claim(JUDGMENTS, worker)


def _claim(work: Work, worker: str) -> Claim | None:
    while True:
        with transaction.atomic():
            grading_pass = next_pass(work, CALLING)
            if grading_pass is None:
                return None
            code = hindrance(grading_pass)
            if not code:
                return _claimed(work, grading_pass, worker)
            pause(grading_pass, code)


def _claimed(work: Work, grading_pass: GradingPass, worker: str) -> Claim | None:
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            UPDATE {work.table} SET epoch = epoch + 1, claimed_by = %s,
                lease_until = clock_timestamp() + make_interval(secs => %s)
            WHERE id = (SELECT waiting.id FROM grading_gradingpass p, LATERAL (
                            SELECT j.id {of_pass(work)} ORDER BY j.id LIMIT 1) waiting
                        WHERE p.id = %s)
              AND {PENDING} AND lease_until IS NULL
            RETURNING id, epoch
            """,
            [worker or worker_name(), settings.LEASE_SECONDS, CALLING, grading_pass.pk],
        )
        row = cursor.fetchone()
    return None if row is None else Claim(work, row[0], row[1])


def hindrance(grading_pass: GradingPass) -> str:
    """The code of what keeps a pass from going on just now; empty where nothing does."""
    archived = Experiment.objects.filter(pk=grading_pass.experiment_id).exclude(archived_at=None)
    if archived.exists():
        return "experiment_archived"
    return "" if may_judge(grading_pass) else "grading_creator_unauthorized"


def may_judge(grading_pass: GradingPass) -> bool:
    """Whether whoever made the pass may have it go on. Of an original pass every right of launching is asked."""
    needed = LAUNCH_RIGHTS if grading_pass.origin == PassOrigin.ORIGINAL else GRADING_RIGHTS
    return standing.may_start(grading_pass.creator_id, grading_pass.experiment.team_id, *needed)


def pause(grading_pass: GradingPass, code: str) -> None:
    """Nothing new is judged until somebody resumes it. What is under way settles."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE grading_gradingpass SET paused_at = clock_timestamp(), pause_code = %s "
            "WHERE id = %s AND state = 'running' AND paused_at IS NULL",
            [code, grading_pass.pk],
        )
        if cursor.rowcount != 1:
            return
    audit.record(
        "pass.paused",
        team=Team(pk=grading_pass.experiment.team_id),
        by=None,
        object_type="gradingpass",
        object_id=grading_pass.pk,
        code=code,
    )


def waiting() -> int:
    """How much could be begun now: what waits in each pass, at most a few of it."""
    several = f"SELECT count(*) FROM (SELECT 1 {of_pass(ENRICHMENTS)} LIMIT 16) few"
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            SELECT coalesce(sum(least(p.parallel, found.n)), 0) FROM grading_gradingpass p, LATERAL (
                SELECT ({several}) + (SELECT count(*) FROM (
                    SELECT 1 FROM grading_judgment j
                    WHERE j.grading_pass_id = p.id AND j.{PENDING} AND j.lease_until IS NULL LIMIT 16) few) AS n) found
            WHERE p.state = 'running' AND p.paused_at IS NULL
            """,
            [CALLING],
        )
        row = cursor.fetchone()
    return int(row[0]) if row else 0
