"""Assertions: what each operator decides, what is no number, and that nothing hangs or fails on any answer."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.observations import Outcome
from analysis.strict_json import canonical
from grading import assertions, patterns, schemas
from grading.judging import Evidence
from teams.refusals import Refusal

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(-1e15, 1e15) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
POINTERS = st.sampled_from(["", "/a", "/a/0", "/expected", "/~0~1", "//"])
SCHEMAS = st.sampled_from(
    [
        {"type": "object", "required": ["a"]},
        {"type": ["number", "string"], "pattern": "^[a-c]+$"},
        {"$ref": "#/$defs/n", "$defs": {"n": {"anyOf": [{"type": "null"}, {"type": "array", "uniqueItems": True}]}}},
    ]
)


def _source(value: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({"source": st.just("literal"), "value": value}) | st.fixed_dictionaries(
        {"source": st.just("case")}, optional={"pointer": POINTERS}
    )


def _checks() -> st.SearchStrategy[dict[str, Any]]:
    values = {
        "equals": JSON,
        "contains": TEXT.filter(str.strip) | st.integers(0, 9),
        "regex": st.sampled_from(["a+", "(a|b)*c$", r"\d+", "(a+)+$"]),
        "json_schema": SCHEMAS,
        "numeric": st.integers(-9, 9) | st.floats(-9, 9),
    }
    own: dict[str, dict[str, Any]] = {
        "numeric": {"tolerance": st.floats(0, 5), "scale": st.sampled_from([*assertions.SCALES])},
        "json_schema": {},
    }
    textual = {"ignore_case": st.booleans(), "space": st.sampled_from([*assertions.SPACES])}
    shared = {"at": st.none() | POINTERS, "negate": st.booleans()}

    def of(operator: str) -> st.SearchStrategy[dict[str, Any]]:
        fields = st.fixed_dictionaries(
            {"operator": st.just(operator)}, optional={**shared, **own.get(operator, textual)}
        )
        return st.builds(lambda one, source: {**one, **source}, fields, _source(values[operator]))

    return st.sampled_from([*values]).flatmap(of)


CONFIGS = st.fixed_dictionaries(
    {"checks": st.lists(_checks(), min_size=1, max_size=3)}, optional={"match": st.sampled_from(["all", "any"])}
)
EVIDENCE = st.builds(
    Evidence,
    st.dictionaries(st.sampled_from(["expected", "a", "input"]), JSON, max_size=3),
    st.none() | TEXT | JSON.map(lambda value: canonical(value).decode()),
    JSON,
)


@given(CONFIGS)
def test_a_read_configuration_reads_the_same_again(config):
    once = assertions.checked(config)
    assert assertions.checked(once) == once


@given(CONFIGS, EVIDENCE)
def test_any_answer_gets_an_outcome_and_only_a_score_has_a_number(config, evidence):
    judged = assertions.judge(assertions.checked(config), evidence)
    assert judged.scored == (judged.value is not None)
    assert judged.outcome in (Outcome.SCORED, Outcome.NOT_APPLICABLE, Outcome.GRADER_ERROR)
    assert judged.value in (None, 0.0, 1.0) and judged.category is None and judged.reason


@given(_checks(), EVIDENCE)
def test_turning_a_check_round_turns_scores_and_nothing_else(check, evidence):
    check = {**check, "negate": False}
    plain, turned = (
        assertions.judge(assertions.checked({"checks": [one]}), evidence) for one in (check, {**check, "negate": True})
    )
    assert plain.outcome is turned.outcome
    if plain.scored:
        assert plain.value == 1 - turned.value


def judged(answer: str | None, *checks: dict[str, Any], match: str = "all", **body: Any):
    return assertions.judge(assertions.checked({"checks": list(checks), "match": match}), Evidence(body, answer))


def literal(operator: str, value: Any, **more: Any) -> dict[str, Any]:
    return {"operator": operator, "source": "literal", "value": value, **more}


@pytest.mark.parametrize(
    ("check", "answer", "value"),
    [
        (literal("equals", "Paris"), "Paris", 1),
        (literal("equals", "Paris"), "paris", 0),
        (literal("equals", "STRASSE", ignore_case=True), "straße", 1),
        (literal("equals", "a b", space="fold"), " a \n b ", 1),
        (literal("equals", "a b", space="strip"), " a  b ", 0),
        (literal("equals", ["yes", "y"]), "y", 1),
        (literal("equals", 42), "42", 1),
        (literal("equals", True, at="/ok"), '{"ok": 1}', 0),
        (literal("equals", 1, at="/ok"), '{"ok": 1.0}', 1),
        (literal("equals", [1, {"a": 2}], at="/x"), '{"x": [1.0, {"a": 2}]}', 1),
        (literal("equals", None, at="/x"), '{"x": null}', 1),
        (literal("equals", None, at="/x"), "{}", 0),
        (literal("contains", "refund"), "Your refund is on its way", 1),
        (literal("contains", ["credit", "refund"]), "a refund", 1),
        (literal("contains", "b", at="/tags"), '{"tags": ["a", "b"]}', 1),
        (literal("contains", "tags", at=""), '{"tags": []}', 1),
        (literal("contains", "a", at="/tags/5"), '{"tags": ["a"]}', 0),
        (literal("regex", r"\b\d{2}\b"), "it is 42 today", 1),
        (literal("regex", "^paris$", ignore_case=True, space="strip"), " PARIS ", 1),
        (literal("regex", "(a+)+$"), "a" * 5_000 + "!", 0),
        (literal("json_schema", {"type": "object", "required": ["a"]}), '{"a": 1}', 1),
        (literal("json_schema", {"type": "object", "required": ["a"]}), "{}", 0),
        (literal("json_schema", {"type": "object"}), "no JSON at all", 0),
        (literal("json_schema", {"pattern": "^a+$"}), '"aaa"', 1),
        (literal("json_schema", {"uniqueItems": True}), "[1, 1.0]", 0),
        (literal("numeric", 1, tolerance=0.1), "1.1", 1),
        (literal("numeric", 1, tolerance=0.1), "1.11", 0),
        (literal("numeric", 200, tolerance=0.05, scale="relative"), " 210 ", 1),
        (literal("numeric", 42), "The answer is 42", 0),
        (literal("numeric", 42, at="/n"), '{"n": 42}', 1),
        (literal("numeric", 1, at="/n"), '{"n": true}', 0),
    ],
)
def test_what_an_operator_decides(check, answer, value):
    found = judged(answer, check)
    assert (found.outcome, found.value) == (Outcome.SCORED, value)


def test_what_the_case_expects_is_looked_up_and_its_absence_is_not_applicable():
    check = {"operator": "contains"}
    assert judged("in Paris", check, expected="Paris").value == 1
    for nothing in ("", " ", None, [], {}):
        assert judged("in Paris", check, expected=nothing).outcome is Outcome.NOT_APPLICABLE
    assert judged("in Paris", check).outcome is Outcome.NOT_APPLICABLE
    assert judged("7", {"operator": "numeric", "pointer": "/total"}, total="7.0").value == 1
    assert judged("7", {"operator": "numeric"}, expected="seven").outcome is Outcome.GRADER_ERROR
    assert judged("7", {"operator": "regex"}, expected="(").outcome is Outcome.GRADER_ERROR
    assert judged("7", {"operator": "json_schema"}, expected="x").outcome is Outcome.GRADER_ERROR


def test_an_answer_that_is_gone_is_an_error_and_an_empty_one_an_answer():
    assert judged(None, literal("equals", "a", negate=True)).outcome is Outcome.GRADER_ERROR
    assert judged("", literal("equals", "a", negate=True)).value == 1


def test_all_and_any_of_several_and_an_error_in_one_is_the_whole_answer():
    yes, no = literal("contains", "a"), literal("contains", "z")
    assert judged("a", yes, no).value == 0
    found = judged("a", yes, no, match="any")
    assert found.value == 1 and "Check 2: Not met" in found.reason
    broken = {"operator": "regex", "pointer": "/p"}
    assert judged("a", yes, broken, match="any", p="(").outcome is Outcome.GRADER_ERROR


def test_what_takes_too_long_is_an_error_and_never_a_score():
    doubling = {f"n{at}": {"allOf": [{"$ref": f"#/$defs/n{at + 1}"}] * 2} for at in range(40)}
    endless = {"$ref": "#/$defs/n0", "$defs": {**doubling, "n40": {"type": "string"}}}
    before = time.monotonic()
    for schema in (endless, {"$ref": "#"}):
        assert judged('"x"', literal("json_schema", schema)).outcome is Outcome.GRADER_ERROR
    assert judged("x" * (patterns.LONGEST_TEXT + 1), literal("regex", "y")).outcome is Outcome.GRADER_ERROR
    assert time.monotonic() - before < 10 * schemas.SECONDS


@pytest.mark.parametrize(
    ("config", "place"),
    [
        ([], "config"),
        ({"checks": []}, "config.checks"),
        ({"checks": [{}]}, "config.checks[0].operator"),
        ({"checks": [literal("regex", "(?=a)")]}, "config.checks[0].value"),
        ({"checks": [literal("regex", "a" * 1_001)]}, "config.checks[0].value"),
        ({"checks": [literal("regex", "((a{100}){100}){100}")]}, "config.checks[0].value"),
        ({"checks": [literal("contains", " ")]}, "config.checks[0].value"),
        ({"checks": [literal("numeric", "7")]}, "config.checks[0].value"),
        ({"checks": [literal("numeric", 7, tolerance=-1)]}, "config.checks[0].tolerance"),
        ({"checks": [literal("equals", "a", tolerance=1)]}, "config.checks[0].tolerance"),
        ({"checks": [literal("equals", "a", at="total")]}, "config.checks[0].at"),
        ({"checks": [literal("equals", "a", pointer="/x")]}, "config.checks[0].pointer"),
        ({"checks": [{"operator": "equals", "source": "case", "value": 1}]}, "config.checks[0].value"),
        ({"checks": [literal("equals", "a"), literal("equals", "a", negate=1)]}, "config.checks[1].negate"),
        ({"checks": [literal("json_schema", {"type": "what"})]}, "config.checks[0].value"),
        ({"checks": [literal("json_schema", {"$ref": "https://example.org/s"})]}, "config.checks[0].value"),
        ({"checks": [literal("json_schema", {"$ref": "#/enum/0", "enum": [5]})]}, "config.checks[0].value"),
        ({"checks": [literal("json_schema", {"patternProperties": {"a": {}}})]}, "config.checks[0].value"),
        ({"checks": [literal("json_schema", {"$id": "x"})]}, "config.checks[0].value"),
        ({"checks": [{"operator": "equals", "extra": 1}]}, "config.checks[0].extra"),
    ],
)
def test_a_fault_is_refused_with_its_place(config, place):
    with pytest.raises(Refusal) as refused:
        assertions.checked(config)
    assert refused.value.place == place


def test_names_of_properties_are_no_keywords():
    schema = {"type": "object", "properties": {"$id": {"type": "string"}, "pattern": {"const": {"$ref": 5}}}}
    assert judged('{"$id": "a", "pattern": {"$ref": 5}}', literal("json_schema", schema)).value == 1
