"""Stored evidence from compact specs: a dataset, an experiment, its passes, frozen and finished.

    ours = experiment(team, by, {"a": [1, 0], "b": [Outcome.ABSTAINED, FailureKind.TIMED_OUT]}, label="ours")
    theirs = experiment(team, by, {"a": [1, 1], "b": [0, 0]}, label="theirs")

Cases are written with the marks of `tests.factories.arms`; repetitions count from 1, None is no row. A
case of the same name in the same dataset is the same item; its body, unless `bodies` says otherwise,
depends on the name alone, so that two experiments pair. More graders or more passes measure executions
that are there already, and need marks for these alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Max
from django.utils import timezone
from django.utils.text import slugify

from agents.models import Subject, SubjectKind
from analysis.observations import CostCoverage, Direction, FailureKind, Generation, Kind, Metric, Outcome, source_digest
from datasets.models import Dataset, Item, ItemContent, ItemRevision, Version, VersionEntry
from grading import columns as series_columns
from grading.models import (
    Grader,
    GraderVersion,
    GradingPass,
    Interpretation,
    Judgment,
    MetricDefinition,
    PassGrader,
    Reasoning,
)
from runs import columns as arm_columns
from runs.models import Answer, Execution, Experiment, Origin, State
from teams.models import Team, User
from tests.factories.arms import Mark, metric

Cases = Mapping[str, Sequence[Mark]]
Measure = float | int | None | Callable[[str, int], float | int | None]
"""One value for every execution, or a function of case name and repetition; None is unknown."""
BATCH = 2_000
CORRECT = metric()


@dataclass(frozen=True)
class Graded:
    """What one grader version says about an experiment's executions."""

    cases: Cases
    metric: Metric = CORRECT
    grader: str = "exact_answer"
    version: int = 4
    reasoning: Callable[[str, int], str | None] | None = None
    cost_micros: Measure = None


def dataset(team: Team, name: str = "Cases") -> Dataset:
    return Dataset.objects.get_or_create(team=team, slug=slugify(name)[:80], defaults={"name": name})[0]


def definition(team: Team, meaning: Metric) -> MetricDefinition:
    return MetricDefinition.objects.get_or_create(
        team=team,
        key=meaning.key,
        kind=meaning.kind.value,
        direction=meaning.direction.value,
        low=meaning.low,
        high=meaning.high,
        unit=meaning.unit,
        defaults={"name": meaning.name},
    )[0]


def grader_version(team: Team, meaning: Metric, name: str, number: int) -> GraderVersion:
    grader, _ = Grader.objects.get_or_create(
        definition=definition(team, meaning), name=name, defaults={"kind": "imported"}
    )
    identity = hashlib.sha256(f"{meaning.key}/{name}/{number}".encode()).hexdigest()
    return GraderVersion.objects.get_or_create(grader=grader, number=number, defaults={"sha256": identity})[0]


