"""One attempt: claimed by a conditional update, sent outside of any transaction, settled if the claim still holds."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.db import connection, transaction

from analysis.strict_json import canonical
from runs.engine.claims import worker_name
from runs.executors import posting
from runs.executors.contract import CallFailed, Post
from teams import audit
from webhooks import actions, queries, signing, words
from webhooks.models import ATTEMPTS, PING, Delivery, DeliveryState, Webhook

SECONDS: Final = 10.0
AT_ONCE: Final = 1
"""Deliveries under way over all webhooks, however many receivers hang: workers have evaluations to run."""
LEASE_SECONDS: Final = 60.0
"""Several times what an attempt may take, so that nobody renews it."""
WAITS: Final = (60, 300, 1800, 21600)
"""Seconds after each attempt that failed; after one more it is given up, so that there are ATTEMPTS."""
REST_SECONDS: Final = 60
"""For which a receiver that failed is left alone, so that a dead one does not hold up the living."""
DISABLED_AFTER: Final = 5
"""Deliveries given up in a row."""

FREE: Final = (
    "d.state = 'waiting' AND d.due_at <= clock_timestamp() "
    "AND (d.lease_until IS NULL OR d.lease_until < clock_timestamp()) "
    "AND d.attempts < d.most_attempts"
)
HELD: Final = "id = %s AND epoch = %s AND state = 'waiting' AND lease_until >= clock_timestamp()"
OF_ACTIVE: Final = f"""
    FROM webhooks_webhook w JOIN LATERAL (
        SELECT d.id, d.due_at FROM webhooks_delivery d WHERE d.webhook_id = w.id AND {FREE}
        ORDER BY d.due_at, d.id LIMIT 1) waiting ON true
    WHERE w.disabled_at IS NULL AND w.archived_at IS NULL AND NOT EXISTS (
        SELECT 1 FROM webhooks_delivery d
        WHERE d.webhook_id = w.id AND d.state = 'waiting' AND d.lease_until >= clock_timestamp())
"""
"""The next delivery of each webhook. One attempt at a time: a slow receiver holds one worker, not all."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One attempt's hold on a delivery, which stands as it was when it was claimed."""

    delivery: Delivery
    epoch: int

    @property
    def last(self) -> bool:
        return self.delivery.attempts >= self.delivery.most_attempts

    @property
    def counts(self) -> bool:
        """Whether giving it up speaks against the receiver: a ping does not, and what is sent again was counted."""
        return self.delivery.most_attempts == ATTEMPTS


def claim_next(worker: str = "") -> Claim | None:
    """Claim the delivery that has waited longest, or nothing."""
    with transaction.atomic(), connection.cursor() as cursor:
        # two claims at once would both find the only place free
        cursor.execute("SELECT pg_advisory_xact_lock(hashtext('webhooks.deliveries'))")
        cursor.execute(
            "SELECT count(*) FROM webhooks_delivery d WHERE d.state = 'waiting' AND d.lease_until >= clock_timestamp()"
        )
        under_way = cursor.fetchone()
        if under_way is None or under_way[0] >= AT_ONCE:
            return None
        cursor.execute(
            f"SELECT waiting.id {OF_ACTIVE} ORDER BY waiting.due_at LIMIT 1 FOR NO KEY UPDATE OF w SKIP LOCKED"
        )
        row = cursor.fetchone()
        if row is None:
            return None
        cursor.execute(
            f"""
            UPDATE webhooks_delivery d SET epoch = epoch + 1, attempts = attempts + 1, claimed_by = %s,
                attempted_at = clock_timestamp(), lease_until = clock_timestamp() + make_interval(secs => %s),
                last_code = '', last_status = NULL
            WHERE d.id = %s AND {FREE} RETURNING id, epoch
            """,
            [worker or worker_name(), LEASE_SECONDS, row[0]],
        )
        taken = cursor.fetchone()
        if taken is None:
            return None
        return Claim(Delivery.objects.select_related("webhook__team").get(pk=taken[0]), taken[1])


