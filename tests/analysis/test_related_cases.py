"""A comparison of cases that share a source counts groups: `docs/statistics.md`, rule table."""

from __future__ import annotations

import dataclasses
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis import groups, planning
from analysis.intervals import paired_t
from analysis.observations import Kind, Side, group_digest, source_digest
from analysis.paired import compare
from analysis.results import PairedResult, plain
from tests.factories.arms import Mark, metric, random_cases, side


def grouped(one: Side, size: int, *, prefix: str = "document", first: int = 0) -> Side:
    """The side with its cases in groups of `size`, in the order of their numbers; the first ones in none."""
    cases = len(one.arm.source)
    number = {source_digest(f"case-{index}"): index for index in range(cases)}
    numbers = [number[bytes(source).ljust(32, b"\0")] for source in one.arm.source]
    names = [b"" if case < first else group_digest(f"{prefix} {case // size}") for case in numbers]
    return dataclasses.replace(one, arm=dataclasses.replace(one.arm, group=np.array(names, dtype="S32")))


def marks(cases: int, seed: int, *, shared: int = 1, repetitions: int = 1) -> dict[str, list[Mark]]:
    """Passes and fails; whole groups of `shared` cases are easy or hard together."""
    source = random.Random(seed)
    found: dict[str, list[Mark]] = {}
    rate = 0.5
    for index in range(cases):
        if index % shared == 0:
            rate = source.choice((0.05, 0.95))
        found[f"case-{index}"] = [int(source.random() < rate) for _ in range(repetitions)]
    return found


def pair_of_sides(cases: int = 120, size: int = 5) -> tuple[Side, Side]:
    return (
        grouped(side(marks(cases, 1, shared=size), label="New"), size),
        grouped(side(marks(cases, 2, shared=size), label="Old"), size),
    )


@pytest.mark.parametrize("repetitions", [1, 3])
@pytest.mark.parametrize("kind", [Kind.BOOLEAN, Kind.NUMERIC])
def test_the_group_is_the_unit(kind: Kind, repetitions: int) -> None:
    measured = metric(kind)
    sides = [
        grouped(side(random_cases(60, repetitions, rate=rate, seed=seed, kind=kind), measured=measured), 4)
        for rate, seed in ((0.7, 1), (0.6, 2))
    ]
    result = compare(sides[0], sides[1]).result
    lead, by_group, by_case = result.intervals
    assert [one.method for one in result.intervals] == ["grouped_t", "grouped_bootstrap", "percentile_bootstrap"]
    assert (lead.leads, by_group.leads, by_case.leads) == (True, False, False)
    assert result.interval95 == (by_case.low, by_case.high)
    assert "as if cases were independent" in by_case.label
    assert result.tests[0].method == "grouped_sign_flip"
    assert [test.method for test in result.tests[1:]] == (
        ["two_proportion_z"] if kind is Kind.BOOLEAN and repetitions == 1 else []
    )
    assert result.grouping is not None
    assert (result.grouping.groups, result.grouping.grouped_cases, result.grouping.largest) == (15, 60, 4)


