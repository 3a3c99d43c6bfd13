"""Interpretations: pinned mappings of categories to values."""

from __future__ import annotations

from typing import ClassVar

import pgtrigger
from django.db import models

from analysis.observations import Direction
from grading.models.graders import GraderVersion
from grading.models.passes import GradingPass
from teams.models import User
from teams.records import Immutable, frozen


class Interpretation(Immutable):
    """A pinned mapping of categories to values for one grader version in one pass.

    Equivalent mappings have one `sha256`, whichever pass they are pinned to. A category mapped to
    null counts as abstained.
    """

    grading_pass = models.ForeignKey(GradingPass, on_delete=models.PROTECT)
    version = models.ForeignKey(GraderVersion, on_delete=models.PROTECT)
    name = models.CharField(max_length=120)
    mapping = models.JSONField()
    direction = models.CharField(max_length=20, choices=[(way.value, way.value) for way in Direction])
    sha256 = models.CharField(max_length=64)
    made_by = models.ForeignKey(User, on_delete=models.PROTECT)
    made_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["grading_pass", "version", "sha256"], name="interpretation_once")
        ]
        triggers: ClassVar[list[pgtrigger.Trigger]] = [frozen()]
