"""Wake-ups: a message that says there may be something to do. Rows say what."""

from __future__ import annotations

import logging
from typing import Final

from celery import current_app
from django.db import transaction

log = logging.getLogger(__name__)

MOST: Final = 32
EXPIRES: Final = 10
"""Seconds; by then a tick has come, and a worker that is still busy needs no reminder."""


def wake(count: int = 1) -> None:
    """Wake workers after the commit. A message that gets lost costs one tick."""
    transaction.on_commit(lambda: send(count))


def send(count: int) -> None:
    try:
        for _ in range(min(count, MOST)):
            current_app.send_task("runs.tasks.work", expires=EXPIRES, retry=False)
    except Exception:  # whatever the broker's fault is, the rows are the request
        log.warning("work waits for the next tick: the broker cannot be reached")
