"""Reads of comparisons: what there is to compare."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Count, Max, Q, QuerySet

from datasets.models import Dataset
from grading.models import GradingPass, PassGrader
from runs.models import Experiment, State
from teams.models import Team

OFFERED = 100
"""Experiments of one dataset that the chooser lists; the page says when there are more."""

_FINISHED = Q(version__experiment__state=State.COMPLETED, version__experiment__archived_at=None)


@dataclass(frozen=True, slots=True)
class Pair:
    candidate: UUID
    baseline: UUID


def newest_comparison(team: Team) -> Pair | None:
    """The newest graded experiment as candidate, the oldest of the same dataset that shares a metric as baseline."""
    finished = finished_of(team).filter(gradingpass__state=State.COMPLETED).distinct()
    for candidate in finished.select_related("version").order_by("-number")[:20]:
        measured = PassGrader.objects.filter(
            grading_pass__experiment=candidate, grading_pass__state=State.COMPLETED
        ).values("version__grader__definition__key")
        baseline = (
            finished.filter(
                version__dataset_id=candidate.version.dataset_id,
                gradingpass__passgrader__version__grader__definition__key__in=measured,
            )
            .exclude(pk=candidate.pk)
            .order_by("number")
            .first()
        )
        if baseline is not None:
            return Pair(candidate.pk, baseline.pk)
    return None


def finished_of(team: Team) -> QuerySet[Experiment]:
    return Experiment.objects.filter(team=team, state=State.COMPLETED, archived_at=None)


def datasets_to_compare(team: Team) -> list[Dataset]:
    """Datasets with a finished experiment, the most recently used first; each with `finished`."""
    return list(
        Dataset.objects.filter(team=team, archived_at=None)
        .annotate(
            finished=Count("version__experiment", filter=_FINISHED),
            newest=Max("version__experiment__number", filter=_FINISHED),
        )
        .filter(finished__gt=0)
        .order_by("-newest")
    )


def offered(team: Team, dataset: Dataset) -> list[Experiment]:
    """Finished experiments of a dataset, newest first."""
    rows = finished_of(team).filter(version__dataset=dataset).select_related("subject", "version")
    return list(rows.order_by("-number")[:OFFERED])


def passes(experiment: Experiment) -> int:
    """How many finished passes an experiment has: two of them can be compared with each other."""
    return GradingPass.objects.filter(experiment=experiment, state=State.COMPLETED).count()


def metric_names(experiments: Sequence[Experiment]) -> dict[UUID, list[str]]:
    """Names of the metrics that finished passes of each experiment measure."""
    found: dict[UUID, set[str]] = {}
    for experiment, name in PassGrader.objects.filter(
        grading_pass__experiment__in=experiments, grading_pass__state=State.COMPLETED
    ).values_list("grading_pass__experiment_id", "version__grader__definition__name"):
        found.setdefault(experiment, set()).add(name)
    return {pk: sorted(names) for pk, names in found.items()}
