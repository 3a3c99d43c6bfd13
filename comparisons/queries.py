"""Reads of comparisons."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from runs.models import Experiment, State
from teams.models import Team


@dataclass(frozen=True, slots=True)
class Pair:
    candidate: UUID
    baseline: UUID


def newest_comparison(team: Team) -> Pair | None:
    """The newest comparable experiment as candidate, the oldest of the same dataset as baseline."""
    finished = Experiment.objects.filter(team=team, state=State.COMPLETED, archived_at=None)
    for candidate in finished.select_related("version").order_by("-number")[:20]:
        baseline = (
            finished.filter(version__dataset_id=candidate.version.dataset_id)
            .exclude(pk=candidate.pk)
            .order_by("number")
            .first()
        )
        if baseline is not None:
            return Pair(candidate.pk, baseline.pk)
    return None
