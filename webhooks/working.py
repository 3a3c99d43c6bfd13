"""What a worker does for webhooks when it is woken, and the tick that needs no message to have arrived."""

from __future__ import annotations

import logging

from django.db import InterfaceError, OperationalError

from runs.engine import wakes
from teams.bulk import held_lock
from webhooks import outbox, sending
from webhooks.actions import TASK

log = logging.getLogger(__name__)


def step() -> bool:
    """Make the next attempt that is due."""
    claim = sending.claim_next()
    if claim is None:
        return False
    try:
        sending.send(claim)
    except (OperationalError, InterfaceError):
        raise
    except Exception:  # a fault of ours ends one attempt, not the worker: its lease runs out
        log.exception("delivery %s failed", claim.delivery.pk)
    return True


def stretch() -> None:
    """Work for a while, then leave the rest to another wake-up."""
    wakes.stretch(step, TASK)


def tick() -> int:
    """Write down what ended, give up what lost workers left, wake workers for what is due."""
    with held_lock("webhooks tick") as held:
        if not held:
            return 0
        sending.sweep()
        outbox.fill()
        waiting = min(sending.waiting(), wakes.MOST)
    wakes.send(waiting, TASK)
    return waiting


def expire() -> int:
    """Forget deliveries that ended long ago."""
    return outbox.forget()
