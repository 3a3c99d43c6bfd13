"""What makes the entries of one run consistent: duplicates set aside, one content per case.

`settled` does it while streaming; `collect` keeps the narrow columns of a run for arithmetic.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from analysis import strict_json
from analysis.columns import Row, build_side_columns
from analysis.observations import (
    NO_CONTENT,
    CostCoverage,
    Generation,
    Grader,
    Kind,
    Metric,
    Outcome,
    Side,
    Spend,
    group_digest,
    source_digest,
)
from analysis.refusals import Refused
from analysis.spend import CostGroup, fold
from intake.readers.records import Case, Execution, Rejected, Run, RunFacts, Score, Scorer

ENDED = frozenset({Outcome.SCORED, Outcome.ABSTAINED, Outcome.NOT_APPLICABLE, Outcome.GRADER_ERROR})


def content_digest(case: Case) -> bytes:
    """Identity of what a case asks, or empty where it was not captured."""
    return NO_CONTENT if case.content is None else strict_json.content_digest(case.content)


def settled(run: Run) -> Iterator[Execution | Rejected]:
    """The run's entries without contradictions, as they are read.

    A second row of one case and repetition, and a row that contradicts the content first captured
    for its source id, become `Rejected`. An execution without captured content comes only after the
    one that captured the content of its case, or at the end where none did: whoever stores them
    gives it the revision already stored for its source id in this run.
    """
    seen: set[tuple[bytes, int]] = set()
    contents: dict[bytes, bytes] = {}
    groups: dict[bytes, str] = {}
    waiting: dict[bytes, list[Execution]] = {}
    for entry in run.executions:
        if isinstance(entry, Rejected):
            yield entry
            continue
        source = source_digest(entry.case.source_id)
        if (source, entry.repetition) in seen:
            yield _set_aside(
                "duplicate_case_repetition",
                entry,
                f"This case was already read with repetition {entry.repetition}. The first row counts.",
            )
            continue
        if groups.setdefault(source, entry.case.group) != entry.case.group:
            yield _set_aside(
                "contradictory_group",
                entry,
                "This row puts its case into another group than an earlier row. A case has one group in a run.",
            )
            continue
        if entry.case.content is not None:
            content = strict_json.content_digest(entry.case.content)
            if contents.setdefault(source, content) != content:
                yield _set_aside(
                    "contradictory_content",
                    entry,
                    "This row asks something else than an earlier row of its case. A case has one content in a run.",
                )
                continue
            yield from waiting.pop(source, ())
        seen.add((source, entry.repetition))
        if entry.case.content is None and source not in contents and "content" not in run.facts.missing:
            waiting.setdefault(source, []).append(entry)
        else:
            yield entry
    for entries in waiting.values():
        yield from entries


def _set_aside(code: str, entry: Execution, message: str) -> Rejected:
    return Rejected(code, entry.place, message, strict_json.visible(str(entry.case.source_id), 80))


@dataclass(frozen=True, slots=True)
class Facts:
    """The narrow part of one execution: what arithmetic needs."""

    source: bytes
    content: bytes
    group: bytes
    repetition: int
    generation: Generation
    failure: int
    latency_ms: float | None
    cost_micros: int | None
    coverage: CostCoverage
    basis: str
    currency: str
    scores: dict[str, Score]


@dataclass(frozen=True, slots=True)
class Collected:
    """A run in memory, without answers: for the command line and for one-shot checks."""

    facts: RunFacts
    rows: tuple[Facts, ...]
    rejected: tuple[Rejected, ...]
    source_ids: dict[bytes, str | int] = field(default_factory=dict)
    """By source digest; content, for lists that a person asked for."""

    @property
    def duplicates(self) -> int:
        return sum(row.code == "duplicate_case_repetition" for row in self.rejected)

    def scorer(self, key: str) -> Scorer:
        for scorer in self.facts.scorers:
            if scorer.key == key:
                return scorer
        raise Refused(
            "import_scorer_missing",
            f"{self.facts.arm} has no scorer {key}. "
            f"It has {', '.join(scorer.key for scorer in self.facts.scorers) or 'none'}.",
        )

    def side(self, by: str | Scorer, *, label: str = "") -> Side:
        """This run as one side of a paired comparison by a scorer, or by what a scorer is to be read as."""
        scorer = self.scorer(by) if isinstance(by, str) else by
        arm, series = build_side_columns(self._columns(scorer))
        completed = [row for row in self.rows if row.generation is Generation.COMPLETED]
        ended = sum(scorer.key in row.scores and row.scores[scorer.key].outcome in ENDED for row in completed)
        return Side(
            label=label or self.facts.arm,
            metric=metric_of(scorer),
            grader=Grader(name=scorer.name, version=1, identity=grader_identity(scorer)),
            arm=arm,
            series=series,
            pass_expected=len(completed),  # an import makes one pass of each scorer
            pass_completed=ended,
            pass_waiting=0,
            spend=self._spend(),
            facts=self.facts.facts,
            duplicates=self.duplicates,
        )

    def _columns(self, scorer: Scorer) -> Iterable[Row]:
        for row in self.rows:
            score = row.scores.get(scorer.key)
            scored = score is not None and score.outcome is Outcome.SCORED
            yield Row(
                source_digest=row.source,
                content_digest=row.content,
                repetition=row.repetition,
                generation=row.generation,
                failure=row.failure,  # type: ignore[arg-type]  # a member of FailureKind, kept as its number
                latency_ms=row.latency_ms,
                cost_micros=row.cost_micros,
                coverage=row.coverage,
                outcome=Outcome.NONE if score is None else score.outcome,
                value=score.value if score is not None and scored and scorer.kind is not Kind.CATEGORICAL else None,
                category=score.category if score is not None and scored and scorer.kind is Kind.CATEGORICAL else None,
                group_digest=row.group,
            )

    def _spend(self) -> Spend:
        """Generation and every judgment, as the full-run spend of the same file once it is imported."""
        facts = [
            CostGroup(row.currency, row.basis, row.coverage, 1, row.cost_micros or 0)
            for row in self.rows
            if row.generation not in (Generation.PLANNED, Generation.BLOCKED)
        ]
        for row in self.rows:
            for score in row.scores.values():
                coverage = CostCoverage.NONE if score.cost_micros is None else CostCoverage.COMPLETE
                facts.append(CostGroup(row.currency, "reported", coverage, 1, score.cost_micros or 0))
        return fold(facts)


def collect(run: Run, accept_rejected: bool = False) -> Collected:
    """The run in memory. Without `accept_rejected` the first rejected row refuses the whole run."""
    rows: list[Facts] = []
    rejected: list[Rejected] = []
    names: dict[bytes, str | int] = {}
    for entry in settled(run):
        if isinstance(entry, Rejected):
            if not accept_rejected:
                raise Refused(entry.code, entry.message, entry.place)
            rejected.append(entry)
            continue
        source = source_digest(entry.case.source_id)
        names.setdefault(source, entry.case.source_id)
        known = entry.cost_micros is not None
        coverage = CostCoverage.PARTIAL if entry.cost_partial else CostCoverage.COMPLETE
        rows.append(
            Facts(
                source=source,
                content=content_digest(entry.case),
                group=group_digest(entry.case.group),
                repetition=entry.repetition,
                generation=entry.generation,
                failure=entry.failure,
                latency_ms=entry.duration_ms,
                cost_micros=entry.cost_micros,
                coverage=coverage if known else CostCoverage.NONE,
                basis=(entry.cost_basis or "reported")[:20],
                currency=entry.currency,
                scores=entry.scores,
            )
        )
    return Collected(run.facts, tuple(rows), tuple(rejected), names)


def metric_of(scorer: Scorer) -> Metric:
    """What the values of a scorer mean."""
    return Metric(scorer.key, scorer.name, scorer.kind, scorer.direction, scorer.low, scorer.high, scorer.unit)


def _is_share(scorer: Scorer) -> bool:
    """On the scale from 0 to 1 the kind is read off the values, and may differ between two files of one grader."""
    return scorer.kind is not Kind.CATEGORICAL and (scorer.low, scorer.high) == (0.0, 1.0)


def grader_identity(scorer: Scorer) -> str:
    """Content hash of all that is known of a grader: equal hash, same measurement."""
    known = {
        "key": scorer.key,
        "name": scorer.name,
        "kind": "share" if _is_share(scorer) else scorer.kind.value,
        "direction": scorer.direction.value,
        "low": scorer.low,
        "high": scorer.high,
        "unit": scorer.unit,
        "categories": list(scorer.categories),
        "config": scorer.config,
    }
    return hashlib.sha256(b"evenhand/grader/1\0" + strict_json.canonical(known)).hexdigest()
