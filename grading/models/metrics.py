"""Metric definitions: what a value means."""

from __future__ import annotations

from typing import ClassVar

import pgtrigger
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q

from analysis.observations import Direction, Kind
from grading.judging import Scale
from teams.models import Team
from teams.records import Immutable, frozen


class MetricDefinition(Immutable):
    """What a value means: kind, direction, range, unit, categories. One row per team, key and semantics.

    `categories` are the words that a category can be, where they are fixed. `ordered` ones stand from the
    lowest to the highest.
    """

    team = models.ForeignKey(Team, on_delete=models.PROTECT)
    key = models.CharField(max_length=120)
    name = models.CharField(max_length=120)
    kind = models.CharField(max_length=12, choices=[(kind.value, kind.value) for kind in Kind])
    direction = models.CharField(max_length=20, choices=[(way.value, way.value) for way in Direction])
    low = models.FloatField(null=True)
    high = models.FloatField(null=True)
    unit = models.CharField(max_length=20, blank=True)
    categories = ArrayField(models.CharField(max_length=200), default=list, blank=True)
    ordered = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["team", "key", "kind", "direction", "low", "high", "unit", "categories", "ordered"],
                nulls_distinct=False,
                name="metric_definition_once",
            ),
            models.CheckConstraint(
                condition=Q(low__isnull=True) | Q(high__isnull=True) | Q(low__lt=F("high")), name="metric_range"
            ),
            models.CheckConstraint(
                condition=Q(kind=Kind.CATEGORICAL.value) | Q(categories__len=0), name="metric_categories"
            ),
            models.CheckConstraint(condition=Q(ordered=False) | Q(categories__len__gte=2), name="metric_order"),
        ]
        ordering = ["key"]
        triggers: ClassVar[list[pgtrigger.Trigger]] = [frozen()]

    def __str__(self) -> str:
        return self.name

    @property
    def scale(self) -> Scale:
        """What a value of it can be."""
        return Scale(Kind(self.kind), self.low, self.high, tuple(self.categories))
