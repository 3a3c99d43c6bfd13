"""A worker that can be told where to die: python -m tests.faults.worker celery|polling.

DIES_AT names one of `POINTS`, DIES_ON the pass that is fatal, DIED a file that is made at that moment; while it
exists nobody dies any more. Without DIES_AT it is a worker like any other.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import django

POINTS = {
    "before the claim commits": ("runs.engine.turns", "_claim", "after"),
    "after the claim": ("runs.engine.quantum", "work_on", "before"),
    "after admission": ("runs.engine.ledger", "Account._admit", "after"),
    "after the answer": ("runs.engine.ledger", "Account.close", "before"),
    "in the middle of settling": ("runs.engine.ledger", "Account._settle", "after"),
    "after settling": ("runs.engine.finishing", "finish", "before"),
}
CELERY = (
    *("worker", "--beat", "--scheduler", "celery.beat:Scheduler", "--concurrency", "1", "--loglevel", "INFO"),
    *("--without-gossip", "--without-mingle"),
)


def arm(point: str, on: int, died: Path) -> None:
    module, name, when = POINTS[point]
    __import__(module)
    owner: Any = sys.modules[module]
    *outer, last = name.split(".")
    for part in outer:
        owner = getattr(owner, part)
    real: Callable[..., Any] = getattr(owner, last)
    passed = 0

    def wrapped(*given: Any, **named: Any) -> Any:
        nonlocal passed
        passed += 1
        fatal = passed == on
        if fatal and when == "before":
            die(died)
        answer = real(*given, **named)
        if fatal:
            die(died)
        return answer

    setattr(owner, last, wrapped)


def die(died: Path) -> None:
    try:
        died.touch(exist_ok=False)
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


def main(kind: str) -> None:
    django.setup()
    if os.environ.get("DIES_AT"):
        arm(os.environ["DIES_AT"], int(os.environ["DIES_ON"]), Path(os.environ["DIED"]))
    import runs.executors.providers  # noqa: F401  # else the first call pays for loading the libraries

    ready = Path(os.environ["READY"])
    if kind == "celery":
        from celery.signals import worker_ready

        from config.celery import app

        worker_ready.connect(lambda **_: ready.touch(), weak=False)
        app.worker_main(list(CELERY))
    else:
        from django.core.management import call_command

        ready.touch()
        call_command("work")


if __name__ == "__main__":
    main(sys.argv[1])
