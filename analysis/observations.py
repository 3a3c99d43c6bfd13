"""The frozen values that cross from rows and files into arithmetic.

An arm is held as columns: one entry per execution, in canonical order (source digest, then
repetition). Nothing here knows where the columns came from, so a comparison of two files and a
comparison of two database experiments with the same evidence are the same comparison.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum

import numpy as np
from numpy.typing import NDArray

NO_CONTENT = b""
"""Content digest of a case whose content was not captured."""


def no_groups() -> NDArray[np.bytes_]:
    """The column of groups of an arm whose cases have none."""
    return np.empty(0, dtype="S32")


class Generation(IntEnum):
    """What became of one execution."""

    PLANNED = 0
    RUNNING = 1
    COMPLETED = 2
    FAILED = 3
    BLOCKED = 4
    CANCELLED = 5
    INDETERMINATE = 6


class FailureKind(IntEnum):
    """Why a generation failed; NONE unless it did."""

    NONE = 0
    PROVIDER_ERROR = 1
    TIMED_OUT = 2
    LIMIT_EXCEEDED = 3
    HUNG = 4
    HARNESS_ERROR = 5
    CATASTROPHIC = 6
    INFRASTRUCTURE_FAILURE = 7
    INVALID_OUTPUT = 8
    RIGHTS_LOST = 9
    INTERRUPTED = 10


class Outcome(IntEnum):
    """What became of one judgment; NONE where the pass holds no judgment for the execution."""

    NONE = 0
    PENDING = 1
    WAITING_FOR_EVIDENCE = 2
    SCORED = 3
    ABSTAINED = 4
    NOT_APPLICABLE = 5
    GRADER_ERROR = 6
    CANCELLED = 7
    INDETERMINATE = 8


class CostCoverage(IntEnum):
    """How much of the cost is known. NONE means unknown, which is never zero."""

    NONE = 0
    PARTIAL = 1
    COMPLETE = 2


class Kind(StrEnum):
    BOOLEAN = "boolean"
    NUMERIC = "numeric"
    CATEGORICAL = "categorical"


class Direction(StrEnum):
    HIGHER_IS_BETTER = "higher_is_better"
    LOWER_IS_BETTER = "lower_is_better"
    UNORDERED = "unordered"


@dataclass(frozen=True, slots=True)
class Metric:
    """What a value means. `low` and `high` bound the scale where it is bounded."""

    key: str
    name: str
    kind: Kind
    direction: Direction
    low: float | None = None
    high: float | None = None
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Grader:
    """Which measurement a series holds. `identity` is a content hash: equal identity, same grader version.

    `interpretation` is the content hash of a pinned mapping of categories, or empty for raw values.
    """

    name: str
    version: int
    identity: str
    interpretation: str = ""
    interpretation_label: str = ""


@dataclass(frozen=True, slots=True)
class Arm:
    """One experiment's executions, m rows over n cases.

    `source` and `content` are SHA-256 digests per case ('S32', n), `source` strictly ascending;
    `content` is empty where the content was not captured. `case` (int32, m) indexes them,
    ascending; inside a case `repetition` (int32, m) is strictly ascending. `latency_ms` is NaN where
    unknown; `cost_micros` is meaningful only as far as `cost_coverage` says. `group` ('S32', n) is the
    digest of what a case shares with others (a document, a template), empty where it has none; the
    column has no entries where no case has a group.
    """

    source: NDArray[np.bytes_]
    content: NDArray[np.bytes_]
    case: NDArray[np.int32]
    repetition: NDArray[np.int32]
    generation: NDArray[np.uint8]
    failure: NDArray[np.uint8]
    latency_ms: NDArray[np.float64]
    cost_micros: NDArray[np.int64]
    cost_coverage: NDArray[np.uint8]
    group: NDArray[np.bytes_] = field(default_factory=no_groups)


@dataclass(frozen=True, slots=True)
class Series:
    """One measurement of an arm, aligned with its rows.

    `value` is finite where `outcome` is SCORED and the metric is boolean or numeric, else NaN.
    `category` indexes `categories` where a categorical value was scored, else -1.
    `cost_micros`, `cost_coverage`: what the judgments cost.
    """

    outcome: NDArray[np.uint8]
    value: NDArray[np.float64]
    category: NDArray[np.int32]
    categories: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Spend:
    """A folded cost: the known part, how much of it is known, and on what ground."""

    known_micros: int
    coverage: CostCoverage
    basis: str
    currency: str
    facts: int
    priced: int


@dataclass(frozen=True, slots=True)
class Side:
    """Everything that one side of a paired comparison brings."""

    label: str
    metric: Metric
    grader: Grader
    arm: Arm
    series: Series
    pass_expected: int
    """Judgments the selected pass expects on completed answers, over all its graders."""
    pass_completed: int
    """Of these, how many reached an end (scored, abstained, not applicable, grader error)."""
    pass_waiting: int
    """Of the outstanding ones, how many wait for evidence."""
    spend: Spend
    """Generation and every grading pass of the experiment."""
    facts: tuple[tuple[str, str], ...] = ()
    """Configuration facts (name, value) in display order; an absent value is the word Unknown."""
    duplicates: int = 0
    """Rows that intake set aside because their case and repetition had already been read."""


def source_digest(source_id: str | int) -> bytes:
    """Identity of a case by name. A number and a text of the same spelling are two cases."""
    kind = b"int" if isinstance(source_id, int) else b"text"
    return hashlib.sha256(b"evenhand/source/1\0" + kind + b"\0" + str(source_id).encode()).digest()


def group_digest(name: str) -> bytes:
    """Identity of a group of related cases by its name; empty for no name."""
    return hashlib.sha256(b"evenhand/group/1\0" + name.encode()).digest() if name else b""


def series_digest(arm: Arm, series: Series) -> str:
    """SHA-256 over the canonical rows (case key, repetition, outcome, value); the same for the same evidence.

    Independent of row order, labels, cost and latency. Categories enter by their text.
    """
    digest = hashlib.sha256(b"evenhand/series/1\0")
    digest.update(np.ascontiguousarray(arm.source, dtype="S32").tobytes())
    digest.update(np.ascontiguousarray(arm.content, dtype="S32").tobytes())
    order = sorted(range(len(series.categories)), key=series.categories.__getitem__)
    rank = np.full(len(order) + 1, -1, dtype="<i4")
    for position, index in enumerate(order):
        rank[index] = position
        digest.update(series.categories[index].encode() + b"\0")
    rows = np.zeros(
        len(arm.case),
        dtype=[("case", "<i4"), ("repetition", "<i4"), ("outcome", "u1"), ("value", "<f8"), ("category", "<i4")],
    )
    rows["case"] = arm.case
    rows["repetition"] = arm.repetition
    rows["outcome"] = series.outcome
    scored = np.isfinite(series.value)
    rows["value"] = np.where(scored, series.value, 0.0) + 0.0  # -0.0 and 0.0 are one value
    rows["category"] = rank[series.category]
    digest.update(rows.tobytes())
    return digest.hexdigest()