def test_equal_groups_lead_with_t_on_their_means() -> None:
    new, old = pair_of_sides()
    comparison = compare(new, old)
    of_case = {bytes(source).ljust(32, b"\0"): index for index, source in enumerate(new.arm.source)}
    deltas = np.array([comparison.cases.delta[of_case[source_digest(f"case-{index}")]] for index in range(120)])
    lead = comparison.result.intervals[0]
    assert (lead.low, lead.high) == pytest.approx(paired_t(deltas.reshape(24, 5).mean(axis=1)), abs=1e-12)
    adequacy = comparison.result.adequacy
    assert adequacy is not None
    assert adequacy.mde == pytest.approx(groups.mde_grouped(deltas, np.arange(120) // 5), abs=1e-12)
    assert adequacy.cases_needed is not None
    assert adequacy.cases_needed == pytest.approx(120 * (adequacy.mde / 0.05) ** 2, abs=1)


def test_related_cases_are_less_certain_than_as_many_unrelated_ones() -> None:
    new, old = pair_of_sides()
    result = compare(new, old).result
    alone = compare(side(marks(120, 1, shared=5)), side(marks(120, 2, shared=5))).result
    width = result.intervals[0].high - result.intervals[0].low
    assert width > 1.5 * (alone.intervals[0].high - alone.intervals[0].low)
    assert result.quality == alone.quality
    assert alone.grouping is None
    notice = next(notice for notice in result.notices if notice.code == "related_cases")
    assert "120 paired cases form 24 groups" in notice.text
    assert result.grouping is not None
    assert result.grouping.design_effect is not None
    assert result.grouping.design_effect > 2


@pytest.mark.parametrize(("size", "leads"), [(12, True), (14, False)])
def test_ten_groups_are_needed(size: int, leads: bool) -> None:
    new, old = pair_of_sides(cases=120, size=size)
    result = compare(new, old).result
    assert result.intervals[0].leads is leads
    assert (result.finding.kind == "too_few") is not leads
    assert any(notice.code == "few_groups" for notice in result.notices) is not leads
    assert result.adequacy is not None
    assert (result.adequacy.verdict == "insufficient") is not leads
    if not leads:
        assert "Only 9 groups of related cases are scored on both sides" in result.finding.text


def test_groups_of_one_change_nothing() -> None:
    plain_result = compare(side(marks(60, 1)), side(marks(60, 2))).result
    alone = compare(grouped(side(marks(60, 1)), 1), grouped(side(marks(60, 2)), 1)).result
    assert alone == plain_result


def test_one_side_is_enough_and_names_do_not_matter() -> None:
    new, old = side(marks(120, 1, shared=5)), side(marks(120, 2, shared=5))
    both = compare(grouped(new, 5), grouped(old, 5)).result
    assert compare(grouped(new, 5), old).result == both
    assert compare(new, grouped(old, 5)).result == both
    assert compare(grouped(new, 5, prefix="a"), grouped(old, 5, prefix="b")).result == both


def test_cases_without_a_group_stand_alone() -> None:
    new, old = side(marks(120, 1)), side(marks(120, 2))
    result = compare(grouped(new, 5, first=100), grouped(old, 5, first=100)).result
    assert result.grouping is not None
    assert (result.grouping.groups, result.grouping.grouped_cases) == (104, 20)


def test_no_variation_gives_no_interval_that_leads() -> None:
    same: dict[str, list[Mark]] = {f"case-{index}": [1] for index in range(60)}
    result = compare(grouped(side(same), 5), grouped(side(same), 5)).result
    assert [one.method for one in result.intervals if one.leads] == []
    assert result.finding.kind == "not_resolved"
    assert result.adequacy is not None
    assert result.adequacy.verdict == "insufficient"
    assert planning.plan(result) is None
    assert "NaN" not in str(plain(result))


def test_swapped_sides_negate_the_interval_to_the_last_digit() -> None:
    new, old = pair_of_sides()
    there, back = compare(new, old).result, compare(old, new).result
    assert [(-one.high + 0.0, -one.low + 0.0) for one in back.intervals] == [
        (one.low, one.high) for one in there.intervals
    ]
    assert [test.p_value for test in there.tests] == [test.p_value for test in back.tests]
    assert there.grouping == back.grouping


def test_planning_counts_groups() -> None:
    new, old = pair_of_sides()
    result = compare(new, old).result
    plan = planning.plan(result)
    assert plan is not None
    assert result.adequacy is not None
    assert plan.options[0].cases == result.adequacy.cases_needed
    assert any("new groups of related cases" in text for text in plan.assumptions)


def test_disagreement_with_the_case_bootstrap_is_unresolved() -> None:
    """Cases one by one would exclude zero; a few groups carry it all, so nothing is resolved."""
    worse: dict[str, list[Mark]] = {f"case-{index}": [0 if index < 24 else 1] for index in range(120)}
    fine: dict[str, list[Mark]] = {
        f"case-{index}": [1 if index < 24 else int(index % 30 != 29)] for index in range(120)
    }
    result: PairedResult = compare(grouped(side(worse), 12), grouped(side(fine), 12)).result
    assert result.interval95 is not None
    assert result.interval95[1] < 0
    assert result.intervals[0].low < 0 < result.intervals[0].high
    assert result.finding.kind == "not_resolved"
    assert any(notice.code == "methods_disagree" for notice in result.notices)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 6), min_size=1, max_size=30),
    st.lists(st.integers(0, 6), min_size=1, max_size=30),
)
def test_related_is_the_finest_partition_that_joins_both_namings(first: list[int], second: list[int]) -> None:
    size = min(len(first), len(second))
    columns = [
        np.array([b"" if name == 0 else group_digest(f"{kind}{name}") for name in names[:size]], dtype="S32")
        for kind, names in (("a", first), ("b", second))
    ]
    parent = list(range(size))

    def root(case: int) -> int:
        while parent[case] != case:
            case = parent[case]
        return case

    for column in columns:
        for one in range(size):
            for other in range(one):
                if column[one] and column[one] == column[other]:
                    parent[root(one)] = root(other)
    numbers = groups.related(*columns)
    assert all(
        (numbers[one] == numbers[other]) == (root(one) == root(other)) for one in range(size) for other in range(size)
    )
    firsts = [int(np.flatnonzero(numbers == number)[0]) for number in range(int(numbers.max()) + 1)]
    assert firsts == sorted(firsts)
    assert np.array_equal(numbers, groups.related(*columns[::-1]))
