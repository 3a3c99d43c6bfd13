"""The API describes itself, and its document names every address."""

from __future__ import annotations

import re
import uuid

import pytest
from django.core.management import call_command
from django.urls import reverse
from drf_spectacular.generators import SchemaGenerator

from config import urls
from config.management.commands import endpoint_docs
from tests.conftest import ROOT
from tests.shape.addresses import ENDPOINTS


def test_the_description_is_valid_and_complete(tmp_path):
    call_command("spectacular", "--validate", "--fail-on-warn", "--file", str(tmp_path / "schema.yml"))
    described = (tmp_path / "schema.yml").read_text()
    assert "/api/v1/experiments/{experiment}/executions" in described
    assert "scheme: bearer" in described


def _routes():
    for included in urls.api:
        for entry in getattr(included, "url_patterns", [included]):
            yield re.sub(r"<\w+:(\w+)>", "<>", str(entry.pattern))


def test_the_document_names_every_address():
    document = re.sub(r"<[\w ]+>", "<>", (ROOT / "docs" / "api.md").read_text(encoding="utf-8"))
    assert len(ENDPOINTS) == len(list(_routes()))
    for route in _routes():
        assert f"`{route}`" in document or f"/{route}`" in document, f"docs/api.md does not name {route}"


def test_the_census_names_every_endpoint():
    assert endpoint_docs.PLACE.read_text(encoding="utf-8") == endpoint_docs.HEAD + "".join(endpoint_docs.rows()), (
        "run `manage.py endpoint_docs`"
    )


def _template(one) -> str:
    """`/api/v1/members/{user}`."""
    given = {
        name: 7654321 if name in ("number", "position") else uuid.UUID(int=place)
        for place, name in enumerate(one.parameters, start=1)
    }
    address = reverse(one.name, kwargs=given)
    for name, value in given.items():
        address = address.replace(str(value), f"{{{name}}}")
    return address


@pytest.fixture(scope="module")
def paths():
    return SchemaGenerator().get_schema(public=True)["paths"]


def test_what_is_made_takes_a_request_key_and_what_is_edited_an_etag(paths):
    """By the description, so that programs learn it too."""
    for one in ENDPOINTS:
        for method in one.methods if one.name != "api:schema" else ():
            described = paths[_template(one)][method.lower()]
            headers = {given["name"] for given in described.get("parameters", ()) if given["in"] == "header"}
            if method == "PATCH":
                assert "If-Match" in headers, one.name
            if method == "POST" and one.name not in WITHOUT_KEY:
                assert "Idempotency-Key" in headers, one.name
            if method in ("POST", "PATCH") and "requestBody" in described:
                body = next(iter(described["requestBody"]["content"].values()))
                answers = [found for code, found in described["responses"].items() if code.startswith("2")]
                shown = [body, *(next(iter(found["content"].values())) for found in answers if "content" in found)]
                assert any("examples" in entry or "example" in entry for entry in shown), f"{one.name} has no example"


WITHOUT_KEY = {
    "api:resend_invitation": "a new link each time is what is asked for",
    "api:import_confirm": "the import's own state lets it happen once",
    "api:mappings": "a taken name is refused, so nothing is made twice",
}
"""Endpoints that take no request key, with the reason."""
