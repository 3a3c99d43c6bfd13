"""Groups and their arms."""

from __future__ import annotations

from typing import ClassVar

import pgtrigger
from django.db import models

from agents.models import Snapshot
from comparisons.models.templates import TemplateVersion
from grading.models import GraderVersion, GradingPass
from runs.models import Batch, Experiment
from teams.models import Team, User
from teams.records import Immutable, Record, frozen


class Group(Record):
    """Two to five immutable arms that were launched together, on the same cases, to be graded by the same plan.

    `readiness_sha256` is of the readiness that was checked before the start; the primary metric is pinned with the
    exact version that measures it. `template_version` is what its setup was restored from, and `as_saved` says
    whether nothing was edited since.
    """

    team = models.ForeignKey(Team, on_delete=models.PROTECT)
    name = models.CharField(max_length=120)
    batch = models.OneToOneField(Batch, on_delete=models.PROTECT)
    base = models.ForeignKey(Snapshot, on_delete=models.PROTECT)
    primary = models.ForeignKey(GraderVersion, on_delete=models.PROTECT)
    readiness_sha256 = models.CharField(max_length=64)
    template_version = models.ForeignKey(TemplateVersion, on_delete=models.PROTECT, null=True)
    as_saved = models.BooleanField(null=True)
    made_by = models.ForeignKey(User, on_delete=models.PROTECT)
    made_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-made_at"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(template_version=None, as_saved=None)
                | models.Q(template_version__isnull=False, as_saved__isnull=False),
                name="group_says_whether_as_saved",
            )
        ]

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
