"""The API as the command line uses it: one bearer token, one error form, no redirects."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import httpx

from analysis import strict_json
from analysis.refusals import Refused
from analysis.strict_json import JsonLimits

ANSWER: Final = JsonLimits(record_bytes=64 * 1024 * 1024, field_bytes=16 * 1024 * 1024)
TIMEOUT: Final = httpx.Timeout(60.0, connect=10.0)
POLL_SECONDS: Final = 1.0
RETRIES: Final = 3  # of a request that may be repeated safely: a reading, or a posting under its key
ENDED: Final = frozenset({"completed", "refused", "cancelled"})
WAITING_FOR_A_PERSON: Final = frozenset({"ready", "needs_mapping"})


class Api:
    """An Evenhand server, asked with one person's token."""

    def __init__(self, server: str, token: str, transport: httpx.BaseTransport | None = None) -> None:
        if not _is_address(server):
            raise Refused("cli_server_invalid", "A server is an address such as https://evenhand.example.", server)
        if not token:
            raise Refused("cli_token_missing", "Give a token with --token or in EVENHAND_TOKEN.")
        if not (token.isascii() and token.isprintable()):
            raise Refused("not_authenticated", "A token holds printable ASCII characters only.")
        self._client = httpx.Client(
            base_url=server.rstrip("/"),
            headers={"Authorization": f"Bearer {token}", "Accept": "application/json"},
            timeout=TIMEOUT,
            follow_redirects=False,
            transport=transport,
        )

    def __enter__(self) -> Api:
        return self

    def __exit__(self, *exc: object) -> None:
        self._client.close()

    def paired_comparison(self, selection: dict[str, str]) -> tuple[dict[str, Any], dict[str, Any]]:
        """The frozen result and the verdict, as `GET /api/v1/paired-comparison` gives them."""
        result, verdict = self._parts("/api/v1/paired-comparison", selection, "result", "verdict")
        return result, verdict

    def paired_plan(self, query: dict[str, str]) -> dict[str, Any]:
        """What would settle it, as `GET /api/v1/paired-comparison/plan` gives it."""
        [answer] = self._parts("/api/v1/paired-comparison/plan", query, "answer")
        return answer

    def _parts(self, path: str, query: dict[str, str], *names: str) -> list[dict[str, Any]]:
        """Objects of an answer by name; parameters without a value are not sent."""
        given = {key: value for key, value in query.items() if value}
        body = self._asked(lambda: self._client.get(path, params=given))
        for name in names:
            if not isinstance(body.get(name), dict):
                raise Refused("cli_answer_unknown", f"The server's answer has no {name}.")
        return [body[name] for name in names]

    def post_import(
        self,
        files: list[tuple[str, Path]],
        *,
        dataset: str,
        mapping: dict[str, Any] | None,
        dry_run: bool,
        accept: bool,
        trust: str,
    ) -> dict[str, Any]:
        """A new import under a key of its own, so that a lost answer never imports twice."""
        key = str(uuid.uuid4())
        data = {"dataset": dataset, "dry_run": _word(dry_run), "accept_rejected": _word(accept), "trust": trust}
        if any("/" in name for name, _ in files):
            data["paths"] = json.dumps([name for name, _ in files], ensure_ascii=False)
        if mapping is not None:
            data["mapping"] = json.dumps(mapping, ensure_ascii=False)

        def send() -> httpx.Response:
            with ExitStack() as stack:
                parts = [
                    (
                        "files",
                        (name.rpartition("/")[2], stack.enter_context(path.open("rb")), "application/octet-stream"),
                    )
                    for name, path in files
                ]
                return self._client.post("/api/v1/imports", data=data, files=parts, headers={"Idempotency-Key": key})

        return self._asked(send)

    def follow_import(self, import_id: str) -> Iterator[dict[str, Any]]:
        """The import's state again and again until it has ended or waits for a person."""
        while True:
            state = self._asked(lambda: self._client.get(f"/api/v1/imports/{import_id}"))
            yield state
            if state.get("state") in ENDED | WAITING_FOR_A_PERSON:
                return
            time.sleep(POLL_SECONDS)

    def group_readiness(self, intent: dict[str, Any]) -> dict[str, Any]:
        """Whether a comparison is ready, as `GET /api/v1/groups/readiness` says it."""
        text = json.dumps(intent, ensure_ascii=False, separators=(",", ":"))
        return self._asked(lambda: self._client.get("/api/v1/groups/readiness", params={"intent": text}))

    def start_group(self, intent: dict[str, Any], readiness_sha256: str, key: str) -> dict[str, Any]:
        """All arms or none. The same key and intent give the first group again."""
        return self._posted("/api/v1/groups", {"intent": intent, "readiness_sha256": readiness_sha256}, key)

    def group(self, group_id: uuid.UUID) -> dict[str, Any]:
        """A group with the state of its arms."""
        return self._asked(lambda: self._client.get(f"/api/v1/groups/{group_id}"))

    def steer_group(self, group_id: uuid.UUID, step: str) -> dict[str, Any]:
        """Pause, resume or cancel every arm that runs."""
        return self._posted(f"/api/v1/groups/{group_id}/steps", {"step": step}, str(uuid.uuid4()))

    def templates(self) -> list[dict[str, Any]]:
        """Every template that is not archived, by name."""
        return list(self._pages("/api/v1/templates"))

    def template(self, template_id: uuid.UUID) -> dict[str, Any]:
        return self._asked(lambda: self._client.get(f"/api/v1/templates/{template_id}"))

    def template_version(self, template_id: uuid.UUID, number: int) -> dict[str, Any]:
        """A version with what it says, which is null where it is not for this person."""
        return self._asked(lambda: self._client.get(f"/api/v1/templates/{template_id}/versions/{number}"))

    def create_template(self, name: str, intent: dict[str, Any], key: str) -> dict[str, Any]:
        return self._posted("/api/v1/templates", {"name": name, "intent": intent}, key)

    def add_template_version(
        self, template_id: uuid.UUID, intent: dict[str, Any], expected: int, key: str
    ) -> dict[str, Any]:
        """The next version, made from the expected one."""
        body = {"intent": intent, "expected_revision": expected}
        return self._posted(f"/api/v1/templates/{template_id}/versions", body, key)

    def _pages(self, path: str) -> Iterator[dict[str, Any]]:
        number = pages = 1
        while number <= pages:
            body = self._page(path, number)
            if not isinstance(body.get("items"), list):
                raise Refused("cli_answer_unknown", "The server's answer has no items.")
            yield from body["items"]
            pages, number = int(body["pages"]), number + 1

    def _page(self, path: str, number: int) -> dict[str, Any]:
        return self._asked(lambda: self._client.get(path, params={"page": number, "page_size": 200}))

    def _posted(self, path: str, body: dict[str, Any], key: str) -> dict[str, Any]:
        return self._asked(lambda: self._client.post(path, json=body, headers={"Idempotency-Key": key}))

    def _asked(self, send: Callable[[], httpx.Response]) -> dict[str, Any]:
        for attempt in range(RETRIES):
            try:
                response = send()
            except httpx.TransportError as error:
                if attempt + 1 < RETRIES:
                    time.sleep(POLL_SECONDS * (attempt + 1))
                    continue
                raise Refused(
                    "cli_server_unreachable", f"The server did not answer ({type(error).__name__}); try again later."
                ) from None
            return _answer(response)
        raise AssertionError("the last attempt returns or raises")


def _answer(response: httpx.Response) -> dict[str, Any]:
    try:
        body = strict_json.loads(response.content, limits=ANSWER)
    except Refused:
        body = None
    if response.is_success and isinstance(body, dict):
        return body
    error = body.get("error", body) if isinstance(body, dict) else {}
    error = error if isinstance(error, dict) else {}
    raise Refused(
        str(error.get("code") or f"http_{response.status_code}"),
        str(error.get("message") or error.get("detail") or f"The server answered with status {response.status_code}."),
        str(error.get("place") or ""),
    )


def _is_address(server: str) -> bool:
    try:
        parts = urlsplit(server)
        httpx.URL(server)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except (ValueError, httpx.InvalidURL):
        return False


def _word(value: bool) -> str:
    return "true" if value else "false"
