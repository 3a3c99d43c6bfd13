"""The extension: what weighs how much, what it never does, and what may be said."""

from __future__ import annotations

import dataclasses
import itertools
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.comparability import adjudicate
from analysis.comparability.conditions import CLAIMS, CONDITIONS, EXTENSION_CLAIMS, MATRIX, Kind, State
from analysis.comparability.extension import (
    NOTHING_EXISTS,
    SEVERITY,
    Fact,
    Question,
    Scope,
    Verdict,
    all_equal,
    at_least,
    judge,
    may_not_say,
    may_say,
    weigh,
    worst,
)
from analysis.comparability.policy import TABLE
from tests.analysis.comparability.test_adjudicate import run
from tests.conftest import SHARED

BY_CODE = {condition.code: condition.id for condition in CONDITIONS.values()}
SCOPE = Scope(("candidate", "baseline"), 30, 30, 1)
RECORDS = [run(), run("t m1 h2", 0.5)]
ALL_CLAIMS = [*CLAIMS, "score_compare", "record", "ranking"]
BROKEN = [State.VIOLATED, State.UNKNOWN]


def question(claim: str) -> Question:
    return Question(
        claim,
        variable="model" if claim == "single_variable_comparison" else "",
        margin=0.05 if claim == "non_inferiority" else None,
    )


def facts(**states: State) -> list[Fact]:
    """All conditions satisfied but those named by code."""
    return [
        Fact(condition.id, states.get(condition.code, State.SATISFIED), refs=(f"execution:{condition.code}",))
        for condition in CONDITIONS.values()
    ]


def verdict(claim: str, records: list[dict] = RECORDS, **states: State) -> Verdict:
    return judge({"id": "c", "records": records}, question(claim), facts(**states), SCOPE)


def rank(found: Verdict) -> int:
    return SEVERITY.index(found.final)


# --- the situations of the design


@pytest.mark.parametrize(
    ("claim", "records", "states", "final"),
    [
        ("score_comparison", [run(), run("t m2 h1")], {}, "INADMISSIBLE"),
        ("single_variable_comparison", [run(), run("t m2 h1")], {}, "ADMISSIBLE"),
        ("single_variable_comparison", [run(), run("t m2 h1")], {"I2": State.UNKNOWN}, "PARTIAL"),
        ("single_variable_comparison", [run(), run("t m2 h2")], {"I1": State.VIOLATED}, "INADMISSIBLE"),
        ("paired_difference", [run(), run("t m2 h2")], {"I1": State.VIOLATED}, "ADMISSIBLE"),
        ("paired_difference", RECORDS, {"Q1": State.VIOLATED}, "INADMISSIBLE"),
        ("reliability_comparison", RECORDS, {"Q1": State.VIOLATED, "P7": State.VIOLATED}, "ADMISSIBLE"),
        ("score_comparison", RECORDS, {"L3": State.VIOLATED, "L5": State.VIOLATED}, "PARTIAL"),
        ("score_comparison", RECORDS, {"P1": State.VIOLATED}, "INCONCLUSIVE"),
        ("score_comparison", RECORDS, {"P6": State.VIOLATED}, "PARTIAL"),
        ("cost_comparison", RECORDS, {"G1": State.VIOLATED}, "INADMISSIBLE"),
        ("paired_difference", RECORDS, {"G1": State.VIOLATED, "G2": State.UNKNOWN}, "ADMISSIBLE"),
        ("cost_comparison", RECORDS, {"G2": State.UNKNOWN}, "INCONCLUSIVE"),
        ("score_comparison", RECORDS, {"N1": State.VIOLATED}, "ADMISSIBLE"),
        ("paired_difference", RECORDS, {"N1": State.VIOLATED}, "INCONCLUSIVE"),
        ("score_comparison", RECORDS, {"P3": State.VIOLATED}, "INCONCLUSIVE"),
        ("paired_difference", RECORDS, {"P4": State.UNKNOWN}, "PARTIAL"),
        ("paired_difference", RECORDS, {"P4": State.VIOLATED}, "INCONCLUSIVE"),
        ("paired_difference", RECORDS, {"L4": State.VIOLATED}, "PARTIAL"),
        ("paired_difference", RECORDS, {"L4": State.UNKNOWN}, "INCONCLUSIVE"),
        ("non_inferiority", RECORDS, {"N2": State.VIOLATED}, "INADMISSIBLE"),
        ("non_inferiority", RECORDS, {"N2": State.UNKNOWN, "Q1": State.VIOLATED}, "INCONCLUSIVE"),
        ("causal", RECORDS, {}, "INADMISSIBLE"),
        ("descriptive_registration", RECORDS, dict.fromkeys(BY_CODE, State.VIOLATED), "ADMISSIBLE"),
        ("ranking", RECORDS, {}, "INCONCLUSIVE"),
    ],
)
def test_situation(claim, records, states, final):
    assert verdict(claim, records, **states).final == final


