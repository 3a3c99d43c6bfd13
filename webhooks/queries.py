"""Reads of webhooks, their deliveries, and the hosts they may reach."""

from __future__ import annotations

from django.db import models
from django.db.models import Count, OuterRef, Subquery
from django.db.models.functions import Coalesce

from teams.access import Access
from webhooks.models import Delivery, DeliveryState, Webhook, WebhookHost


def webhooks_of(access: Access, *, archived: bool | None = False) -> models.QuerySet[Webhook]:
    """By name, with what waits and the newest delivery; None is both."""
    told = Delivery.objects.filter(webhook=OuterRef("pk"))
    newest = told.order_by("-made_at", "-pk")
    waiting = told.filter(state=DeliveryState.WAITING).order_by().values("webhook").annotate(n=Count("pk"))
    rows = Webhook.objects.filter(team=access.team).annotate(
        waiting=Coalesce(Subquery(waiting.values("n")), 0),
        last_state=Subquery(newest.values("state")[:1]),
        last_at=Subquery(newest.values("made_at")[:1]),
    )
    return rows.order_by("name", "pk") if archived is None else rows.filter(archived_at__isnull=not archived)


def deliveries_of(webhook: Webhook, state: str = "") -> models.QuerySet[Delivery]:
    """Newest first."""
    rows = Delivery.objects.filter(webhook=webhook).order_by("-made_at", "-pk")
    return rows.filter(state=state) if state else rows


def hosts() -> list[str]:
    """Those that webhooks may reach."""
    return list(WebhookHost.objects.filter(archived_at=None).order_by("host").values_list("host", flat=True))
