"""The writing of an import: one transaction, COPY in chunks, flat memory, all or nothing.

Experiments and passes are inserted after their executions and judgments, because only then the exact
dataset version is known; foreign keys are checked when everything is there (they are deferred), and
before the caller's last step.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import batched
from typing import Any
from uuid import UUID

from django.db import connection
from psycopg.types.json import Jsonb

from agents.actions import imported_subject
from analysis.observations import CostCoverage, source_digest
from datasets.actions import CaseDraft, Stored, exact_version, store_cases
from datasets.models import Dataset
from grading import actions as grading
from grading import columns as series_columns
from grading.models import GraderVersion, GradingPass, Judgment, Reasoning
from intake.entries import check_facts, entries
from intake.examining import Tick, clipped_run_id, run_files
from intake.models import Import, ImportedRun
from intake.readers import Case, Execution, Recognised, Rejected, Run, RunFacts, Scorer
from intake.readers.collecting import content_digest, grader_identity, metric_of
from runs import actions as runs
from runs import columns as arm_columns
from runs.models import Answer, Attempt, Experiment, Origin, State
from runs.models import Execution as ExecutionRow
from teams.access import Access
from teams.bulk import copy_rows, database_now, next_ids
from teams.records import Availability, new_id

CHUNK = 1000  # executions; with answers of some kilobytes a chunk stays within a few megabytes
EXECUTION = (
    *("id", "experiment", "position", "revision", "repetition", "state", "failure_kind", "duration_ms"),
    *("input_tokens", "output_tokens", "finish_reason", "trace"),
    *("cost_micros", "cost_coverage", "cost_basis", "currency"),
)
ANSWER = ("execution", "availability", "text", "structured", "error")
ATTEMPT = (
    *("id", "execution", "number", "state", "failure_code", "duration_ms", "input_tokens", "output_tokens"),
    *("cost_micros", "cost_coverage", "cost_basis", "currency"),
)
JUDGMENT = (
    *("id", "grading_pass", "execution", "version", "outcome", "value", "category"),
    *("cost_micros", "cost_coverage", "cost_basis", "currency"),
)
REASONING = ("judgment", "availability", "text", "error")
UNKNOWN_COST = (0, CostCoverage.NONE.value, "", "")
AVAILABLE = Availability.AVAILABLE.value
Label = Callable[[int, RunFacts], str]
"""The name of a run's subject, by the run's position and facts."""
Reading = Callable[[int, Run], Iterator[Execution | Rejected]]


@dataclass(frozen=True, slots=True)
class Written:
    """What became of one run: its experiment, and whether this import wrote it."""

    position: int
    experiment: UUID | None
    """None where no row of the run could be kept."""
    new: bool
    executions: int = 0
    rejected: int = 0


@dataclass(slots=True)
class _Run:
    """One run while it is being written: only what later chunks and the manifest need."""

    experiment: UUID
    versions: dict[str, GraderVersion]
    passes: dict[str, UUID]
    cases: dict[bytes, Stored] = field(default_factory=dict)
    manifest: list[tuple[bytes, bytes, int]] = field(default_factory=list)
    rejected: int = 0
    duplicates: int = 0
    repetitions: set[int] = field(default_factory=set)


def write(
    *,
    owner: Import,
    found: Recognised,
    dataset: Dataset,
    access: Access,
    label: Label,
    tick: Tick,
    read: Reading | None = None,
) -> list[Written]:
    """Write every run that is not there yet, in the caller's transaction.

    The caller holds the team's evidence lock. `read` gives the entries of a run to someone who watches them
    on their way; then the runs that are already there are read, too.
    """
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")
    results: list[Written] = []
    done = 0
    for position, run in enumerate(found.runs()):
        check_facts(run.facts)
        key = {
            "team": access.team,
            "dataset": dataset,
            "files_sha256": run_files(found, position),
            "source_run_id": clipped_run_id(run.facts.source_run_id),
            "mapping_sha256": owner.mapping_sha256,
        }
        known = ImportedRun.objects.filter(**key).first()
        if known is not None:
            if read is not None:
                deque(read(position, run), maxlen=0)
            results.append(Written(position, known.experiment_id, new=False))
            continue
        source = entries(run) if read is None else read(position, run)
        state, done = _write_run(run.facts, source, dataset, access, tick, done)
        if not state.manifest:
            results.append(Written(position, None, new=False, rejected=state.rejected))
            continue
        experiment = _finish(state, run.facts, owner, found, dataset, access, label(position, run.facts), tick, done)
        ImportedRun.objects.create(owner=owner, position=position, experiment=experiment, **key)
        results.append(Written(position, experiment.pk, True, len(state.manifest), state.rejected))
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")  # what is wrong fails here, before the last step
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")
    return results


def _write_run(
    facts: RunFacts, source: Iterator[Execution | Rejected], dataset: Dataset, access: Access, tick: Tick, done: int
) -> tuple[_Run, int]:
    state = _Run(new_id(), {}, {})
    for scorer in facts.scorers:
        definition = grading.definition_of(access=access, metric=metric_of(scorer))
        state.versions[scorer.key] = grading.grader_version(
            definition=definition,
            name=scorer.name or scorer.key,
            identity=grader_identity(scorer),
            config=_config(scorer),
        )
        state.passes[scorer.key] = new_id()
    at = database_now()
    for chunk in batched(_kept(source, state), CHUNK):
        _write_chunk(chunk, state, dataset, access, at)
        done += len(chunk)
        tick(done)
    return state, done


def _config(scorer: Scorer) -> dict[str, Any]:
    return {**scorer.config, "key": scorer.key, "categories": list(scorer.categories)}


def _kept(source: Iterator[Execution | Rejected], state: _Run) -> Iterator[Execution]:
    for entry in source:
        if isinstance(entry, Rejected):
            state.rejected += 1
            state.duplicates += entry.code == "duplicate_case_repetition"
        else:
            yield entry


def _draft(case: Case, source: bytes) -> CaseDraft:
    return CaseDraft(
        source_digest=source,
        content_digest=content_digest(case),
        source_id=str(case.source_id),
        source_is_number=isinstance(case.source_id, int),
        body=case.content,
        title=case.title,
        language=case.language[:35],
        tags=case.tags,
        metadata=case.metadata,
        group=case.group,
    )


def _write_chunk(chunk: tuple[Execution, ...], state: _Run, dataset: Dataset, access: Access, at: datetime) -> None:
    sources = [source_digest(entry.case.source_id) for entry in chunk]
    drafts: dict[bytes, CaseDraft] = {}
    for source, entry in zip(sources, chunk, strict=True):
        if source not in state.cases and source not in drafts:
            drafts[source] = _draft(entry.case, source)
    if drafts:
        stored = store_cases(dataset=dataset, drafts=list(drafts.values()), by=access.user.pk, at=at)
        for (source, _), where in stored.items():
            state.cases[source] = where
    first = len(state.manifest)
    ids = next_ids(ExecutionRow, len(chunk))
    for source, entry in zip(sources, chunk, strict=True):
        state.manifest.append((source, state.cases[source].content_digest, entry.repetition))
        state.repetitions.add(entry.repetition)
    copy_rows(
        ExecutionRow,
        EXECUTION,
        (
            (
                *(pk, state.experiment, first + index, state.cases[source].revision, entry.repetition),
                *(int(entry.generation), int(entry.failure), entry.duration_ms),
                *(entry.input_tokens, entry.output_tokens, entry.finish_reason[:60], entry.trace),
                *_cost(entry),
            )
            for index, (pk, source, entry) in enumerate(zip(ids, sources, chunk, strict=True))
        ),
    )
    copy_rows(Answer, ANSWER, _answers(ids, chunk))
    copy_rows(Attempt, ATTEMPT, _attempts(ids, chunk))
    _write_judgments(ids, chunk, state)


def _cost(entry: Execution) -> tuple[int, int, str, str]:
    if entry.cost_micros is None:
        return UNKNOWN_COST
    coverage = CostCoverage.PARTIAL if entry.cost_partial else CostCoverage.COMPLETE
    return entry.cost_micros, coverage.value, (entry.cost_basis or "reported")[:20], entry.currency


def _answers(ids: list[int], chunk: tuple[Execution, ...]) -> Iterator[tuple[Any, ...]]:
    for pk, entry in zip(ids, chunk, strict=True):
        if entry.answer is not None or entry.structured is not None or entry.error is not None:
            structured = None if entry.structured is None else Jsonb(entry.structured)
            yield pk, AVAILABLE, entry.answer, structured, entry.error


def _attempts(ids: list[int], chunk: tuple[Execution, ...]) -> Iterator[tuple[Any, ...]]:
    for pk, entry in zip(ids, chunk, strict=True):
        for number, attempt in enumerate(entry.attempts, start=1):
            cost = UNKNOWN_COST
            if attempt.cost_micros is not None:
                cost = attempt.cost_micros, CostCoverage.COMPLETE.value, "reported", entry.currency
            yield (
                *(new_id(), pk, number, attempt.state, attempt.failure_code[:60], attempt.duration_ms),
                *(attempt.input_tokens, attempt.output_tokens),
                *cost,
            )


def _write_judgments(ids: list[int], chunk: tuple[Execution, ...], state: _Run) -> None:
    total = sum(len(entry.scores) for entry in chunk)
    if not total:
        return
    judgments: list[tuple[Any, ...]] = []
    reasons: list[tuple[Any, ...]] = []
    fresh = iter(next_ids(Judgment, total))
    for pk, entry in zip(ids, chunk, strict=True):
        for key, score in entry.scores.items():
            judgment = next(fresh)
            cost = UNKNOWN_COST
            if score.cost_micros is not None:
                cost = score.cost_micros, CostCoverage.COMPLETE.value, "reported", entry.currency
            judgments.append(
                (
                    *(judgment, state.passes[key], pk, state.versions[key].pk),
                    *(int(score.outcome), score.value, score.category),
                    *cost,
                )
            )
            if score.reasoning is not None or score.error is not None:
                reasons.append((judgment, AVAILABLE, score.reasoning, score.error))
    copy_rows(Judgment, JUDGMENT, judgments)
    copy_rows(Reasoning, REASONING, reasons)


def _finish(
    state: _Run,
    facts: RunFacts,
    owner: Import,
    found: Recognised,
    dataset: Dataset,
    access: Access,
    label: str,
    tick: Tick,
    done: int,
) -> Experiment:
    """The experiment over the executions that are there, its passes, its frozen columns, its end."""
    version = exact_version(access=access, dataset=dataset, cases=state.cases.items(), at=database_now())
    subject = imported_subject(access=access, label=label, definition=facts.subject, facts=facts.facts)
    experiment = Experiment.objects.create(
        id=state.experiment,
        team=access.team,
        number=runs.next_number(access.team),
        version=version,
        subject=subject,
        repetitions=len(state.repetitions),
        origin=Origin.IMPORT,
        trust=owner.trust,
        state=State.RUNNING,
        planned=len(state.manifest),
        duplicates=state.duplicates,
        manifest_sha256=runs.manifest_sha256(state.manifest),
        starter=access.user,
        facts=[list(fact) for fact in facts.facts],
        provenance={
            "tool": facts.tool,
            "tool_version": facts.tool_version,
            "created_at": facts.created_at,
            "reader": found.reader,
            "reader_version": found.version,
            "mapping_sha256": owner.mapping_sha256,
            "import": str(owner.pk),
            "files": [fact.sha256 for fact in found.files],
            "missing": list(facts.missing),
            "rejected": state.rejected,
        },
    )
    passes: list[tuple[GradingPass, GraderVersion]] = []
    for number, scorer in enumerate(facts.scorers, start=1):
        opened = grading.open_pass(
            access=access,
            experiment=experiment,
            number=number,
            name=scorer.name or scorer.key,
            version=state.versions[scorer.key],
            pk=state.passes[scorer.key],
        )
        passes.append((opened, state.versions[scorer.key]))
    tick(done)
    frozen = arm_columns.thaw(arm_columns.freeze(experiment))
    runs.complete(experiment)
    for opened, grader in passes:
        tick(done)
        series_columns.freeze(opened, grader, frozen)
        grading.complete(opened)
    return experiment
