"""Kept results, which are derived from immutable evidence."""

from __future__ import annotations

from typing import ClassVar

import pgtrigger
from django.db import models

from teams.models import Team
from teams.records import frozen


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
