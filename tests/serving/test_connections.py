"""What a client receives from the running web server, whatever it sends (reliability 5.2, 6.1)."""

from __future__ import annotations

import json
import socket
from urllib.parse import urlsplit

import httpx
import pytest

LIMIT = 8190  # bytes of a request line


def said(house, sent: bytes) -> tuple[int, dict[str, str], bytes]:
    """Everything that the server answers to these bytes, sent whole before anything is read."""
    place = urlsplit(house.address)
    with socket.create_connection((place.hostname, place.port), timeout=30) as connection:
        connection.sendall(sent)
        answer = b""
        while piece := connection.recv(1 << 16):
            answer += piece
    head, _, body = answer.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    return int(first.split()[1]), {name.lower(): value for name, _, value in (x.partition(": ") for x in lines)}, body


def request(target: str, *headers: str) -> bytes:
    lines = (f"GET {target} HTTP/1.1", "Host: 127.0.0.1", "Connection: close", *headers, "", "")
    return "\r\n".join(lines).encode()


def line_of(length: int, beginning: str) -> bytes:
    rest = length - len(f"GET {beginning} HTTP/1.1")
    return request(beginning + "a" * rest)


@pytest.mark.parametrize("size", [1_000, 100_000, 3_000_000, 70_000_000])
@pytest.mark.parametrize("kept", ["keep-alive", "close"])
@pytest.mark.parametrize(
    ("path", "kind", "status"),
    [
        ("/api/v1/imports", "multipart/form-data; boundary=x", 401),
        ("/api/v1/imports", "application/json", 401),
        ("/api/v1/nothing", "application/json", 404),
        ("/api/v1/schema", "application/json", 405),
        ("/sign-in/", "text/plain", 403),
    ],
)
def test_a_refused_body_of_any_size_gets_its_answer(house, path, kind, status, kept, size):
    with httpx.Client(base_url=house.address, timeout=60, headers={"Connection": kept}) as client:
        for _ in range(2):  # the second time over the same connection, where there still is one
            answer = client.post(path, content=b"x" * size, headers={"Content-Type": kind})
            assert answer.status_code == status
            if path.startswith("/api/"):
                assert answer.headers["Content-Type"] == "application/json"
                assert set(answer.json()["error"]) >= {"code", "message", "place", "allowed", "request_id"}


def test_a_kept_connection_answers_the_next_request_after_an_unread_body(house):
    place = urlsplit(house.address)
    body = b"x" * 300_000
    first = b"POST /api/v1/imports HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
    with socket.create_connection((place.hostname, place.port), timeout=30) as connection:
        connection.sendall(first + request("/ping"))
        answer = b""
        while piece := connection.recv(1 << 16):
            answer += piece
    assert answer.startswith(b"HTTP/1.1 401 ")
    assert b"HTTP/1.1 200 OK" in answer and answer.endswith(b"ok")


def test_a_long_address_works_up_to_the_stated_limit(house):
    status, _, body = said(house, line_of(LIMIT, "/api/v1/experiments?q="))
    assert (status, json.loads(body)["error"]["code"]) == (401, "not_authenticated")
    with house.client("ana") as client:
        long = "&".join(f"unused{number}=x" for number in range(500))
        assert client.get(f"{house.demo_comparison}&{long}").status_code in (200, 400)


def test_a_longer_address_is_refused_in_our_form(house):
    status, headers, body = said(house, line_of(LIMIT + 1, "/api/v1/experiments?q="))
    error = json.loads(body)["error"]
    assert (status, headers["content-type"], error["code"]) == (414, "application/json", "address_too_long")
    assert "8,190" in error["allowed"] and headers["x-request-id"] == error["request_id"]
    status, headers, body = said(house, line_of(20_000, "/sign-in/?next="))
    assert (status, headers["content-type"]) == (414, "text/html; charset=utf-8")
    assert b"8,190" in body and b"Evenhand" in body and "default-src 'self'" in headers["content-security-policy"]
    assert "set-cookie" not in headers


@pytest.mark.parametrize(
    "headers", [[f"X-{number}: a" for number in range(200)], ["X-A: " + "a" * 20_000], ["Cookie: a=" + "b" * 9_000]]
)
def test_a_flood_of_headers_is_refused_in_our_form(house, headers):
    status, _, body = said(house, request("/api/v1/experiments", *headers))
    assert (status, json.loads(body)["error"]["code"]) == (431, "headers_too_large")
    status, found, body = said(house, request("/sign-in/", *headers))
    assert (status, found["content-type"]) == (431, "text/html; charset=utf-8")


@pytest.mark.parametrize("broken", ["Content-Length: x", "Content-Length: -1", "no colon", "Transfer-Encoding: odd"])
def test_a_broken_head_is_refused_in_our_form(house, broken):
    status, _, body = said(house, request("/api/v1/experiments", broken))
    assert (status, json.loads(body)["error"]["code"]) == (400, "malformed_request")


def test_a_broken_request_line_is_refused_in_our_form(house):
    status, headers, body = said(house, b"<script>alert(1)</script>\r\n\r\n")
    assert (status, headers["content-type"]) == (400, "text/html; charset=utf-8")
    assert b"alert" not in body


@pytest.mark.parametrize("accept", ["*/*", "text/html", "application/yaml", "application/vnd.oai.openapi", "x"])
@pytest.mark.parametrize(("method", "query"), [("POST", ""), ("GET", "?format=xml"), ("DELETE", "?format=yaml")])
def test_every_error_of_the_schema_is_the_one_json_form(house, accept, method, query):
    answer = httpx.request(method, f"{house.address}/api/v1/schema{query}", headers={"Accept": accept})
    assert answer.status_code in (404, 405, 406)
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.json()["error"]["request_id"] == answer.headers["X-Request-Id"]
