"""The adjudicator: worked examples, the contract, the shape of the record."""

from __future__ import annotations

import copy
import importlib.util
import json
import math
import random
import subprocess
import sys
from enum import Enum
from pathlib import Path
from types import MappingProxyType

import jsonschema
import pytest

from analysis.comparability import POLICY_VERSION, DecisionRecord, InvalidCase, adjudicate, is_current
from analysis.comparability.policy import identifier

FOLDER = Path(importlib.util.find_spec("analysis.comparability").origin).parent
SCHEMA = json.loads((FOLDER / "cdr.schema.json").read_text("utf-8"))
T, M, V = "same_task_id", "same_model", "single_variable_isolation"
R, K = "trace_available", "score_scale_consistent"
Z = "zero_semantics_uniform(verified_zero != unresolved_zero)"
W, X = "source_reward_retained_but_unverifiable_by_us", "unrecognized_claim_type"
D = "continuous_score_preserved({'range': '0..1', 'unit': 'fraction', 'verifier': 'source'})"
SCALE_1 = {"range": "0..1", "unit": "fraction", "verifier": "v1"}
SCALE_2 = {**SCALE_1, "verifier": "v2"}
PERCENT = {"range": "0..100", "unit": "percent", "verifier": "v1"}


def run(names: str = "t m1 h1", reward: object = 1.0, status: str = "verified", **more: object) -> dict:
    task, model, harness = names.split()
    record = {"task_id": task, "model": model, "harness": harness, "reward": reward, "reward_status": status}
    return {**record, **more}


def decide(*records: dict, claim: str = "score_comparison") -> DecisionRecord:
    return adjudicate({"id": "case", "records": list(records)}, claim)


def test_the_quickstart_of_the_specification():
    case = {
        "id": "demo",
        "records": [
            {"task_id": "t1", "harness": "h1", "model": "m1", "reward": 1.0, "reward_status": "verified"},
            {"task_id": "t1", "harness": "h2", "model": "m1", "reward": 0.0, "reward_status": "unresolved_zero"},
        ],
    }
    plain = adjudicate(case, "score_comparison").to_dict()
    assert list(plain) == SCHEMA["required"]
    assert plain == {
        "case_id": "demo",
        "requested_claim": "score_comparison",
        "comparison_scope": "2 records; models=['m1']; harnesses=['h1', 'h2']",
        "admissibility": "PARTIAL",
        "satisfied_conditions": [T, M, V, D],
        "violated_conditions": [Z],
        "unknown_conditions": [],
        "supported_claims": ["per_status_stratified_rate(verified and unresolved zeros apart)"],
        "unsupported_claims": ["pooled_fail_rate(zeros with different meanings)"],
        "evidence_refs": ["rec:t1/m1/h1", "rec:t1/m1/h2"],
        "policy_version": "cmp/0.4.0",
        "limitations": [
            "Equal digests show only that copies were not changed apart from each other; "
            "they are no protection against tampering, because one writer owns both sides."
        ],
    }


