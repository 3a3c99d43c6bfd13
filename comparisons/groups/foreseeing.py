"""The statistical plan of a group: what its cases and repetitions could show, from the last comparison like it."""

from __future__ import annotations

from dataclasses import dataclass

from analysis.foresight import Foresight, foresee
from analysis.methods import share_of_scale
from analysis.observations import Direction, Kind, Metric
from analysis.results import PairedResult
from comparisons.lenses import paired
from comparisons.selection import DEFAULT_TARGET, Asked, resolve
from datasets.models import Version
from grading.models import GraderVersion, GradingPass, SeriesColumn
from runs.models import State
from teams.access import Access
from teams.refusals import Refusal


@dataclass(frozen=True, slots=True)
class StatisticalPlan:
    """What could be seen, and the experiments whose comparison says how cases vary, as numbers; empty without one."""

    foresight: Foresight
    metric: str
    earlier: tuple[int, ...] = ()


def statistical_plan(
    access: Access, primary: GraderVersion, version: Version, cases: int, repetitions: int
) -> StatisticalPlan:
    """The plan for the primary metric. Reads alone: an earlier comparison that nobody kept is computed and let go."""
    definition = primary.grader.definition
    metric = Metric(
        key=definition.key,
        name=definition.name,
        kind=Kind(definition.kind),
        direction=Direction(definition.direction),
        low=definition.low,
        high=definition.high,
        unit=definition.unit,
    )
    target = share_of_scale(metric, float(DEFAULT_TARGET))
    numbers, earlier = _earlier(access, primary, version)
    found = foresee(metric, cases, repetitions, target=target, earlier=earlier)
    return StatisticalPlan(found, definition.name, numbers if found.basis == "earlier" else ())


def _earlier(access: Access, primary: GraderVersion, version: Version) -> tuple[tuple[int, ...], PairedResult | None]:
    """The two newest finished experiments on the dataset that this exact version measured, compared."""
    series = (
        SeriesColumn.objects.filter(
            version=primary,
            grading_pass__state=State.COMPLETED,
            grading_pass__experiment__state=State.COMPLETED,
            grading_pass__experiment__archived_at=None,
            grading_pass__experiment__version__dataset_id=version.dataset_id,
            grading_pass__experiment__team=access.team,
        )
        .select_related("grading_pass__experiment")
        .only("grading_pass__number", "grading_pass__experiment__number")
        .order_by("-grading_pass__experiment__number", "-grading_pass__number")
    )
    passes: list[GradingPass] = []
    for one in series[:20]:
        if all(one.grading_pass.experiment_id != other.experiment_id for other in passes):
            passes.append(one.grading_pass)
    if len(passes) < 2:
        return (), None
    candidate, baseline = passes[:2]
    asked = Asked(
        candidate=str(candidate.experiment_id),
        baseline=str(baseline.experiment_id),
        candidate_pass=str(candidate.number),
        baseline_pass=str(baseline.number),
        metric=primary.grader.definition.key,
        candidate_grader=str(primary.pk),
        baseline_grader=str(primary.pk),
    )
    try:
        result = paired.view(access.team, resolve(access, asked), keep=False).result
    except Refusal:
        return (), None
    return (candidate.experiment.number, baseline.experiment.number), result
