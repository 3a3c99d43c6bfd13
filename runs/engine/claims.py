"""Claims: a conditional update with a lease and an epoch, by the database's clock."""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from django.conf import settings
from django.db import Error, connection
from django.db.backends.base.base import BaseDatabaseWrapper

from analysis.observations import FailureKind, Generation
from runs.models import Attempt, Call, DraftTestAttempt

log = logging.getLogger(__name__)


TOTALS: Final = ("cost_micros", "cost_coverage", "cost_basis", "currency")
MEASURED: Final = (*TOTALS, "input_tokens", "output_tokens", "duration_ms")


@dataclass(frozen=True, slots=True)
class Work:
    """A table whose rows are worked on, the table of their outside calls, and how its states are spelt."""

    table: str
    calls: type[Call]
    owner: str
    """The field of a call that names its row."""
    column: str = "state"
    waiting: int = Generation.PLANNED.value
    running: int = Generation.RUNNING.value
    """Where it is the same as `waiting`, the lease alone says that somebody works on the row."""
    indeterminate: int = Generation.INDETERMINATE.value
    interrupted: tuple[tuple[str, int], ...] = (
        ("state", Generation.FAILED.value),
        ("failure_kind", FailureKind.INTERRUPTED.value),
    )
    ended: str = "finished_at"
    totals: tuple[str, ...] = MEASURED
    experiment: str = ""
    """Selects the experiment of a row, whose kept sums count what the row cost."""

    @property
    def held(self) -> str:
        """Whether a claim still holds; every write of a worker asks for it."""
        return f"id = %s AND epoch = %s AND {self.column} = {self.running} AND lease_until >= clock_timestamp()"


EXECUTIONS: Final = Work(
    "runs_execution", Attempt, "execution", experiment="SELECT experiment_id FROM runs_execution WHERE id = %s"
)
DRAFT_TESTS: Final = Work("runs_drafttest", DraftTestAttempt, "draft_test")


@dataclass(frozen=True, slots=True)
class Claim:
    work: Work
    id: Any
    epoch: int


class Lost(Exception):
    """The claim is no longer ours: its lease ran out, and somebody may have judged the row since."""


def worker_name() -> str:
    return f"{socket.gethostname()}:{os.getpid()}"[:80]


def lock_claim(claim: Claim) -> None:
    """Hold the claimed row until the end of the transaction, or `Lost`."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT 1 FROM {claim.work.table} WHERE {claim.work.held} FOR NO KEY UPDATE", [claim.id, claim.epoch]
        )
        if cursor.fetchone() is None:
            raise Lost


def lock_row(claim: Claim) -> bool:
    """Hold the row until the end of the transaction, whoever claimed it meanwhile. Returns whether it has ended."""
    work = claim.work
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {work.column} NOT IN ({work.waiting}, {work.running}) FROM {work.table} "
            "WHERE id = %s FOR NO KEY UPDATE",
            [claim.id],
        )
        row = cursor.fetchone()
    return bool(row and row[0])


def settle(claim: Claim, **columns: Any) -> None:
    """Write what became of a claimed row, if it is still ours. It is nobody's afterwards."""
    told = "".join(f"{name} = %s, " for name in columns)
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE {claim.work.table} SET {told}lease_until = NULL WHERE {claim.work.held}",
            [*columns.values(), claim.id, claim.epoch],
        )
        if cursor.rowcount != 1:
            raise Lost


def give_back(claim: Claim) -> None:
    """The row waits again, as if nobody had claimed it. Only where no call was admitted under this claim."""
    settle(claim, **{claim.work.column: claim.work.waiting, "claimed_by": ""})


class _Renewer:
    """Renews the leases of this process's claims, from a thread and a connection of its own.

    Both begin when a claim has lasted for a third of its lease, so that quick items cost nothing.
    """

    def __init__(self) -> None:
        self._claims: dict[Claim, float] = {}
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def add(self, claim: Claim) -> None:
        with self._changed:
            self._claims[claim] = time.monotonic()
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="leases", daemon=True)
                self._thread.start()
            self._changed.notify()

    def remove(self, claim: Claim) -> None:
        with self._changed:
            self._claims.pop(claim, None)
            self._changed.notify()

    def _run(self) -> None:
        side: BaseDatabaseWrapper | None = None
        while True:
            with self._changed:
                third = settings.LEASE_SECONDS / 3
                if not self._claims:
                    if side is not None:
                        side.close()
                        side = None
                    self._changed.wait()
                    continue
                due = min(self._claims.values()) + third - time.monotonic()
                if due > 0:
                    self._changed.wait(due)
                    continue
                now = time.monotonic()
                claims = [claim for claim, renewed in self._claims.items() if renewed + third <= now + 0.01]
            try:
                side = side or connection.copy()
                for claim in claims:
                    _renew(side, claim)
            except Error:
                log.warning("leases were not renewed: the database cannot be reached")
                if side is not None:
                    side.close()
                side = None
                time.sleep(min(third, 1.0))
            with self._changed:
                for claim in claims:
                    if claim in self._claims:
                        self._claims[claim] = time.monotonic()


def _renew(side: BaseDatabaseWrapper, claim: Claim) -> None:
    with side.cursor() as cursor:
        cursor.execute(
            f"UPDATE {claim.work.table} SET lease_until = clock_timestamp() + make_interval(secs => %s) "
            f"WHERE {claim.work.held}",
            [settings.LEASE_SECONDS, claim.id, claim.epoch],
        )


RENEWER: Final = _Renewer()


@contextmanager
def renewed(claim: Claim) -> Iterator[None]:
    """Keep a claim's lease alive while it is worked on."""
    RENEWER.add(claim)
    try:
        yield
    finally:
        RENEWER.remove(claim)
