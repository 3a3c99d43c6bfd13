"""One form of error for the whole API, whoever raised it; pages say the same to people."""

from __future__ import annotations

import uuid

import pytest
from django.core.cache import cache

from teams import actions
from teams.refusals import CATALOGUE


@pytest.fixture
def api(cast, api_client, settings):
    settings.ROOT_URLCONF = "tests.shape.stand_in_urls"
    return api_client(cast.ana, cast.team)


def error(response, status: int, code: str) -> dict:
    """The error of an answer, after holding its form."""
    assert response.status_code == status
    assert response["Content-Type"].startswith("application/json")
    assert response["X-Request-Id"]
    body = response.json()
    assert set(body) == {"error"}
    assert set(body["error"]) - {"extra"} == {"code", "message", "place", "allowed", "request_id"}
    assert body["error"]["code"] == code
    assert body["error"]["allowed"] == CATALOGUE[code].allowed
    assert body["error"]["request_id"] == response["X-Request-Id"]
    return body["error"]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"{", "import_json_invalid"),
        (b'{"a": 1, "a": 2}', "import_json_duplicate_key"),
        (b'{"a": NaN}', "import_json_nonfinite"),
        (b'{"a": "\\u0000"}', "import_nul_character"),
        (b'{"a": "\\ud800"}', "import_lone_surrogate"),
        (b'{"a": ' + b"[" * 70 + b"]" * 70 + b"}", "import_json_too_deep"),
        (b'{"a": "\xff"}', "import_not_utf8"),
    ],
    ids=lambda part: part if isinstance(part, str) else None,
)
def test_a_malformed_body_is_a_400_that_says_why(api, body: bytes, reason: str):
    found = api.post("/api/v1/echo", body, content_type="application/json")
    assert error(found, 400, "malformed_request")["extra"]["reason"] == reason


def test_an_unknown_field_is_a_400_that_names_it(api):
    found = error(api.post("/api/v1/echo", {"__class__": 1}, content_type="application/json"), 400, "unknown_field")
    assert found["place"] == "__class__"


def test_an_unknown_or_doubled_parameter_is_a_400(api):
    assert error(api.get("/api/v1/datasets?pge=1"), 400, "unknown_field")["place"] == "pge"
    assert error(api.get("/api/v1/datasets?page=1&page=2"), 400, "invalid_field")["place"] == "page"
    for value in ("0", "-1", "1e3", "٣", "x" * 400, "9999999999"):
        assert error(api.get("/api/v1/datasets", {"page_size": value}), 400, "invalid_field")["place"] == "page_size"


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer nonsense", "Basic YTpi", "Bearer a b", "Bearer \xff"])
def test_no_valid_token_is_a_401(client, cast, header: str):
    headers = {"Authorization": header} if header else {}
    found = client.get("/api/v1/datasets", headers=headers)
    error(found, 401, "not_authenticated")
    assert found["WWW-Authenticate"] == "Bearer"


def test_a_browsers_session_is_no_token(page_client, cast):
    error(page_client(cast.ana).get("/api/v1/datasets"), 401, "not_authenticated")


def test_a_missing_right_is_a_403_that_names_it(cast, api_client):
    actions.set_role(access=None, team=cast.team, user=cast.cleo, role=_role_without_rights(cast), by=None)
    found = error(api_client(cast.cleo, cast.team).get("/api/v1/datasets"), 403, "missing_right")
    assert found["extra"] == {"rights": ["evaluation.read"]}


def _role_without_rights(cast):
    from teams.models import Role

    return Role.objects.create(team=cast.team, name="Guest", rights=[])


def test_what_does_not_exist_is_a_404_also_where_no_endpoint_is(api, client):
    error(api.get(f"/api/v1/datasets/{uuid.uuid4()}"), 404, "not_found")
    for path in ("/api/v1/nothing", "/api/nothing", "/api/v1/datasets/not-a-uuid", "/api/v2/datasets", "/api/%2e%2e/x"):
        error(api.get(path), 404, "not_found")
        error(client.get(path), 404, "not_found")


def test_another_method_is_a_405_that_lists_the_right_ones(api):
    for method in ("post", "put", "patch", "delete"):
        found = getattr(api, method)("/api/v1/me")
        error(found, 405, "method_not_allowed")
        assert "GET" in found["Allow"] and method.upper() not in found["Allow"]


def test_a_head_request_is_answered_like_a_get(api):
    assert (api.head("/api/v1/me").status_code, api.head("/api/v1/me").content) == (200, b"")


def test_an_unknown_answer_or_body_type_is_a_406_or_415(api):
    error(api.get("/api/v1/datasets", headers={"Accept": "text/html"}), 406, "not_acceptable")
    error(api.post("/api/v1/echo", b"<a/>", content_type="text/xml"), 415, "unsupported_media_type")


def test_a_body_beyond_the_limit_is_a_413_that_names_it(api, settings):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 100
    found = api.post("/api/v1/echo", b'{"a": "' + b"x" * 200 + b'"}', content_type="application/json")
    assert "100" in error(found, 413, "body_too_large")["message"]


def test_too_many_requests_are_a_429(api, monkeypatch):
    from teams.api import TokenThrottle

    cache.clear()
    monkeypatch.setattr(TokenThrottle, "rate", "2/min", raising=False)
    answers = [api.get("/api/v1/me") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    error(answers[2], 429, "too_many_requests")
    assert int(answers[2]["Retry-After"]) >= 1
    cache.clear()


def test_a_fault_of_ours_is_a_500_without_its_text(api, caplog):
    api.raise_request_exception = False
    found = api.get("/api/v1/faulty")
    error(found, 500, "server_error")
    assert b"zq-canary-secret" not in found.content
    assert found["X-Request-Id"] in caplog.text


def test_a_hostile_host_is_refused_everywhere(client, cast):
    for path in ("/", "/ping", "/sign-in/", f"/t/{cast.team.slug}/datasets/", "/operators/"):
        assert client.get(path, headers={"Host": "evil.example"}).status_code == 400
    error(client.get("/api/v1/datasets", headers={"Host": "evil.example"}), 400, "malformed_request")


def test_people_get_the_same_sentence_and_code_on_a_page(cast, page_client):
    found = page_client(cast.ben).get(f"/t/{cast.team.slug}/team/audit/")
    assert found.status_code == 403
    body = found.content.decode()
    assert "This needs the right team.manage." in body and "missing_right" in body
    assert found["X-Request-Id"] in body
    assert found["Cache-Control"] == "no-store, private"
