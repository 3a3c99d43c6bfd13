"""Work without a broker: what a worker would be woken for is looked for, again and again."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Final

from django.db import InterfaceError, OperationalError, close_old_connections

import grading.engine.working
import intake.working
import runs.engine.working
import webhooks.working

log = logging.getLogger(__name__)

EVERY: Final = 1.0
"""Seconds between two looks where nothing was left to do."""

TICKS: Final[tuple[Callable[[], object], ...]] = (
    runs.engine.working.tick,
    grading.engine.working.tick,
    webhooks.working.tick,
)
STEPS: Final[tuple[Callable[[], bool], ...]] = (
    runs.engine.working.step,
    grading.engine.working.step,
    intake.working.step,
    webhooks.working.step,
)
HOURLY: Final[tuple[Callable[[], object], ...]] = (intake.working.expire, webhooks.working.expire)


class Poller:
    """Does what waits, one step of everything in turn, until it is asked to stop; the step in hand is finished."""

    def __init__(self) -> None:
        self._stop = threading.Event()
        self._ticked = self._hourly = float("-inf")

    def stop(self) -> None:
        self._stop.set()

    def run(self) -> None:
        while not self._stop.is_set():
            if not self._round():
                self._stop.wait(EVERY)

    def once(self) -> None:
        """Everything that waits now, and what follows from it. A fault of the database goes through."""
        while True:
            self._each(TICKS)
            if not self._each(STEPS) or self._stop.is_set():
                return

    def _round(self) -> bool:
        """Returns whether anything was done. A database that went away is waited for."""
        try:
            close_old_connections()
            now = time.monotonic()
            if now - self._ticked >= EVERY:
                self._ticked = now
                self._each(TICKS)
            if now - self._hourly >= 3600:
                self._hourly = now
                self._each(HOURLY)
            return self._each(STEPS)
        except (OperationalError, InterfaceError) as fault:
            log.warning("the database cannot be reached, work waits (%s)", type(fault).__name__)
            return False

    def _each(self, parts: tuple[Callable[[], object], ...]) -> bool:
        did = False
        for part in parts:
            if self._stop.is_set():
                break
            try:
                did = bool(part()) or did
            except (OperationalError, InterfaceError):
                raise
            except Exception:  # a fault of one part must not keep the others waiting
                log.exception("%s.%s failed", part.__module__, part.__qualname__)
        return did
