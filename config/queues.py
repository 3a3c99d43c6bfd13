"""What waits and what is being worked on, for operators. Ids, counts and times; no content."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.conf import settings
from django.db.models import Count, Max, Min, Q
from django.utils import timezone
from kombu import Queue

from analysis.observations import Generation, Outcome
from config.celery import app
from config.health import PATIENCE, WAITING
from grading.models import GradingPass
from intake.models import Import, ImportState
from runs.models import DraftTest, Experiment, State
from webhooks.models import Delivery, DeliveryState

MOST_ROWS: Final = 200


@dataclass(frozen=True, slots=True)
class Work:
    """One piece of work that is not done. `late` where a claim ran out and nobody took it up again yet."""

    what: str
    id: str
    team: str
    state: str
    claimed_by: str
    claims: int
    since: datetime
    lease_until: datetime | None
    late: bool


def unfinished() -> tuple[int, list[Work]]:
    """How much there is, and the oldest of it."""
    found = sorted(
        (*_imports(), *_experiments(), *_passes(), *_draft_tests(), *_deliveries()), key=lambda one: one.since
    )
    return len(found), found[:MOST_ROWS]


def _imports() -> Iterator[Work]:
    rows = Import.objects.filter(state__in=(*WAITING, ImportState.RUNNING)).select_related("team")
    for row in rows:
        yield _work("import", row, row.team, row.get_state_display(), row.claimed_by, row.attempts, row.created_at)


def _experiments() -> Iterator[Work]:
    """An experiment with its items that wait or are claimed; of several claims the one that runs out first."""
    running = Q(execution__state=Generation.RUNNING)
    rows = Experiment.objects.filter(state=State.RUNNING, batch__isnull=False).select_related("team")
    for row in rows.annotate(
        waiting=Count("execution", filter=Q(execution__state=Generation.PLANNED)),
        under_way=Count("execution", filter=running),
        worker=Max("execution__claimed_by", filter=running),
        claims=Max("execution__epoch", filter=running),
        lease_until=Min("execution__lease_until", filter=running),
    ):
        state = _state(row.paused_at, row.pause_code, row.waiting, row.under_way)
        yield _work("experiment", row, row.team, state, row.worker or "", row.claims or 0, row.created_at)


def _passes() -> Iterator[Work]:
    claimed = Q(judgment__outcome=Outcome.PENDING, judgment__lease_until__isnull=False)
    open_ = Q(judgment__outcome__in=(Outcome.PENDING, Outcome.WAITING_FOR_EVIDENCE))
    rows = GradingPass.objects.filter(state=State.RUNNING).select_related("experiment__team")
    for row in rows.annotate(
        waiting=Count("judgment", filter=open_),
        under_way=Count("judgment", filter=claimed),
        worker=Max("judgment__claimed_by", filter=claimed),
        claims=Max("judgment__epoch", filter=claimed),
        lease_until=Min("judgment__lease_until", filter=claimed),
    ):
        state = _state(row.paused_at, row.pause_code, row.waiting - row.under_way, row.under_way)
        yield _work("pass", row, row.experiment.team, state, row.worker or "", row.claims or 0, row.created_at)


def _draft_tests() -> Iterator[Work]:
    rows = DraftTest.objects.filter(state__in=(Generation.PLANNED, Generation.RUNNING)).select_related("team")
    for row in rows:
        yield _work("Agent Test", row, row.team, row.get_state_display(), row.claimed_by, row.epoch, row.made_at)


def _deliveries() -> Iterator[Work]:
    """What webhooks have not been told; a lease that ran out is taken up by the next attempt."""
    rows = Delivery.objects.filter(state=DeliveryState.WAITING).select_related("webhook__team")
    for row in rows:
        state = f"{row.event}, attempt {row.attempts}{f' ({row.last_code})' if row.last_code else ''}"
        yield _work("delivery", row, row.webhook.team, state, row.claimed_by, row.attempts, row.made_at)


def _state(paused_at: datetime | None, code: str, waiting: int, under_way: int) -> str:
    counts = f"{waiting:,} waiting, {under_way:,} under way"
    return counts if paused_at is None else f"paused{f' ({code})' if code else ''}, {counts}"


def _work(what: str, row: Any, team: Any, state: str, worker: str, claims: int, since: datetime) -> Work:
    lease: datetime | None = row.lease_until
    late = lease is not None and lease < timezone.now()
    return Work(what, str(row.pk), team.name, state, worker, claims, since, lease, late)


def messages_waiting() -> int | None:
    """Wake-ups in the broker that no worker has taken; None where the broker does not answer."""
    if not settings.CELERY_BROKER_URL:
        return None
    try:
        with app.connection_for_write() as broker:
            broker.ensure_connection(max_retries=0, timeout=PATIENCE)
            declared: Any = Queue(app.conf.task_default_queue, channel=broker.channel())
            return int(declared.queue_declare().message_count)
    except Exception:  # whatever is wrong with it, the rows above are the truth
        return None
