"""Operators' side of webhooks: hosts that they may reach, and what became of deliveries."""

from __future__ import annotations

from django.contrib import admin

from agents.admin import ListedHosts
from teams.admin import ReadOnly
from webhooks.models import Delivery, Webhook, WebhookHost


@admin.register(WebhookHost)
class WebhookHosts(ListedHosts):
    """Hosts that webhooks may reach. One that is archived is told nothing more."""


@admin.register(Webhook)
class Webhooks(ReadOnly):
    """The path of an address may hold a secret of the receiver's; operators see its host in the audit log."""

    list_display = ("name", "team", "events", "failures", "disabled_at", "disabled_code", "archived_at")
    list_filter = ("team",)
    list_select_related = ("team",)
    exclude = ("url",)


@admin.register(Delivery)
class Deliveries(ReadOnly):
    list_display = (
        "id",
        "webhook",
        "event",
        "state",
        "attempts",
        "most_attempts",
        "last_code",
        "last_status",
        "due_at",
        "ended_at",
    )
    list_filter = ("state", "event", "webhook__team")
    list_select_related = ("webhook",)
