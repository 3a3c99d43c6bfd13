"""Passes: immutable layers of judgments over an experiment, with their pinned plan."""

from __future__ import annotations

from typing import ClassVar

import pgtrigger
from django.db import models
from django.db.models import Q

from grading.models.graders import EvidenceKind, GraderVersion
from runs.models import Experiment, State
from teams.models import User
from teams.records import Immutable, Record, frozen


class PassOrigin(models.TextChoices):
    IMPORT = "import", "Import"
    ORIGINAL = "original", "Original"
    REGRADE = "regrade", "Regrade"


class GradingPass(Record):
    """One immutable layer of judgments over an experiment. Numbered within the experiment.

    `enrichment` is the validator whose findings judges of this pass may look at; `plan_sha256` is over
    everything that is pinned.
    """

    experiment = models.ForeignKey(Experiment, on_delete=models.PROTECT)
    number = models.PositiveIntegerField()
    origin = models.CharField(max_length=20, choices=PassOrigin)
    name = models.CharField(max_length=120, blank=True)
    state = models.CharField(max_length=10, choices=State, default=State.SETUP)
    creator = models.ForeignKey(User, on_delete=models.PROTECT)
    enrichment = models.ForeignKey(GraderVersion, on_delete=models.PROTECT, null=True, related_name="+")
    plan_sha256 = models.CharField(max_length=64, blank=True)
    parallel = models.PositiveSmallIntegerField(default=4)
    served_at = models.DateTimeField(null=True)
    paused_at = models.DateTimeField(null=True)
    pause_code = models.CharField(max_length=60, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["experiment", "number"], name="pass_number_once"),
            models.CheckConstraint(
                condition=~Q(state=State.COMPLETED) | Q(finished_at__isnull=False), name="pass_completed_at"
            ),
        ]
        ordering = ["number"]
        triggers: ClassVar[list[pgtrigger.Trigger]] = [
            pgtrigger.Protect(
                name="finished",
                operation=pgtrigger.Update | pgtrigger.Delete,
                condition=pgtrigger.Q(old__state__in=["completed", "failed", "cancelled"]),
            ),
        ]


class PassGrader(Immutable):
    """The pinned plan of a pass: which exact grader versions it holds, and what each judges by."""

    grading_pass = models.ForeignKey(GradingPass, on_delete=models.PROTECT)
    version = models.ForeignKey(GraderVersion, on_delete=models.PROTECT)
    evidence = models.CharField(max_length=12, choices=EvidenceKind, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["grading_pass", "version"], name="pass_grader_once")]
        triggers: ClassVar[list[pgtrigger.Trigger]] = [frozen()]