@transaction.atomic
def experiment(
    team: Team,
    by: User,
    cases: Cases,
    *,
    in_dataset: str = "Cases",
    label: str = "gpt-5-nano",
    metric: Metric = CORRECT,
    grader: str = "exact_answer",
    version: int = 4,
    more: Sequence[Graded] = (),
    bodies: Mapping[str, Any] | None = None,
    titles: Mapping[str, str] | None = None,
    tags: Mapping[str, list[str]] | None = None,
    answers: Callable[[str, int], str | None] | None = lambda name, repetition: f"Answer {repetition} to {name}",
    errors: Callable[[str, int], str | None] = lambda name, repetition: f"Error in {name}, attempt {repetition}",
    reasoning: Callable[[str, int], str | None] | None = None,
    latency_ms: Measure = 1_000.0,
    cost_micros: Measure = None,
    judgment_cost_micros: Measure = None,
    facts: Sequence[tuple[str, str]] = (),
    duplicates: int = 0,
    finished: bool = True,
) -> Experiment:
    """One finished experiment with one finished pass. `bodies` maps a name to a body, or to None: not captured."""
    revisions = _revisions(dataset(team, in_dataset), by, cases, bodies or {}, titles or {}, tags or {})
    fingerprint = hashlib.sha256(f"{team.pk}/{label}".encode()).hexdigest()
    subject, _ = Subject.objects.get_or_create(
        team=team,
        fingerprint=fingerprint,
        defaults={"kind": SubjectKind.IMPORTED, "label": label, "facts": [["Model", label]]},
    )
    number = (Experiment.objects.filter(team=team).aggregate(last=Max("number"))["last"] or 0) + 1
    made = Experiment.objects.create(
        team=team,
        number=number,
        version=_version(dataset(team, in_dataset), by, list(revisions.values())),
        subject=subject,
        repetitions=max((len(marks) for marks in cases.values()), default=1) or 1,
        origin=Origin.IMPORT,
        state=State.RUNNING,
        starter=by,
        facts=[list(fact) for fact in facts],
        duplicates=duplicates,
    )
    keys, executions = [], []
    for name, marks in cases.items():
        for repetition, mark in enumerate(marks, start=1):
            if mark is None:
                continue
            state = Generation.COMPLETED
            if isinstance(mark, FailureKind):
                state = Generation.FAILED
            elif isinstance(mark, Generation):
                state = mark
            keys.append((name, repetition))
            executions.append(
                Execution(
                    experiment=made,
                    position=len(executions),
                    revision=revisions[name],
                    repetition=repetition,
                    state=state,
                    failure_kind=mark if isinstance(mark, FailureKind) else FailureKind.NONE,
                    duration_ms=_measured(latency_ms, name, repetition),
                    **_cost(_measured(cost_micros, name, repetition)),
                )
            )
    Execution.objects.bulk_create(executions, batch_size=BATCH)
    if answers is not None:
        Answer.objects.bulk_create(
            (
                Answer(execution=execution, text=answers(*key))
                if execution.state == Generation.COMPLETED
                else Answer(execution=execution, error=errors(*key))
                for key, execution in zip(keys, executions, strict=True)
            ),
            batch_size=BATCH,
        )
    rows = dict(zip(keys, executions, strict=True))
    first = Graded(cases, metric, grader, version, reasoning, judgment_cost_micros)
    _judge(made, by, [first, *more], rows)
    if finished:
        finish(made)
    return made


def finish(made: Experiment) -> None:
    """Freeze the columns of an experiment and of its passes, and complete them all."""
    frozen = arm_columns.thaw(arm_columns.freeze(made))
    for grading_pass in made.gradingpass_set.all():
        _freeze(grading_pass, frozen)
    made.state, made.completed_at = State.COMPLETED, timezone.now()
    made.planned = len(frozen.executions)
    made.manifest_sha256 = hashlib.sha256(f"manifest {made.pk}".encode()).hexdigest()
    made.save(update_fields=["state", "completed_at", "planned", "manifest_sha256"])


@transaction.atomic
def add_pass(made: Experiment, by: User, *graded: Graded) -> GradingPass:
    """Another finished pass over a finished experiment."""
    rows = {}
    names = dict(
        ItemContent.objects.filter(revision__execution__experiment=made).values_list("revision_id", "source_id")
    )
    for execution in Execution.objects.filter(experiment=made):
        rows[names[execution.revision_id], execution.repetition] = execution
    grading_pass = _judge(made, by, graded, rows)
    _freeze(grading_pass, arm_columns.thaw(made.armcolumns))
    return grading_pass


def interpretation(
    grading_pass: GradingPass,
    by: User,
    mapping: Mapping[str, float | None],
    *,
    name: str = "Interpretation",
    direction: Direction = Direction.HIGHER_IS_BETTER,
) -> Interpretation:
    """A pinned mapping for the pass's only grader version."""
    text = json.dumps([sorted(mapping.items()), direction.value])
    return Interpretation.objects.create(
        grading_pass=grading_pass,
        version=grading_pass.passgrader_set.get().version,
        name=name,
        mapping=dict(mapping),
        direction=direction.value,
        sha256=hashlib.sha256(text.encode()).hexdigest(),
        made_by=by,
    )


def categorical(key: str = "intent", name: str = "Intent") -> Metric:
    return metric(Kind.CATEGORICAL, Direction.UNORDERED, key=key, name=name)


