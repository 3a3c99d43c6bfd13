"""How many more cases or repetitions would settle it, from a frozen result."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from analysis.adequacy import SMALLEST_SAMPLE, Z_SUM, Split, planned_cases
from analysis.observations import Direction, Kind
from analysis.paired import compare
from analysis.planning import Plan, answer, plan
from analysis.results import PairedResult, plain
from tests.factories.arms import metric, random_cases, side


def result(cases: int, repetitions: int, kind: Kind = Kind.BOOLEAN, *, target: float = 0.05) -> PairedResult:
    measured = metric(kind, low=0, high=1)
    return compare(
        side(random_cases(cases, repetitions, rate=0.7, seed=1, kind=kind), measured=measured),
        side(random_cases(cases, repetitions, rate=0.69, seed=2, kind=kind), measured=measured),
        target=target,
    ).result


def planned(given: PairedResult, target: float | None = None) -> Plan:
    found = plan(given, target)
    assert found is not None
    return found


@pytest.mark.parametrize("kind", [Kind.BOOLEAN, Kind.NUMERIC])
@pytest.mark.parametrize("repetitions", [1, 3])
def test_the_first_option_is_what_adequacy_says(kind: Kind, repetitions: int) -> None:
    given = result(60, repetitions, kind)
    found = planned(given)
    assert given.adequacy is not None
    assert given.adequacy.cases_needed is not None
    needed = max(SMALLEST_SAMPLE, given.adequacy.cases_needed)  # below, no interval would lead
    assert (found.options[0].repetitions, found.options[0].cases) == (repetitions, needed)
    assert found.options[0].more_cases == max(0, found.options[0].cases - 60)
    assert found.options[0].runs == 2 * found.options[0].cases * repetitions
    assert (found.answered is False) == (given.adequacy.verdict != "adequate")


def test_more_repetitions_need_fewer_cases_and_never_fewer_than_the_limit() -> None:
    given = result(200, 2)
    found = planned(given)
    cases = [option.cases for option in found.options]
    assert [option.repetitions for option in found.options] == [2, 3, 5, 10]
    assert cases == sorted(cases, reverse=True)
    assert found.limit_cases is not None
    assert cases[-1] >= found.limit_cases
    assert given.variation is not None
    split = Split(
        given.variation.within_candidate,
        given.variation.within_baseline,
        given.variation.between,
        given.variation.repetitions,
    )
    if given.variation.between > 0:
        assert cases[1] == planned_cases(split, 3, 0.05)


def test_repetitions_alone_do_it_exactly() -> None:
    """The stated number suffices with the cases at hand, one fewer does not."""
    given = result(300, 2, target=0.04)
    assert given.variation is not None
    variance = given.quality.delta_spread**2 * 300 / 299 if given.quality.delta_spread else 0.0
    noise = min((given.variation.within_candidate + given.variation.within_baseline) / 2, variance)
    found = planned(given, 0.04)
    assert found.repetitions_alone is not None

    def needed(count: int) -> float:
        return float(Z_SUM**2 * (variance - noise + noise * 2 / count) / 0.04**2)

    assert needed(found.repetitions_alone) <= 300
    assert found.repetitions_alone == 1 or needed(found.repetitions_alone - 1) > 300


def test_single_runs_cannot_tell_what_repetitions_would_save() -> None:
    found = planned(result(50, 1))
    assert len(found.options) == 1
    assert (found.repetitions_alone, found.limit_cases) == (None, None)
    assert any("not known" in text for text in found.assumptions)


def test_a_larger_target_needs_fewer_cases() -> None:
    given = result(50, 1)
    assert planned(given, 0.1).options[0].cases < planned(given).options[0].cases / 2


def test_the_plan_holds_in_simulation() -> None:
    """With the planned number of cases the target is seen in about 80 % of repetitions of the experiment."""
    rng = np.random.default_rng(5)
    differences = rng.normal(0, 0.4, 100)
    first = {f"c{index}": [value] for index, value in enumerate(differences.tolist())}
    measured = metric(Kind.NUMERIC, low=0, high=1)
    given = compare(side(first, measured=measured), side({key: [0.0] for key in first}, measured=measured)).result
    needed = planned(given, 0.1).options[0].cases
    spread = float(differences.std(ddof=1))
    draws = rng.normal(0.1, spread, (4_000, needed))
    seen = np.abs(draws.mean(axis=1)) > 1.96 * draws.std(axis=1, ddof=1) / needed**0.5
    assert 0.77 < seen.mean() < 0.83


def test_what_cannot_be_planned_has_no_plan() -> None:
    unbounded = metric(Kind.NUMERIC)
    free = compare(
        side(random_cases(30, 1, rate=0.7, seed=1, kind=Kind.NUMERIC), measured=unbounded),
        side(random_cases(30, 1, rate=0.6, seed=2, kind=Kind.NUMERIC), measured=unbounded),
    ).result
    assert plan(free) is None
    assert plan(free, 0.1) is not None
    assert plan(compare(side({}), side({})).result) is None
    assert plan(compare(side({"a": [1]}), side({"a": [0]})).result) is None
    flat = compare(
        side({f"c{index}": [0.5] for index in range(30)}, measured=unbounded),
        side({f"c{index}": [0.4] for index in range(30)}, measured=unbounded),
    ).result
    assert plan(flat, 0.1) is None
    withheld = compare(side({"a": [1]}), side({"a": [1]}, measured=metric(direction=Direction.LOWER_IS_BETTER))).result
    assert plan(withheld) is None
    with pytest.raises(ValueError, match="greater than zero"):
        plan(free, 0.0)


def test_pass_or_fail_without_variation_keeps_a_plan() -> None:
    marks = {f"case-{index}": [1, 1, 1] for index in range(30)}
    found = planned(compare(side(marks), side(marks)).result)
    assert found.options[0].cases > 30
    assert len(found.options) == 1


def test_a_plan_is_plain() -> None:
    json.dumps(plain(planned(result(60, 3))), allow_nan=False)
    assert dataclasses.is_dataclass(planned(result(60, 3)))


def flips(cases: int) -> dict[str, list[float]]:
    return {f"c{index}": [float(index % 2)] for index in range(cases)}


def test_an_answer_says_the_number_and_who_already_has_enough() -> None:
    found = answer(result(60, 3))
    assert found.code == "planned"
    assert found.plan is not None
    first = found.plan.options[0]
    assert f"{first.more_cases:,} more cases ({first.cases:,} in all)" in found.text
    enough = answer(result(60, 3), 0.9)
    assert (enough.code, enough.text) == (
        "answered",
        "No more are needed: the 60 cases at hand see a difference of 90 points.",
    )


def test_where_no_plan_can_be_made_the_answer_says_why_and_invents_no_number() -> None:
    unbounded = metric(Kind.NUMERIC)
    constant = {f"c{index}": [0.5] for index in range(30)}
    lower = metric(direction=Direction.LOWER_IS_BETTER)
    words = metric(Kind.CATEGORICAL, direction=Direction.UNORDERED)
    told = {f"c{index}": ["yes"] for index in range(30)}
    given = {
        "withheld": (compare(side(flips(30)), side(flips(30), measured=lower)).result, None),
        "categorical": (compare(side(told, measured=words), side(told, measured=words)).result, None),
        "too_few_cases": (compare(side(flips(19)), side(flips(19))).result, None),
        "no_target": (compare(side(constant, measured=unbounded), side(constant, measured=unbounded)).result, None),
        "no_variation": (compare(side(constant, measured=unbounded), side(constant, measured=unbounded)).result, 0.1),
    }
    for code, (asked, difference) in given.items():
        found = answer(asked, difference)
        assert (found.code, found.plan) == (code, None)
        assert found.text.startswith("No plan: ")
    assert answer(compare(side({"a": [1]}), side({"a": [0]})).result).text.startswith("No plan: 1 paired scored case.")
    assert answer(compare(side({}), side({})).result).code == "too_few_cases"
