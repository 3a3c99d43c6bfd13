"""From plain rows to the columns of one side: the one place that sorts and refuses them.

The command line and the database writer both come through here, so the same evidence has the
same columns, and with them the same digest, whatever order it arrived in.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from analysis.observations import (
    Arm,
    CostCoverage,
    FailureKind,
    Generation,
    Outcome,
    Series,
    no_groups,
)
from analysis.refusals import Refused

DIGEST_BYTES = 32
LARGEST_REPETITION = 2**31 - 1


class Row(NamedTuple):
    """One execution with its judgment. A plain tuple in this order serves as well.

    `source_digest` is 32 bytes; `content_digest` is 32 bytes, or empty where the content was not
    captured. `value` is given for scored boolean (0.0 or 1.0) and numeric results, `category` for
    scored categorical ones, neither for anything that was not scored.
    """

    source_digest: bytes
    content_digest: bytes
    repetition: int
    generation: Generation
    failure: FailureKind
    latency_ms: float | None
    cost_micros: int | None
    coverage: CostCoverage
    outcome: Outcome
    value: float | None
    category: str | None
    group_digest: bytes = b""
    """32 bytes of the group of related cases that this one belongs to, or empty."""


def build_side_columns(rows: Iterable[Row | tuple[object, ...]]) -> tuple[Arm, Series]:
    """Canonical columns of one side: cases by source digest, repetitions ascending inside a case.

    Refused, with nothing kept: the same case and repetition twice; one source id with two captured
    contents, or in two groups; a value that is not finite or that belongs to no scored judgment. A case
    that was captured in some repetitions only has the content that was captured, likewise its group.
    The group may be left out of plain tuples.
    """
    table = list(rows)
    if not table:
        return _empty()
    columns = tuple(zip(*table, strict=True))
    if len(columns) not in (len(Row._fields) - 1, len(Row._fields)):
        raise ValueError(f"A row has the {len(Row._fields)} fields {', '.join(Row._fields)}; got {len(columns)}.")
    given = Row(*columns)  # type: ignore[arg-type]  # one tuple per field here, not one value
    source_of_row = _digests(cast("tuple[bytes, ...]", given.source_digest), "source", may_be_empty=False)
    content_of_row = _digests(cast("tuple[bytes, ...]", given.content_digest), "content")
    group_of_row = (
        _digests(cast("tuple[bytes, ...]", given.group_digest), "group") if given.group_digest else no_groups()
    )
    repetition = _whole(given.repetition, "repetition", 0, LARGEST_REPETITION)
    generation = _codes(given.generation, Generation)
    failure = _codes(given.failure, FailureKind)
    coverage = _codes(given.coverage, CostCoverage)
    outcome = _codes(given.outcome, Outcome)
    latency = _measured(cast("tuple[float | None, ...]", given.latency_ms), "latency")
    if (latency < 0).any():
        raise Refused("invalid_latency", "A latency is a number of milliseconds that is not negative.")
    value = _measured(cast("tuple[float | None, ...]", given.value), "value")
    cost = _costs(cast("tuple[int | None, ...]", given.cost_micros), coverage)
    categories, category = _categories(cast("tuple[str | None, ...]", given.category))
    _check_judgments(outcome, value, category)
    healthy = np.isin(generation, (Generation.PLANNED, Generation.RUNNING, Generation.COMPLETED))
    if (healthy & (failure != FailureKind.NONE)).any():
        raise Refused("failure_without_failed_generation", "Only a generation that ended badly has a failure kind.")

    by_source = digest_order(source_of_row)
    starts = np.empty(len(table), dtype=bool)
    starts[0] = True
    starts[1:] = source_of_row[by_source[1:]] != source_of_row[by_source[:-1]]
    case_of_row = np.empty(len(table), dtype=np.int32)
    case_of_row[by_source] = np.cumsum(starts) - 1
    source = source_of_row[by_source[starts]]
    order = np.lexsort((repetition, case_of_row))
    case, repetition = case_of_row[order], repetition[order]
    twice = (case[1:] == case[:-1]) & (repetition[1:] == repetition[:-1])
    if twice.any():
        raise Refused(
            "duplicate_execution",
            f"{int(twice.sum())} rows repeat a case and repetition that another row already has. "
            "Each repetition of a case may appear once.",
        )
    arm = Arm(
        source=source,
        content=_one_per_case(case, content_of_row[order], len(source), TWO_CONTENTS),
        case=case,
        repetition=repetition,
        generation=generation[order],
        failure=failure[order],
        latency_ms=latency[order],
        cost_micros=cost[order],
        cost_coverage=coverage[order],
        group=_groups(case, group_of_row, order, len(source)),
    )
    series = Series(outcome=outcome[order], value=value[order], category=category[order], categories=categories)
    return arm, series


def digest_order(digests: NDArray[np.bytes_]) -> NDArray[np.int64]:
    """Stable ascending order of an 'S32' column.

    Byte strings sort slowly in numpy; the first eight bytes of a SHA-256 digest decide almost
    always, so they are sorted as numbers and the remaining bytes are consulted only on a tie.
    """
    words = _words(digests)
    if not len(words):
        return np.empty(0, dtype=np.int64)
    order = np.argsort(words[:, 0], kind="stable")
    tied = words[order[1:], 0] == words[order[:-1], 0]
    if tied.any() and (words[order[1:]][tied] != words[order[:-1]][tied]).any():
        order = np.lexsort(words.T[::-1])
    return order


def _words(digests: NDArray[np.bytes_]) -> NDArray[np.uint64]:
    """An 'S32' column as (n, 4) numbers whose order is the order of the bytes."""
    flat = np.ascontiguousarray(digests, dtype="S32")
    return flat.view(">u8").reshape(len(flat), 4).astype(np.uint64)


def _digests(given: tuple[bytes, ...], name: str, *, may_be_empty: bool = True) -> NDArray[np.bytes_]:
    lengths = set(map(len, given))
    if not lengths <= ({0, DIGEST_BYTES} if may_be_empty else {DIGEST_BYTES}):
        raise ValueError(f"A {name} digest has {DIGEST_BYTES} bytes.")
    joined = b"".join(given) if lengths == {DIGEST_BYTES} else b"".join(d.ljust(DIGEST_BYTES, b"\0") for d in given)
    return np.frombuffer(joined, dtype="S32")


def _whole(given: object, name: str, low: int, high: int) -> NDArray[np.int32]:
    numbers = np.asarray(given)
    if numbers.dtype.kind not in "iu" or int(numbers.min()) < low or int(numbers.max()) > high:
        raise Refused(f"invalid_{name}", f"A {name} is a whole number from {low} to {high}.")
    return numbers.astype(np.int32)


def _codes(
    given: object, kind: type[Generation] | type[FailureKind] | type[CostCoverage] | type[Outcome]
) -> NDArray[np.uint8]:
    numbers = np.asarray(given)
    if numbers.dtype.kind not in "iu" or int(numbers.min()) < 0 or int(numbers.max()) > max(kind):
        raise ValueError(f"A {kind.__name__} is one of {', '.join(member.name for member in kind)}.")
    return numbers.astype(np.uint8)


def _measured(given: tuple[float | None, ...], name: str) -> NDArray[np.float64]:
    """Numbers with NaN where None was given. NaN and infinity given as numbers are refused."""
    numbers = np.array(given, dtype=np.float64)  # None becomes NaN
    unknown = np.isnan(numbers)
    if np.isinf(numbers).any() or int(unknown.sum()) != given.count(None):
        raise Refused(f"invalid_{name}", f"A {name} is a finite number, or absent where it is not known.")
    return numbers


def _costs(given: tuple[int | None, ...], coverage: NDArray[np.uint8]) -> NDArray[np.int64]:
    known = np.fromiter((cost is not None for cost in given), dtype=bool, count=len(given))
    if (~known & (coverage != CostCoverage.NONE)).any():
        raise Refused("cost_without_amount", "A cost with complete or partial coverage needs its known amount.")
    amounts = np.fromiter((cost or 0 for cost in given), dtype=np.int64, count=len(given))
    if (amounts < 0).any():
        raise Refused("invalid_cost", "A cost is an amount in millionths that is not negative.")
    amounts[coverage == CostCoverage.NONE] = 0  # unknown: the number beside it means nothing
    return amounts


def _categories(given: tuple[str | None, ...]) -> tuple[tuple[str, ...], NDArray[np.int32]]:
    names = tuple(sorted(set(given) - {None}))  # type: ignore[type-var]  # None was just taken out
    index: dict[str | None, int] = {name: position for position, name in enumerate(names)}
    index[None] = -1
    column = np.fromiter((index[name] for name in given), dtype=np.int32, count=len(given))
    return cast("tuple[str, ...]", names), column


def _check_judgments(outcome: NDArray[np.uint8], value: NDArray[np.float64], category: NDArray[np.int32]) -> None:
    scored = outcome == Outcome.SCORED
    given = np.isfinite(value) | (category >= 0)
    if (given & ~scored).any():
        raise Refused("value_without_score", "Only a scored judgment has a value or a category.")
    if (scored & ~given).any():
        raise Refused("score_without_value", "A scored judgment needs a value or a category.")


TWO_CONTENTS = (
    "source_with_two_contents",
    "One source id names two different contents. Inside one experiment a source id is one case.",
)
TWO_GROUPS = (
    "source_with_two_groups",
    "One source id belongs to two groups. Inside one experiment a case belongs to one group at most.",
)


def _one_per_case(
    case: NDArray[np.int32], given: NDArray[np.bytes_], cases: int, refusal: tuple[str, str]
) -> NDArray[np.bytes_]:
    per_case = np.zeros(cases, dtype="S32")
    known = given != b""
    per_case[case[known]] = given[known]
    if (per_case[case[known]] != given[known]).any():
        raise Refused(*refusal)
    return per_case


def _groups(
    case: NDArray[np.int32], given: NDArray[np.bytes_], order: NDArray[np.int64], cases: int
) -> NDArray[np.bytes_]:
    if not (given != b"").any():
        return no_groups()
    return _one_per_case(case, given[order], cases, TWO_GROUPS)


def _empty() -> tuple[Arm, Series]:
    nothing = np.empty(0, dtype=np.uint8)
    arm = Arm(
        source=np.empty(0, dtype="S32"),
        content=np.empty(0, dtype="S32"),
        case=np.empty(0, dtype=np.int32),
        repetition=np.empty(0, dtype=np.int32),
        generation=nothing,
        failure=nothing,
        latency_ms=np.empty(0),
        cost_micros=np.empty(0, dtype=np.int64),
        cost_coverage=nothing,
    )
    return arm, Series(outcome=nothing, value=np.empty(0), category=np.empty(0, dtype=np.int32))
