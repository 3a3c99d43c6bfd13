"""A POST of one JSON object to a program: validators and tools answer with one, receivers of webhooks with anything."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

import httpx2

from analysis.strict_json import canonical
from runs.executors import bridge
from runs.executors.contract import CallFailed, Post, Reply
from runs.executors.secrets import secret
from runs.executors.transport import WIRE, Wire, client


class Posting:
    """The executor of posts: exactly one request, the whole answer as text."""

    def call(self, post: Post, admit: Callable[[], None]) -> Reply:
        key = secret(post.secret_ref)
        return bridge.run(lambda leave: _call(post, key, leave), admit)


EXECUTOR: Final = Posting()


async def _call(post: Post, key: str, admit: bridge.Admit) -> Reply:
    wire = Wire(admit, post.reference)
    WIRE.set(wire)
    body = {**post.body, **({post.named: post.reference} if post.named else {})}
    headers = {**post.headers, "Content-Type": "application/json"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    try:
        async with asyncio.timeout(post.seconds):
            answer = await client().post(post.url, content=canonical(body), headers=headers)
    except TimeoutError:
        raise CallFailed("provider_timed_out") from None
    except httpx2.TimeoutException:
        raise CallFailed("provider_timed_out") from None
    except httpx2.TransportError:
        raise CallFailed("provider_cut_off") from None
    if answer.status_code == 429:
        raise CallFailed("provider_rate_limited", status=answer.status_code)
    if answer.status_code >= 500:
        raise CallFailed("provider_server_error", status=answer.status_code)
    if post.told and answer.is_success:
        return Reply(None)
    if answer.status_code != 200:
        raise CallFailed("provider_rejected", status=answer.status_code)
    try:
        text = wire.body.decode()
    except UnicodeDecodeError:
        raise CallFailed("provider_answer_unreadable") from None
    return Reply(text, finish_reason="stop", provider_request_id=wire.headers.get("x-request-id", "")[:120])
