"""The one loader: a resolved selection becomes two `analysis.observations.Side`.

Everything is read from the frozen columns of finished experiments and passes, in a fixed number of
queries whatever the number of cases. What is immutable stays on a shelf of the process.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from uuid import UUID

import numpy as np
from django.db import connection
from django.db.models import Count, Model
from numpy.typing import NDArray
from psycopg import Cursor

from analysis.observations import (
    CostCoverage,
    Direction,
    Generation,
    Grader,
    Kind,
    Metric,
    Outcome,
    Series,
    Side,
    Spend,
)
from analysis.spend import CostGroup, fold
from analysis.verdicts.paired import EXPECTED_FACTS, UNKNOWN
from comparisons.selection import Chosen, Resolved
from comparisons.shelf import Shelf
from grading import columns as series_columns
from grading.models import Interpretation, SeriesColumn
from runs import columns as arm_columns
from runs.columns import FrozenArm
from runs.models import Answer, ArmColumns, State
from teams.records import Availability

ENDED = (Outcome.SCORED, Outcome.ABSTAINED, Outcome.NOT_APPLICABLE, Outcome.GRADER_ERROR)
MEGABYTE = 1024 * 1024

_arms: Shelf[FrozenArm] = Shelf(24 * MEGABYTE)
_series: Shelf[Series] = Shelf(16 * MEGABYTE)
_spends: Shelf[Spend] = Shelf(MEGABYTE)


def forget() -> None:
    """Empty the shelves of this process; for tests and measurements."""
    for shelf in (_arms, _series, _spends):
        shelf.clear()


@dataclass(frozen=True)
class Loaded:
    """The columns behind one side, with the ids that pages and exports name."""

    chosen: Chosen
    frozen: FrozenArm
    series: Series
    """Of the selected grader version, with the interpretation applied."""

    def revisions(self, cases: Iterable[int]) -> list[UUID]:
        return [self.frozen.revision(case) for case in cases]

    @cached_property
    def revision_order(self) -> NDArray[np.int64]:
        """Cases in the order of their revisions' ids, for looking revisions up."""
        return np.argsort(self.frozen.revisions, kind="stable")


def load(resolved: Resolved) -> tuple[Loaded, Loaded]:
    """The columns of both sides; at most two queries."""
    chosen = (resolved.candidate, resolved.baseline)
    arms = _load_arms([one.experiment.pk for one in chosen])
    series = _load_series([one.series for one in chosen])
    return (
        Loaded(chosen[0], arms[chosen[0].experiment.pk], _read(series[chosen[0].series.pk], chosen[0].interpretation)),
        Loaded(chosen[1], arms[chosen[1].experiment.pk], _read(series[chosen[1].series.pk], chosen[1].interpretation)),
    )


def _load_arms(ids: Sequence[UUID]) -> dict[UUID, FrozenArm]:
    found = {pk: arm for pk in set(ids) if (arm := _arms.get(pk)) is not None}
    missing = set(ids) - set(found)
    if missing:
        for kept in _rows(ArmColumns, "experiment_id", missing):
            arm = arm_columns.thaw(kept)
            _arms.put(kept.experiment_id, arm, len(arm.executions) * 35 + len(arm.revisions) * 80)
            found[kept.experiment_id] = arm
    return found


def _rows[Row: Model](model: type[Row], key: str, wanted: Iterable[Any]) -> list[Row]:
    """Rows with their bytes in the binary form of the wire, which Django's own cursors do not speak.

    The text form doubles each byte and is read twice: 38 ms instead of 6 for two arms of 30,000 rows.
    """
    names = [field.attname for field in model._meta.concrete_fields]  # their columns have the same names
    columns = ", ".join(connection.ops.quote_name(name) for name in names)
    connection.ensure_connection()
    with connection.wrap_database_errors, Cursor(connection.connection) as cursor:
        cursor.execute(
            f"SELECT {columns} FROM {model._meta.db_table} WHERE {key} = ANY(%s)", [list(wanted)], binary=True
        )
        return [model.from_db(connection.alias, names, row) for row in cursor.fetchall()]


def _load_series(wanted: Sequence[SeriesColumn]) -> dict[int, Series]:
    keys = {one.pk: (one.pk, one.digest) for one in wanted}
    found = {pk: series for pk, key in keys.items() if (series := _series.get(key)) is not None}
    missing = set(keys) - set(found)
    if missing:
        for kept in _rows(SeriesColumn, "id", missing):
            series = series_columns.thaw(kept)
            _series.put(keys[kept.pk], series, kept.rows * 13)
            found[kept.pk] = series
    return found


