"""Frozen series: a finished pass's judgments of one grader version, as one small row."""

from __future__ import annotations

from typing import ClassVar

import pgtrigger
from django.contrib.postgres.fields import ArrayField
from django.db import models

from grading.models.graders import GraderVersion
from grading.models.passes import GradingPass
from teams.records import frozen


class SeriesColumn(models.Model):
    """A finished pass's judgments of one grader version, aligned with the experiment's ArmColumns rows."""

    id = models.BigAutoField(primary_key=True)
    grading_pass = models.ForeignKey(GradingPass, on_delete=models.PROTECT)
    version = models.ForeignKey(GraderVersion, on_delete=models.PROTECT)
    layout = models.PositiveSmallIntegerField(default=1)
    rows = models.PositiveIntegerField()
    outcome = models.BinaryField()
    value = models.BinaryField()
    category = models.BinaryField()
    categories = ArrayField(models.TextField(), default=list)
    digest = models.CharField(max_length=64)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["grading_pass", "version"], name="series_column_once")]
        triggers: ClassVar[list[pgtrigger.Trigger]] = [frozen()]
