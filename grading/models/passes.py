"""Passes: immutable layers of judgments over an experiment, with their pinned plan."""

from __future__ import annotations

from typing import ClassVar

import pgtrigger
from django.db import models
from django.db.models import Q

from grading.models.graders import GraderVersion
from runs.models import Experiment, Origin, State
from teams.models import User
from teams.records import Immutable, Record, frozen


class GradingPass(Record):
    """One immutable layer of judgments over an experiment. Numbered within the experiment."""

    experiment = models.ForeignKey(Experiment, on_delete=models.PROTECT)
    number = models.PositiveIntegerField()
    origin = models.CharField(max_length=20, choices=Origin)
    name = models.CharField(max_length=120, blank=True)
    state = models.CharField(max_length=10, choices=State, default=State.SETUP)
    creator = models.ForeignKey(User, on_delete=models.PROTECT)
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
    """The pinned plan of a pass: which exact grader versions it holds."""

    grading_pass = models.ForeignKey(GradingPass, on_delete=models.PROTECT)
    version = models.ForeignKey(GraderVersion, on_delete=models.PROTECT)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["grading_pass", "version"], name="pass_grader_once")]
        triggers: ClassVar[list[pgtrigger.Trigger]] = [frozen()]
