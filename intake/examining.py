"""A dry run: everything that an import would write, counted, and nothing written."""

from __future__ import annotations

import hashlib
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import connection

from analysis import strict_json
from analysis.observations import Generation, Outcome, source_digest
from datasets.models import Dataset
from intake.entries import LABEL, entries
from intake.models import ImportedRun
from intake.readers import Execution, Recognised, Rejected, Run, RunFacts, inspect_log
from intake.readers.collecting import content_digest

DIGEST = 32
PREVIEW = 5
Tick = Callable[[int], None]
"""Told how many entries were read or written so far; raises where the work must stop."""
Reject = Callable[[int, Rejected], None]


@dataclass(slots=True)
class RunFound:
    """What one run holds, by counts."""

    facts: RunFacts
    cases: int = 0
    executions: int = 0
    repetitions: tuple[int, int] = (0, 0)
    generations: Counter[int] = field(default_factory=Counter)
    failures: Counter[int] = field(default_factory=Counter)
    outcomes: dict[str, Counter[int]] = field(default_factory=dict)
    rejected: Counter[str] = field(default_factory=Counter)
    known: Counter[str] = field(default_factory=Counter)
    """Of how many executions the file tells cost, latency, trace, answer and content."""
    examples: list[dict[str, Any]] = field(default_factory=list)


@dataclass(slots=True)
class Examination:
    runs: list[RunFound] = field(default_factory=list)
    cases: set[tuple[bytes, bytes]] = field(default_factory=set)
    read: int = 0
    """Entries so far, kept and rejected."""

    @property
    def executions(self) -> int:
        return sum(run.executions for run in self.runs)

    @property
    def rejected(self) -> int:
        return sum(sum(run.rejected.values()) for run in self.runs)

    def packed_cases(self) -> bytes:
        return b"".join(source + content.ljust(DIGEST, b"\0") for source, content in sorted(self.cases))


def examine(found: Recognised, *, tick: Tick, reject: Reject) -> Examination:
    """Read everything once and count. Rejected rows go to `reject` with the position of their run."""
    result = Examination()
    for position, run in enumerate(found.runs()):
        deque(examined(result, position, run, tick=tick, reject=reject), maxlen=0)
    return result


def examined(
    result: Examination, position: int, run: Run, *, tick: Tick, reject: Reject
) -> Iterator[Execution | Rejected]:
    """The entries of one run as they are read, counted on their way to whoever asked."""
    seen = RunFound(run.facts)
    result.runs.append(seen)
    cases: dict[bytes, bytes] = {}  # settled entries have one content per case
    for entry in entries(run):
        result.read += 1
        tick(result.read)
        if isinstance(entry, Rejected):
            seen.rejected[entry.code] += 1
            reject(position, entry)
        else:
            _count(seen, entry)
            source = source_digest(entry.case.source_id)
            if source not in cases:
                cases[source] = content_digest(entry.case)
        yield entry
    seen.cases = len(cases)
    result.cases.update(cases.items())


def _count(seen: RunFound, entry: Execution) -> None:
    seen.executions += 1
    low, high = seen.repetitions
    first = seen.executions == 1
    seen.repetitions = (
        entry.repetition if first else min(low, entry.repetition),
        entry.repetition if first else max(high, entry.repetition),
    )
    seen.generations[entry.generation] += 1
    if entry.failure:
        seen.failures[entry.failure] += 1
    for key, score in entry.scores.items():
        seen.outcomes.setdefault(key, Counter())[score.outcome] += 1
    seen.known.update(
        name
        for name, there in (
            ("cost", entry.cost_micros is not None),
            ("latency", entry.duration_ms is not None),
            ("trace", entry.trace),
            ("answer", entry.answer is not None or entry.structured is not None),
            ("error", entry.error is not None),
            ("content", entry.case.content is not None),
        )
        if there
    )
    if len(seen.examples) < PREVIEW:
        seen.examples.append(_example(entry))


def _example(entry: Execution) -> dict[str, Any]:
    """One execution as the dry run shows it; content."""
    return {
        "case": strict_json.visible(str(entry.case.source_id), 80),
        "repetition": entry.repetition,
        "generation": int(entry.generation),
        "failure": int(entry.failure),
        "answer": None if entry.answer is None else entry.answer[:280],
        "error": None if entry.error is None else entry.error[:280],
        "scores": {
            key: {"outcome": int(score.outcome), "value": score.value, "category": score.category}
            for key, score in entry.scores.items()
        },
    }


def summary(result: Examination) -> dict[str, Any]:
    """The counts of an examination without content: no names of arms, no sentences of the reader."""
    return {
        "cases": len({source for source, _ in result.cases}),
        "executions": result.executions,
        "rejected": result.rejected,
        "runs": [_run_summary(run) for run in result.runs],
    }