@pytest.mark.parametrize(
    ("records", "admissibility", "violated"),
    [
        pytest.param([run()], "ADMISSIBLE", [], id="one record"),
        pytest.param([run(), run("t m1 h2", 0.5)], "ADMISSIBLE", [], id="harness differs"),
        pytest.param([run(), run("t m2 h1")], "INADMISSIBLE", [M], id="model differs"),
        pytest.param([run("a m1 h1"), run("b m2 h2", 0.0)], "INADMISSIBLE", [T, M, V], id="all differ"),
        pytest.param([run("a m1 h1"), run("b m1 h1")], "INADMISSIBLE", [T], id="task differs"),
        pytest.param([run(), run("t m1 h2", trajectory_available=False)], "INCONCLUSIVE", [R], id="no trace"),
        pytest.param([run(), run(trajectory_available=True)], "ADMISSIBLE", [], id="trace stated"),
        pytest.param(
            [run("a m1 h1"), run("b m2 h2", 0.0, "unresolved_zero", trajectory_available=False)],
            "INCONCLUSIVE",
            [T, M, V, R, Z],
            id="everything at once",
        ),
        pytest.param(
            [run(), run("t m2 h2", 0, "unresolved_zero")], "INADMISSIBLE", [M, V, Z], id="conflict over split"
        ),
        pytest.param([run(reward=0.9), run("t m1 h2", 0.4, "unresolved_zero")], "PARTIAL", [Z], id="status, not value"),
        pytest.param([run(status="Verified"), run(status="unresolved_zero")], "ADMISSIBLE", [], id="case of a status"),
        pytest.param([run(status="unresolved_zero")] * 2, "ADMISSIBLE", [], id="only unresolved zeros"),
        pytest.param([run(status="agent_claimed")] * 2, "ADMISSIBLE", [], id="only other statuses"),
        pytest.param([run(score_scale=SCALE_1), run(score_scale=SCALE_2)], "INADMISSIBLE", [K], id="verifier differs"),
        pytest.param(
            [run(score_scale=SCALE_1), run("t m1 h2", 0, "unresolved_zero", score_scale=SCALE_2)],
            "INADMISSIBLE",
            [Z, K],
            id="scale conflict over zeros",
        ),
        pytest.param([run(score_scale=SCALE_1), run()], "INADMISSIBLE", [K], id="declared beside undeclared"),
        pytest.param([run(reward=85), run(reward=90)], "INADMISSIBLE", [K], id="undeclared beyond one"),
        pytest.param([run(reward=85)], "INADMISSIBLE", [K], id="one undeclared beyond one"),
        pytest.param([run(reward=-0.1)], "INADMISSIBLE", [K], id="undeclared below zero"),
        pytest.param([run(reward=-0.0), run()], "ADMISSIBLE", [], id="negative zero"),
        pytest.param([run(reward=10**400), run()], "INADMISSIBLE", [K], id="a whole number beyond floats"),
        pytest.param([run(reward=85, score_scale=PERCENT)] * 2, "ADMISSIBLE", [], id="declared percent"),
        pytest.param(
            [run(score_scale={**SCALE_1, "note": "x"}), run(score_scale=SCALE_1)], "INADMISSIBLE", [K], id="+key"
        ),
        pytest.param(
            [run(score_scale=dict(reversed(SCALE_1.items()))), run(score_scale=SCALE_1)],
            "ADMISSIBLE",
            [],
            id="key order",
        ),
        pytest.param([run(score_scale={})] * 2, "ADMISSIBLE", [], id="empty scale"),
        pytest.param([run("cafe\u0301 m h"), run("café m h")], "INADMISSIBLE", [T], id="two spellings of one id"),
    ],
)
def test_score_comparison(records, admissibility, violated):
    decision = decide(*records)
    assert decision.admissibility == admissibility
    assert decision.violated_conditions == tuple(violated)
    assert (W in decision.unknown_conditions) == (R in violated)
    jsonschema.validate(decision.to_dict(), SCHEMA)


@pytest.mark.parametrize(
    ("records", "supported"),
    [
        ([run(), run("t m1 h2")], ["descriptive_side_by_side"]),
        ([run(), run("t m2 h1")], ["descriptive_side_by_side"]),
        ([run(), run("t m2 h2")], []),
        ([run(trajectory_available=False)], []),
        ([run(repetition_count=3), run("t m1 h2", repetition_count=3)], ["descriptive_side_by_side"]),
    ],
)
def test_causal_is_never_admissible(records, supported):
    decision = decide(*records, claim="causal")
    assert decision.admissibility == "INADMISSIBLE"
    assert [identifier(entry) for entry in decision.supported_claims] == supported
    assert decision.unsupported_claims == ("causal_attribution(a single run without repetition)",)


def test_registration_is_always_admissible_and_still_lists_what_is_violated():
    decision = decide(run("a m1 h1"), run("b m2 h2", 85, trajectory_available=False), claim="descriptive_registration")
    assert decision.admissibility == "ADMISSIBLE"
    assert decision.violated_conditions == (T, M, V, R, K)
    assert decision.unknown_conditions == (W,)


@pytest.mark.parametrize("alias, name", [("score_compare", "score_comparison"), ("record", "descriptive_registration")])
def test_an_alias_means_its_claim_and_is_reported_as_asked(alias, name):
    asked, meant = decide(run(), claim=alias).to_dict(), decide(run(), claim=name).to_dict()
    assert asked == {**meant, "requested_claim": alias}


