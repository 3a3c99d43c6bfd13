"""What holds for every group of records, drawn at random by the thousand."""

from __future__ import annotations

import json

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.comparability import adjudicate
from analysis.comparability.policy import ALIASES, TABLE
from tests.analysis.comparability.test_adjudicate import SCHEMA, Z
from tests.conformance.groups import CLAIMS, every_combination
from tests.conformance.second_implementation import decide as decide_again

VALID = jsonschema.Draft202012Validator(SCHEMA)
SEVERITY = ["ADMISSIBLE", "PARTIAL", "INADMISSIBLE", "INCONCLUSIVE"]
IDS = st.sampled_from(["a", "b", "a/b", "it's", "задача"]) | st.text(
    st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4
)
INNER = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(-2, 2) | st.text(max_size=2),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=4,
)
SCALES = st.sampled_from(
    [{"range": "0..1", "unit": "fraction", "verifier": verifier} for verifier in ("source", "v1")] + [{}]
) | st.fixed_dictionaries({"unit": st.just("fraction")}, optional={"note": INNER, "more": INNER})
RECORDS = st.fixed_dictionaries(
    {
        "task_id": st.just("t") | IDS,
        "harness": st.sampled_from(["h1", "h2"]) | IDS,
        "model": st.just("m") | IDS,
        "reward": st.sampled_from([0, 1, 0.0, -0.0, 0.5, 85, -1, 10**400])
        | st.floats(allow_nan=False, allow_infinity=False),
        "reward_status": st.sampled_from(["verified", "unresolved_zero", "agent_claimed", "Verified"]),
    },
    optional={
        "trajectory_available": st.booleans(),
        "score_scale": SCALES,
        "repetition_count": st.integers(1, 9),
        "поле": INNER,
    },
)
GROUPS = st.lists(RECORDS, min_size=1, max_size=6)
ASKED = st.sampled_from(CLAIMS) | st.text(max_size=6)


def decide(records: list[dict], claim: str = "score_comparison") -> dict:
    return adjudicate({"id": "case", "records": records}, claim).to_dict()


@settings(max_examples=2_000, deadline=None)
@given(GROUPS, ASKED, st.randoms())
def test_order_and_repeats_do_not_matter(records, claim, dice):
    found = decide(records, claim)
    others = [*records, dice.choice(records)]
    dice.shuffle(others)
    again = decide(others, claim)
    differ = ("comparison_scope", "evidence_refs")
    assert {key: value for key, value in again.items() if key not in differ} == {
        key: value for key, value in found.items() if key not in differ
    }
    assert again["comparison_scope"].partition(";")[2] == found["comparison_scope"].partition(";")[2]
    assert set(again["evidence_refs"]) == set(found["evidence_refs"])


@settings(max_examples=2_000, deadline=None)
@given(GROUPS, RECORDS)
def test_another_record_never_improves_a_verdict(records, more):
    before, after = decide(records), decide([*records, more])
    assert SEVERITY.index(after["admissibility"]) >= SEVERITY.index(before["admissibility"])
    assert set(before["violated_conditions"]) <= set(after["violated_conditions"])


@settings(max_examples=500, deadline=None)
@given(GROUPS, ASKED)
def test_the_page_says_the_same(records, claim):
    found = decide(records, claim)
    again = decide_again({"id": "case", "records": records}, claim)
    assert json.dumps(found) == json.dumps(again)
    assert list(found) == list(again)
    assert VALID.is_valid(found)


@settings(max_examples=200, deadline=None)
@given(GROUPS)
def test_our_own_words_are_english(records):
    plain = [{**record, "task_id": "t", "harness": "h", "model": "m"} for record in records]
    for record in plain:
        record.pop("поле", None)
        record.pop("score_scale", None)
    for claim in CLAIMS:
        assert json.dumps(decide(plain, claim), ensure_ascii=False).isascii()


@settings(max_examples=200, deadline=None)
@given(GROUPS, ASKED, st.integers(1, 9))
def test_repetitions_are_not_read(records, claim, count):
    assert decide([{**record, "repetition_count": count} for record in records], claim) == decide(records, claim)


@pytest.mark.parametrize("claim", [*TABLE, *ALIASES, "ranking"])
def test_every_setting_of_the_six_facts(claim):
    """The whole truth table: 64 settings, the expectation written out as one chain per claim."""
    meant = ALIASES.get(claim, claim)
    for (task, model, harness, trace, zeros, scale), case in every_combination():
        found = adjudicate(case, claim)
        confounded = model and harness
        if meant == "causal":
            expected = "INADMISSIBLE"
        elif meant == "descriptive_registration":
            expected = "ADMISSIBLE"
        elif meant == "score_comparison":
            conflict = task or model or scale
            expected = "INCONCLUSIVE" if trace else "INADMISSIBLE" if conflict else "PARTIAL" if zeros else "ADMISSIBLE"
        else:
            expected = "INCONCLUSIVE"
        assert found.admissibility == expected
        broken = {
            "same_task_id": task,
            "same_model": model,
            "single_variable_isolation": confounded,
            "trace_available": trace,
            Z: zeros,
            "score_scale_consistent": scale,
        }
        assert found.violated_conditions == tuple(name for name, is_broken in broken.items() if is_broken)
        held = [name for name in list(broken)[:3] if not broken[name]]
        assert [entry.partition("(")[0] for entry in found.satisfied_conditions] == held + (
            [] if scale else ["continuous_score_preserved"]
        )


def test_how_often_each_verdict_occurs_in_the_truth_table():
    counts = dict.fromkeys(SEVERITY, 0)
    for _, case in every_combination():
        counts[adjudicate(case, "score_comparison").admissibility] += 1
    assert counts == {"INCONCLUSIVE": 32, "INADMISSIBLE": 28, "PARTIAL": 2, "ADMISSIBLE": 2}
