"""Reads of experiments and executions. Content is asked for only with the right to it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.core.cache import cache
from django.db import connection, models
from django.db.models import Count, F

from agents.models import Agent, Subject
from agents.queries import readable_connectors
from analysis.observations import CostCoverage, FailureKind, Generation, Spend
from datasets.models import Dataset, ItemContent, SliceVersion, Version
from runs.models import (
    Answer,
    Attempt,
    DraftTest,
    DraftTestAttempt,
    Execution,
    Experiment,
    Span,
    SpanKind,
    State,
    Turn,
)
from teams.access import Access
from teams.figures import duration
from teams.models import Team

FINISHED = (State.COMPLETED, State.FAILED, State.CANCELLED)
WORTH_KEEPING = 2_000  # executions; fewer are counted faster than a cache in the database answers
KEPT_SECONDS = 86_400  # long enough to spare a day's readers the count, short enough that nobody has to tidy up
COMPARABLE = 50
"""How many experiments of the same dataset a page offers to compare with."""


def experiments_of(team: Team) -> models.QuerySet[Experiment]:
    return Experiment.objects.filter(team=team).select_related("subject", "version__dataset", "starter")


def filtered(
    rows: models.QuerySet[Experiment],
    *,
    dataset: str = "",
    subject: str = "",
    version: str = "",
    state: str = "",
    trust: str = "",
    archived: bool = False,
) -> models.QuerySet[Experiment]:
    rows = rows.filter(archived_at__isnull=not archived)
    if dataset:
        rows = rows.filter(version__dataset_id=dataset)
    if version:
        rows = rows.filter(version_id=version)
    if subject:
        rows = rows.filter(subject_id=subject)
    if state:
        rows = rows.filter(state=state)
    if trust:
        rows = rows.filter(trust=trust)
    return rows


def datasets_with_experiments(team: Team) -> models.QuerySet[Dataset]:
    return Dataset.objects.filter(team=team, version__experiment__isnull=False).distinct().order_by("name")


def subjects_with_experiments(team: Team) -> models.QuerySet[Subject]:
    return Subject.objects.filter(team=team, experiment__isnull=False).distinct().order_by("label")


@dataclass(frozen=True, slots=True)
class Tally:
    """What became of an experiment's executions, and what they cost. Outcomes stay apart; unknown is not zero."""

    states: dict[Generation, int] = field(default_factory=dict)
    failures: dict[FailureKind, int] = field(default_factory=dict)
    spends: tuple[Spend, ...] = ()
    """One per currency; amounts of different currencies are never added up."""

    @property
    def rows(self) -> int:
        return sum(self.states.values())

    @property
    def completed(self) -> int:
        return self.states.get(Generation.COMPLETED, 0)

    @property
    def failed(self) -> int:
        return self.states.get(Generation.FAILED, 0)

    @property
    def cancelled(self) -> int:
        return self.states.get(Generation.CANCELLED, 0)

    @property
    def other(self) -> int:
        return self.rows - self.completed - self.failed


def tallies(experiments: Iterable[Experiment]) -> dict[UUID, Tally]:
    """The tally of each experiment. Large finished ones change only by late costs, so theirs are kept."""
    rows = list(experiments)
    keys = {
        f"tally.3.{row.pk}.{_moment(row)}.{row.late_costs}": row.pk
        for row in rows
        if row.state in FINISHED and row.planned >= WORTH_KEEPING
    }
    found: dict[UUID, Tally] = {keys[key]: tally for key, tally in cache.get_many(keys).items()}
    missing = [row for row in rows if row.pk not in found]
    if missing:
        counted = _count(missing)
        kept = {key: counted[pk] for key, pk in keys.items() if pk in counted}
        if kept:
            cache.set_many(kept, KEPT_SECONDS)
        found |= counted
    return found


def _moment(row: Experiment) -> str:
    """When it ended: one that was opened again for a retry ends another time."""
    return row.completed_at.strftime("%Y%m%d%H%M%S%f") if row.completed_at else ""


