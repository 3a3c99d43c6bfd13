"""Drives a provider that runs in another process."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

from tests.provider.calls import Call


class Remote:
    """The same verbs as `Provider`, over HTTP. Made from either address of it, with or without /v1."""

    def __init__(self, url: str) -> None:
        self.root = url.rstrip("/").removesuffix("/v1")

    @property
    def url(self) -> str:
        return f"{self.root}/v1"

    @property
    def calls(self) -> list[Call]:
        return [Call(**call) for call in self._ask("GET", "calls")["calls"]]

    @property
    def held(self) -> int:
        return self.state()["held"]

    def state(self) -> dict[str, int]:
        """{"calls": n, "held": n}"""
        said: dict[str, int] = self._ask("GET", "state")
        return said

    def rule(self, contains: str, behaviour: str, key: str | None = None) -> None:
        self._ask("POST", "rules", {"contains": contains, "behaviour": behaviour, "key": key})

    def forget_rules(self) -> None:
        self._ask("DELETE", "rules")

    def release(self, n: int | None = None) -> int:
        return int(self._ask("POST", "release", {"n": n})["released"])

    def wait_calls(self, n: int, timeout: float = 5) -> None:
        self._wait(lambda state: state["calls"] >= n, timeout, f"{n} calls")

    def wait_held(self, n: int, timeout: float = 5) -> None:
        self._wait(lambda state: state["held"] >= n, timeout, f"{n} held requests")

    def _wait(self, reached: Callable[[dict[str, int]], bool], timeout: float, what: str) -> None:
        end = time.monotonic() + timeout
        while not reached(state := self.state()):
            if time.monotonic() > end:
                raise TimeoutError(f"waited {timeout} s for {what}; the provider says {state}")
            time.sleep(0.02)

    def _ask(self, verb: str, name: str, body: object = None) -> Any:
        place = urlsplit(self.root)
        connection = HTTPConnection(place.hostname or "", place.port, timeout=10)
        try:
            sent = None if body is None else json.dumps(body)
            connection.request(verb, f"/control/{name}", sent, {"Connection": "close"})
            answer = connection.getresponse()
            said = json.loads(answer.read())
        finally:
            connection.close()
        if answer.status != 200:
            raise ValueError(said["error"])
        return said