def _judge(made: Experiment, by: User, graded: Iterable[Graded], rows: Mapping[tuple[str, int], Execution]) -> Any:
    grading_pass = GradingPass.objects.create(
        experiment=made,
        number=made.gradingpass_set.count() + 1,
        origin=Origin.IMPORT,
        state=State.RUNNING,
        creator=by,
    )
    for measured in graded:
        version = grader_version(made.team, measured.metric, measured.grader, measured.version)
        PassGrader.objects.create(grading_pass=grading_pass, version=version)
        judgments, texts = [], []
        for name, marks in measured.cases.items():
            for repetition, mark in enumerate(marks, start=1):
                if mark is None or isinstance(mark, FailureKind | Generation) or mark is Outcome.NONE:
                    continue
                scored = not isinstance(mark, Outcome)
                judgments.append(
                    Judgment(
                        grading_pass=grading_pass,
                        execution=rows[name, repetition],
                        version=version,
                        outcome=Outcome.SCORED if scored else mark,
                        value=float(mark) if scored and not isinstance(mark, str) else None,
                        category=mark if isinstance(mark, str) else None,
                        **_cost(_measured(measured.cost_micros, name, repetition)),
                    )
                )
                texts.append(measured.reasoning(name, repetition) if measured.reasoning else None)
        Judgment.objects.bulk_create(judgments, batch_size=BATCH)
        Reasoning.objects.bulk_create(
            (Reasoning(judgment=row, text=text) for row, text in zip(judgments, texts, strict=True) if text),
            batch_size=BATCH,
        )
    return grading_pass


def _freeze(grading_pass: GradingPass, frozen: arm_columns.FrozenArm) -> None:
    for planned in grading_pass.passgrader_set.select_related("version"):
        series_columns.freeze(grading_pass, planned.version, frozen)
    grading_pass.state, grading_pass.finished_at = State.COMPLETED, timezone.now()
    grading_pass.save(update_fields=["state", "finished_at"])


def _measured(measure: Measure, name: str, repetition: int) -> float | int | None:
    return measure(name, repetition) if callable(measure) else measure


def _cost(micros: float | int | None) -> dict[str, Any]:
    if micros is None:
        return {}
    return {
        "cost_micros": int(micros),
        "cost_coverage": CostCoverage.COMPLETE,
        "cost_basis": "reported",
        "currency": "USD",
    }


def _revisions(
    owner: Dataset,
    by: User,
    cases: Cases,
    bodies: Mapping[str, Any],
    titles: Mapping[str, str],
    tags: Mapping[str, list[str]],
) -> dict[str, ItemRevision]:
    """The revision of each case, made where it is not there yet."""
    sources = {name: source_digest(name) for name in cases}
    items = {bytes(item.source_digest): item for item in Item.objects.filter(dataset=owner)}
    fresh = [Item(dataset=owner, source_digest=digest) for digest in sources.values() if digest not in items]
    items |= {bytes(item.source_digest): item for item in Item.objects.bulk_create(fresh, batch_size=BATCH)}
    there: dict[Any, dict[bytes, ItemRevision]] = {}
    for revision in ItemRevision.objects.filter(item__dataset=owner):
        there.setdefault(revision.item_id, {})[bytes(revision.content_digest)] = revision
    found, made, contents = {}, [], []
    for name, source in sources.items():
        body = bodies.get(name, {"input": f"Question of {name}", "expected": f"Expected of {name}"})
        digest = b"" if body is None else hashlib.sha256(json.dumps(body, sort_keys=True).encode()).digest()
        known = there.get(items[source].pk, {})
        if digest not in known:
            revision = ItemRevision(item=items[source], number=len(known) + 1, content_digest=digest, made_by=by)
            made.append(revision)
            contents.append(
                ItemContent(
                    revision=revision,
                    source_id=name,
                    title=titles.get(name, f"Title of {name}"),
                    tags=tags.get(name, []),
                    body=body,
                )
            )
            found[name] = revision
        else:
            found[name] = known[digest]
    ItemRevision.objects.bulk_create(made, batch_size=BATCH)
    ItemContent.objects.bulk_create(contents, batch_size=BATCH)
    return found


def _version(owner: Dataset, by: User, revisions: Sequence[ItemRevision]) -> Version:
    digest = hashlib.sha256(b"".join(revision.pk.bytes for revision in revisions)).hexdigest()
    kept = Version.objects.filter(dataset=owner, sha256=digest).first()
    if kept is not None:
        return kept
    version = Version.objects.create(
        dataset=owner, number=owner.version_set.count() + 1, count=len(revisions), sha256=digest, made_by=by
    )
    VersionEntry.objects.bulk_create(
        (
            VersionEntry(version=version, position=position, item_id=revision.item_id, revision=revision)
            for position, revision in enumerate(revisions)
        ),
        batch_size=BATCH,
    )
    return version
