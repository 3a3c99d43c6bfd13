"""Reads of passes and judgments. Reasoning is asked for only with the right to content."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from uuid import UUID

from django.db import connection
from django.db.models import Count

from analysis.observations import Direction, Generation, Kind, Outcome
from grading.models import GradingPass, Judgment, MetricDefinition, PassGrader, Reasoning
from grading.pauses import PAUSES
from runs.models import Execution, Experiment, State

OUTSTANDING = (Outcome.PENDING, Outcome.WAITING_FOR_EVIDENCE)


@dataclass(frozen=True, slots=True)
class GraderFigures:
    """What one exact grader version said in one pass. `mean` is None unless something was scored."""

    grading_pass: UUID
    version: UUID
    name: str
    number: int
    sha256: str
    definition: MetricDefinition
    outcomes: dict[Outcome, int] = field(default_factory=dict)
    total: float | None = None
    categories: dict[str, int] = field(default_factory=dict)

    @property
    def scored(self) -> int:
        return self.outcomes.get(Outcome.SCORED, 0)

    @property
    def mean(self) -> float | None:
        """Of the scored executions alone; others have no value, so none enters."""
        return self.total / self.scored if self.total is not None and self.scored else None

    @property
    def is_boolean(self) -> bool:
        return self.definition.kind == Kind.BOOLEAN

    @property
    def direction(self) -> str:
        return Direction(self.definition.direction).value.replace("_", " ")

    @property
    def unscored(self) -> list[tuple[str, int]]:
        """Outcomes other than scored, each by its own name."""
        return [
            (outcome.name.lower().replace("_", " "), count)
            for outcome, count in sorted(self.outcomes.items())
            if outcome is not Outcome.SCORED
        ]


@dataclass(frozen=True, slots=True)
class PassFigures:
    grading_pass: GradingPass
    graders: tuple[GraderFigures, ...]
    answers: int = 0
    """Completed answers, each of which every grader of the pass is to judge."""

    @property
    def working(self) -> bool:
        return self.grading_pass.state == State.RUNNING

    @property
    def label(self) -> str:
        return f"Pass {self.grading_pass.number} is grading"

    @property
    def paused(self) -> str:
        """Why nothing new is judged, in words."""
        return PAUSES.get(self.grading_pass.pause_code, "Somebody paused it.")

    @property
    def expected(self) -> int:
        return self.answers * len(self.graders)

    @property
    def judged(self) -> int:
        """Judgments that have an outcome of their own; pending and waiting ones are outstanding."""
        return sum(
            count for one in self.graders for outcome, count in one.outcomes.items() if outcome not in OUTSTANDING
        )

    @property
    def errors(self) -> int:
        return sum(one.outcomes.get(Outcome.GRADER_ERROR, 0) for one in self.graders)


def pass_counts(experiments: Iterable[Experiment]) -> dict[UUID, int]:
    """Number of passes by experiment id."""
    rows = GradingPass.objects.filter(experiment__in=[experiment.pk for experiment in experiments])
    return dict(rows.order_by().values_list("experiment_id").annotate(count=Count("pk")))


def passes_of(experiment: Experiment) -> list[PassFigures]:
    """Every pass with its pinned graders and what each of them said; a fixed number of queries."""
    passes = list(GradingPass.objects.filter(experiment=experiment).select_related("creator").order_by("number"))
    planned = PassGrader.objects.filter(grading_pass__in=passes).select_related("version__grader__definition")
    outcomes: dict[tuple[UUID, UUID], dict[Outcome, int]] = {}
    totals: dict[tuple[UUID, UUID], float] = {}
    categories: dict[tuple[UUID, UUID], dict[str, int]] = {}
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT grading_pass_id, version_id, outcome, category, count(*), sum(value)
            FROM grading_judgment WHERE grading_pass_id = ANY(%s) GROUP BY 1, 2, 3, 4 ORDER BY 4
            """,
            [[grading_pass.pk for grading_pass in passes]],
        )
        for grading_pass, version, outcome, category, count, total in cursor.fetchall():
            key = (grading_pass, version)
            found = outcomes.setdefault(key, {})
            found[Outcome(outcome)] = found.get(Outcome(outcome), 0) + count
            if total is not None:
                totals[key] = totals.get(key, 0.0) + total
            if category is not None:
                categories.setdefault(key, {})[category] = count
    graders: dict[UUID, list[GraderFigures]] = {}
    for entry in sorted(planned, key=lambda entry: (entry.version.grader.definition.key, entry.version.grader.name)):
        key = (entry.grading_pass_id, entry.version_id)
        graders.setdefault(entry.grading_pass_id, []).append(
            GraderFigures(
                *key,
                name=entry.version.grader.name,
                number=entry.version.number,
                sha256=entry.version.sha256,
                definition=entry.version.grader.definition,
                outcomes=outcomes.get(key, {}),
                total=totals.get(key),
                categories=categories.get(key, {}),
            )
        )
    answers = Execution.objects.filter(experiment=experiment, state=Generation.COMPLETED, superseded=False).count()
    return [PassFigures(one, tuple(graders.get(one.pk, ())), answers) for one in passes]


@dataclass(frozen=True, slots=True)
class JudgmentRow:
    judgment: Judgment
    reasoning: Reasoning | None

    @property
    def outcome(self) -> str:
        return Outcome(self.judgment.outcome).name.lower().replace("_", " ")

    @property
    def definition(self) -> MetricDefinition:
        return self.judgment.version.grader.definition


def judgments_of(execution: Execution, *, content: bool) -> list[JudgmentRow]:
    rows = list(
        Judgment.objects.filter(execution=execution)
        .select_related("grading_pass", "version__grader__definition")
        .order_by("grading_pass__number", "version__grader__definition__key", "version__grader__name")
    )
    texts: dict[int, Reasoning] = Reasoning.objects.in_bulk([row.pk for row in rows]) if content else {}
    return [JudgmentRow(row, texts.get(row.pk)) for row in rows]
