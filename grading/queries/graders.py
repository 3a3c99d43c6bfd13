"""Reads of metric definitions and graders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db import models
from django.db.models import Count, OuterRef, Q, Subquery

from grading.models import Grader, GraderConfig, GraderVersion, MetricDefinition, ValidatorHost
from teams.access import Access
from teams.records import Availability


def metrics_of(access: Access, *, search: str = "", kind: str = "") -> models.QuerySet[MetricDefinition]:
    """A team's metrics by key, with the number of graders that measure each."""
    rows: models.QuerySet[MetricDefinition] = MetricDefinition.objects.filter(team=access.team)
    if search:
        rows = rows.filter(Q(key__icontains=search) | Q(name__icontains=search))
    if kind:
        rows = rows.filter(kind=kind)
    return rows.annotate(graders=Count("grader")).order_by("key", "pk")


def graders_of(access: Access, *, archived: bool | None = False, kind: str = "", search: str = "") -> Any:
    """A team's graders with the number, date and fingerprint of their newest versions."""
    rows = Grader.objects.filter(definition__team=access.team).select_related("definition")
    if archived is not None:
        rows = rows.filter(archived_at__isnull=not archived)
    if kind:
        rows = rows.filter(kind=kind)
    if search:
        words = Q(name__icontains=search) | Q(definition__key__icontains=search) | Q(definition__name__icontains=search)
        rows = rows.filter(words)
    newest = GraderVersion.objects.filter(grader=OuterRef("pk")).order_by("-number")
    return rows.annotate(
        versions=Count("graderversion"),
        sha256=Subquery(newest.values("sha256")[:1]),
        changed_at=Subquery(newest.values("created_at")[:1]),
    )


def grader_versions(grader: Grader) -> models.QuerySet[GraderVersion]:
    """A grader's versions, newest first."""
    rows: models.QuerySet[GraderVersion] = GraderVersion.objects.filter(grader=grader)
    return rows.select_related("grader__definition", "made_by", "route_revision__route", "route_revision__provider")


def validator_hosts() -> list[str]:
    """The hosts that validators may reach now: asked when a version is written, and again before each call."""
    return list(ValidatorHost.objects.filter(archived_at=None).values_list("host", flat=True))


@dataclass(frozen=True, slots=True)
class Config:
    """What a version says, or why it cannot be read."""

    body: Any
    removed: str


def config_of(version: GraderVersion) -> Config:
    """The protected side; the caller has judged the right to it."""
    content = GraderConfig.objects.filter(version=version).first()
    if content is None or content.availability != Availability.AVAILABLE:
        return Config(None, content.availability if content else "never captured")
    return Config(content.body, "")


def usable_versions(access: Access) -> list[GraderVersion]:
    """Exact versions that can judge something new, by metric and grader, newest first."""
    rows = GraderVersion.objects.filter(
        grader__definition__team=access.team, grader__archived_at=None, graderconfig__body__isnull=False
    ).exclude(grader__kind="imported")
    rows = rows.select_related("grader__definition", "route_revision__route")
    return list(rows.order_by("grader__definition__key", "grader__name", "-number")[:MOST_USABLE])


MOST_USABLE = 500
