"""A POST of one JSON object to a program that answers with one: tool validators, tools over connectors."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import cache
from typing import Final

import httpx2

from analysis.strict_json import canonical
from runs.executors import bridge
from runs.executors.contract import CallFailed, Post, Reply
from runs.executors.secrets import secret
from runs.executors.transport import WIRE, Wire, client

SECONDS: Final = 30.0


class Posting:
    """The executor of posts: exactly one request, the whole answer as text."""

    def call(self, post: Post, admit: Callable[[], None]) -> Reply:
        key = secret(post.secret_ref)
        return bridge.run(lambda leave: _call(post, key, leave), admit)


EXECUTOR: Final = Posting()


@cache
def _client() -> httpx2.AsyncClient:
    return client()


async def _call(post: Post, key: str, admit: bridge.Admit) -> Reply:
    wire = Wire(admit, post.reference)
    WIRE.set(wire)
    body = {**post.body, **({post.named: post.reference} if post.named else {})}
    headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {key}"} if key else {})}
    try:
        async with asyncio.timeout(SECONDS):
            answer = await _client().post(post.url, content=canonical(body), headers=headers)
    except TimeoutError:
        raise CallFailed("provider_timed_out") from None
    except httpx2.TimeoutException:
        raise CallFailed("provider_timed_out") from None
    except httpx2.TransportError:
        raise CallFailed("provider_cut_off") from None
    if answer.status_code == 429:
        raise CallFailed("provider_rate_limited")
    if answer.status_code >= 500:
        raise CallFailed("provider_server_error")
    if answer.status_code != 200:
        raise CallFailed("provider_rejected")
    try:
        text = wire.body.decode()
    except UnicodeDecodeError:
        raise CallFailed("provider_answer_unreadable") from None
    return Reply(text, finish_reason="stop", provider_request_id=wire.headers.get("x-request-id", "")[:120])
