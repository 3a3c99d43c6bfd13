"""Webhooks and their deliveries. A delivery is written down first and sent afterwards."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower, Now

from agents.models.hosts import ListedHost
from teams.models import Team, User
from teams.records import Record


class WebhookHost(ListedHost):
    """A host that webhooks may reach."""


class Event(models.TextChoices):
    EXPERIMENT_ENDED = "experiment.ended", "An experiment has ended"
    GRADING_PASS_ENDED = "grading_pass.ended", "A grading pass has ended"
    GROUP_ENDED = "group.ended", "A comparison group has ended"


PING = "ping"
"""Sent when a person asks for it, to any webhook."""
ATTEMPTS = 5
"""After which a delivery is given up, unless a person asks for one more."""


class Webhook(Record):
    """An address of a team and what it is told. Its signing secret is derived and stored nowhere.

    `since`: what ended before is not told. `secret_revision` counts the rotations of the secret, `failures` the
    deliveries given up in a row.
    """

    team = models.ForeignKey(Team, on_delete=models.PROTECT)
    name = models.CharField(max_length=120)
    url = models.CharField(max_length=500)
    events = ArrayField(models.CharField(max_length=30, choices=Event))
    revision = models.PositiveIntegerField(default=1)
    secret_revision = models.PositiveIntegerField(default=1)
    since = models.DateTimeField(db_default=Now())
    failures = models.PositiveIntegerField(db_default=0)
    made_by = models.ForeignKey(User, on_delete=models.PROTECT)
    made_at = models.DateTimeField(auto_now_add=True)
    disabled_at = models.DateTimeField(null=True)
    disabled_code = models.CharField(max_length=60, blank=True)
    """Empty where a person disabled it."""
    archived_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(Lower("name"), "team", name="webhook_once")]
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    @property
    def state(self) -> str:
        """active, disabled or archived."""
        if self.archived_at is not None:
            return "archived"
        return "active" if self.disabled_at is None else "disabled"


class DeliveryState(models.TextChoices):
    WAITING = "waiting", "Waiting"
    DELIVERED = "delivered", "Delivered"
    GIVEN_UP = "given_up", "Given up"
    DROPPED = "dropped", "Dropped"


class Delivery(Record):
    """One event for one webhook. Its id and its body are the same at every attempt."""

    webhook = models.ForeignKey(Webhook, on_delete=models.PROTECT)
    event = models.CharField(max_length=30)
    object_id = models.UUIDField(null=True)
    occurred_at = models.DateTimeField()
    body = models.JSONField()
    state = models.CharField(max_length=10, choices=DeliveryState, default=DeliveryState.WAITING)
    attempts = models.PositiveSmallIntegerField(db_default=0)
    most_attempts = models.PositiveSmallIntegerField(db_default=ATTEMPTS)
    """It ends at so many; one more whenever a person has it sent again."""
    due_at = models.DateTimeField(db_default=Now())
    epoch = models.PositiveIntegerField(db_default=0)
    lease_until = models.DateTimeField(null=True)
    claimed_by = models.CharField(max_length=80, blank=True)
    attempted_at = models.DateTimeField(null=True)
    last_code = models.CharField(max_length=60, blank=True)
    last_status = models.PositiveSmallIntegerField(null=True)
    """Of the answer to the last attempt that failed, where there was one."""
    made_at = models.DateTimeField(db_default=Now())
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            # An experiment that was opened again for a retry ends at another time, and is told again.
            models.UniqueConstraint(fields=["webhook", "event", "object_id", "occurred_at"], name="delivery_once"),
            models.CheckConstraint(
                condition=Q(state=DeliveryState.WAITING, ended_at=None)
                | (~Q(state=DeliveryState.WAITING) & Q(ended_at__isnull=False)),
                name="delivery_ended_at",
            ),
        ]
        indexes = [
            models.Index(fields=["webhook", "due_at"], condition=Q(state=DeliveryState.WAITING), name="delivery_next"),
            models.Index(fields=["webhook", "-made_at"], name="delivery_newest"),
            models.Index(fields=["ended_at"], name="delivery_ended"),
        ]
        ordering = ["-made_at", "-pk"]
