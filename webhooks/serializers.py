"""Words in and out of the API of webhooks."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from teams.api import StrictSerializer
from webhooks.models import DeliveryState, Event

STATES = ["active", "disabled", "archived"]
DELIVERY_STATES = DeliveryState.values
STEPS = ["enable", "disable", "rotate", "archive", "restore"]


class NewWebhook(StrictSerializer):
    name = serializers.CharField(max_length=120)
    url = serializers.CharField(max_length=500, help_text="https, on a host that operators allow.")
    events = serializers.ListField(child=serializers.ChoiceField(Event.values), max_length=len(Event.values))


class WebhookEdit(StrictSerializer):
    """Any of them."""

    name = serializers.CharField(max_length=120, required=False)
    url = serializers.CharField(max_length=500, required=False)
    events = serializers.ListField(
        child=serializers.ChoiceField(Event.values), max_length=len(Event.values), required=False
    )


class NewWebhookStep(StrictSerializer):
    step = serializers.ChoiceField(STEPS)


class WebhookRow(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    name = serializers.CharField()
    url = serializers.CharField()
    events = serializers.ListField(child=serializers.CharField())
    state = serializers.ChoiceField(STATES)
    disabled_code = serializers.CharField(help_text="Empty where a person disabled it.")
    failures = serializers.IntegerField(help_text="Deliveries given up in a row.")
    waiting = serializers.IntegerField()
    secret_revision = serializers.IntegerField(help_text="Grows when the secret is rotated.")
    made_at = serializers.DateTimeField()


class FreshWebhook(WebhookRow):
    secret = serializers.CharField(
        allow_null=True, help_text="Given when the webhook is made and when its secret is rotated, and never again."
    )


class DeliveryRow(serializers.Serializer[Any]):
    id = serializers.UUIDField(help_text="What the receiver sees in Evenhand-Delivery.")
    event = serializers.CharField()
    object_id = serializers.UUIDField(allow_null=True)
    occurred_at = serializers.DateTimeField()
    body = serializers.DictField()
    state = serializers.ChoiceField(DELIVERY_STATES)
    attempts = serializers.IntegerField()
    most_attempts = serializers.IntegerField(help_text="It ends at so many; sending it again allows one more.")
    due_at = serializers.DateTimeField(help_text="When the next attempt may be made, while it waits.")
    attempted_at = serializers.DateTimeField(allow_null=True)
    last_code = serializers.CharField(help_text="Why the last attempt failed.")
    last_status = serializers.IntegerField(allow_null=True, help_text="Of the receiver's answer, where it failed.")
    made_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)
