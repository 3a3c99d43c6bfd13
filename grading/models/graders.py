"""Graders: what measures a metric, in numbered versions that never change."""

from __future__ import annotations

from typing import ClassVar

import pgtrigger
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower

from agents.models import ModelRouteRevision
from agents.models.hosts import ListedHost
from grading.models.metrics import MetricDefinition
from teams.models import User
from teams.records import Content, Immutable, Record, frozen, one_way


class GraderKind(models.TextChoices):
    """How a grader measures. Imported ones were run by another tool; the others are made here."""

    IMPORTED = "imported", "Imported"
    ASSERTION = "assertion", "Assertion"
    JUDGE = "judge", "Model judge"
    VALIDATOR = "validator", "Tool validator"


class EvidenceKind(models.TextChoices):
    """What a grader judges by: the answer as it was generated, or what a validator found out about it."""

    GENERATION = "generation", "The answer"
    ENRICHMENT = "enrichment", "What a validator found"


class Grader(Record):
    """Something that measures one metric; what it is exactly stands in its versions.

    Names of graders made here are apart from those that imports bring, which find theirs by its spelling.
    """

    definition = models.ForeignKey(MetricDefinition, on_delete=models.PROTECT)
    name = models.CharField(max_length=120)
    kind = models.CharField(max_length=20, choices=GraderKind)
    archived_at = models.DateTimeField(null=True, blank=True)
    revision = models.PositiveIntegerField(default=1)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["definition", "name"], condition=Q(kind="imported"), name="imported_grader_once"
            ),
            models.UniqueConstraint(Lower("name"), "definition", condition=~Q(kind="imported"), name="grader_once"),
        ]
        ordering = ["name"]
        triggers: ClassVar[list[pgtrigger.Trigger]] = [
            pgtrigger.Protect(name="kept", operation=pgtrigger.Delete),
            pgtrigger.Protect(
                name="same",
                operation=pgtrigger.Update,
                condition=pgtrigger.Q(old__definition__df=pgtrigger.F("new__definition"))
                | pgtrigger.Q(old__kind__df=pgtrigger.F("new__kind")),
            ),
        ]

    def __str__(self) -> str:
        return self.name


class GraderVersion(Immutable):
    """An exact, immutable measurement. `sha256` over the configuration is its identity across teams and files.

    `evidence` is what it accepts to judge by. A judge pins the revision of its model route. What one call of
    a validator costs is its fee: none is unknown, zero is free. Imported versions have none of these.
    """

    grader = models.ForeignKey(Grader, on_delete=models.PROTECT)
    number = models.PositiveIntegerField()
    sha256 = models.CharField(max_length=64)
    evidence = ArrayField(models.CharField(max_length=12, choices=EvidenceKind), default=list, blank=True)
    route_revision = models.ForeignKey(ModelRouteRevision, on_delete=models.PROTECT, null=True, blank=True)
    fee_micros = models.BigIntegerField(null=True, blank=True)
    fee_currency = models.CharField(max_length=3, blank=True)
    made_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["grader", "number"], name="grader_version_number_once"),
            models.UniqueConstraint(fields=["grader", "sha256"], name="grader_version_content_once"),
            models.CheckConstraint(
                condition=Q(evidence__contained_by=EvidenceKind.values), name="grader_version_evidence"
            ),
            models.CheckConstraint(
                condition=Q(fee_micros=None, fee_currency="") | (Q(fee_micros__gte=0) & ~Q(fee_currency="")),
                name="grader_version_fee",
            ),
            models.CheckConstraint(
                condition=Q(route_revision=None) | Q(fee_micros=None), name="grader_version_route_or_fee"
            ),
            models.CheckConstraint(
                condition=Q(evidence__len__gte=1) | Q(route_revision=None, fee_micros=None, made_by=None),
                name="grader_version_imported",
            ),
        ]
        ordering = ["-number"]
        triggers: ClassVar[list[pgtrigger.Trigger]] = [frozen()]

    def __str__(self) -> str:
        return f"{self.grader.name} version {self.number}"

    @property
    def accepts(self) -> str:
        """Its evidence in words."""
        return ", ".join(EvidenceKind(one).label for one in self.evidence)

    @property
    def mark(self) -> str:
        """How it is called beside others of its grader."""
        return str(self.number)


class GraderConfig(Content):
    """The protected configuration of a grader version (prompts, rubrics)."""

    version = models.OneToOneField(GraderVersion, on_delete=models.PROTECT, primary_key=True)
    body = models.JSONField(null=True)

    class Meta:
        triggers: ClassVar[list[pgtrigger.Trigger]] = [one_way("body")]


class ValidatorHost(ListedHost):
    """A host that tool validators may reach."""
