"""Start the stand-in, look at it from outside, and make sure that nothing stays."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg

PROJECT = Path(__file__).resolve().parents[2]
STAND_IN = Path(__file__).with_name("stand_in.py")
OURS = ("DATABASE_", "EVENHAND_", "CELERY_", "CACHE_", "SECRET_KEY", "PUBLIC_URL", "PORT", "PG")


def until(happened: Callable[[], Any], what: str, patience: float = 30.0) -> Any:
    """Wait for something, and fail by its name when it does not come."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        if answer := happened():
            return answer
        time.sleep(0.05)
    raise AssertionError(f"{what}: not within {patience} seconds")


def clean_environment(mark: str) -> dict[str, str]:
    """The environment without what `make test` has put there, with a mark to find processes by."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    return kept | {"PYTHONPATH": str(PROJECT), "MARK_OF_TEST": mark}


def processes(*marks: str) -> dict[int, str]:
    """Living processes that carry a mark in their command, their directory or their environment."""
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            traces = command + os.readlink(entry / "cwd") + (entry / "environ").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if state not in "ZX" and any(mark in traces for mark in marks):
            found[int(entry.name)] = command
    return found


class StandIn:
    """One start of the stand-in."""

    def __init__(self, var: Path, *arguments: str) -> None:
        self.var = var
        self.marks = [str(var)]
        var.parent.mkdir(parents=True, exist_ok=True)
        self.output = var.parent / f"output-{time.monotonic_ns()}"
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, str(STAND_IN), "up", str(var), *arguments],
                env=clean_environment(str(var)),
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def said(self) -> str:
        """What it has printed so far."""
        return self.output.read_text()

    def wait_up(self) -> "StandIn":
        """Wait until it says that it runs."""

        def running() -> bool:
            assert self.process.poll() is None, self.said()
            return "Stop with Ctrl-C" in self.said()

        until(running, "start")
        return self

    def finish(self) -> int:
        """Wait for its end."""
        return self.process.wait(30)

    @property
    def state(self) -> dict[str, Any]:
        """What it tells others."""
        state: dict[str, Any] = json.loads((self.var / "state.json").read_text())
        return state

    @property
    def address(self) -> str:
        """Where its web answers."""
        return str(self.state["address"])

    def connect(self) -> psycopg.Connection:
        """A session of the owner."""
        return psycopg.connect(self.state["environment"]["DATABASE_OWNER_URL"], autocommit=True)

    def postmaster(self) -> int:
        """The process to kill."""
        return int((self.var / "postgres" / "postmaster.pid").read_text().split()[0])

    def expect_nothing_left(self, patience: float = 25.0) -> None:
        """No process of it lives on."""
        until(lambda: not processes(*self.marks), f"no process left, but: {processes(*self.marks)}", patience)

    def stop(self) -> None:
        """Stop it the way a person does."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.finish()
