"""The HTTP client of outside calls: one request, to the address that was judged, no detour, a bounded answer."""

from __future__ import annotations

import ssl
from collections.abc import Iterable
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

import httpcore2
import httpx2
from django.conf import settings

from runs.executors.addresses import judged
from runs.executors.bridge import Admit
from runs.executors.contract import CallFailed

LARGEST_ANSWER: Final = 8 * 1024 * 1024
CONNECT_SECONDS: Final = 10.0
NOT_HANDED_ON: Final = ("transfer-encoding", "set-cookie")
"""The body is whole by then, and a client that all calls share must not carry one receiver's cookie to the next."""


class SecondRequest(RuntimeError):
    """A library tried to send a request of its own; one attempt is one outside call."""


@dataclass
class Wire:
    """What one call did on the wire. `failure` is what we found wrong with it, whatever a library makes of it."""

    admit: Admit
    reference: str = ""
    admitted: bool = False
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    failure: Exception | None = None


WIRE: ContextVar[Wire] = ContextVar("wire")


class _Backend(httpcore2.AsyncNetworkBackend):
    """Connects to the judged address of a host; TLS still asks for the host by its name."""

    def __init__(self) -> None:
        self._inner = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        # One name, one answer: resolving blocks this loop for a moment, but a process makes one call at a time.
        address = judged(host, port, loopback=settings.EMBEDDED)
        return await self._inner.connect_tcp(
            address, port, timeout=timeout, local_address=local_address, socket_options=socket_options
        )

    async def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[Any] | None = None
    ) -> httpcore2.AsyncNetworkStream:
        raise CallFailed("address_forbidden")

    async def sleep(self, seconds: float) -> None:
        await self._inner.sleep(seconds)


class Transport(httpx2.AsyncHTTPTransport):
    """Admits a request before it leaves, and reads the whole answer within its bounds."""

    def __init__(self) -> None:
        super().__init__(trust_env=False, retries=0)
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=ssl.create_default_context(),
            max_connections=16,
            max_keepalive_connections=16,
            keepalive_expiry=60.0,
            retries=0,
            network_backend=_Backend(),
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        wire = WIRE.get()
        try:
            return await self._handle(wire, request)
        except Exception as failure:
            wire.failure = wire.failure or failure
            raise

    async def _handle(self, wire: Wire, request: httpx2.Request) -> httpx2.Response:
        if wire.admitted:
            raise SecondRequest
        request.headers["Accept-Encoding"] = "identity"  # an answer that unpacks is one without bounds
        if wire.reference:
            request.headers["X-Request-Id"] = wire.reference
        await wire.admit()
        wire.admitted = True
        try:
            answer = await super().handle_async_request(request)
        except (httpx2.ConnectError, httpx2.ConnectTimeout):
            raise CallFailed("provider_unreachable") from None
        wire.status = answer.status_code
        wire.headers = {name.lower(): value for name, value in answer.headers.items()}
        try:
            await self._read(wire, answer)
        finally:
            await answer.aclose()
        return httpx2.Response(
            status_code=answer.status_code,
            headers=[(name, value) for name, value in answer.headers.items() if name.lower() not in NOT_HANDED_ON],
            content=wire.body,
            request=request,
        )

    async def _read(self, wire: Wire, answer: httpx2.Response) -> None:
        if 300 <= answer.status_code < 400:
            raise CallFailed("provider_redirected")
        if answer.headers.get("content-encoding", "identity") != "identity":
            raise CallFailed("provider_answer_unreadable")
        found = bytearray()
        try:
            async for piece in answer.aiter_raw():
                found += piece
                if len(found) > LARGEST_ANSWER:
                    raise CallFailed("provider_answer_too_large")
        except httpx2.TimeoutException:
            raise CallFailed("provider_timed_out") from None
        except httpx2.TransportError:
            raise CallFailed("provider_cut_off") from None
        wire.body = bytes(found)


@cache
def client() -> httpx2.AsyncClient:
    """The process's one client, which follows nothing, asks no proxy and keeps no cookie.

    One for all routes and receivers: nobody closes the connections of a client that is dropped, so models come and
    go and the client stays.
    """
    return httpx2.AsyncClient(
        transport=Transport(),
        follow_redirects=False,
        trust_env=False,
        timeout=httpx2.Timeout(None, connect=CONNECT_SECONDS),
    )
