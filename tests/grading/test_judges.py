"""Model judges: what the model is told, and that no reply becomes a number that it does not say."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from analysis.observations import Kind, Outcome
from grading import judges
from grading.judging import Evidence, Scale
from teams.refusals import Refusal
from tests.grading.test_assertions import EVIDENCE, JSON

YES_NO = Scale(Kind.BOOLEAN, 0, 1)
MARKS = Scale(Kind.NUMERIC, 1, 5)
WORDS = Scale(Kind.CATEGORICAL, categories=("good", "bad"))
SCALES = st.sampled_from([YES_NO, MARKS, Scale(Kind.NUMERIC), WORDS])


def config(prompt: str = "{{answer}}", **more: Any) -> dict[str, Any]:
    return judges.checked({"route": "large", "prompt": prompt, **more})


def test_values_stand_in_their_places_once():
    evidence = Evidence({"input": "Where?", "expected": "{{answer}}"}, "{{expected}} \\1", None, {"a": 1})
    said = judges.prompt_of(
        config("{{input}} {{ expected }} | {{answer}} | {{enrichment}}", rubric="Be fair."), evidence
    )
    assert [one["role"] for one in said] == ["system", "user"]
    assert said[1]["content"] == 'Where? {{answer}} | {{expected}} \\1 | {"a":1}'
    assert said[0]["content"].endswith("Be fair.")


def test_turns_checklists_and_json_are_written_out():
    body = {
        "turns": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes?"}],
        "checklist": [{"id": "a", "text": "is kind", "points": 2}],
    }
    said = judges.prompt_of(config("{{input}}#{{checklist}}#{{structured}}"), Evidence(body, '{"b": 1, "a": null}'))
    assert said[1]["content"] == 'user: Hi\n\nassistant: Yes?#- is kind (2)#{"a":null,"b":1}'


@given(EVIDENCE)
def test_whatever_the_evidence_a_prompt_comes_of_it(evidence):
    every = " ".join(f"{{{{{name}}}}}" for name in judges.PLACEHOLDERS)
    assert len(judges.prompt_of(config(every), evidence)) == 2
    judges.lacking(config(every), evidence)


def test_a_judge_is_not_asked_about_what_is_not_there():
    assert judges.lacking(config("{{answer}}"), Evidence({}, "")) is None
    assert judges.lacking(config("{{answer}}"), Evidence()).outcome is Outcome.GRADER_ERROR
    assert judges.lacking(config("{{structured}}"), Evidence({}, "no")).outcome is Outcome.GRADER_ERROR
    assert judges.lacking(config("{{enrichment}}"), Evidence({}, "a")).outcome is Outcome.GRADER_ERROR
    for name in ("expected", "checklist"):
        found = judges.lacking(config(f"{{{{answer}}}}{{{{{name}}}}}"), Evidence({name: ""}, "a"))
        assert found.outcome is Outcome.NOT_APPLICABLE


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ({"prompt": "{{answer}}"}, "config.route"),
        ({"route": "large", "prompt": "one\n{{answers}}"}, "config.prompt"),
        ({"route": "large", "prompt": "{{input}}"}, "config.prompt"),
        ({"route": "large", "prompt": "{{answer}}", "rubric": 1}, "config.rubric"),
        ({"route": "large", "prompt": "{{answer}}", "form": 2}, "config.form"),
        ({"route": "large", "prompt": "{{answer}}", "temperature": 0}, "config.temperature"),
    ],
)
def test_a_fault_is_refused_with_its_place(given, place):
    with pytest.raises(Refusal) as refused:
        judges.checked(given)
    assert refused.value.place == place
    if "answers" in str(given):
        assert "Line 2" in refused.value.message and "{{checklist}}" in refused.value.message


def test_a_read_configuration_reads_the_same_again():
    assert judges.checked(config(rubric="x")) == config(rubric="x")


@pytest.mark.parametrize(
    ("scale", "value", "outcome", "scored"),
    [
        (YES_NO, True, Outcome.SCORED, 1.0),
        (YES_NO, 1, Outcome.GRADER_ERROR, None),
        (YES_NO, None, Outcome.GRADER_ERROR, None),
        (MARKS, 5, Outcome.SCORED, 5.0),
        (MARKS, 5.5, Outcome.GRADER_ERROR, None),
        (MARKS, True, Outcome.GRADER_ERROR, None),
        (MARKS, 10**400, Outcome.GRADER_ERROR, None),
        (MARKS, "4", Outcome.GRADER_ERROR, None),
        (WORDS, "good", Outcome.SCORED, None),
        (WORDS, "Good", Outcome.GRADER_ERROR, None),
    ],
)
def test_a_value_is_taken_as_the_metric_allows_it_or_not_at_all(scale, value, outcome, scored):
    reply = {"reasoning": "because", "abstain": False, "value": value}
    found = judges.read(config(), scale, reply)
    assert (found.outcome, found.value) == (outcome, scored)
    assert found.category == ("good" if value == "good" else None)
    if found.scored:
        assert found.reason == "because"


def test_who_abstains_gives_no_value_and_what_is_no_reply_is_an_error():
    assert judges.read(config(), MARKS, {"abstain": True, "value": 5, "reasoning": "dark"}).outcome is Outcome.ABSTAINED
    fenced = '```json\n{"reasoning": "", "abstain": false, "value": 3}\n```'
    assert judges.read(config(), MARKS, fenced).value == 3
    for odd in ("", "three", "[3]", 3, None, {"value": 3, "abstain": "no"}):
        assert judges.read(config(), MARKS, odd).outcome is Outcome.GRADER_ERROR
    assert "\0" not in judges.read(config(), YES_NO, {"reasoning": "a\0\ud800", "value": True}).reason


@given(SCALES, JSON)
def test_what_the_shape_allows_is_read_and_nothing_else_scores(scale, value):
    schema = judges.output_schema(config(), scale)
    Draft202012Validator.check_schema(schema)
    for abstain in (True, False):
        reply = {"reasoning": "r", "abstain": abstain, "value": value}
        fits = Draft202012Validator(schema).is_valid(reply)
        found = judges.read(config(), scale, reply)
        assert found.scored == (fits and not abstain and value is not None)
        assert judges.read(config(), scale, json.dumps(reply)).outcome is found.outcome


@given(SCALES, JSON)
def test_no_reply_raises(scale, reply):
    found = judges.read(config(), scale, reply)
    assert found.scored == (found.value is not None or found.category is not None)
