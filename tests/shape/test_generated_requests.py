"""Requests generated from the API's own description, at every operation: no fault, and answers of the described form.

Half of them name objects that are there. What an endpoint takes (2xx) holds nothing but described fields.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import Any

import pytest
import schemathesis
from django.conf import settings
from django.db import transaction
from django.test.client import ClientHandler
from hypothesis import HealthCheck, Phase, given, seed
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import content_type_conformance, response_schema_conformance

from tests.shape.addresses import ENDPOINTS, OBJECTS, QUERIES
from tests.shape.test_hazards import SCHEMA
from tests.shape.test_schema import _template
from tests.shape.world import World

EXAMPLES = 25
CHECKS = [not_a_server_error, content_type_conformance, response_schema_conformance]
ELSEWHERE = {400, 404, 405, 406, 409, 413, 414, 415, 422}
"""Refusals that any operation may answer; the description names the usual ones."""


def _application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Django in this thread and transaction, as a WSGI application."""
    response = ClientHandler(enforce_csrf_checks=False)(environ)
    status = f"{response.status_code} {HTTPStatus(response.status_code).phrase}"
    start_response(status, [(name, value) for name, value in response.items()])
    return [b"".join(response)]


def _operations() -> dict[str, Any]:
    schema = schemathesis.openapi.from_dict(SCHEMA)
    schema.app = _application
    return {found.label: found for result in schema.get_all_operations() if (found := result.ok()) is not None}


OPERATIONS = _operations()
BY_LABEL = {
    f"{method} {_template(one)}": one for one in ENDPOINTS if one.name != "api:schema" for method in one.methods
}


def test_every_operation_is_generated_for():
    assert set(OPERATIONS) == set(BY_LABEL)


@pytest.fixture
def unlimited():
    """Generated requests come faster than any program's."""
    limits = settings.REST_FRAMEWORK["DEFAULT_THROTTLE_RATES"]
    before = limits["token"]
    limits["token"] = None
    yield
    limits["token"] = before


@pytest.mark.parametrize("label", sorted(OPERATIONS))
def test_generated_requests_meet_no_fault(label: str, world: World, api_client, unlimited):
    one, operation = BY_LABEL[label], OPERATIONS[label]
    program = api_client(world.owner, world.team)
    token = program.defaults["HTTP_AUTHORIZATION"]
    there = {name: str(OBJECTS[name](world)) for name in one.parameters}
    etag = program.get(one.of(world)).get("ETag", '"1"') if "GET" in one.methods else '"1"'
    known = set(QUERIES.get(one.name, {}))
    taken: list[int] = []

    def ask(case: Any, real: bool) -> None:
        if real:
            case.path_parameters = there
            case.query = {**case.query, **{name: str(QUERIES[one.name][name](world)) for name in known}}
            if "If-Match" in case.headers:
                case.headers["If-Match"] = etag
        headers = {**case.headers, "Authorization": token}
        if "Idempotency-Key" in headers and real:
            headers["Idempotency-Key"] = f"generated-{uuid.uuid4()}"
        with transaction.atomic():
            response = case.call(headers=headers)
            transaction.set_rollback(True)
        case.validate_response(response, checks=CHECKS)
        described = {int(code) for code in operation.definition.raw["responses"] if code.isdigit()}
        assert response.status_code in described | ELSEWHERE, response.status_code
        taken.append(response.status_code)
        if response.status_code >= 400:
            assert set(json.loads(response.content)) == {"error"}
        elif isinstance(case.body, dict) and case.media_type == "application/json":
            assert set(case.body) <= _described(operation), "an unknown field was taken"

    @hypothesis_settings(
        max_examples=EXAMPLES, suppress_health_check=list(HealthCheck), phases=[Phase.generate], database=None
    )
    @seed(20261203)
    @given(
        case=st.one_of(
            operation.as_strategy(generation_mode=GenerationMode.POSITIVE),
            operation.as_strategy(generation_mode=GenerationMode.NEGATIVE),
        ),
        real=st.booleans(),
    )
    def run(case: Any, real: bool) -> None:
        ask(case, real)

    run()
    assert len(taken) >= EXAMPLES // 2
    narrow = one.name in QUERIES  # such an address opens with few queries; the matrix asks for one of them
    assert not label.startswith("GET ") or narrow or 200 in taken, "no request came through"


def _described(operation: Any) -> set[str]:
    reference = operation.definition.raw["requestBody"]["content"]["application/json"]["schema"]["$ref"]
    return set(SCHEMA["components"]["schemas"][reference.rpartition("/")[2]]["properties"])