def test_the_matrix_is_the_one_of_the_design():
    if not (SHARED / "comparability.md").is_file():
        pytest.skip("the design does not lie beside the project")
    letters = {"E": Kind.EVIDENCE, "C": Kind.CONFLICT, "S": Kind.SPLIT, "·": Kind.NOTE}
    seen = 0
    for line in Path(SHARED / "comparability.md").read_text("utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        words = cells[0].split()
        if len(words) == 2 and words[0] in BY_CODE and len(cells) == 14:
            assert words[1] == f"`{BY_CODE[words[0]]}`"
            found = [MATRIX[claim][BY_CODE[words[0]]] for claim in MATRIX]
            assert found == [letters[cell] for cell in cells[-11:]], words[0]
            seen += 1
    assert seen == len(CONDITIONS) == 35


def test_every_split_has_words_and_every_condition_a_repair():
    for condition in CONDITIONS.values():
        kinds = {MATRIX[claim][condition.id] for claim in MATRIX}
        assert condition.split or Kind.SPLIT not in kinds
        assert condition.holds.endswith(".") and condition.broken.endswith(".") and condition.repair.endswith(".")
    assert CONDITIONS["ext.paired_share"].split and CONDITIONS["ext.evidence_readable"].split


def test_no_name_can_be_taken_for_a_base_claim():
    base = ("causal", "score", "record", "registration", "descriptive", "describe")
    for claim in EXTENSION_CLAIMS:
        assert claim not in TABLE
        assert not any(word in claim.replace("_", " ") for word in base)
        assert adjudicate({"id": "c", "records": RECORDS}, claim).unknown_conditions == ("unrecognized_claim_type",)


# --- what always holds

CLAIM = st.sampled_from(ALL_CLAIMS)
STATES = st.fixed_dictionaries({code: st.sampled_from(list(State)) for code in BY_CODE})


@settings(max_examples=500, deadline=None)
@given(CLAIM, STATES, st.randoms())
def test_the_order_of_facts_does_not_matter(claim, states, dice):
    given_facts = facts(**states)
    mixed = dice.sample(given_facts, len(given_facts))
    case = {"id": "c", "records": RECORDS}
    assert judge(case, question(claim), mixed, SCOPE) == judge(case, question(claim), given_facts, SCOPE)


@settings(max_examples=500, deadline=None)
@given(CLAIM, STATES)
def test_the_base_record_is_untouched_and_never_made_better(claim, states):
    found = verdict(claim, **states)
    base = adjudicate({"id": "c", "records": RECORDS}, claim)
    assert found.cdr == base
    if claim not in EXTENSION_CLAIMS:
        assert rank(found) >= SEVERITY.index(base.admissibility)


@settings(max_examples=1_000, deadline=None)
@given(CLAIM, STATES, st.sampled_from(list(BY_CODE)), st.sampled_from(BROKEN))
def test_a_fact_that_turns_bad_never_improves_a_verdict(claim, states, code, worse):
    before = verdict(claim, **{**states, code: State.SATISFIED})
    after = verdict(claim, **{**states, code: worse})
    assert rank(after) >= rank(before)


@settings(max_examples=500, deadline=None)
@given(CLAIM, STATES)
def test_silence_is_unknown_and_never_satisfied(claim, states):
    spoken = [fact for fact in facts(**states) if fact.state is not State.UNKNOWN]
    silent = judge({"id": "c", "records": RECORDS}, question(claim), spoken, SCOPE)
    assert silent.final == verdict(claim, **states).final
    for finding in silent.extension.findings:
        if finding.state in BROKEN:
            assert finding.refs and (finding.refs == (NOTHING_EXISTS,)) == (finding.state is State.UNKNOWN)


@settings(max_examples=500, deadline=None)
@given(CLAIM, STATES)
def test_a_refused_claim_is_never_among_what_may_be_said(claim, states):
    found = verdict(claim, **states)
    words = CLAIMS.get(question(claim).name)
    says, never = found.extension.may_say, found.extension.may_not_say
    assert len(says) == 1 and never and not set(says) & set(never)
    if words is None:
        return
    if found.final in ("INADMISSIBLE", "INCONCLUSIVE"):
        assert words.says in never and words.says not in says
    elif found.final == "PARTIAL":
        assert words.says not in says and ", only " in says[0]
    elif words.name != "causal":
        assert says == (words.says,)


@pytest.mark.parametrize("claim", MATRIX)
def test_each_cell_alone_weighs_what_it_says(claim):
    for code, state in itertools.product(BY_CODE, BROKEN):
        kind = MATRIX[claim][BY_CODE[code]]
        expected = {
            Kind.EVIDENCE: "INCONCLUSIVE",
            Kind.CONFLICT: "INADMISSIBLE" if state is State.VIOLATED else "INCONCLUSIVE",
            Kind.SPLIT: "PARTIAL",
            Kind.NOTE: "ADMISSIBLE",
        }[kind]
        softer = (("P4", State.UNKNOWN), ("L4", State.VIOLATED), ("L2", State.UNKNOWN))
        if kind is not Kind.NOTE and (code, state) in softer:
            expected = "PARTIAL"
        assert verdict(claim, **{code: state}).extension.admissibility == expected, (code, state)


# --- words


def test_a_small_sample_leaves_the_counts():
    for claim in ("paired_difference", "paired_improvement", "non_inferiority"):
        assert verdict(claim, N1=State.VIOLATED).extension.may_say == ("paired counts, descriptive",)
        refused = verdict(claim, N1=State.VIOLATED, Q1=State.VIOLATED).extension.may_say
        assert refused == ("Conditions and raw scores, registered",)


def test_a_partial_claim_names_every_split_with_its_figures():
    case = {"id": "c", "records": [run(), run("t m1 h2", 0.0, "unresolved_zero")]}
    given_facts = [fact for fact in facts(I2=State.UNKNOWN, L6=State.VIOLATED) if fact.condition != BY_CODE["L4"]]
    given_facts.append(at_least(BY_CODE["L4"], 65, 100, 0.8, ["manifest:1"]))
    found = judge(case, question("paired_difference"), given_facts, SCOPE)
    assert found.final == "PARTIAL"
    assert found.extension.may_say == (
        "The mean paired difference, candidate minus baseline, with its interval, only "
        "on the cases scored on both sides (65 of 100); on case means of unequal repetitions",
    )
    score = judge(case, question("score_comparison"), facts(), SCOPE)
    assert score.extension.may_say[0].endswith("only per status, with unresolved zeros apart")


def test_words_stand_alone_without_findings():
    assert may_say("causal", worst([])) == ("Conditions and raw scores, registered",)
    assert may_not_say("ranking", SEVERITY[0]) == ("Anything that would be called 'ranking'",)


# --- facts and shape


@pytest.mark.parametrize(
    ("numerator", "denominator", "state"),
    [(80, 100, "satisfied"), (79, 100, "violated"), (0, 0, "unknown"), (None, 5, "unknown"), (5, None, "unknown")],
)
def test_a_share_against_its_floor(numerator, denominator, state):
    fact = at_least("ext.paired_share", numerator, denominator, 0.8)
    assert fact.state == state
    assert fact.detail == {"numerator": numerator, "denominator": denominator, "floor": 0.8}


@pytest.mark.parametrize(
    ("values", "state"),
    [
        ({"a": 1, "b": 1}, "satisfied"),
        ({"a": 1, "b": 2}, "violated"),
        ({"a": None, "b": None}, "unknown"),
        ({"a": 1, "b": None}, "unknown"),
        ({"a": 1, "b": 2, "c": None}, "violated"),
        ({"a": 1, "b": True}, "violated"),
        ({}, "unknown"),
    ],
)
def test_one_value_on_all_arms(values, state):
    assert all_equal("ext.auth_mode_equal", values).state == state


def test_a_fact_is_of_a_known_condition_and_said_once():
    with pytest.raises(ValueError, match="There is no condition"):
        weigh("causal", [Fact("ext.none", State.SATISFIED)])
    with pytest.raises(ValueError, match="Two facts"):
        weigh("causal", facts()[:1] * 2)


@pytest.mark.parametrize(
    "given_question",
    [
        {"claim": "single_variable_comparison"},
        {"claim": "paired_difference", "variable": "model"},
        {"claim": "paired_difference", "margin": 0.1},
    ],
)
def test_a_question_has_what_its_claim_needs(given_question):
    with pytest.raises(ValueError):
        Question(**given_question)


def test_the_envelope():
    plain = verdict("single_variable_comparison", I2=State.UNKNOWN).to_dict()
    assert list(plain) == ["cdr", "extension", "final", "scope", "inputs_sha256"]
    assert list(plain["extension"]) == ["policy", "claim", "admissibility", "findings", "may_say", "may_not_say"]
    assert plain["extension"]["claim"] == "single_variable_comparison(model)"
    assert plain["extension"]["policy"] == "ext/1"
    assert list(plain["extension"]["findings"][0]) == ["id", "state", "kind", "detail", "refs"]
    assert json.loads(json.dumps(plain)) == plain


def test_the_digest_is_of_what_was_judged():
    base = verdict("paired_difference")
    case = {"id": "c", "records": list(reversed(RECORDS))}
    swapped = dataclasses.replace(SCOPE, arms=tuple(reversed(SCOPE.arms)))
    assert judge(case, question("paired_difference"), facts(), swapped).inputs_sha256 == base.inputs_sha256
    others = [
        verdict("paired_difference", [run(), run("t m1 h2", 0.25)]),
        verdict("paired_difference", I2=State.UNKNOWN),
        verdict("paired_improvement"),
    ]
    assert len({base.inputs_sha256, *(other.inputs_sha256 for other in others)}) == 4
