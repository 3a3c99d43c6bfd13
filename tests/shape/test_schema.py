"""The API describes itself, and its document names every address."""

from __future__ import annotations

import re

from django.core.management import call_command

from config import urls
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
