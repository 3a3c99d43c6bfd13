"""Harnesses: external programs that run an agent over a model. Operators own them; every team may compare them."""

from __future__ import annotations

from typing import ClassVar

import pgtrigger
from django.contrib.postgres.fields import ArrayField
from django.db import models

from agents.models.routes import AuthMode
from teams.models import User
from teams.records import Immutable, Record, frozen


class Harness(Record):
    """A program by name. What it is stands in its active revision."""

    key = models.SlugField(max_length=60, unique=True)
    name = models.CharField(max_length=120)
    active = models.ForeignKey("HarnessRevision", on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]
        verbose_name_plural = "harnesses"

    def __str__(self) -> str:
        return self.name


class HarnessRevision(Immutable):
    """What a harness is: its release, the command, which model families it can run, how it is paid for."""

    harness = models.ForeignKey(Harness, on_delete=models.PROTECT)
    number = models.PositiveIntegerField()
    version = models.CharField(max_length=80)
    command = ArrayField(models.CharField(max_length=500))
    families = ArrayField(models.CharField(max_length=80), default=list, blank=True)
    auth_mode = models.CharField(max_length=12, choices=AuthMode)
    timeout_seconds = models.PositiveIntegerField()
    sha256 = models.CharField(max_length=64)
    made_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True)
    made_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["harness", "number"], name="harness_revision_once")]
        ordering = ["-number"]
        triggers: ClassVar[list[pgtrigger.Trigger]] = [frozen()]

    def __str__(self) -> str:
        return f"{self.harness} revision {self.number}"