def _read(series: Series, interpretation: Interpretation | None) -> Series:
    """A categorical series under a pinned mapping: a value per category, and no value where it maps to null."""
    if interpretation is None:
        return series
    mapping: dict[str, float | None] = interpretation.mapping
    values = [mapping.get(category) for category in series.categories]
    of_category = np.array([np.nan if value is None else float(value) for value in values] + [np.nan])
    value = of_category[series.category]  # -1, no category, takes the last entry
    scored = (series.outcome == Outcome.SCORED) & (series.category >= 0)
    outcome = series.outcome.copy()
    outcome[scored & ~np.isfinite(value)] = Outcome.ABSTAINED
    return Series(
        outcome=outcome,
        value=np.where(scored, value, np.nan),
        category=np.full(len(outcome), -1, dtype=np.int32),
    )


# --- what the sides are --------------------------------------------------------------------------


def sides(resolved: Resolved, loaded: tuple[Loaded, Loaded], spends: tuple[Spend, Spend]) -> tuple[Side, Side]:
    """What `analysis.paired.compare` takes."""
    chosen = [one.chosen for one in loaded]
    plans = _pass_outcomes(chosen)
    labels = _labels(resolved)
    made = [
        Side(
            label=label,
            metric=metric(one.chosen),
            grader=grader(one.chosen),
            arm=one.frozen.arm,
            series=one.series,
            **_completion(one, plans),
            spend=spend,
            facts=facts(one.chosen),
            duplicates=one.chosen.experiment.duplicates,
        )
        for one, spend, label in zip(loaded, spends, labels, strict=True)
    ]
    return made[0], made[1]


def _labels(resolved: Resolved) -> tuple[str, str]:
    """Names of the sides in sentences; two sides of one name are told apart by experiment or pass."""
    mine, other = resolved.candidate, resolved.baseline
    if mine.label != other.label:
        return mine.label, other.label
    if mine.experiment.pk != other.experiment.pk:
        return tuple(f"{one.label} (experiment {one.experiment.number})" for one in (mine, other))  # type: ignore[return-value]
    if mine.grading_pass.pk != other.grading_pass.pk:
        return tuple(f"{one.label} (pass {one.grading_pass.number})" for one in (mine, other))  # type: ignore[return-value]
    return tuple(f"{one.label} ({one.version.grader.name} v{one.version.number})" for one in (mine, other))  # type: ignore[return-value]


def metric(chosen: Chosen) -> Metric:
    """What the selected values mean; an interpretation gives categories values and a direction."""
    definition = chosen.version.grader.definition
    if chosen.interpretation is None:
        return Metric(
            key=definition.key,
            name=definition.name,
            kind=Kind(definition.kind),
            direction=Direction(definition.direction),
            low=definition.low,
            high=definition.high,
            unit=definition.unit,
        )
    values = sorted({float(value) for value in chosen.interpretation.mapping.values() if value is not None})
    boolean = set(values) <= {0.0, 1.0}
    spread = len(values) > 1
    return Metric(
        key=definition.key,
        name=definition.name,
        kind=Kind.BOOLEAN if boolean else Kind.NUMERIC,
        direction=Direction(chosen.interpretation.direction),
        low=0.0 if boolean else values[0] if spread else None,
        high=1.0 if boolean else values[-1] if spread else None,
    )


def grader(chosen: Chosen) -> Grader:
    interpretation = chosen.interpretation
    return Grader(
        name=chosen.version.grader.name,
        version=chosen.version.number,
        identity=chosen.version.sha256,
        interpretation=interpretation.sha256 if interpretation else "",
        interpretation_label=interpretation.name if interpretation else "",
    )


def facts(chosen: Chosen) -> tuple[tuple[str, str], ...]:
    """Configuration facts of a side. What nobody recorded reads Unknown, and proves no equality."""
    recorded: dict[str, str] = {}
    for name, value in (*_pairs(chosen.experiment.subject.facts), *_pairs(chosen.experiment.facts)):
        recorded.setdefault(name, value or UNKNOWN)
    spelled = {name.lower(): name for name in recorded}
    found = {}
    for name in EXPECTED_FACTS:
        found[name] = recorded.pop(spelled[name.lower()]) if name.lower() in spelled else UNKNOWN
    found |= recorded
    experiment = chosen.experiment
    found |= {
        "Dataset version": str(experiment.version.number),
        "Repetitions": str(experiment.repetitions),
        "Evidence": experiment.get_trust_display(),
        "Grader": f"{chosen.version.grader.name} v{chosen.version.number}",
        "Grader configuration": chosen.version.sha256[:12],
        "Interpretation": chosen.interpretation.name if chosen.interpretation else "Raw categories",
    }
    return tuple(found.items())