def _run_summary(run: RunFound) -> dict[str, Any]:
    return {
        "tool": run.facts.tool,
        "tool_version": run.facts.tool_version[:40],
        "created_at": run.facts.created_at[:40],
        "cases": run.cases,
        "executions": run.executions,
        "repetitions": list(run.repetitions),
        "generations": {Generation(state).name.lower(): count for state, count in sorted(run.generations.items())},
        "failures": {str(int(kind)): count for kind, count in sorted(run.failures.items())},
        "rejected": dict(sorted(run.rejected.items())),
        "duplicates": run.rejected["duplicate_case_repetition"],
        "known": {name: run.known[name] for name in ("cost", "latency", "trace", "answer", "error", "content")},
        "missing": list(run.facts.missing),
        "scorers": [
            {
                "key": scorer.key,
                "name": scorer.name,
                "kind": scorer.kind.value,
                "direction": scorer.direction.value,
                "low": scorer.low,
                "high": scorer.high,
                "unit": scorer.unit,
                "outcomes": {
                    Outcome(outcome).name.lower(): count
                    for outcome, count in sorted(run.outcomes.get(scorer.key, Counter()).items())
                },
                "none": run.executions - sum(run.outcomes.get(scorer.key, Counter()).values()),
            }
            for scorer in run.facts.scorers
        ],
    }


def run_texts(result: Examination) -> list[dict[str, Any]]:
    """What names or quotes content, beside the runs of the summary."""
    return [
        {
            "arm": run.facts.arm,
            "arm_from_file_name": run.facts.arm_from_file_name,
            "label": suggested_label(run.facts),
            "source_run_id": clipped_run_id(run.facts.source_run_id),
            "dataset": run.facts.dataset,
            "subject": run.facts.subject,
            "facts": [list(fact) for fact in run.facts.facts],
            "notes": list(run.facts.notes),
            "examples": run.examples,
        }
        for run in result.runs
    ]


def suggested_label(facts: RunFacts) -> str:
    return strict_json.visible(" ".join(facts.arm.split()), LABEL - 1)


def neutral_label(facts: RunFacts) -> str:
    """A label that gives nothing away, for a run that only a file's name names."""
    return f"imported run {hashlib.sha256(facts.source_run_id.encode()).hexdigest()[:8]}"


def clipped_run_id(source_run_id: str) -> str:
    """A tool's own id of a run as our column holds it; a longer one stands by its digest."""
    if len(source_run_id) <= 200:
        return source_run_id
    return f"sha256:{hashlib.sha256(source_run_id.encode()).hexdigest()}"


def run_files(found: Recognised, position: int) -> str:
    """Identity of the file behind a run with an id of its tool's own; other run ids hold it already."""
    return found.files[position].sha256 if found.reader == inspect_log.NAME else ""


@dataclass(frozen=True, slots=True)
class Target:
    """How the cases of an import meet a dataset."""

    dataset: Dataset | None
    name: str
    matched: int
    """Cases that are there with the same content."""
    new: int
    revised: int
    """Cases that are there, with another content."""


def meets(dataset: Dataset | None, name: str, packed: bytes) -> Target:
    """Compare an import's cases with a dataset's items, in one read."""
    pairs = list(unpacked(packed))
    if dataset is None:
        return Target(None, name, 0, len({source for source, _ in pairs}), 0)
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT count(*) FILTER (WHERE i.id IS NULL),
                   count(*) FILTER (WHERE i.id IS NOT NULL AND r.id IS NULL),
                   count(*) FILTER (WHERE r.id IS NOT NULL)
            FROM unnest(%s::bytea[], %s::bytea[]) AS c(source, content)
            LEFT JOIN datasets_item i ON i.dataset_id = %s AND i.source_digest = c.source
            LEFT JOIN datasets_itemrevision r ON r.item_id = i.id AND r.content_digest = c.content
            """,
            [[source for source, _ in pairs], [content for _, content in pairs], dataset.pk],
        )
        row = cursor.fetchone()
    new, revised, matched = row or (0, 0, 0)
    return Target(dataset, dataset.name, matched, new, revised)


def unpacked(packed: bytes) -> Iterator[tuple[bytes, bytes]]:
    absent = b"\0" * DIGEST
    for start in range(0, len(packed), 2 * DIGEST):
        content = packed[start + DIGEST : start + 2 * DIGEST]
        yield packed[start : start + DIGEST], b"" if content == absent else content


def known_runs(team: UUID, dataset: Dataset | None, mapping_sha256: str) -> dict[tuple[str, str], UUID]:
    """Experiments that were imported into a dataset under a mapping, by (files, source run)."""
    if dataset is None:
        return {}
    return {
        (files, source): experiment
        for files, source, experiment in ImportedRun.objects.filter(
            team_id=team, dataset=dataset, mapping_sha256=mapping_sha256
        ).values_list("files_sha256", "source_run_id", "experiment_id")
    }
