"""What people do with webhooks: made, edited, tried, rotated, disabled, put away."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final
from urllib.parse import urlsplit

from django.conf import settings
from django.db import IntegrityError, transaction

from agents.outbound import checked_url
from runs.engine import wakes
from teams import audit
from teams.access import Access
from teams.bulk import database_now
from teams.given import name as given_name
from teams.keeping import seen, set_archived
from teams.permissions import Right
from teams.refusals import Refusal
from webhooks import bodies, queries, refusals  # noqa: F401  # its codes must be registered before one is raised
from webhooks.models import PING, Delivery, DeliveryState, Event, Webhook

MANAGE: Final = (Right.EVALUATION_MANAGE,)
TASK: Final = "webhooks.tasks.work"
MOST_WEBHOOKS: Final = 50
MOST_ATTEMPTS: Final = 1_000
"""Of one delivery, however often a person has it sent again."""


def host_of(url: str) -> str:
    """The name of an address's host, as the list of hosts spells it."""
    return (urlsplit(url).hostname or "").rstrip(".").lower()


@transaction.atomic
def create_webhook(*, access: Access, name: str, url: str, events: Collection[str]) -> Webhook:
    """Tells the address what ends from now on."""
    access.require(*MANAGE)
    name = given_name(name, "the webhook")
    url, chosen = _checked(url), _events(events)
    if Webhook.objects.filter(team=access.team).count() >= MOST_WEBHOOKS:
        raise Refusal("invalid_field", f"A team has at most {MOST_WEBHOOKS} webhooks.", place="name")
    try:
        with transaction.atomic():
            made = Webhook.objects.create(team=access.team, name=name, url=url, events=chosen, made_by=access.user)
    except IntegrityError:
        raise Refusal("name_taken", _taken(name), place="name") from None
    audit.by("webhook.created", access, made, name=name, host=host_of(url), events=chosen)
    return made


@transaction.atomic
def edit_webhook(
    *,
    access: Access,
    webhook: Webhook,
    revision: int,
    name: str | None = None,
    url: str | None = None,
    events: Collection[str] | None = None,
) -> Webhook:
    """Another name, address or choice of events. What waits goes to the new address."""
    access.require(*MANAGE)
    kept = _own(access, webhook)
    _not_archived(kept)
    seen(kept.revision, revision, "The webhook")
    if name is not None:
        kept.name = given_name(name, "the webhook")
    if url is not None and url != kept.url:
        kept.url = _checked(url)
    if events is not None:
        kept.events = _events(events)
    kept.revision += 1
    try:
        with transaction.atomic():
            kept.save(update_fields=["name", "url", "events", "revision"])
    except IntegrityError:
        raise Refusal("name_taken", _taken(kept.name), place="name") from None
    audit.by("webhook.edited", access, kept, name=kept.name, host=host_of(kept.url), events=kept.events)
    return kept


@transaction.atomic
def ping(*, access: Access, webhook: Webhook) -> Delivery:
    """One delivery without an event behind it, which is tried once."""
    access.require(*MANAGE)
    kept = _own(access, webhook)
    _not_archived(kept)
    if kept.disabled_at is not None:
        raise Refusal("webhook_disabled", "A disabled webhook is told nothing.")
    if Delivery.objects.filter(webhook=kept, event=PING, state=DeliveryState.WAITING).exists():
        raise Refusal("conflict", "A ping is on its way already.")
    made = bodies.delivery(kept, PING, None, database_now(), None)
    made.save()
    audit.by("webhook.pinged", access, kept, delivery=str(made.pk))
    wakes.wake(1, TASK)
    return made


@transaction.atomic
def send_again(*, access: Access, webhook: Webhook, delivery: Delivery) -> Delivery:
    """One more attempt at a delivery that has ended, with the same id and body."""
    access.require(*MANAGE)
    kept = _own(access, webhook)
    _not_archived(kept)
    if kept.disabled_at is not None:
        raise Refusal("webhook_disabled", "A disabled webhook is told nothing.")
    told: Delivery = Delivery.objects.select_for_update(no_key=True).get(pk=delivery.pk, webhook=kept)
    if told.event == PING:
        raise Refusal("conflict", "Send another ping instead.")
    if told.state == DeliveryState.WAITING:
        raise Refusal("conflict", "It is on its way already.")
    if told.attempts >= MOST_ATTEMPTS:
        raise Refusal("conflict", f"It was sent {MOST_ATTEMPTS:,} times, which is enough.")
    told.state, told.ended_at, told.due_at, told.most_attempts = (
        DeliveryState.WAITING, None, database_now(), told.attempts + 1,
    )  # fmt: skip
    told.save(update_fields=["state", "ended_at", "due_at", "most_attempts"])
    audit.by("webhook.sent_again", access, kept, delivery=str(told.pk))
    wakes.wake(1, TASK)
    return told