def _pairs(stored: Any) -> Iterable[tuple[str, str]]:
    """Stored facts as (name, value): a list of pairs, or of objects with `name` and `value`."""
    for fact in stored or ():
        if isinstance(fact, dict):
            name, value = fact.get("name", ""), fact.get("value")
        else:
            name, value = fact
        yield str(name), UNKNOWN if value is None else str(value)


# --- grading of a whole pass -----------------------------------------------------------------------


def _pass_outcomes(chosen: Sequence[Chosen]) -> dict[UUID, list[tuple[SeriesColumn, NDArray[np.uint8]]]]:
    """Outcomes of every grader version of the selected passes; one query at most."""
    wanted = {one.grading_pass.pk for one in chosen}
    rows = list(
        SeriesColumn.objects.filter(grading_pass_id__in=wanted)
        .select_related("version__grader__definition")
        .defer("value", "category", "categories")
        .order_by("version__grader__name", "-version__number")
    )
    found: dict[UUID, list[tuple[SeriesColumn, NDArray[np.uint8]]]] = {pk: [] for pk in wanted}
    for row in rows:
        found[row.grading_pass_id].append((row, np.frombuffer(row.outcome, dtype="u1")))
    return found


def _completion(one: Loaded, plans: dict[UUID, list[tuple[SeriesColumn, NDArray[np.uint8]]]]) -> dict[str, int]:
    """Judgments of the whole pass on completed answers: expected, ended, waiting for evidence."""
    answered = one.frozen.arm.generation == Generation.COMPLETED
    counts = np.zeros(len(Outcome), dtype=np.int64)
    graders = plans[one.chosen.grading_pass.pk]
    for _, outcome in graders:
        counts += np.bincount(outcome[answered], minlength=len(Outcome))
    return {
        "pass_expected": int(answered.sum()) * len(graders),
        "pass_completed": int(sum(counts[end] for end in ENDED)),
        "pass_waiting": int(counts[Outcome.WAITING_FOR_EVIDENCE]),
    }


@dataclass(frozen=True, slots=True)
class CoverageRow:
    """One exact pass, grader version and metric: what became of its judgments."""

    side: str
    pass_number: int
    grader: str
    version: int
    metric: str
    selected: bool
    eligible: int
    not_applicable: int
    scored: int
    abstained: int
    grader_error: int
    pending: int
    waiting: int
    cancelled: int
    missing: int

    @property
    def applicable(self) -> int:
        return self.eligible - self.not_applicable


def coverage(loaded: tuple[Loaded, Loaded]) -> list[CoverageRow]:
    """Coverage of every grader on the selected passes, each by its own denominator."""
    plans = _pass_outcomes([one.chosen for one in loaded])
    rows = []
    for side, one in zip(("candidate", "baseline"), loaded, strict=True):
        answered = one.frozen.arm.generation == Generation.COMPLETED
        for kept, outcome in plans[one.chosen.grading_pass.pk]:
            counts = np.bincount(outcome[answered], minlength=len(Outcome))
            rows.append(
                CoverageRow(
                    side=side,
                    pass_number=one.chosen.grading_pass.number,
                    grader=kept.version.grader.name,
                    version=kept.version.number,
                    metric=kept.version.grader.definition.name,
                    selected=kept.version_id == one.chosen.version.pk,
                    eligible=int(answered.sum()),
                    not_applicable=int(counts[Outcome.NOT_APPLICABLE]),
                    scored=int(counts[Outcome.SCORED]),
                    abstained=int(counts[Outcome.ABSTAINED]),
                    grader_error=int(counts[Outcome.GRADER_ERROR] + counts[Outcome.INDETERMINATE]),
                    pending=int(counts[Outcome.PENDING]),
                    waiting=int(counts[Outcome.WAITING_FOR_EVIDENCE]),
                    cancelled=int(counts[Outcome.CANCELLED]),
                    missing=int(counts[Outcome.NONE]),
                )
            )
    return rows


@dataclass(frozen=True, slots=True)
class FailedAttempts:
    """Attempts that failed, were blocked or interrupted, with a measured duration; never capped."""

    count: int
    median_ms: float | None
    """The lower median: a duration that was really measured."""


