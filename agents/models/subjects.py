"""Subjects: what an experiment evaluated, one row per fingerprint."""

from __future__ import annotations

from typing import ClassVar

import pgtrigger
from django.db import models

from teams.models import Team
from teams.records import Content, Immutable, frozen, one_way


class SubjectKind(models.TextChoices):
    IMPORTED = "imported", "Imported"
    SNAPSHOT = "snapshot", "Snapshot of an agent"
    RELEASE = "release", "Release of an agent"


class Subject(Immutable):
    """What was evaluated. `fingerprint` is SHA-256 over kind and definition; equal ones are one subject.

    The label is metadata (a model or agent name); the definition may hold prompts and is content.
    """

    team = models.ForeignKey(Team, on_delete=models.PROTECT)
    kind = models.CharField(max_length=20, choices=SubjectKind)
    label = models.CharField(max_length=200)
    fingerprint = models.CharField(max_length=64)
    facts = models.JSONField(default=list)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "fingerprint"], name="subject_once")]
        ordering = ["-created_at"]
        triggers: ClassVar[list[pgtrigger.Trigger]] = [frozen()]

    def __str__(self) -> str:
        return self.label


class SubjectDefinition(Content):
    """The protected definition of a subject, as recorded."""

    subject = models.OneToOneField(Subject, on_delete=models.PROTECT, primary_key=True)
    body = models.JSONField(null=True)

    class Meta:
        triggers: ClassVar[list[pgtrigger.Trigger]] = [one_way("body")]
