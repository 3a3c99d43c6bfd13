"""Which points count, and what decided ones earn."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.checklist import Point, effective, score

BODY = {
    "input": "?",
    "checklist": [
        {"id": "1", "text": "Greets", "points": 1},
        {
            "id": "2",
            "text": "Says when",
            "points": 3,
            "sub_items": [{"id": "day", "text": "the day", "points": 2}, {"id": "hour", "text": "hour", "points": 1}],
        },
    ],
    "variants": [{"name": "hard", "checklist": [{"id": "3", "text": "Says why", "points": 4}]}, {"name": "plain"}],
}


def test_a_variant_adds_its_points_to_the_common_ones():
    common = [("1", ""), ("2", "day"), ("2", "hour")]
    assert [point.key for point in effective(BODY)] == common
    assert [point.key for point in effective(BODY, "plain")] == common
    assert [point.key for point in effective(BODY, "hard")] == [*common, ("3", "")]
    with pytest.raises(KeyError):
        effective(BODY, "other")
    assert effective({"input": "?"}) == ()


def test_an_excluded_point_goes_with_its_sub_items():
    assert [point.key for point in effective(BODY, "hard", {"2"})] == [("1", ""), ("3", "")]


def test_points_that_nobody_decided_count_neither_for_nor_against():
    points = effective(BODY, "hard")
    found = score(points, {("1", ""): True, ("2", "day"): False, ("2", "hour"): True})
    assert (found.earned, found.available, found.decided, found.open) == (2, 4, 3, 1)
    assert found.share == 0.5
    nothing = score(points, {})
    assert (nothing.share, nothing.open) == (None, 4)


POINTS = st.lists(st.floats(0.5, 10), max_size=8).map(
    lambda worth: [Point(str(at), "", "x", value) for at, value in enumerate(worth)]
)


@given(POINTS, st.lists(st.sampled_from([True, False, None]), min_size=8, max_size=8), st.randoms())
def test_the_order_of_points_changes_nothing_and_a_pass_never_costs(points, said, chance):
    verdicts = {point.key: verdict for point, verdict in zip(points, said, strict=False) if verdict is not None}
    found = score(points, verdicts)
    shuffled = list(points)
    chance.shuffle(shuffled)
    again = score(shuffled, verdicts)
    assert (again.decided, again.open) == (found.decided, found.open)
    assert again.earned == pytest.approx(found.earned) and again.available == pytest.approx(found.available)
    for point in points:
        if verdicts.get(point.key) is False:
            assert score(points, {**verdicts, point.key: True}).share >= found.share
