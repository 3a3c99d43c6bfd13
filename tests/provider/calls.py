"""What the provider has received, in memory and in a file that outlives a killed process."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass
class Call:
    """One request, written down before anything is answered. The last two fields change until the call has ended."""

    number: int
    """From 1, in the order of arrival."""
    at: float
    """time.monotonic(): on Linux one clock for all processes."""
    path: str
    model: str | None
    headers: dict[str, str]
    """Names in lower case."""
    body: dict[str, Any] | None
    """None: no body, or none that is a JSON object."""
    answered: bool = False
    """A whole HTTP answer, of whatever status, has been handed to the client that was there to take it."""
    client_gone: bool = False
    """The client closed its connection before it was answered."""


class Journal:
    """Calls in order. With a file, every line is a whole call, on the disk when the method returns; a call that ended
    has a second line. A file that exists is continued, so a provider that comes back counts on.

    Its caller holds a lock.
    """

    def __init__(self, path: Path | None) -> None:
        earlier = read_log(path) if path and path.exists() else []
        self.calls: list[Call] = earlier
        self._file = path.open("a", encoding="utf-8") if path else None
        if earlier:
            self._put("")  # the last line of a killed provider may have no end

    def arrived(self, **facts: Any) -> Call:
        call = Call(number=len(self.calls) + 1, **facts)
        self.calls.append(call)
        self._put(json.dumps(asdict(call)))
        return call

    def ended(self, call: Call) -> None:
        self._put(json.dumps(asdict(call)))

    def close(self) -> None:
        if self._file:
            self._file.close()
            self._file = None

    def _put(self, line: str) -> None:
        if self._file:
            self._file.write(line + "\n")
            self._file.flush()
            os.fsync(self._file.fileno())


def read_log(path: Path) -> list[Call]:
    """The calls of a provider's file as last known; a line that was cut off by a kill is passed over."""
    found: dict[int, Call] = {}
    for line in path.read_text(encoding="utf-8").split("\n"):
        try:
            call = Call(**json.loads(line))
        except (ValueError, TypeError):
            continue
        found[call.number] = call
    return [found[number] for number in sorted(found)]