@transaction.atomic
def rotate_secret(*, access: Access, webhook: Webhook) -> Webhook:
    """From the next attempt on, another secret signs."""
    access.require(*MANAGE)
    kept = _own(access, webhook)
    _not_archived(kept)
    kept.secret_revision += 1
    kept.revision += 1
    kept.save(update_fields=["secret_revision", "revision"])
    audit.by("webhook.rotated", access, kept, secret_revision=kept.secret_revision)
    return kept


@transaction.atomic
def disable_webhook(*, access: Access, webhook: Webhook) -> Webhook:
    """It is told nothing any more; what waits is dropped."""
    access.require(*MANAGE)
    kept = _own(access, webhook)
    if kept.disabled_at is None:
        stop(kept, "")
        audit.by("webhook.disabled", access, kept)
    return kept


@transaction.atomic
def enable_webhook(*, access: Access, webhook: Webhook) -> Webhook:
    """It is told what ends from now on."""
    access.require(*MANAGE)
    kept = _own(access, webhook)
    _not_archived(kept)
    if kept.disabled_at is not None:
        kept.disabled_at, kept.disabled_code, kept.failures, kept.since = None, "", 0, database_now()
        kept.revision += 1
        kept.save(update_fields=["disabled_at", "disabled_code", "failures", "since", "revision"])
        audit.by("webhook.enabled", access, kept)
    return kept


@transaction.atomic
def archive_webhook(*, access: Access, webhook: Webhook) -> Webhook:
    """Out of the list, and disabled. Its deliveries stay to be read."""
    access.require(*MANAGE)
    kept = _own(access, webhook)
    if kept.disabled_at is None:
        stop(kept, "")
    return set_archived(access, kept, "webhook", archived=True)


@transaction.atomic
def restore_webhook(*, access: Access, webhook: Webhook) -> Webhook:
    """Back in the list, still disabled."""
    access.require(*MANAGE)
    return set_archived(access, _own(access, webhook), "webhook", archived=False)


STEPS: Final = {
    "enable": enable_webhook,
    "disable": disable_webhook,
    "rotate": rotate_secret,
    "archive": archive_webhook,
    "restore": restore_webhook,
}


def stop(webhook: Webhook, code: str) -> None:
    """Disable it, in the caller's transaction, and drop what waits. An attempt under way is not held back."""
    now = database_now()
    webhook.disabled_at, webhook.disabled_code = now, code
    webhook.revision += 1
    webhook.save(update_fields=["disabled_at", "disabled_code", "revision"])
    waiting = Delivery.objects.filter(webhook=webhook, state=DeliveryState.WAITING)
    waiting.update(state=DeliveryState.DROPPED, ended_at=now, lease_until=None)


def _own(access: Access, webhook: Webhook) -> Webhook:
    found: Webhook = access.find(Webhook.objects.select_for_update(no_key=True), pk=webhook.pk)
    return found


def _not_archived(webhook: Webhook) -> None:
    if webhook.archived_at is not None:
        raise Refusal("webhook_archived", "An archived webhook is told nothing.")


def _checked(url: str) -> str:
    url = checked_url(url.strip(), place="url", loopback=settings.EMBEDDED, as_written=True)
    if host_of(url) not in queries.hosts():
        raise Refusal("invalid_field", "Webhooks may not reach this host; operators list those.", place="url")
    return url


def _events(events: Collection[str]) -> list[str]:
    if not events or not set(events) <= set(Event.values):
        raise Refusal("invalid_field", f"At least one of {', '.join(Event.values)}.", place="events")
    return [one for one in Event.values if one in events]


def _taken(name: str) -> str:
    return f"The team has a webhook {name} already."
