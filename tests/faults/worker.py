"""A worker or a web server that can be told where to die: python -m tests.faults.worker celery|polling|web.

DIES_AT names one of the points below, DIES_ON the pass that is fatal, DIED a file that is made at that moment; while it
exists nobody dies any more. HOLDS_AT and HELD are the same of a process that waits there until the file is gone.
Without them it is a process like any other.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
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
JUDGING = {
    "before the claim commits": ("grading.engine.claiming", "_claimed", "after"),
    "after the claim": ("grading.engine.judging", "work_on", "before"),
    "after admission": POINTS["after admission"],
    "after the answer": POINTS["after the answer"],
    "in the middle of settling": POINTS["in the middle of settling"],
    "at the end of the pass": ("grading.engine.finishing", "finish", "before"),
}
LAUNCHING = {
    "in the middle of a launch": ("runs.actions.launching", "open_experiment", "after"),
    "after a launch": ("runs.engine.wakes", "send", "before"),
}
CELERY = (
    *("worker", "--beat", "--scheduler", "celery.beat:Scheduler", "--concurrency", "1", "--loglevel", "INFO"),
    *("--without-gossip", "--without-mingle"),
)


def arm(place: tuple[str, str, str], on: int, act: Callable[[], None]) -> None:
    module, name, when = place
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
            act()
        answer = real(*given, **named)
        if fatal and when == "after":
            act()
        return answer

    setattr(owner, last, wrapped)


def die(died: Path) -> None:
    try:
        died.touch(exist_ok=False)
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


def hold(held: Path) -> None:
    held.touch()
    while held.exists():
        time.sleep(0.02)


def serve(fd: str) -> None:
    """gunicorn as `make run` starts it, with one process, which its parent replaces when it dies."""
    from gunicorn.app.wsgiapp import run

    from config.embedded.commands import evenhand

    _, _, program, application, *options = evenhand().web
    options[options.index("--workers") + 1] = "1"
    sys.argv = [program, application, *(word.replace("{fd}", fd) for word in options)]
    run()


def main(kind: str) -> None:
    django.setup()
    told, points = os.environ, POINTS | {f"{name}, judging": place for name, place in JUDGING.items()} | LAUNCHING
    if told.get("DIES_AT"):
        arm(points[told["DIES_AT"]], int(told["DIES_ON"]), partial(die, Path(told["DIED"])))
    if told.get("HOLDS_AT"):
        arm(points[told["HOLDS_AT"]], int(told["HOLDS_ON"]), partial(hold, Path(told["HELD"])))
    if kind == "web":
        serve(told["LISTENS"])
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