def failed_attempts(resolved: Resolved) -> tuple[FailedAttempts, FailedAttempts]:
    ids = [resolved.candidate.experiment.pk, resolved.baseline.experiment.pk]
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT e.experiment_id, count(*), percentile_disc(0.5) WITHIN GROUP (ORDER BY a.duration_ms)
            FROM runs_attempt a JOIN runs_execution e ON e.id = a.execution_id
            WHERE e.experiment_id = ANY(%s) AND a.duration_ms IS NOT NULL
            AND a.state IN ('failed', 'blocked', 'interrupted')
            GROUP BY e.experiment_id
            """,
            [ids],
        )
        found = {row[0]: FailedAttempts(row[1], row[2]) for row in cursor.fetchall()}
    return found.get(ids[0], FailedAttempts(0, None)), found.get(ids[1], FailedAttempts(0, None))


def taken_away(resolved: Resolved) -> tuple[int, int]:
    """Answers of each side that were there and have expired, or were deleted or redacted."""
    ids = [resolved.candidate.experiment.pk, resolved.baseline.experiment.pk]
    counted = dict(
        Answer.objects.filter(execution__experiment_id__in=ids)
        .exclude(availability=Availability.AVAILABLE)
        .values_list("execution__experiment_id")
        .annotate(count=Count("pk"))
    )
    return counted.get(ids[0], 0), counted.get(ids[1], 0)


# --- spend -----------------------------------------------------------------------------------------


def spend_key(chosen: Chosen) -> tuple[Any, ...] | None:
    """What a full-run spend depends on; None while a pass still runs, since its judgments may change."""
    if any(one.state not in (State.COMPLETED, State.FAILED, State.CANCELLED) for one in chosen.all_passes):
        return None
    return (
        str(chosen.experiment.pk),
        chosen.experiment.armcolumns.sha256,
        chosen.experiment.late_costs,
        *(str(one.pk) for one in chosen.all_passes),
    )


def spends(resolved: Resolved) -> tuple[Spend, Spend]:
    """Generation, validators and every pass of both experiments, folded; one query where they are not on the shelf."""
    chosen = {one.experiment.pk: one for one in (resolved.candidate, resolved.baseline)}
    keys = {pk: spend_key(one) for pk, one in chosen.items()}
    found = {pk: kept for pk, key in keys.items() if key is not None and (kept := _spends.get(key)) is not None}
    missing = [pk for pk in chosen if pk not in found]
    if missing:
        groups: dict[UUID, list[tuple[str, str, int, int, int]]] = {pk: [] for pk in missing}
        with connection.cursor() as cursor:
            cursor.execute(
                """
                SELECT experiment_id, currency, cost_basis, cost_coverage, count(*), sum(cost_micros)
                FROM runs_execution
                WHERE experiment_id = ANY(%(ids)s) AND state <> ALL(%(unstarted)s)
                GROUP BY 1, 2, 3, 4
                UNION ALL
                SELECT p.experiment_id, j.currency, j.cost_basis, j.cost_coverage, count(*), sum(j.cost_micros)
                FROM grading_judgment j JOIN grading_gradingpass p ON p.id = j.grading_pass_id
                WHERE p.experiment_id = ANY(%(ids)s) AND j.outcome <> ALL(%(unasked)s)
                GROUP BY 1, 2, 3, 4
                UNION ALL
                SELECT x.experiment_id, n.currency, n.cost_basis, n.cost_coverage, count(*), sum(n.cost_micros)
                FROM grading_enrichment n JOIN runs_execution x ON x.id = n.execution_id
                WHERE x.experiment_id = ANY(%(ids)s) AND n.outcome <> ALL(%(unasked)s)
                GROUP BY 1, 2, 3, 4
                """,
                {
                    "ids": missing,
                    "unstarted": [Generation.PLANNED.value, Generation.BLOCKED.value],
                    "unasked": [Outcome.PENDING.value, Outcome.WAITING_FOR_EVIDENCE.value],
                },
            )
            for pk, *group in cursor.fetchall():
                groups[pk].append((group[0], group[1], group[2], group[3], int(group[4])))
        for pk in missing:
            folded = fold(CostGroup(a, b, CostCoverage(c), n, micros) for a, b, c, n, micros in groups[pk])
            found[pk] = folded
            if (key := keys[pk]) is not None:
                _spends.put(key, folded, 500)
    return found[resolved.candidate.experiment.pk], found[resolved.baseline.experiment.pk]
