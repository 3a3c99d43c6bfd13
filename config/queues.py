"""What waits and what is being worked on, for operators. Ids, counts and times; no content."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.utils import timezone
from kombu import Queue

from config.celery import app
from config.health import PATIENCE, WAITING
from intake.models import Import, ImportState

MOST_ROWS = 200


@dataclass(frozen=True, slots=True)
class Work:
    """One piece of work that is not done. `late` where its claim ran out and nobody took it up again yet."""

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
    now = timezone.now()
    rows = Import.objects.filter(state__in=(*WAITING, ImportState.RUNNING)).select_related("team").order_by("pk")
    found = [
        Work(
            what="import",
            id=str(row.pk),
            team=row.team.name,
            state=row.get_state_display(),
            claimed_by=row.claimed_by,
            claims=row.attempts,
            since=row.created_at,
            lease_until=row.lease_until,
            late=row.lease_until is not None and row.lease_until < now,
        )
        for row in rows[:MOST_ROWS]
    ]
    return rows.count(), found


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
