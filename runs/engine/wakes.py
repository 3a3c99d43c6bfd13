"""Wake-ups: a message that says there may be something to do. Rows say what."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Final

from celery import current_app
from django.conf import settings
from django.db import transaction

log = logging.getLogger(__name__)

TASK: Final = "runs.tasks.work"
STRETCH: Final = 1.0
"""Seconds for which one wake-up keeps a worker, so that imports and mails get theirs in between."""
MOST: Final = 32
EXPIRES: Final = 10
"""Seconds; by then a tick has come, and a worker that is still busy needs no reminder."""


def wake(count: int = 1, task: str = TASK) -> None:
    """Wake workers after the commit. A message that gets lost costs one tick."""
    transaction.on_commit(lambda: send(count, task))


def send(count: int, task: str = TASK) -> None:
    if not settings.CELERY_BROKER_URL:  # polling workers look by themselves
        return
    try:
        for _ in range(min(count, MOST)):
            current_app.send_task(task, expires=EXPIRES, retry=False)
    except Exception:  # whatever the broker's fault is, the rows are the request
        log.warning("work waits for the next tick: the broker cannot be reached")


def stretch(step: Callable[[], bool], task: str) -> None:
    """Work for a while, then leave the rest to another wake-up."""
    until = time.monotonic() + STRETCH
    while step():
        if time.monotonic() >= until:
            send(1, task)
            return
