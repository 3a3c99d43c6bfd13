"""What operators ask first: does everything answer, and does work move?"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.core.cache import cache
from django.db import connection
from django.db.models import Count, Min, Q
from django.utils import timezone

from analysis.observations import Generation, Outcome
from config.celery import app
from grading.models import Judgment
from intake.models import Import, ImportState
from runs.models import Execution, State
from webhooks.models import Delivery, DeliveryState, Webhook

PATIENCE = 1  # seconds: the page says "does not answer" rather than hang with what it reports on
WAITING = (ImportState.EXAMINING, ImportState.QUEUED)
LOW_DISK = 0.1


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at. `fine` is None where there is nothing to judge."""

    name: str
    fine: bool | None
    says: str


def findings() -> list[Finding]:
    return [
        _asked("Database", _database),
        _asked("Cache", _cache),
        _asked("Broker", _broker),
        _asked("Workers", _workers),
        _asked("Imports", _imports),
        _asked("Experiments", _experiments),
        _asked("Webhooks", _webhooks),
        _asked("Disk", _disk),
    ]


def _asked(name: str, ask: Callable[[], tuple[bool | None, str]]) -> Finding:
    """A part that is down must not take the page down that says so."""
    try:
        return Finding(name, *ask())
    except Exception as fault:
        return Finding(name, False, f"does not answer ({type(fault).__name__})")


def _database() -> tuple[bool, str]:
    started = time.perf_counter()
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('server_version'), pg_size_pretty(pg_database_size(current_database()))")
        version, size = cursor.fetchone()
    return True, f"PostgreSQL {version}, {size}, answers in {(time.perf_counter() - started) * 1000:.0f} ms"


def _cache() -> tuple[bool, str]:
    cache.set("health", "seen", 10)
    return cache.get("health") == "seen", "keeps and returns what it is given"


def _broker() -> tuple[bool | None, str]:
    if not settings.CELERY_BROKER_URL:
        return False, "CELERY_BROKER_URL is not set"
    with app.connection_for_write() as broker:
        broker.ensure_connection(max_retries=0, timeout=PATIENCE)
        return True, f"{broker.transport_cls} answers"


def _workers() -> tuple[bool, str]:
    if not settings.CELERY_BROKER_URL:
        return False, "cannot be asked without a broker"
    answers = app.control.ping(timeout=PATIENCE) or []
    names = sorted(name for answer in answers for name in answer)
    return bool(names), f"{len(names)} answered: {', '.join(names)}" if names else "none answered"


def _imports() -> tuple[bool, str]:
    """Work that waits although nobody holds it, and leases that ran out."""
    now = timezone.now()
    counted = Import.objects.aggregate(
        waiting=Count("pk", filter=Q(state__in=WAITING)),
        running=Count("pk", filter=Q(state=ImportState.RUNNING)),
        expired=Count("pk", filter=Q(lease_until__lt=now, state__in=(*WAITING, ImportState.RUNNING))),
        oldest=Min("created_at", filter=Q(state__in=WAITING)),
    )
    says = f"{counted['waiting']} waiting, {counted['running']} running, {counted['expired']} with an expired claim"
    if counted["oldest"] is not None:
        says += f"; the oldest has waited {(now - counted['oldest']).total_seconds() / 60:.0f} min"
    return not counted["expired"], says


def _experiments() -> tuple[bool, str]:
    """Items and judgments that wait or are claimed, and claims that ran out."""
    now = timezone.now()
    items = Execution.objects.filter(experiment__state=State.RUNNING).aggregate(
        waiting=Count("pk", filter=Q(state=Generation.PLANNED)),
        running=Count("pk", filter=Q(state=Generation.RUNNING)),
        expired=Count("pk", filter=Q(state=Generation.RUNNING, lease_until__lt=now)),
    )
    open_ = Judgment.objects.filter(outcome__in=(Outcome.PENDING, Outcome.WAITING_FOR_EVIDENCE))
    judging = open_.aggregate(waiting=Count("pk"), expired=Count("pk", filter=Q(lease_until__lt=now)))
    expired = items["expired"] + judging["expired"]
    says = f"{items['waiting']} items waiting, {items['running']} running, {judging['waiting']} judgments open"
    return not expired, f"{says}, {expired} with an expired claim"


def _webhooks() -> tuple[bool, str]:
    """What is not told yet, and what was given up today. A receiver's silence is its team's matter, not ours."""
    now = timezone.now()
    given_up = Q(state=DeliveryState.GIVEN_UP, ended_at__gte=now - timedelta(days=1))
    counted = Delivery.objects.aggregate(
        waiting=Count("pk", filter=Q(state=DeliveryState.WAITING)),
        given_up=Count("pk", filter=given_up),
        expired=Count("pk", filter=Q(state=DeliveryState.WAITING, lease_until__lt=now)),
    )
    disabled = Webhook.objects.exclude(disabled_code="").filter(archived_at=None).count()
    says = f"{counted['waiting']} waiting, {counted['expired']} with an expired claim"
    more = f"{counted['given_up']} given up since yesterday, {disabled} disabled by themselves"
    return not counted["expired"], f"{says}; {more}"


def _disk() -> tuple[bool, str]:
    place = settings.UPLOAD_DIR if settings.UPLOAD_DIR.exists() else settings.BASE_DIR
    usage = shutil.disk_usage(place)
    return usage.free / usage.total > LOW_DISK, f"{usage.free / 1e9:.1f} of {usage.total / 1e9:.1f} GB free for uploads"
