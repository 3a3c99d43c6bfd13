"""Providers and model routes: how a model is reached. Operators own them; every team may use them."""

from __future__ import annotations

from typing import ClassVar

import pgtrigger
from django.db import models
from django.db.models import Q

from teams.models import User
from teams.records import Immutable, Record, frozen


class ProviderKind(models.TextChoices):
    """The protocol that a provider speaks."""

    OPENAI = "openai", "OpenAI-compatible"
    ANTHROPIC = "anthropic", "Anthropic"
    GOOGLE = "google", "Google"
    FIXTURE = "fixture", "Fixture (deterministic, on this machine)"


class AuthMode(models.TextChoices):
    """How a call is paid for. Costs of different modes are not comparable."""

    API_KEY = "api_key", "API key"
    SUBSCRIPTION = "subscription", "Subscription"
    NONE = "none", "None"


class Provider(Record):
    """Who serves models, and in which protocol."""

    key = models.SlugField(max_length=60, unique=True)
    name = models.CharField(max_length=120)
    kind = models.CharField(max_length=12, choices=ProviderKind)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class ModelRoute(Record):
    """A named way to a model. What it means is its active revision; without one nothing runs over it."""

    key = models.SlugField(max_length=80, unique=True)
    name = models.CharField(max_length=120)
    active = models.ForeignKey("ModelRouteRevision", on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    archived_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    most_at_once = models.PositiveIntegerField(
        "calls at once", null=True, blank=True, help_text="Items that may be under way over it; empty: no limit."
    )
    most_per_minute = models.PositiveIntegerField(
        "calls per minute", null=True, blank=True, help_text="Calls in sixty seconds; empty: no limit."
    )

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class ModelRouteRevision(Immutable):
    """What a route means. A changed configuration is another revision, and counts once it is activated.

    `sha256` covers what may change answers (provider, model, profile, address, capabilities, auth mode),
    not what they cost. Prices are millionths of the currency, per million tokens; none is unknown, and
    zero is free. The secret itself stands in an environment variable or a mounted file.
    """

    route = models.ForeignKey(ModelRoute, on_delete=models.PROTECT)
    number = models.PositiveIntegerField()
    provider = models.ForeignKey(Provider, on_delete=models.PROTECT)
    model_id = models.CharField(max_length=200)
    profile = models.CharField(max_length=80, blank=True)
    base_url = models.CharField(max_length=500, blank=True)
    capabilities = models.JSONField(default=dict)
    capability_sha256 = models.CharField(max_length=64)
    auth_mode = models.CharField(max_length=12, choices=AuthMode)
    secret_ref = models.CharField(max_length=300, blank=True)
    currency = models.CharField(max_length=3, default="USD")
    input_micros = models.BigIntegerField(null=True, blank=True)
    cached_input_micros = models.BigIntegerField(null=True, blank=True)
    output_micros = models.BigIntegerField(null=True, blank=True)
    call_fee_micros = models.BigIntegerField(null=True, blank=True)
    sha256 = models.CharField(max_length=64)
    made_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True)
    made_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["route", "number"], name="route_revision_once"),
            *(
                models.CheckConstraint(condition=Q(**{name: None}) | Q(**{f"{name}__gte": 0}), name=f"route_{name}")
                for name in ("input_micros", "cached_input_micros", "output_micros", "call_fee_micros")
            ),
        ]
        ordering = ["-number"]
        triggers: ClassVar[list[pgtrigger.Trigger]] = [frozen()]

    def __str__(self) -> str:
        return f"{self.route} revision {self.number}"
