"""A short folder for each test, and a stand-in that is always stopped."""

import contextlib
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.embedded.harness import StandIn, processes

if sys.platform != "linux":
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(autouse=True)
def quick_and_private() -> None:
    """These tests need neither Django nor its settings."""


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that the servers' account can enter; pytest's own are private to its user."""
    made = Path(tempfile.mkdtemp(prefix="eh-", dir="/tmp"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made, ignore_errors=True)


@pytest.fixture
def start(folder: Path) -> Iterator[Callable[..., StandIn]]:
    """Start stand-ins; whatever a failed test leaves running is killed."""
    started: list[StandIn] = []

    def start_one(*arguments: str, var: Path = folder / "var") -> StandIn:
        started.append(StandIn(var, *arguments))
        return started[-1]

    yield start_one
    for stand_in in started:
        stand_in.stop()
    for pid in processes(*(mark for stand_in in started for mark in stand_in.marks)):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
