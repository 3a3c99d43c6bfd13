"""What every page and answer carries (reliability 6.4)."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest

from tests.conftest import ROOT


@pytest.fixture
def page(cast, page_client):
    return page_client(cast.ana).get(f"/t/{cast.team.slug}/datasets/")


def test_the_content_security_policy_lets_in_nothing_foreign(page):
    policy = dict(part.split(" ", 1) for part in page["Content-Security-Policy"].split("; ") if part)
    assert policy["default-src"] == policy["style-src"] == policy["img-src"] == policy["form-action"] == "'self'"
    assert policy["object-src"] == policy["base-uri"] == policy["frame-ancestors"] == "'none'"
    assert re.fullmatch(r"'self'( 'nonce-[\w+/=-]+')?", policy["script-src"])
    assert "unsafe" not in page["Content-Security-Policy"] and "*" not in page["Content-Security-Policy"]


def test_headers_of_a_page(page):
    assert page["X-Content-Type-Options"] == "nosniff"
    assert page["X-Frame-Options"] == "DENY"
    assert page["Referrer-Policy"] == "same-origin"
    assert page["Cross-Origin-Opener-Policy"] == "same-origin"
    assert "camera=()" in page["Permissions-Policy"]
    assert page["Cache-Control"] == "no-store, private"
    assert re.fullmatch(r"[0-9a-f]{32}", page["X-Request-Id"])


def test_a_request_id_from_outside_is_not_trusted(cast, page_client):
    found = page_client(cast.ana).get("/ping", headers={"X-Request-Id": "forged"})
    assert found["X-Request-Id"] != "forged"


def test_a_page_has_no_inline_style_script_or_event(page):
    body = page.content.decode()
    assert not re.search(r"<[^>]+\son\w+=|<[^>]+\sstyle=|javascript:", body)
    assert all("src=" in tag for tag in re.findall(r"<script[^>]*>", body))


def test_htmx_may_not_evaluate_or_leave(page):
    found = re.search(r"name=\"htmx-config\" content='([^']+)'", page.content.decode())
    assert found
    config = json.loads(found[1])
    assert (config["allowEval"], config["allowScriptTags"], config["selfRequestsOnly"]) == (False, False, True)
    assert config["historyCacheSize"] == 0  # protected pages do not lie in the browser's storage


def test_cookies_in_production_cannot_be_planted_or_read():
    """The settings of production, in a process of their own: tests run on the embedded ones."""
    code = (
        "from config import settings as s; print(s.SESSION_COOKIE_NAME, s.CSRF_COOKIE_NAME, s.SESSION_COOKIE_SECURE,"
        " s.CSRF_COOKIE_SECURE, s.SESSION_COOKIE_HTTPONLY, s.CSRF_COOKIE_HTTPONLY, s.SECURE_HSTS_SECONDS > 0, s.DEBUG)"
    )
    environment = {
        "PATH": os.environ["PATH"],
        "SECRET_KEY": "x" * 60,
        "DATABASE_URL": "postgresql://app@db/evenhand",
        "PUBLIC_URL": "https://evenhand.example.org",
    }
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.stdout.split() == ["__Host-session", "__Host-csrf", *["True"] * 5, "False"], done.stderr


def test_the_page_of_the_api_is_the_one_exception_and_only_for_styles(client, db):
    page = client.get("/api-docs/")
    policy = dict(part.split(" ", 1) for part in page["Content-Security-Policy"].split("; ") if part)
    assert policy["style-src"] == "'self' 'unsafe-inline'" and policy["img-src"] == "'self' data:"
    assert "unsafe" not in policy["script-src"] and policy["default-src"] == "'self'"
    assert policy["object-src"] == policy["base-uri"] == policy["frame-ancestors"] == "'none'"
    assert not re.search(r"(src|href)=\"(https?:)?//", page.content.decode())
    assert all("src=" in tag for tag in re.findall(r"<script[^>]*>", page.content.decode()))
    schema = client.get("/api/v1/schema?format=json")
    assert schema.status_code == 200 and schema.json()["openapi"].startswith("3.")
