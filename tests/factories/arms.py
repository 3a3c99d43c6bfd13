"""Sides of a paired comparison from simple Python rows.

    side({"a": [1, 0], "b": [Outcome.ABSTAINED, FailureKind.TIMED_OUT]})

A case is a name and a list of marks, one per repetition, counted from 1:
a number or bool is a scored value; a text is a scored category; an `Outcome` is a judgment without
a value on a completed answer; a `FailureKind` is a failed generation; a `Generation` is any other
generation state; None is no row at all (a repetition that does not exist).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from analysis.columns import Row, build_side_columns
from analysis.observations import (
    NO_CONTENT,
    Arm,
    CostCoverage,
    Direction,
    FailureKind,
    Generation,
    Grader,
    Kind,
    Metric,
    Outcome,
    Series,
    Side,
    Spend,
    source_digest,
)

type Mark = bool | int | float | str | Outcome | FailureKind | Generation | None
type Cases = Mapping[str, Sequence[Mark]]  # read-only here, so that lists of plain numbers serve as well
NO_SPEND = Spend(known_micros=0, coverage=CostCoverage.NONE, basis="not reported", currency="USD", facts=0, priced=0)


def content_digest(text: str) -> bytes:
    return hashlib.sha256(b"content\0" + text.encode()).digest()


def rows(
    cases: Cases,
    *,
    contents: Mapping[str, str | None] | None = None,
    latency_ms: float | None = None,
    cost_micros: int | None = None,
) -> Iterator[Row]:
    """One row per mark. A case's content is its name unless `contents` says otherwise; None is not captured."""
    for name, marks in cases.items():
        text = (contents or {}).get(name, name)
        content = NO_CONTENT if text is None else content_digest(text)
        for repetition, mark in enumerate(marks, start=1):
            if mark is None:
                continue
            generation, failure, outcome = Generation.COMPLETED, FailureKind.NONE, Outcome.SCORED
            value: float | None = None
            category: str | None = None
            if isinstance(mark, FailureKind):
                generation, failure, outcome = Generation.FAILED, mark, Outcome.NONE
            elif isinstance(mark, Generation):
                generation, outcome = mark, Outcome.NONE
            elif isinstance(mark, Outcome):
                outcome = mark
            elif isinstance(mark, str):
                category = mark
            else:
                value = float(mark)
            yield Row(
                source_digest=source_digest(name),
                content_digest=content,
                repetition=repetition,
                generation=generation,
                failure=failure,
                latency_ms=latency_ms,
                cost_micros=cost_micros,
                coverage=CostCoverage.NONE if cost_micros is None else CostCoverage.COMPLETE,
                outcome=outcome,
                value=value,
                category=category,
            )


def metric(
    kind: Kind = Kind.BOOLEAN,
    direction: Direction = Direction.HIGHER_IS_BETTER,
    *,
    key: str = "correct",
    name: str = "Correct",
    low: float | None = None,
    high: float | None = None,
    unit: str = "",
) -> Metric:
    """A boolean metric has the scale 0 to 1 unless bounds are given."""
    if kind is Kind.BOOLEAN and low is None and high is None:
        low, high = 0.0, 1.0
    return Metric(key=key, name=name, kind=kind, direction=direction, low=low, high=high, unit=unit)


def grader(identity: str = "exact_answer/4", **changes: object) -> Grader:
    values: dict[str, object] = {"name": "exact_answer", "version": 4, "identity": identity} | changes
    return Grader(**values)  # type: ignore[arg-type]  # the callers are tests that name the fields


def side_of(
    arm: Arm,
    series: Series,
    *,
    label: str = "gpt-5-nano",
    measured: Metric | None = None,
    graded_by: Grader | None = None,
    spend: Spend = NO_SPEND,
    facts: tuple[tuple[str, str], ...] = (),
    duplicates: int = 0,
) -> Side:
    """A side around given columns; the pass is complete exactly where its judgments ended."""
    completed = arm.generation == Generation.COMPLETED
    ended = np.isin(series.outcome, (Outcome.SCORED, Outcome.ABSTAINED, Outcome.NOT_APPLICABLE, Outcome.GRADER_ERROR))
    waiting = series.outcome == Outcome.WAITING_FOR_EVIDENCE
    return Side(
        label=label,
        metric=measured or metric(),
        grader=graded_by or grader(),
        arm=arm,
        series=series,
        pass_expected=int(completed.sum()),
        pass_completed=int((completed & ended).sum()),
        pass_waiting=int((completed & waiting).sum()),
        spend=spend,
        facts=facts,
        duplicates=duplicates,
    )


def side(
    cases: Cases | Iterable[Row],
    *,
    contents: Mapping[str, str | None] | None = None,
    latency_ms: float | None = None,
    cost_micros: int | None = None,
    label: str = "gpt-5-nano",
    measured: Metric | None = None,
    graded_by: Grader | None = None,
    spend: Spend = NO_SPEND,
    facts: tuple[tuple[str, str], ...] = (),
    duplicates: int = 0,
) -> Side:
    """A side from marks (see the top of this file) or from finished rows."""
    if isinstance(cases, Mapping):
        cases = rows(cases, contents=contents, latency_ms=latency_ms, cost_micros=cost_micros)
    arm, series = build_side_columns(cases)
    return side_of(
        arm,
        series,
        label=label,
        measured=measured,
        graded_by=graded_by,
        spend=spend,
        facts=facts,
        duplicates=duplicates,
    )


def random_cases(
    cases: int, repetitions: int, *, rate: float, seed: int, kind: Kind = Kind.BOOLEAN
) -> dict[str, list[float]]:
    """Values for `cases` cases named case-0 … with their own difficulty, shared by every call of one size.

    `rate` is the mean value. Two calls with the same size and different seeds are two paired arms.
    """
    difficulty = np.random.default_rng(987).normal(size=cases)
    noise = np.random.default_rng(seed).normal(size=(cases, repetitions))
    logit = np.log(rate / (1 - rate)) + 1.5 * difficulty[:, None]
    if kind is Kind.NUMERIC:
        values = rate + 0.2 * difficulty[:, None] + 0.1 * noise
    else:
        uniform = np.random.default_rng(seed + 1).random((cases, repetitions))
        values = (uniform < 1 / (1 + np.exp(-logit))).astype(float)
    return {f"case-{index}": values[index].tolist() for index in range(cases)}
