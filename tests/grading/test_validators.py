"""Tool validators: where they may go, what they are sent, and what their reply says."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.observations import Kind, Outcome
from grading import validators
from grading.judging import Evidence, Scale
from teams.refusals import Refusal
from tests.grading.test_assertions import EVIDENCE, JSON, POINTERS

YES_NO = Scale(Kind.BOOLEAN, 0, 1)
MARKS = Scale(Kind.NUMERIC, 0, 10)
HOSTS = {"checks.example.org", "127.0.0.1"}
SAID = {"url": "https://checks.example.org/score", "sends": ["answer", "input"], "value": "/score"}


def config(loopback: bool = False, **more: Any) -> dict[str, Any]:
    return validators.checked({**SAID, **more}, hosts=HOSTS, loopback=loopback)


def test_a_read_configuration_reads_the_same_again():
    once = config(reason="/why", enrichment="")
    assert validators.checked(once, hosts=HOSTS, loopback=False) == once
    assert once["sends"] == ["input", "answer"] and once["abstain"] is None
    assert config(loopback=True, url="http://127.0.0.1:9000/x")["url"] == "http://127.0.0.1:9000/x"


@pytest.mark.parametrize(
    ("more", "place"),
    [
        ({"url": ""}, "config.url"),
        ({"url": "https://elsewhere.example.org/"}, "config.url"),
        ({"url": "http://checks.example.org/"}, "config.url"),
        ({"url": "http://127.0.0.1:9000/"}, "config.url"),
        ({"url": "https://checks.example.org@evil.example/"}, "config.url"),
        ({"sends": []}, "config.sends"),
        ({"sends": ["title"]}, "config.sends"),
        ({"sends": [{}]}, "config.sends"),
        ({"value": None}, "config.value"),
        ({"reason": "why"}, "config.reason"),
        ({"headers": {}}, "config.headers"),
    ],
)
def test_a_fault_is_refused_with_its_place(more, place):
    with pytest.raises(Refusal) as refused:
        config(**more)
    assert refused.value.place == place


def test_only_what_is_named_is_sent():
    evidence = Evidence({"input": "Where?", "expected": "Paris", "secret": 1}, "There", {"a": 1})
    request = validators.request_of(config(), evidence)
    assert request == validators.Request(SAID["url"], {"input": "Where?", "answer": "There"})
    everything = validators.request_of(config(sends=[*validators.SENDS]), Evidence({"turns": [1]}, "x"))
    assert everything.body == {"input": [1], "expected": None, "checklist": None, "answer": "x", "structured": None}
    assert validators.lacking(config(), Evidence()).outcome is Outcome.GRADER_ERROR
    assert validators.lacking(config(sends=["input"]), Evidence()) is None


def test_a_reply_is_read_at_its_places():
    told = config(abstain="/skip", reason="/why", enrichment="/found")
    reply = {"score": 7, "why": "it fits", "found": {"rows": [1]}, "skip": False}
    found = validators.read(told, MARKS, reply)
    assert (found.value, found.reason, found.enrichment) == (7.0, "it fits", {"rows": [1]})
    left = validators.read(told, MARKS, {**reply, "skip": True})
    assert (left.outcome, left.value, left.enrichment) == (Outcome.ABSTAINED, None, {"rows": [1]})
    assert validators.read(config(), YES_NO, b'{"score": 1}').value == 1.0
    assert validators.read(config(value=""), YES_NO, "true").value == 1.0
    for odd in ({"score": 11}, {}, "no JSON", {"score": None}, [], {"score": 1, "skip": "yes"}):
        assert validators.read(told, MARKS, odd).outcome is Outcome.GRADER_ERROR
    large = validators.read(told, MARKS, {"score": 1, "found": "x" * validators.LARGEST_ENRICHMENT})
    assert large.outcome is Outcome.GRADER_ERROR


@given(EVIDENCE, JSON, POINTERS, st.sampled_from([YES_NO, MARKS, Scale(Kind.CATEGORICAL)]))
def test_whatever_comes_back_has_an_outcome(evidence, reply, pointer, scale):
    told = config(value=pointer, reason=pointer, sends=[*validators.SENDS])
    validators.request_of(told, evidence)
    found = validators.read(told, scale, reply)
    assert found.scored == (found.value is not None or found.category is not None)