@pytest.mark.parametrize(
    "claim",
    ["", "ranking", "scoreboard", "Score_Comparison", "score comparison", " score_comparison", "causality", "records",
     "noncausal_descriptive", "成功率", "paired_difference", "cost_comparison", "\ud800"],
)  # fmt: skip
def test_any_other_claim_is_unknown_and_inconclusive(claim):
    decision = decide(run(), claim=claim)
    assert decision.admissibility == "INCONCLUSIVE"
    assert decision.unknown_conditions == (X,)
    assert decision.supported_claims == decision.unsupported_claims == ()
    assert decision.requested_claim == claim


def test_a_claim_must_be_a_text():
    with pytest.raises(TypeError, match="requested_claim"):
        decide(run(), claim=None)


def test_unknown_fields_are_listed_and_change_nothing():
    decision = decide(run(zeta=1, alpha="x"), run("t m1 h2", beta=None, trajectory_available=False), claim="ranking")
    assert decision.unknown_conditions == ("ignored_fields:['alpha', 'beta', 'zeta']", W, X)


def test_scope_and_references_keep_what_ids_hold():
    decision = decide(run("a/b m h'1"), run('a/b m h"2'), run('a/b m h"2'))
    assert decision.comparison_scope == """3 records; models=['m']; harnesses=['h"2', "h'1"]"""
    assert decision.evidence_refs == ("rec:a/b/m/h'1", 'rec:a/b/m/h"2', 'rec:a/b/m/h"2')
    assert adjudicate({"id": "1", "records": [run()]}, "record").comparison_scope.startswith("1 records; ")


def test_equal_scales_are_written_in_one_way_whatever_the_order():
    scales = [{"note": 1, "more": {"b": 1, "a": 2}}, {"more": {"a": 2, "b": 1}, "note": 1.0}]
    records = [run(score_scale=scale) for scale in scales]
    assert decide(*records).satisfied_conditions == decide(*reversed(records)).satisfied_conditions


def test_the_input_is_not_changed_and_the_lists_are_the_callers_own():
    case = {"id": "c", "records": [run(score_scale={"b": [1], **SCALE_1}, more=[1])], "note": "ignored"}
    before = copy.deepcopy(case)
    decision = adjudicate(case, "score_comparison")
    decision.to_dict()["limitations"].append("changed")
    assert case == before
    assert len(decision.limitations) == 1
    frozen = MappingProxyType({"id": "c", "records": tuple(MappingProxyType(r) for r in case["records"])})
    assert adjudicate(frozen, "score_comparison") == decision


class Word(str, Enum):  # noqa: UP042 - its own spelling is what is tried
    ONE = "one"


def test_texts_of_other_types_are_written_as_their_characters():
    record = {"task_id": Word.ONE, "harness": Word.ONE, "model": Word.ONE, "reward": 1, "reward_status": "verified"}
    decision = adjudicate({"id": Word.ONE, "records": [record]}, Word.ONE).to_dict()
    assert decision["comparison_scope"] == "1 records; models=['one']; harnesses=['one']"
    assert decision["case_id"] == decision["requested_claim"] == "one"
    assert decision["evidence_refs"] == ["rec:one/one/one"]
    assert {type(decision["case_id"]), type(decision["admissibility"])} == {str}


def endless() -> dict:
    scale: dict = {}
    scale["self"] = scale
    return scale