def send(claim: Claim) -> None:
    """Make the attempt, and write down what became of it."""
    webhook = claim.delivery.webhook
    if actions.host_of(webhook.url) not in queries.hosts():
        _failed(claim, words.HOST_NOT_LISTED, None)
        return
    try:
        posting.EXECUTOR.call(_post(claim.delivery), lambda: None)
    except CallFailed as failed:
        _failed(claim, failed.code, failed.status)
    else:
        _delivered(claim)


def _post(delivery: Delivery) -> Post:
    webhook, pk = delivery.webhook, str(delivery.pk)
    signed = signing.signature(webhook.pk, webhook.secret_revision, canonical(delivery.body), int(time.time()))
    headers = {"Evenhand-Signature": signed, "Evenhand-Delivery": pk, "User-Agent": "Evenhand-Webhook/1"}
    return Post(webhook.url, delivery.body, reference=pk, headers=headers, seconds=SECONDS, told=True)


@transaction.atomic
def _delivered(claim: Claim) -> None:
    if _settle(claim, state=DeliveryState.DELIVERED.value, last_code=""):
        Webhook.objects.filter(pk=claim.delivery.webhook_id, failures__gt=0).update(failures=0)


@transaction.atomic
def _failed(claim: Claim, code: str, status: int | None) -> None:
    delivery = claim.delivery
    said: dict[str, Any] = {"last_code": code, "last_status": status}
    if not claim.last:
        if not _settle(claim, wait=WAITS[delivery.attempts - 1], **said):
            return
    elif not _settle(claim, state=DeliveryState.GIVEN_UP.value, **said):
        return
    elif claim.counts:
        _count(delivery.webhook_id)
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE webhooks_delivery SET due_at = clock_timestamp() + make_interval(secs => %s) "
            "WHERE webhook_id = %s AND state = 'waiting' AND event <> %s "
            "AND due_at < clock_timestamp() + make_interval(secs => %s)",
            [REST_SECONDS, delivery.webhook_id, PING, REST_SECONDS],
        )


def _settle(claim: Claim, *, wait: int | None = None, state: str = "", **columns: Any) -> bool:
    """Write an attempt's end, if the claim still holds."""
    told = "".join(f"{name} = %s, " for name in columns)
    value: str | int | None
    if state:
        ending, value = "state = %s, ended_at = clock_timestamp()", state
    else:
        ending, value = "due_at = clock_timestamp() + make_interval(secs => %s)", wait
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE webhooks_delivery SET {told}{ending}, lease_until = NULL WHERE {HELD}",
            [*columns.values(), value, claim.delivery.pk, claim.epoch],
        )
        return bool(cursor.rowcount == 1)


def _count(webhook: UUID) -> None:
    """One more delivery was given up; after several in a row the webhook is disabled by itself."""
    kept = Webhook.objects.select_for_update(no_key=True).select_related("team").get(pk=webhook)
    kept.failures += 1
    kept.save(update_fields=["failures"])
    if kept.failures >= DISABLED_AFTER and kept.disabled_at is None:
        actions.stop(kept, "webhook_unreachable")
        audit.record(
            "webhook.disabled", team=kept.team, by=None, object_type="webhook", object_id=kept.pk,
            code="webhook_unreachable", given_up=kept.failures,
        )  # fmt: skip


def sweep() -> int:
    """Give up what lost workers left at the last attempt. Returns how many there were."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id, webhook_id, most_attempts FROM webhooks_delivery d WHERE state = 'waiting' "
            "AND lease_until < clock_timestamp() AND attempts >= most_attempts"
        )
        rows = cursor.fetchall()
    return sum(_lost(*row) for row in rows)


@transaction.atomic
def _lost(pk: UUID, webhook: UUID, most_attempts: int) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE webhooks_delivery SET state = %s, last_code = %s, ended_at = clock_timestamp(), lease_until = NULL "
            "WHERE id = %s AND state = 'waiting' AND lease_until < clock_timestamp()",
            [DeliveryState.GIVEN_UP.value, words.WORKER_LOST, pk],
        )
        if cursor.rowcount != 1:
            return False
    if most_attempts == ATTEMPTS:
        _count(webhook)
    return True


def waiting() -> int:
    """How many webhooks could be told something now."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) {OF_ACTIVE}")
        row = cursor.fetchone()
    return int(row[0]) if row else 0