def _count(experiments: list[Experiment]) -> dict[UUID, Tally]:
    counted: dict[UUID, list[tuple[Any, ...]]] = {experiment.pk: [] for experiment in experiments}
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT experiment_id, state, failure_kind, currency, cost_coverage, cost_basis, count(*), sum(cost_micros),
                   superseded
            FROM runs_execution WHERE experiment_id = ANY(%s) GROUP BY 1, 2, 3, 4, 5, 6, superseded
            """,
            [list(counted)],
        )
        for experiment, *rest in cursor.fetchall():
            counted[experiment].append(tuple(rest))
    return {pk: _tally(rows) for pk, rows in counted.items()}


def with_tallies(experiments: Iterable[Experiment]) -> list[tuple[Experiment, Tally]]:
    rows = list(experiments)
    counted = tallies(rows)
    return [(row, counted[row.pk]) for row in rows]


def _tally(rows: list[tuple[Any, ...]]) -> Tally:
    """What a retry took the place of counts no more, but it was paid all the same."""
    states: Counter[Generation] = Counter()
    failures: Counter[FailureKind] = Counter()
    currencies = sorted({currency for _, _, currency, *_ in rows if currency})
    for state, failure, _, _, _, count, _, superseded in rows:
        if superseded:
            continue
        states[Generation(state)] += count
        if failure:
            failures[FailureKind(failure)] += count
    facts = sum(row[5] for row in rows)
    spends = []
    for currency in currencies or [""]:
        mine = [row for row in rows if row[2] == currency and row[3]]
        priced = sum(row[5] for row in mine if row[3] == CostCoverage.COMPLETE)
        known = CostCoverage.COMPLETE if priced == facts else CostCoverage.PARTIAL
        coverage = known if mine else CostCoverage.NONE
        basis = ", ".join(sorted({row[4] for row in mine if row[4]}))
        spends.append(Spend(int(sum(row[6] for row in mine)), coverage, basis, currency or "USD", facts, priced))
    return Tally(dict(states), dict(failures), tuple(spends))


@dataclass(frozen=True, slots=True)
class Latency:
    """Of completed executions whose duration is known."""

    known: int
    median_ms: float | None
    p95_ms: float | None


def latency_of(experiment: Experiment) -> Latency:
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT count(duration_ms), percentile_cont(0.5) WITHIN GROUP (ORDER BY duration_ms),
                   percentile_cont(0.95) WITHIN GROUP (ORDER BY duration_ms)
            FROM runs_execution WHERE experiment_id = %s AND state = %s AND NOT superseded
            """,
            [experiment.pk, Generation.COMPLETED.value],
        )
        return Latency(*cursor.fetchone())


def comparable_with(experiment: Experiment) -> models.QuerySet[Experiment]:
    """Finished experiments of the same dataset, newest first."""
    return (
        experiments_of(experiment.team)
        .filter(state=State.COMPLETED, archived_at=None, version__dataset_id=experiment.version.dataset_id)
        .exclude(pk=experiment.pk)
        .order_by("-number")[:COMPARABLE]
    )


def executions_of(
    experiment: Experiment, *, state: Generation | None = None, failure: FailureKind | None = None
) -> models.QuerySet[Execution]:
    rows = Execution.objects.filter(experiment=experiment, superseded=False).select_related("revision")
    if state is not None:
        rows = rows.filter(state=state)
    if failure is not None:
        rows = rows.filter(failure_kind=failure)
    return rows


@dataclass(frozen=True, slots=True)
class ExecutionRow:
    """An execution with what its case is called and what was answered, where the reader may know it."""

    execution: Execution
    item: UUID
    content: ItemContent | None = None
    answer: Answer | None = None


def execution_rows(executions: Iterable[Execution], *, content: bool, answers: bool = False) -> list[ExecutionRow]:
    executions = list(executions)
    named: dict[UUID, ItemContent] = {}
    answered: dict[int, Answer] = {}
    if content:
        named = ItemContent.objects.only("source_id", "title", "availability").in_bulk(
            {execution.revision_id for execution in executions}
        )
    if answers:
        answered = Answer.objects.in_bulk([execution.pk for execution in executions])
    return [
        ExecutionRow(entry, entry.revision.item_id, named.get(entry.revision_id), answered.get(entry.pk))
        for entry in executions
    ]


@dataclass(frozen=True, slots=True)
class Pace:
    """How far the work of an experiment is. `seconds_left` is None before there is anything to tell it from."""

    done: int
    total: int
    under_way: int
    seconds_left: float | None

    @property
    def left(self) -> str:
        return "" if self.seconds_left is None else f"about {duration(self.seconds_left * 1000)} left"


