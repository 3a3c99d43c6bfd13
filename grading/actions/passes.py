"""What imports create: definitions, graders, exact versions, passes.

The functions run inside the caller's transaction, which holds the team's evidence lock.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db.models import Max
from django.utils import timezone

from analysis.observations import Metric
from grading.models import (
    Grader,
    GraderConfig,
    GraderKind,
    GraderVersion,
    GradingPass,
    MetricDefinition,
    PassGrader,
    PassOrigin,
)
from runs.models import Experiment, State
from teams.access import Access


def definition_of(*, access: Access, metric: Metric) -> MetricDefinition:
    """The team's definition with exactly this meaning, made where there is none."""
    found, _ = MetricDefinition.objects.get_or_create(
        team=access.team,
        key=metric.key,
        kind=metric.kind.value,
        direction=metric.direction.value,
        low=metric.low,
        high=metric.high,
        unit=metric.unit,
        categories=[],
        ordered=False,
        defaults={"name": metric.name or metric.key},
    )
    return found


def grader_version(
    *, definition: MetricDefinition, name: str, identity: str, config: Mapping[str, Any]
) -> GraderVersion:
    """The exact measurement with this identity; a new identity is the grader's next version."""
    grader, _ = Grader.objects.get_or_create(definition=definition, name=name, kind=GraderKind.IMPORTED)
    known: GraderVersion | None = GraderVersion.objects.filter(grader=grader, sha256=identity).first()
    if known is not None:
        return known
    last = GraderVersion.objects.filter(grader=grader).aggregate(last=Max("number"))["last"] or 0
    version: GraderVersion = GraderVersion.objects.create(grader=grader, number=last + 1, sha256=identity)
    GraderConfig.objects.create(version=version, body=dict(config))
    return version


def open_pass(
    *, access: Access, experiment: Experiment, number: int, name: str, version: GraderVersion, pk: Any
) -> GradingPass:
    """A pass with its pinned plan of one grader version, running."""
    opened = GradingPass.objects.create(
        id=pk,
        experiment=experiment,
        number=number,
        origin=PassOrigin.IMPORT,
        name=name,
        state=State.RUNNING,
        creator=access.user,
    )
    PassGrader.objects.create(grading_pass=opened, version=version)
    return opened


def complete(grading_pass: GradingPass) -> None:
    """A finished pass takes no further judgments and never changes; the database refuses it."""
    grading_pass.state = State.COMPLETED
    grading_pass.finished_at = timezone.now()
    grading_pass.save(update_fields=["state", "finished_at"])