HALF = "expected complete characters, got half of a surrogate pair"
COUNT = "expected a whole number of at least 1, got"
BAD_CASES = [
    (None, ["case: expected an object, got null"]),
    ([], ["case: expected an object, got a list ([])"]),
    ({}, ["id: is missing", "records: is missing"]),
    ({"id": "", "records": []}, ["id: expected a text that is not empty", "records: expected at least one record"]),
    (
        {"id": 7, "records": "x"},
        ["id: expected a text, got a number (7)", 'records: expected a list, got a string ("x")'],
    ),
    ({"id": "\ud800", "records": [1]}, [f"id: {HALF}", "records[0]: expected an object, got a number (1)"]),
    ({"id": "c", "records": [{}]}, [f"records[0].{name}: is missing" for name in sorted(run())]),
    ({"id": "c", "records": [{**run(), 7: 1}]}, ["records[0]: expected texts as field names"]),
]
BAD_FIELDS = [
    ("reward", "high", 'expected a number, got a string ("high")'),
    ("reward", True, "expected a number, got a truth value (true)"),
    ("reward", None, "expected a number, got null"),
    ("reward", math.nan, "expected a finite number, got nan"),
    ("reward", -math.inf, "expected a finite number, got -inf"),
    ("reward", "x" * 100, 'expected a number, got a string ("' + "x" * 59 + "...)"),
    ("reward", ["ж"], 'expected a number, got a list (["\\u0436"])'),
    ("reward", 1j, "expected a number, got a value of type complex"),
    ("reward_status", "\udc00", HALF),
    ("trajectory_available", None, "expected true or false, got null"),
    ("trajectory_available", 0, "expected true or false, got a number (0)"),
    ("score_scale", None, "expected an object, got null"),
    ("score_scale", {"x": math.inf}, "expected finite numbers, got inf"),
    ("score_scale", {"x": 10**5000}, "expected numbers that can be written out"),
    ("score_scale", {"x": {1: 2}}, "expected texts as field names"),
    ("score_scale", {"x": {2}}, "expected values of JSON, got <set>"),
    ("score_scale", endless(), "expected at most 64 levels"),
    ("repetition_count", 0, f"{COUNT} 0"),
    ("repetition_count", True, f"{COUNT} a truth value (true)"),
]
BAD = BAD_CASES + [
    ({"id": "c", "records": [{**run(), name: value}]}, [f"records[0].{name}: {message}"])
    for name, value, message in BAD_FIELDS
]


@pytest.mark.parametrize(("case", "problems"), BAD)
def test_bad_input_is_one_error_with_every_path(case, problems):
    with pytest.raises(InvalidCase) as raised:
        adjudicate(case, "score_comparison")
    assert [str(problem) for problem in raised.value.problems] == problems
    assert str(raised.value) == "\n".join(problems)
    assert isinstance(raised.value, ValueError)


def test_problems_are_sorted_by_position_not_by_spelling():
    records = [run(reward=None) if index in (2, 10) else run() for index in range(12)]
    records[10]["harness"] = ""
    with pytest.raises(InvalidCase) as raised:
        adjudicate({"records": records}, "causal")
    paths = [str(problem).partition(":")[0] for problem in raised.value.problems]
    assert paths == ["id", "records[2].reward", "records[10].harness", "records[10].reward"]


def test_only_this_policy_is_current():
    stored = decide(run()).to_dict()
    assert stored["policy_version"] == POLICY_VERSION and is_current(stored)
    assert not is_current({**stored, "policy_version": "cmp/0.3.1"})
    assert not is_current({})


def test_the_schema_is_closed():
    good = decide(run()).to_dict()
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(good, SCHEMA)
    for bad in (
        {**good, "note": "x"},
        {name: good[name] for name in list(good)[1:]},
        {**good, "admissibility": "PENDING"},
        {**good, "limitations": []},
        {**good, "limitations": ["nothing"]},
        {**good, "policy_version": "cmp/0.4"},
        {**good, "evidence_refs": ["t/m/h"]},
    ):
        assert not jsonschema.Draft202012Validator(SCHEMA).is_valid(bad)


def test_nothing_but_the_standard_library_is_needed():
    code = (
        "import sys, analysis.comparability.command, analysis.comparability.inspect_log\n"
        "import analysis.comparability.extension\n"
        "found = {name.partition('.')[0] for name in sys.modules} - set(sys.stdlib_module_names)\n"
        "print(sorted(name for name in found if not name.startswith('__')))"
    )
    root = FOLDER.parents[1]
    ended = subprocess.run([sys.executable, "-S", "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "['analysis']"


def test_a_hundred_thousand_records_take_seconds_not_minutes():
    dice = random.Random(1)
    records = [run(f"t m h{dice.randint(1, 9)}", dice.random()) for _ in range(100_000)]
    assert decide(*records).admissibility == "ADMISSIBLE"