def pace_of(experiment: Experiment, tally: Tally) -> Pace:
    """From what ended in the last two minutes; the times are the database's."""
    under_way = tally.states.get(Generation.RUNNING, 0)
    left = tally.states.get(Generation.PLANNED, 0) + under_way
    done = tally.rows - left - tally.cancelled
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT count(*), extract(epoch FROM clock_timestamp() - min(finished_at)) FROM runs_execution
            WHERE experiment_id = %s AND finished_at > clock_timestamp() - interval '120 seconds'
            """,
            [experiment.pk],
        )
        recent, seconds = cursor.fetchone() or (0, None)
    seconds_left = None
    if seconds is not None and recent >= 5 and left and experiment.paused_at is None:
        seconds_left = float(seconds) / recent * left
    return Pace(done, tally.rows, under_way, seconds_left)


def turns_of(execution: Execution) -> list[Turn]:
    """The conversation; the caller has judged the right to it."""
    return list(Turn.objects.filter(execution=execution).order_by("index"))


@dataclass(frozen=True, slots=True)
class ToolCalled:
    """A call of a tool as it is read. `removed` says why its content is gone; `withheld`, that it came through a
    connector that the reader may not read. `result` is None where nobody ran it, or what it returned is gone."""

    turn: int
    attempt: UUID
    """Of the reply in which the model asked for it."""
    name: str = ""
    arguments: Any = None
    result: Any = None
    error: str = ""
    removed: str = ""
    withheld: bool = False

    @property
    def arguments_text(self) -> str:
        return json.dumps(self.arguments, indent=2, ensure_ascii=False)

    @property
    def result_text(self) -> str:
        return "" if self.result is None else json.dumps(self.result, indent=2, ensure_ascii=False)


def tool_spans_of(execution: Execution) -> models.QuerySet[Span]:
    """The spans in which the model asked for tools, in order."""
    rows: models.QuerySet[Span] = Span.objects.filter(attempt__execution=execution, kind=SpanKind.TOOL_CALL)
    return rows.select_related("spancontent", "connector", "attempt", "result__spancontent").order_by(
        "attempt__number", "position"
    )


def tool_calls(spans: Iterable[Span], access: Access) -> list[ToolCalled]:
    """What the model asked tools for and what it was told, as far as the reader may see what came through their
    connectors."""
    spans = list(spans)
    readable = readable_connectors(access, {span.connector for span in spans if span.connector is not None})
    return [_called(span, span.connector_id is None or span.connector_id in readable) for span in spans]


def _called(span: Span, readable: bool) -> ToolCalled:
    turn, attempt, body = span.attempt.turn, span.attempt_id, span.spancontent.body
    if not readable:
        return ToolCalled(turn, attempt, withheld=True)
    if body is None:
        return ToolCalled(turn, attempt, removed=span.spancontent.availability)
    result = span.result.spancontent if hasattr(span, "result") else None
    said: dict[str, Any] = (result.body if result is not None else None) or {}
    gone = result.availability if result is not None and result.body is None else ""
    return ToolCalled(
        turn, attempt, body["name"], body["arguments"], said.get("result"), said.get("error", ""), removed=gone
    )


def earlier_of(execution: Execution) -> list[Execution]:
    """The executions that an explicit retry replaced, newest first."""
    found: list[Execution] = []
    while execution.retry_of_id is not None:
        execution = Execution.objects.get(pk=execution.retry_of_id)
        found.append(execution)
    return found


def draft_tests_of(access: Access, agent: Agent) -> models.QuerySet[DraftTest]:
    return DraftTest.objects.filter(team=access.team, agent=agent).select_related("by", "route_revision__route")


def draft_tests_with_content(access: Access, agent: Agent) -> models.QuerySet[DraftTest]:
    """With what was asked and answered; the caller has judged the right to it."""
    return draft_tests_of(access, agent).select_related("drafttestcontent", "drafttestanswer")


def attempts_of_test(row: DraftTest) -> list[DraftTestAttempt]:
    return list(DraftTestAttempt.objects.filter(draft_test=row).order_by("number"))


def versions_to_run(access: Access) -> list[Version]:
    """The newest versions of the team's datasets that are not archived."""
    rows = Version.objects.filter(dataset__team=access.team, dataset__archived_at=None).select_related("dataset")
    return list(rows.order_by("dataset__name", "-number")[:MOST_OFFERED])


def slices_to_run(access: Access) -> list[SliceVersion]:
    rows = SliceVersion.objects.filter(
        slice__dataset__team=access.team, slice__archived_at=None, slice__dataset__archived_at=None
    ).select_related("slice__dataset")
    return list(rows.order_by("slice__dataset__name", "slice__name", "-number")[:MOST_OFFERED])


MOST_OFFERED = 500


def attempts_of(execution: Execution) -> models.QuerySet[Attempt]:
    return Attempt.objects.filter(execution=execution).order_by("number")


def repetitions_of(execution: Execution) -> models.QuerySet[Execution]:
    """The executions of the same case in the same experiment."""
    return Execution.objects.filter(
        experiment_id=execution.experiment_id, revision_id=execution.revision_id, superseded=False
    ).order_by("repetition")


def answer_of(execution: Execution) -> Answer | None:
    """The protected side; the caller has judged the right to it."""
    return Answer.objects.filter(execution=execution).first()


def counts_by_dataset(access: Access, datasets: Iterable[Dataset]) -> dict[UUID, int]:
    ids = [dataset.pk for dataset in datasets]
    rows = Experiment.objects.filter(team=access.team, version__dataset_id__in=ids, archived_at=None)
    return dict(rows.order_by().values_list(F("version__dataset_id")).annotate(count=Count("pk")))


def counts_by_version(access: Access, versions: Iterable[Version]) -> dict[UUID, int]:
    ids = [version.pk for version in versions]
    rows = Experiment.objects.filter(team=access.team, version_id__in=ids, archived_at=None)
    return dict(rows.order_by().values_list("version_id").annotate(count=Count("pk")))


def counts_by_subject(access: Access, subjects: Iterable[Subject]) -> dict[UUID, int]:
    ids = [subject.pk for subject in subjects]
    rows = Experiment.objects.filter(team=access.team, subject_id__in=ids, archived_at=None)
    return dict(rows.order_by().values_list("subject_id").annotate(count=Count("pk")))
