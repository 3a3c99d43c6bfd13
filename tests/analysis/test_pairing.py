"""What pairs, and why the rest does not."""

from __future__ import annotations

import numpy as np

from analysis.columns import build_side_columns
from analysis.observations import Arm, Series
from analysis.pairing import REASONS, Pairing, pair
from tests.factories.arms import Cases, random_cases, rows, side


def arms(
    candidate: Cases,
    baseline: Cases,
    *,
    candidate_contents: dict[str, str | None] | None = None,
    baseline_contents: dict[str, str | None] | None = None,
) -> tuple[Arm, Arm, Pairing]:
    first = side(candidate, contents=candidate_contents).arm
    second = side(baseline, contents=baseline_contents).arm
    return first, second, pair(first, second)


def reasons(pairing: Pairing) -> tuple[list[str], list[str]]:
    return (
        [REASONS[code] for code in pairing.candidate_unpaired.reason],
        [REASONS[code] for code in pairing.baseline_unpaired.reason],
    )


def test_cases_pair_by_source_and_repetitions_by_number() -> None:
    first, second, found = arms({"a": [1, 0, 1], "b": [1]}, {"b": [0], "a": [None, 1, 1, 1]})
    assert len(found.candidate_case) == 2
    assert first.source[found.candidate_case].tolist() == second.source[found.baseline_case].tolist()
    assert (first.repetition[found.candidate_row] == second.repetition[found.baseline_row]).all()
    assert len(found.candidate_row) == 3
    assert reasons(found) == (["repetition_count"], ["repetition_count"])
    assert found.cases == 2


def test_a_case_of_one_side_is_missing_on_the_other() -> None:
    _, _, found = arms({"a": [1], "b": [1, 1]}, {"a": [1], "c": [1]})
    assert reasons(found) == (["missing", "missing"], ["missing"])
    assert found.cases == 3


def test_two_captured_contents_that_differ_never_pair() -> None:
    _, _, found = arms({"a": [1, 1], "b": [1]}, {"a": [1, 1], "b": [1]}, baseline_contents={"a": "changed"})
    assert reasons(found) == (["revised", "revised"], ["revised", "revised"])
    assert len(found.candidate_case) == 1


def test_a_content_that_was_not_captured_pairs_and_is_flagged() -> None:
    for mine, other in ((None, "a"), ("a", None), (None, None)):
        _, _, found = arms({"a": [1]}, {"a": [1]}, candidate_contents={"a": mine}, baseline_contents={"a": other})
        assert found.revision_unknown.tolist() == [True]
        assert len(found.candidate_row) == 1


def test_an_empty_side_pairs_nothing() -> None:
    _, _, found = arms({}, {"a": [1]})
    assert len(found.candidate_row) == 0
    assert reasons(found) == ([], ["missing"])
    _, _, found = arms({}, {})
    assert found.cases == 0


def test_digests_with_one_beginning_are_told_apart() -> None:
    """The short comparison of eight bytes falls back to the whole digest."""

    def build(ends: list[int]) -> tuple[Arm, Series]:
        (row,) = rows({"x": [1]})
        return build_side_columns(
            row._replace(source_digest=b"\x07" * 8 + bytes([end]) * 24, content_digest=b"") for end in ends
        )

    (first, _), (second, _) = build([1, 2, 9]), build([2, 9, 11])
    found = pair(first, second)
    assert first.source[found.candidate_case].tolist() == second.source[found.baseline_case].tolist()
    assert len(found.candidate_case) == 2
    assert found.cases == 4
    (third, _), (fourth, _) = build([1]), build([2])
    assert len(pair(third, fourth).candidate_case) == 0


def test_every_row_is_paired_or_has_a_reason() -> None:
    cases = random_cases(300, 3, rate=0.5, seed=3)
    names = list(cases)
    first, second, found = arms(
        {name: cases[name][: 1 + index % 3] for index, name in enumerate(names[:250])},
        {name: cases[name] for name in names[50:]},
        baseline_contents=dict.fromkeys(names[60:90], "new"),
    )
    for arm, row, unpaired in (
        (first, found.candidate_row, found.candidate_unpaired),
        (second, found.baseline_row, found.baseline_unpaired),
    ):
        assert sorted([*row.tolist(), *unpaired.row.tolist()]) == list(range(len(arm.case)))
    back = pair(second, first)
    assert np.array_equal(back.candidate_row, found.baseline_row)
    assert np.array_equal(back.baseline_unpaired.reason, found.candidate_unpaired.reason)
