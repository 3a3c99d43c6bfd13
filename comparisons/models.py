"""Kept results, which are derived from immutable evidence; groups and their arms."""

from __future__ import annotations

from typing import ClassVar

import pgtrigger
from django.db import models

from agents.models import Snapshot
from grading.models import GraderVersion, GradingPass
from runs.models import Batch, Experiment
from teams.models import Team, User
from teams.records import Immutable, Record, frozen


class KeptResult(models.Model):
    """A paired result of finished evidence. Its key covers evidence, selection and method, so it never goes stale."""

    id = models.BigAutoField(primary_key=True)
    team = models.ForeignKey(Team, on_delete=models.PROTECT)
    key = models.CharField(max_length=64)
    method_version = models.CharField(max_length=120)
    result = models.BinaryField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "key"], name="kept_result_once")]
        triggers: ClassVar[list[pgtrigger.Trigger]] = [frozen()]


class Group(Record):
    """Two to five immutable arms that were launched together, on the same cases, to be graded by the same plan.

    `readiness_sha256` is of the readiness that was checked before the start; the primary metric is pinned with the
    exact version that measures it.
    """

    team = models.ForeignKey(Team, on_delete=models.PROTECT)
    name = models.CharField(max_length=120)
    batch = models.OneToOneField(Batch, on_delete=models.PROTECT)
    base = models.ForeignKey(Snapshot, on_delete=models.PROTECT)
    primary = models.ForeignKey(GraderVersion, on_delete=models.PROTECT)
    readiness_sha256 = models.CharField(max_length=64)
    made_by = models.ForeignKey(User, on_delete=models.PROTECT)
    made_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-made_at"]

    def __str__(self) -> str:
        return self.name


class Arm(Immutable):
    """One arm of a group: a snapshot, its experiment, and the pass that judged it first."""

    group = models.ForeignKey(Group, on_delete=models.PROTECT)
    index = models.PositiveSmallIntegerField()
    snapshot = models.ForeignKey(Snapshot, on_delete=models.PROTECT)
    experiment = models.OneToOneField(Experiment, on_delete=models.PROTECT, related_name="arm_in")
    original_pass = models.OneToOneField(GradingPass, on_delete=models.PROTECT)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["group", "index"], name="arm_once"),
            models.CheckConstraint(condition=models.Q(index__lt=5), name="arm_at_most_five"),
        ]
        ordering = ["index"]
        triggers: ClassVar[list[pgtrigger.Trigger]] = [frozen()]

    @property
    def letter(self) -> str:
        """A to E, as arms are called on screen."""
        return "ABCDE"[self.index]
