"""A definition is taken whole or refused with the place of its fault; equal definitions have equal hashes."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents import capability_sets, definitions
from datasets.bodies import Case
from datasets.bodies import checked as checked_case
from teams.refusals import Refusal

SCHEMA = {"type": "object", "properties": {"number": {"type": "string"}}}
TOOL = {"name": "find_order", "description": "Finds it.", "parameters": SCHEMA}

FAULTS = [
    ([], "definition"),
    ({"instruction": "x"}, "instruction"),
    ({"instructions": 3}, "instructions"),
    ({"instructions": "a\0b"}, "definition.instructions"),
    ({"instructions": "x" * 100_001}, "instructions"),
    ({"route": None}, "route"),
    ({"tools": {}}, "tools"),
    ({"tools": ["find"]}, "tools[0]"),
    ({"tools": [{"name": "1st"}]}, "tools[0].name"),
    ({"tools": [{"name": "find order"}]}, "tools[0].name"),
    ({"tools": [TOOL, TOOL]}, "tools[1].name"),
    ({"tools": [{**TOOL, "code": "rm"}]}, "tools[0].code"),
    ({"tools": [{**TOOL, "parameters": {"type": "string"}}]}, "tools[0].parameters"),
    ({"tools": [{**TOOL, "parameters": {"type": "object", "required": "x"}}]}, "tools[0].parameters.required"),
    (
        {"tools": [{**TOOL, "parameters": {"type": "object", "properties": {"a": {"type": "text"}}}}]},
        "tools[0].parameters.properties.a.type",
    ),
    (
        {"tools": [{**TOOL, "parameters": {"type": "object", "$ref": "https://example.org/schema"}}]},
        "tools[0].parameters",
    ),
    ({"connectors": [{"connector": "a", "mode": "write"}]}, "connectors[0].mode"),
    ({"context": [{"name": "", "text": "x"}]}, "context[0].name"),
    ({"context": [{"name": "policy", "text": " "}]}, "context[0].text"),
    ({"settings": {"temperature": 3}}, "settings.temperature"),
    ({"settings": {"temperature": True}}, "settings.temperature"),
    ({"settings": {"temperature": "0.2"}}, "settings.temperature"),
    ({"settings": {"max_output_tokens": 1.5}}, "settings.max_output_tokens"),
    ({"settings": {"max_output_tokens": 0}}, "settings.max_output_tokens"),
    ({"settings": {"model": "gpt"}}, "settings.model"),
    ({"settings": {"stream": "yes"}}, "settings.stream"),
    ({"settings": {"stop": ["a", "b", "c", "d", "e"]}}, "settings.stop"),
    ({"settings": {"output_schema": {"type": "array"}}}, "settings.output_schema"),
]


@pytest.mark.parametrize(("body", "place"), FAULTS, ids=lambda part: part if isinstance(part, str) else "")
def test_a_fault_is_told_with_its_place(body, place):
    with pytest.raises(Refusal) as refused:
        definitions.checked(body)
    assert refused.value.code in ("invalid_field", "unknown_field")
    assert refused.value.place == place


def test_a_schema_with_the_depth_of_an_abyss_is_refused():
    schema: dict = {"type": "object"}
    for _ in range(200):
        schema = {"type": "object", "properties": {"a": schema}}
    with pytest.raises(Refusal, match="levels deep"):
        definitions.checked({"tools": [{"name": "deep", "parameters": schema}]})


def test_what_is_left_out_is_empty_and_checking_again_changes_nothing():
    assert definitions.checked({}) == definitions.EMPTY
    whole = definitions.checked({"instructions": "Hi", "tools": [TOOL], "settings": {"temperature": 1, "stop": []}})
    assert definitions.checked(whole) == whole
    assert whole["settings"] == {"temperature": 1.0}


PARTS = st.fixed_dictionaries(
    {
        "instructions": st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40),
        "tools": st.lists(
            st.sampled_from("abcdef").map(lambda name: {"name": name, "parameters": SCHEMA}),
            unique_by=lambda one: one["name"],
            max_size=3,
        ),
        "settings": st.fixed_dictionaries({}, optional={"temperature": st.floats(0, 2), "seed": st.integers(0, 99)}),
    }
)


@given(PARTS, PARTS)
def test_hashes_agree_exactly_where_the_parts_do(one, other):
    left, right = ({**definitions.checked(body), "route": {"key": "a", "revision": 1}} for body in (one, other))
    hashes = definitions.digests(left), definitions.digests(right)
    for name, part in definitions.DIMENSIONS.items():
        key = f"{name}_sha256"
        assert (hashes[0][key] == hashes[1][key]) == (left[part] == right[part])
    assert (hashes[0]["definition_sha256"] == hashes[1]["definition_sha256"]) == (left == right)
    shuffled = json.loads(json.dumps({name: left[name] for name in reversed(left)}))
    assert definitions.digests(shuffled) == hashes[0]


def test_a_revision_of_the_route_that_changes_prices_alone_is_no_other_definition():
    body = {**definitions.EMPTY, "route": {"key": "a", "revision": 1, "sha256": "x"}}
    later = {**body, "route": {**body["route"], "revision": 2}}
    assert definitions.digests(body) == definitions.digests(later)
    other = {**body, "route": {**body["route"], "sha256": "y"}}
    assert definitions.digests(body)["definition_sha256"] != definitions.digests(other)["definition_sha256"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from(["name", "mode", "connector", "role", "text", "parameters", "description", "points", "id"])
ODD = st.dictionaries(NAMES, JSON, max_size=4)


@given(st.dictionaries(st.sampled_from(definitions.PARTS), JSON | ODD | st.lists(ODD, max_size=3), max_size=4))
def test_whatever_comes_is_taken_or_refused(body):
    try:
        taken = definitions.checked(body)
    except Refusal as refusal:
        assert refusal.place
    else:
        assert definitions.checked(taken) == taken


PARTS_OF_SETS = st.sampled_from(capability_sets.PARTS)
PARTS_OF_CASES = st.sampled_from(["input", "turns", "checklist", "variants", "validators", "engines"])


@given(st.dictionaries(PARTS_OF_SETS, JSON | ODD | st.lists(ODD, max_size=3), max_size=4))
def test_whatever_comes_as_a_configuration_is_taken_or_refused(body):
    try:
        capability_sets.checked(body)
    except Refusal as refusal:
        assert refusal.place


@given(st.dictionaries(PARTS_OF_CASES, JSON | ODD | st.lists(ODD, max_size=3), max_size=4))
def test_whatever_comes_as_a_case_is_taken_or_refused(body):
    try:
        checked_case(Case("q1", {"input": "?", **body}))
    except Refusal as refusal:
        assert refusal.place


def _with(parameters):
    return {"tools": [{"name": "find", "parameters": {"type": "object", **parameters}}]}


REFERENCES = [
    ({"$defs": {"a": {"type": "string"}}, "properties": {"x": {"$ref": "#/$defs/a"}}}, True),
    ({"properties": {"x": {"default": {"$ref": "https://example.org"}}}}, True),
    ({"$schema": "https://json-schema.org/draft/2020-12/schema"}, True),
    ({"properties": {"x": {"$ref": "#"}}}, True),
    ({"properties": {"x": {"$ref": "#/nope"}}}, False),
    ({"properties": {"x": {"$ref": "https://example.org"}}}, False),
    ({"$recursiveRef": "#"}, False),
    ({"$id": "https://example.org/x"}, False),
    ({"$schema": "http://json-schema.org/draft-04/schema#"}, False),
]


@pytest.mark.parametrize(("schema", "alone"), REFERENCES)
def test_a_schema_stands_alone(schema, alone):
    if alone:
        assert definitions.checked(_with(schema))
        return
    with pytest.raises(Refusal) as refused:
        definitions.checked(_with(schema))
    assert refused.value.place.startswith("tools[0].parameters")


def test_a_number_that_the_database_would_spell_otherwise_is_refused():
    for value in (1e300, -1e16, float("nan")):
        with pytest.raises(Refusal):
            definitions.checked(_with({"properties": {"x": {"maximum": value}}}))
    assert definitions.checked(_with({"properties": {"x": {"maximum": 1e15, "minimum": 1e-9}}}))


def test_no_two_dimensions_share_a_hash():
    assert definitions.digest("tools", []) != definitions.digest("connectors", [])
