"""Rows become canonical columns, or are refused whole."""

from __future__ import annotations

import random

import numpy as np
import pytest

from analysis.columns import Row, build_side_columns, digest_order
from analysis.observations import (
    NO_CONTENT,
    CostCoverage,
    FailureKind,
    Generation,
    Outcome,
    group_digest,
    series_digest,
    source_digest,
)
from analysis.refusals import Refused
from tests.factories.arms import Mark, content_digest, rows

CASES: dict[str, list[Mark]] = {
    "a": [1, 0, Outcome.ABSTAINED],
    "b": [FailureKind.TIMED_OUT, 1],
    "c": [None, 1, 0],
    "d": [Generation.BLOCKED, Outcome.GRADER_ERROR],
}
ROW = Row(
    source_digest("a"),
    content_digest("a"),
    1,
    Generation.COMPLETED,
    FailureKind.NONE,
    12.5,
    7,
    CostCoverage.COMPLETE,
    Outcome.SCORED,
    1.0,
    None,
)


def test_the_order_of_rows_has_no_part() -> None:
    given = list(rows(CASES, latency_ms=3.0, cost_micros=5))
    first = build_side_columns(given)
    random.Random(1).shuffle(given)  # an order, not a secret
    second = build_side_columns(given)
    assert series_digest(*first) == series_digest(*second)
    for name in ("source", "content", "case", "repetition", "generation", "failure", "latency_ms", "cost_micros"):
        assert np.array_equal(getattr(first[0], name), getattr(second[0], name)), name


def test_columns_are_canonical() -> None:
    arm, series = build_side_columns(rows(CASES))
    assert arm.source.tolist() == sorted(arm.source.tolist())
    assert arm.case.tolist() == sorted(arm.case.tolist())
    assert len(arm.case) == len(series.value) == 9
    for case in range(len(arm.source)):
        inside = arm.repetition[arm.case == case].tolist()
        assert inside == sorted(set(inside))
    assert np.isfinite(series.value).sum() == 5
    assert np.isnan(arm.latency_ms).all()
    assert (arm.cost_coverage == CostCoverage.NONE).all()


def test_plain_tuples_serve_as_rows() -> None:
    assert series_digest(*build_side_columns([tuple(ROW)])) == series_digest(*build_side_columns([ROW]))


def test_no_rows_are_a_side_without_cases() -> None:
    arm, series = build_side_columns([])
    assert len(arm.source) == len(arm.case) == len(series.value) == 0
    assert series_digest(arm, series) == series_digest(*build_side_columns([]))


def test_categories_are_numbered_by_text() -> None:
    arm, series = build_side_columns(rows({"x": ["refund"], "y": ["apology"], "z": ["refund"]}))
    assert series.categories == ("apology", "refund")
    assert sorted(series.category.tolist()) == [0, 1, 1]
    assert len(arm.case) == 3


def test_a_content_captured_in_one_repetition_is_the_content_of_the_case() -> None:
    arm, _ = build_side_columns([ROW._replace(content_digest=NO_CONTENT), ROW._replace(repetition=2)])
    assert arm.content.tolist() == [content_digest("a")]


def test_a_case_has_one_group_or_none() -> None:
    named = ROW._replace(group_digest=group_digest("a contract"))
    arm, _ = build_side_columns([ROW, named._replace(repetition=2)])
    assert arm.group.tolist() == [group_digest("a contract").rstrip(b"\0")]
    assert len(build_side_columns([ROW])[0].group) == 0
    with pytest.raises(Refused) as refused:
        build_side_columns([named, named._replace(repetition=2, group_digest=group_digest("another"))])
    assert refused.value.code == "source_with_two_groups"


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        pytest.param({}, "duplicate_execution", id="twice"),
        pytest.param(
            {"repetition": 2, "content_digest": content_digest("b")}, "source_with_two_contents", id="contents"
        ),
        pytest.param({"repetition": 2, "value": float("nan")}, "invalid_value", id="nan"),
        pytest.param({"repetition": 2, "value": float("inf")}, "invalid_value", id="infinity"),
        pytest.param({"repetition": 2, "value": None}, "score_without_value", id="no value"),
        pytest.param({"repetition": 2, "outcome": Outcome.ABSTAINED}, "value_without_score", id="sentinel"),
        pytest.param({"repetition": 2, "latency_ms": -1.0}, "invalid_latency", id="latency"),
        pytest.param({"repetition": 2, "latency_ms": float("nan")}, "invalid_latency", id="latency nan"),
        pytest.param({"repetition": 2, "cost_micros": None}, "cost_without_amount", id="cost"),
        pytest.param({"repetition": 2, "cost_micros": -5}, "invalid_cost", id="negative cost"),
        pytest.param({"repetition": -1}, "invalid_repetition", id="repetition"),
        pytest.param({"repetition": 2**31}, "invalid_repetition", id="large repetition"),
        pytest.param({"repetition": 2, "failure": FailureKind.HUNG}, "failure_without_failed_generation", id="failure"),
    ],
)
def test_bad_rows_are_refused_whole(changes: dict[str, object], code: str) -> None:
    with pytest.raises(Refused) as refusal:
        build_side_columns([ROW, ROW._replace(**changes)])  # type: ignore[arg-type]  # one changed field per case
    assert refusal.value.code == code


def test_a_digest_of_another_length_is_a_programming_error() -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        build_side_columns([ROW._replace(source_digest=b"short")])


def test_the_order_of_digests_is_the_order_of_their_bytes() -> None:
    same_start = [b"\x01" * 8 + bytes([last]) * 24 for last in (9, 3, 200, 0)]
    others = [source_digest(name) for name in "abcdefgh"]
    digests = np.array(same_start + others, dtype="S32")
    assert [digests[index] for index in digest_order(digests)] == sorted(digests.tolist())
