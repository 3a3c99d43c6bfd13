"""Every condition of the extension from the evidence that makes it: satisfied, violated or unknown."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from analysis.comparability.conditions import CONDITIONS, State
from analysis.observations import (
    CostCoverage,
    Direction,
    FailureKind,
    Generation,
    Kind,
    Outcome,
    Side,
    Spend,
    group_digest,
)
from analysis.paired import compare
from analysis.verdicts.paired import Arm, Verdicts, judged
from tests.factories.arms import Cases, grader, metric, random_cases, rows, side

CASES = 40
PRICED = Spend(10, CostCoverage.COMPLETE, "reported", "USD", 40, 40)
REVISIONS = (("Provider revision", "2026-01"), ("Runtime", "3.1"))
CONTROLS = (*REVISIONS, ("Provider", "one"), ("Prompt", "a"), ("Tools", "b"), ("Tool schemas", "c"))
EVERYTHING = (*CONTROLS, ("Context binding", "d"), ("Auth mode", "key"))

OK, BAD, WHO = State.SATISFIED, State.VIOLATED, State.UNKNOWN


def marks(seed: int = 1) -> dict[str, Any]:
    return dict(random_cases(CASES, 1, rate=0.6, seed=seed))


def without(count: int, mark: Any = None, seed: int = 1) -> dict[str, Any]:
    """The first cases have another mark, or are missing."""
    found = marks(seed)
    for name in list(found)[:count]:
        if mark is None:
            del found[name]
        else:
            found[name] = [mark]
    return found


def arm(name: str, **changes: Any) -> Arm:
    values: dict[str, Any] = {
        **{"run": f"run:{name}", "graded": f"pass:{name}", "dataset": "cases", "manifest": "0" * 64},
        **{"repetitions": 1, "trust": "source_verifier", "grader": "grader"},
    }
    return Arm(**{**values, **changes})


def verdicts(
    mine: Cases | None = None,
    *,
    theirs: Cases | None = None,
    of_mine: Mapping[str, Any] | None = None,
    of_both: Mapping[str, Any] | None = None,
    arm_of_mine: Mapping[str, Any] | None = None,
    arm_of_both: Mapping[str, Any] | None = None,
    change: Callable[[Side], Side] = lambda given: given,
    margin: float | None = None,
) -> Verdicts:
    usual: dict[str, Any] = {"spend": PRICED, "latency_ms": 5.0, "cost_micros": 1, **(of_both or {})}
    usual.setdefault("facts", (*EVERYTHING, ("Model", "x")))
    candidate = side(mine or marks(1), **{**usual, **(of_mine or {})})
    baseline = side(theirs or marks(2), **usual)
    found = compare(change(candidate), baseline, margin=margin)
    arms = (
        arm("new", **{**(arm_of_both or {}), **(arm_of_mine or {})}),
        arm("old", **(arm_of_both or {})),
    )
    return judged(found.result, found.cases, *arms, comparison="test")


def outside(given: Side) -> Side:
    return dataclasses.replace(given, series=dataclasses.replace(given.series, value=given.series.value + 1))


def with_duplicates(given: Side) -> Side:
    return dataclasses.replace(given, duplicates=3)


def facts(**changes: str) -> tuple[tuple[str, str], ...]:
    """The usual facts; an underscore stands for a space, an empty value leaves the fact out."""
    named = {name.replace("_", " "): value for name, value in changes.items()}
    found = dict(EVERYTHING) | {"Model": "x"} | named
    return tuple((name, value) for name, value in found.items() if value)


NUMERIC = metric(Kind.NUMERIC, low=0, high=1)
UNORDERED = metric(Kind.NUMERIC, Direction.UNORDERED, low=0, high=1)
CATEGORICAL = metric(Kind.CATEGORICAL, Direction.UNORDERED)
LABELS = {f"case-{index}": ["a" if index % 2 else "b"] for index in range(CASES)}

LABEL = "label_distribution_comparison"

TABLE: list[tuple[str, str, State, dict[str, Any]]] = [
    ("P1", "paired_difference", OK, {}),
    ("P1", "paired_difference", BAD, {"mine": without(CASES, Outcome.ABSTAINED)}),
    ("P1", "latency_comparison", BAD, {"of_mine": {"latency_ms": None}}),
    ("P2", "paired_difference", OK, {}),
    ("P2", "paired_difference", BAD, {"arm_of_both": {"run": "run:same"}}),
    ("P3", "paired_difference", OK, {}),
    ("P3", "paired_difference", BAD, {"mine": without(1, Generation.PLANNED)}),
    ("P3", "paired_difference", BAD, {"mine": without(1, Generation.RUNNING)}),
    ("P3", "paired_difference", BAD, {"mine": without(1, Outcome.PENDING)}),
    ("P4", "paired_difference", WHO, {}),
    ("P4", "paired_difference", BAD, {"arm_of_mine": {"taken_away": 1}}),
    ("P5", "paired_difference", OK, {}),
    ("P5", "paired_difference", OK, {"arm_of_both": {"trust": "independent"}}),
    ("P5", "paired_difference", BAD, {"arm_of_mine": {"trust": "agent_claimed"}}),
    ("P5", "paired_difference", WHO, {"arm_of_mine": {"trust": "insufficient"}}),
    ("P8", "paired_difference", OK, {}),
    ("P8", "paired_difference", BAD, {"arm_of_mine": {"trust": "independent"}}),
    ("P6", "paired_difference", OK, {}),
    ("P6", "paired_difference", BAD, {"mine": without(1, Generation.INDETERMINATE)}),
    ("P7", "paired_difference", OK, {}),
    ("P7", "paired_difference", BAD, {"of_both": {"measured": NUMERIC}, "change": outside}),
    (
        "P7",
        LABEL,
        State.NOT_APPLICABLE,
        {"mine": LABELS, "of_both": {"measured": CATEGORICAL}},
    ),
    ("L1", "paired_difference", OK, {}),
    ("L1", "paired_difference", BAD, {"arm_of_mine": {"dataset": "others"}}),
    ("L1", "paired_difference", WHO, {"arm_of_mine": {"dataset": None}}),
    ("L2", "paired_difference", OK, {}),
    ("L2", "paired_difference", WHO, {"of_mine": {"contents": {"case-1": None}}}),
    ("L3", "paired_difference", OK, {}),
    ("L3", "paired_difference", BAD, {"mine": without(1)}),
    ("L3", "paired_difference", BAD, {"of_mine": {"contents": {"case-1": "another"}}}),
    ("L4", "paired_difference", OK, {"mine": without(8)}),
    ("L4", "paired_difference", BAD, {"mine": without(9)}),
    ("L5", "paired_difference", OK, {"mine": without(2, FailureKind.TIMED_OUT)}),
    ("L5", "paired_difference", BAD, {"mine": without(3, FailureKind.TIMED_OUT)}),
    ("L6", "paired_difference", OK, {}),
    ("L6", "paired_difference", BAD, {"mine": {**marks(), "case-1": [1, 1]}}),
    ("L7", "paired_difference", OK, {"change": with_duplicates}),
    ("Q1", "paired_difference", OK, {}),
    ("Q1", "paired_difference", BAD, {"arm_of_mine": {"grader": "another"}}),
    ("Q1", "paired_difference", BAD, {"of_mine": {"graded_by": grader("exact_answer/5")}}),
    ("Q2", "paired_difference", OK, {"arm_of_both": {"interpretation": "i" * 64}}),
    ("Q2", "paired_difference", BAD, {"arm_of_mine": {"interpretation": "i" * 64}}),
    ("Q3", "paired_difference", OK, {}),
    ("Q3", "paired_difference", BAD, {"of_both": {"measured": UNORDERED}}),
    (
        "Q3",
        "paired_difference",
        BAD,
        {"of_mine": {"measured": metric(direction=Direction.LOWER_IS_BETTER)}},
    ),
    ("Q4", "paired_difference", OK, {}),
    ("Q4", LABEL, BAD, {"mine": LABELS, "of_both": {"measured": CATEGORICAL}}),
    ("Q5", "paired_difference", OK, {}),
    ("Q5", "paired_difference", BAD, {"mine": without(1, Outcome.GRADER_ERROR)}),
    ("Q5", "paired_difference", WHO, {"mine": without(9, Outcome.ABSTAINED)}),
    ("Q6", "paired_difference", State.NOT_APPLICABLE, {}),
    ("I1", "single_variable_comparison", OK, {"of_mine": {"facts": facts(Model="y")}}),
    ("I1", "single_variable_comparison", OK, {"of_mine": {"facts": facts(Model="y", Provider="two")}}),
    ("I1", "single_variable_comparison", BAD, {"of_mine": {"facts": facts(Model="y", Prompt="z")}}),
    (
        "I1",
        "single_variable_comparison",
        WHO,
        {"of_both": {"facts": facts(Tools="")}, "of_mine": {"facts": facts(Model="y", Tools="")}},
    ),
    ("I2", "cost_comparison", OK, {}),
    ("I2", "cost_comparison", WHO, {"of_both": {"facts": facts(Runtime="")}}),
    ("I3", "paired_difference", State.NOT_APPLICABLE, {}),
    ("I4", "cost_comparison", WHO, {}),
    ("G1", "cost_comparison", OK, {}),
    ("G1", "cost_comparison", BAD, {"of_mine": {"facts": facts(Auth_mode="subscription")}}),
    ("G1", "cost_comparison", WHO, {"of_mine": {"facts": facts(Auth_mode="")}}),
    ("G2", "cost_comparison", OK, {}),
    ("G2", "cost_comparison", BAD, {"of_mine": {"spend": Spend(9, CostCoverage.PARTIAL, "reported", "USD", 40, 39)}}),
    ("G3", "cost_comparison", OK, {}),
    ("G3", "cost_comparison", BAD, {"of_mine": {"spend": dataclasses.replace(PRICED, currency="EUR")}}),
    ("G3", "cost_comparison", BAD, {"of_mine": {"spend": dataclasses.replace(PRICED, basis="price table")}}),
    ("G3", "cost_comparison", WHO, {"of_mine": {"spend": Spend(0, CostCoverage.NONE, "not reported", "USD", 40, 0)}}),
    ("G4", "cost_comparison", OK, {}),
    ("G5", "latency_comparison", OK, {}),
    ("G5", "latency_comparison", BAD, {"of_mine": {"latency_ms": None}}),
    ("G6", "latency_comparison", WHO, {}),
    ("N1", "paired_difference", OK, {"mine": without(20)}),
    ("N1", "paired_difference", BAD, {"mine": without(21)}),
    ("N1", "pass_rate_difference", OK, {"mine": without(20)}),
    ("N2", "non_inferiority", WHO, {}),
    ("N2", "non_inferiority", WHO, {"margin": 0.05}),
    ("N3", "paired_difference", WHO, {}),
    ("N4", "paired_difference", OK, {}),
]
CODES = {condition.code: condition for condition in CONDITIONS.values()}


@pytest.mark.parametrize(("code", "claim", "state", "given"), TABLE)
def test_the_evidence_makes_the_state(code: str, claim: str, state: State, given: dict[str, Any]) -> None:
    found = verdicts(**given)
    claimed = next(one for one in found.claims if one.name == claim)
    [finding] = [one for one in claimed.verdict.extension.findings if one.id == CODES[code].id]
    assert finding.state is state, (finding.state, finding.detail)


def test_every_condition_stands_in_the_table() -> None:
    assert {code for code, *_ in TABLE} == set(CODES)


@pytest.mark.parametrize(("size", "state"), [(4, OK), (5, BAD)])
def test_few_groups_are_a_small_sample(size: int, state: State) -> None:
    """Forty cases in ten groups are enough, in eight they are not."""
    table = [
        row._replace(group_digest=group_digest(f"document {index // size}"))
        for index, row in enumerate(rows(marks(1), latency_ms=5.0, cost_micros=1))
    ]
    found = compare(side(table), side(marks(2)))
    said = judged(found.result, found.cases, arm("new"), arm("old"), comparison="test")
    [finding] = [one for one in said.headline_claim.verdict.extension.findings if one.id == "ext.sample_size"]
    assert (finding.state, finding.detail["groups"]) == (state, CASES // size)


def test_swapped_sides_are_judged_alike() -> None:
    mine, theirs = without(5, FailureKind.TIMED_OUT), marks(2)
    one, other = (
        [(claim.claim, claim.final) for claim in found.claims]
        for found in (verdicts(mine, theirs=theirs), verdicts(theirs, theirs=mine))
    )
    assert one == other
