"""What a worker does when it is woken, and the tick that needs no message to have arrived."""

from __future__ import annotations

import logging
from collections.abc import Callable

from django.db import InterfaceError, OperationalError

from runs.engine import draft_tests, finishing, quantum, turns, wakes
from teams.bulk import held_lock

log = logging.getLogger(__name__)


def step() -> bool:
    """Do the next piece of work: somebody's Agent Test first, since that person waits; else the next item."""
    test = draft_tests.claim_next()
    if test is not None:
        _safely(lambda: draft_tests.work_on(test), f"Agent Test {test.id}")
        return True
    taken = turns.claim_next()
    if taken is None:
        return False
    _safely(lambda: quantum.work_on(taken), f"execution {taken.claim.id}")
    finishing.finish(taken.experiment)
    return True


def _safely(work: Callable[[], None], what: str) -> None:
    """A fault of ours ends one item, not the worker: its lease runs out, and the sweep judges it."""
    try:
        work()
    except (OperationalError, InterfaceError):
        raise
    except Exception:
        log.exception("%s failed", what)


def stretch() -> None:
    """Work for a while, then leave the rest to another wake-up."""
    wakes.stretch(step, wakes.TASK)


def tick() -> int:
    """Judge what lost workers left, end what is done, wake workers for what waits. Returns how many were woken."""
    with held_lock("runs tick") as held:
        if not held:
            return 0
        finishing.sweep()
        finishing.finish_all()
        waiting = min(turns.claimable() + draft_tests.waiting(), wakes.MOST)
    wakes.send(waiting)
    return waiting
