"""Hazard bodies at every endpoint that takes one (reliability 5.2): refused in one form, nothing changed, no fault."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from django.apps import apps
from drf_spectacular.generators import SchemaGenerator

from tests.shape.addresses import ENDPOINTS, Address
from tests.shape.test_records import OURS
from tests.shape.test_schema import _template
from tests.shape.world import World

BODIES = ("POST", "PUT", "PATCH")
SCHEMA = SchemaGenerator().get_schema(public=True)


def _takes_json() -> Iterator[tuple[Address, str]]:
    for one in ENDPOINTS:
        for method in one.methods if one.name != "api:schema" else ():
            described = SCHEMA["paths"][_template(one)].get(method.lower(), {})
            if method in BODIES and "application/json" in described.get("requestBody", {}).get("content", {}):
                yield one, method


JSON_ENDPOINTS = list(_takes_json())


def _content(one: Address, method: str) -> dict[str, Any]:
    return SCHEMA["paths"][_template(one)][method.lower()]["requestBody"]["content"]["application/json"]


def example(one: Address, method: str) -> dict[str, Any]:
    """The documented example of a body."""
    examples = _content(one, method).get("examples")
    if examples:
        return dict(next(iter(examples.values()))["value"])
    return dict.fromkeys(shape(one, method).get("required", ()), "x")


def shape(one: Address, method: str) -> dict[str, Any]:
    reference = _content(one, method)["schema"]["$ref"]
    return SCHEMA["components"]["schemas"][reference.rpartition("/")[2]]


def _deep(levels: int) -> bytes:
    return b'{"a": ' * levels + b"1" + b"}" * levels


def hazards(body: dict[str, Any]) -> dict[str, bytes]:
    """Bodies that no endpoint may take, by their name."""
    good = json.dumps(body)
    first = next(iter(body), "a")
    inside = good[1:-1] + (", " if body else "")
    return {
        "NUL in a value": b'{%b"%b": "a\\u0000b"}' % (b"", first.encode()),
        "NUL in a key": b'{%b"a\\u0000b": 1}' % inside.encode(),
        "half a surrogate in a value": b'{"%b": "\\ud800"}' % first.encode(),
        "half a surrogate in a key": b'{%b"\\udfff": 1}' % inside.encode(),
        "a key twice": b'{%b"%b": null, "%b": null}' % (b"", first.encode(), first.encode()),
        "a key twice, once escaped": b'{"%b": 1, "\\u%04x%b": 1}' % (first.encode(), ord(first[0]), first[1:].encode()),
        "an unknown field": b'{%b"zz_unknown": 1}' % inside.encode(),
        "an unknown field of objects": b'{%b"__class__": {"__init__": 1}}' % inside.encode(),
        "depth 70": _deep(70),
        "depth 5,000": _deep(5_000),
        "depth 100,000": b"[" * 100_000 + b"]" * 100_000,
        "4,000 digits": b'{"%b": %b}' % (first.encode(), b"9" * 4_000),
        "5,000 digits": b'{"%b": %b}' % (first.encode(), b"9" * 5_000),
        "NaN": b'{"%b": NaN}' % first.encode(),
        "Infinity": b'{"%b": -Infinity}' % first.encode(),
        "1e999": b'{"%b": 1e999}' % first.encode(),
        "not UTF-8": b'{"%b": "\xff\xfe"}' % first.encode(),
        "UTF-16": good.encode("utf-16"),
        "a list": b"[" + good.encode() + b"]",
        "a text": b'"text"',
        "null": b"null",
        "a number": b"3",
        "two documents": good.encode() + good.encode(),
        "cut short": good.encode()[:-1],
        "single quotes": b"{'a': 1}",
        "a comment": b"{/* a */}",
        "a large body": b'{"%b": "%b"}' % (first.encode(), b"x" * 2_700_000),
    }


def _counts() -> dict[str, int]:
    return {
        model._meta.label: model._base_manager.count()
        for model in apps.get_models()
        if model._meta.app_label in OURS and model._meta.label != "teams.AuditEvent"
    }


def _send(program: Any, method: str, address: str, body: bytes, etag: str = '"1"') -> Any:
    headers = {"Idempotency-Key": f"hazard-{uuid.uuid4()}", "If-Match": etag}
    return program.generic(method, address, body, content_type="application/json", headers=headers)


def _etag(one: Address, program: Any, address: str) -> str:
    """What an editor would have read."""
    return program.get(address).get("ETag", '"1"') if "GET" in one.methods else '"1"'


def _refused(found: Any, what: str) -> dict[str, Any]:
    assert 400 <= found.status_code < 500, f"{what}: {found.status_code} {found.content[:300]!r}"
    error: dict[str, Any] = found.json()["error"]
    assert set(error) >= {"code", "message", "place", "allowed", "request_id"}, what
    return error


@pytest.mark.parametrize(("one", "method"), JSON_ENDPOINTS, ids=lambda part: str(part))
def test_no_endpoint_takes_a_hazardous_body(one: Address, method: str, world: World, api_client):
    program, address = api_client(world.owner, world.team), one.of(world)
    etag, before = _etag(one, program, address), _counts()
    codes = {
        name: _refused(_send(program, method, address, body, etag), name)["code"]
        for name, body in hazards(example(one, method)).items()
    }
    assert codes["a large body"] in ("body_too_large", "malformed_request")
    assert {codes["an unknown field"], codes["an unknown field of objects"]} <= {"unknown_field", *BY_READER}
    assert _counts() == before


BY_READER = {"import_mapping_invalid"}
"""Refused by the reader of mappings, which names the place in its own words."""

WRONG: dict[str, tuple[Any, ...]] = {
    "integer": ("2", 1.0, 1e3, True, [1], {}),
    "number": ("2", True, []),
    "boolean": ("true", 1, 0, "", []),
    "string": (3, True, ["a"], {"a": 1}),
    "array": ("a", {"0": "a"}, 3),
    "object": ("a", [], 3),
}


@pytest.mark.parametrize(("one", "method"), JSON_ENDPOINTS, ids=lambda part: str(part))
def test_no_field_takes_a_value_of_another_type(one: Address, method: str, world: World, api_client):
    program, address = api_client(world.owner, world.team), one.of(world)
    body, etag, before = example(one, method), _etag(one, program, address), _counts()
    for name, described in shape(one, method).get("properties", {}).items():
        for value in WRONG.get(described.get("type", ""), ()):
            found = _send(program, method, address, json.dumps({**body, name: value}).encode(), etag)
            error = _refused(found, f"{name} = {value!r}")
            assert error["code"] in ("invalid_field", *BY_READER), f"{name} = {value!r}: {error['code']}"
            assert error["code"] in BY_READER or error["place"].startswith(name), f"{name}: {error['place']}"
    assert _counts() == before


def test_every_body_is_among_them():
    assert len(JSON_ENDPOINTS) >= 20
