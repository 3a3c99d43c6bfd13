"""The ledger of outside calls: each is admitted in a row before it leaves, and settled with what came back."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final
from uuid import UUID

from django.db import InterfaceError, OperationalError, connection, transaction
from django.db.models import Max

from agents.models import ModelRouteRevision
from analysis.observations import CostCoverage
from analysis.spend import CostGroup, fold
from runs.engine.claims import EXECUTIONS, MEASURED, TOTALS, Claim, Lost, lock_claim, lock_row
from runs.executors.contract import Ask, CallFailed, Executor, Post, Reply, Usage
from runs.executors.prices import UNKNOWN, Fact, Prices, cost_of
from runs.models import AttemptState, Call
from teams.bulk import database_now
from teams.records import new_id

MOST_TRIES: Final = 3
LONGEST_PAUSE: Final = 30.0
PAUSES_OF_A_SETTLEMENT: Final = (0.1, 0.3, 1.0, 2.0)
"""Seconds between tries to write down what came back, while the database is away or lets another go first."""


@dataclass
class Account:
    """The calls of one claim. `check` judges, right before each of them, whether it may leave.

    `price` says what a call cost, from what it used and whether it failed; `route` is whose prices those were.
    """

    claim: Claim
    executor: Executor
    check: Callable[[], None]
    price: Callable[[Usage, bool], Fact]
    route: ModelRouteRevision | None = None
    again_on: frozenset[str] = frozenset()
    """Codes after which another attempt follows beside those that the provider asks for."""
    tries: int = MOST_TRIES
    columns: Mapping[str, Any] = field(default_factory=dict)
    """What the rows of these calls say beside what all of them do."""
    pause: Callable[[float], None] = field(default=time.sleep)
    durations: dict[UUID, float] = field(default_factory=dict)

    def reply(self, ask: Ask | Post, turn: int) -> tuple[UUID, Reply]:
        """The answer to a request and the attempt that brought it, still unsettled.

        A call that the provider refused is tried again, as an attempt of its own, after a while; one of which nobody
        knows what became of is not. Raises the last `CallFailed`, whose attempt is settled by then.
        """
        for attempt in range(1, self.tries + 1):
            try:
                return self._once(ask, turn, attempt)
            except CallFailed as failure:
                if not (failure.again or failure.code in self.again_on) or attempt == self.tries:
                    raise
                if failure.again:
                    self.pause(min(failure.retry_after or 0.5 * 2**attempt, LONGEST_PAUSE))
        raise AssertionError("unreachable")

    def _once(self, ask: Ask | Post, turn: int, attempt: int) -> tuple[UUID, Reply]:
        reference = new_id()
        began = 0.0

        def admit() -> None:
            nonlocal began
            self._admit(reference, turn)
            began = time.monotonic()

        sent = replace(ask, reference=str(reference), attempt=attempt)
        try:
            reply = self.executor.call(sent, admit)
        except CallFailed as failure:
            _connect_anew()
            if began:
                taken, usage, code = (time.monotonic() - began) * 1000, failure.usage, failure.code
                self._stored(
                    lambda: self._counted(
                        lambda: self._write(reference, AttemptState.FAILED, taken, usage, failure_code=code)
                    )
                )
            raise
        self.durations[reference] = (time.monotonic() - began) * 1000
        _connect_anew()
        return reference, reply

    def _admit(self, reference: UUID, turn: int) -> None:
        """Committed before the call leaves; whoever lost the claim or a right admits nothing."""
        self.check()
        calls = self.claim.work.calls
        with transaction.atomic():
            lock_claim(self.claim)
            mine = {f"{self.claim.work.owner}_id": self.claim.id}
            last = calls._default_manager.filter(**mine).aggregate(last=Max("number"))["last"] or 0
            calls._default_manager.create(
                id=reference,
                number=last + 1,
                epoch=self.claim.epoch,
                turn=turn,
                state=AttemptState.ADMITTED,
                admitted_at=database_now(),
                price_revision=self.route,
                **self.columns,
                **mine,
            )

    def close(
        self, reference: UUID, reply: Reply, *, keep: Callable[[], None], end: Callable[[], object | None]
    ) -> None:
        """What came back, in one step: the attempt's figures, what was said, and what it ends.

        Where the claim is gone meanwhile, the first two are kept all the same, and `Lost` goes on. Where the database
        is gone it is tried again for a while: the call was made, and its answer is not to be had a second time.
        """
        self._stored(lambda: self._close(reference, reply, keep, end))

    def _close(self, reference: UUID, reply: Reply, keep: Callable[[], None], end: Callable[[], object | None]) -> None:
        open_ = (AttemptState.ADMITTED, AttemptState.INDETERMINATE)
        if not self.claim.work.calls._default_manager.filter(pk=reference, state__in=open_).exists():
            return  # an earlier try came through, and only its answer was lost
        try:
            with transaction.atomic():
                lock_claim(self.claim)
                self._settle(reference, reply)
                keep()
                end()
        except Lost:

            def late() -> None:
                self._settle(reference, reply)
                keep()

            self._counted(late)
            raise

    def _counted(self, write: Callable[[], None]) -> None:
        """Write what came back. Where its row has ended meanwhile, the row's cost is counted anew: it was paid."""
        with transaction.atomic():
            ended = lock_row(self.claim)
            write()
            if ended:
                count_anew(self.claim)

    def _stored(self, write: Callable[[], None]) -> None:
        """Write, again and again where the database cannot be reached or rolled back for another's sake."""
        for pause in PAUSES_OF_A_SETTLEMENT:
            try:
                return write()
            except (OperationalError, InterfaceError):
                if connection.in_atomic_block:
                    raise
                self.pause(pause)
                connection.close()
        return write()

    def _settle(self, reference: UUID, reply: Reply) -> None:
        self._write(
            reference,
            AttemptState.SETTLED,
            self.durations[reference],
            reply.usage,
            finish_reason=reply.finish_reason[:60],
            provider_revision=reply.provider_revision[:120],
            provider_request_id=reply.provider_request_id[:120],
        )

    def _write(self, reference: UUID, state: AttemptState, milliseconds: float, usage: Usage, **columns: Any) -> None:
        """Settle an attempt, also of a claim that was lost meanwhile: then it is late, and what it cost stays known."""
        fact = self.price(usage, state is AttemptState.FAILED)
        said = {
            "settled_at": database_now(),
            "duration_ms": milliseconds,
            "input_tokens": usage.input,
            "cached_input_tokens": usage.cached_input,
            "output_tokens": usage.output,
            **columns_of(fact),
            **columns,
        }
        rows = self.claim.work.calls._default_manager.filter(pk=reference)
        if not rows.filter(state=AttemptState.ADMITTED).update(state=state, **said):
            rows.filter(state=AttemptState.INDETERMINATE).update(state=AttemptState.SETTLED_LATE, **said)


def _connect_anew() -> None:
    """Ask whether the connection still stands: a restart of the database during a call must not cost its answer."""
    if not connection.in_atomic_block:
        connection.close_if_unusable_or_obsolete()


def by_route(route: ModelRouteRevision) -> Callable[[Usage, bool], Fact]:
    """What calls over a route cost, by the prices of its revision."""
    prices = prices_of(route)
    return lambda usage, failed: cost_of(usage, prices)


def by_fee(fee_micros: int | None, currency: str) -> Callable[[Usage, bool], Fact]:
    """What a call costs that has a configured fee, where it was answered. Zero is free in any case."""

    def price(usage: Usage, failed: bool) -> Fact:
        if fee_micros is None or (failed and fee_micros):
            return UNKNOWN
        return Fact(fee_micros, CostCoverage.COMPLETE, "fee", currency)

    return price


def prices_of(route: ModelRouteRevision) -> Prices:
    return Prices(
        route.currency, route.input_micros, route.cached_input_micros, route.output_micros, route.call_fee_micros
    )


def columns_of(fact: Fact) -> dict[str, Any]:
    return {
        "cost_micros": fact.micros,
        "cost_coverage": fact.coverage.value,
        "cost_basis": fact.basis,
        "currency": fact.currency,
    }


def totals(calls: Sequence[Call], kept: Sequence[str] = MEASURED) -> dict[str, Any]:
    """What a row's calls add up to: cost with its coverage, tokens where every call of a model told them, time."""
    spend = fold(
        CostGroup(one.currency, one.cost_basis, CostCoverage(one.cost_coverage), 1, one.cost_micros) for one in calls
    )
    known = spend.coverage is not CostCoverage.NONE
    bases = {one.cost_basis for one in calls if one.cost_coverage}
    basis = bases.pop() if len(bases) == 1 else "several"
    fact = Fact(spend.known_micros, spend.coverage, basis, spend.currency) if known else Fact()
    asked = [one for one in calls if not one.of_tool]
    measured = {
        name: _sum([getattr(one, name) for one in (calls if name == "duration_ms" else asked)])
        for name in kept
        if name not in TOTALS
    }
    return columns_of(fact) | measured


def count_anew(claim: Claim) -> None:
    """What all calls of an ended row cost. Its outcome stays; sums that were kept of it are stale."""
    told = totals(calls_of(claim), claim.work.totals)
    with connection.cursor() as cursor:
        names = ", ".join(f"{name} = %s" for name in told)
        cursor.execute(f"UPDATE {claim.work.table} SET {names} WHERE id = %s", [*told.values(), claim.id])
        if claim.work.experiment:
            cursor.execute(
                f"UPDATE runs_experiment SET late_costs = late_costs + 1 WHERE id = ({claim.work.experiment})",
                [claim.id],
            )


def _sum[Number: (int, float)](values: Sequence[Number | None]) -> Number | None:
    """Nothing where one of them is unknown, and of nothing."""
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None


def calls_of(claim: Claim) -> list[Call]:
    return list(claim.work.calls._default_manager.filter(**{f"{claim.work.owner}_id": claim.id}).order_by("number"))


def has_open_call(claim: Claim) -> bool:
    """Whether a call left under a claim of which nobody knows what became."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT EXISTS (SELECT 1 FROM {claim.work.calls._meta.db_table} "
            f"WHERE {claim.work.owner}_id = %s AND state = 'admitted')",
            [claim.id],
        )
        row = cursor.fetchone()
    return bool(row and row[0])


def torn(claim: Claim) -> bool:
    """Whether an execution stands in the middle of a turn: a reply that asked for tools is settled or one of them was
    called, and no answer was kept. Doing that turn again would call them twice."""
    if claim.work is not EXECUTIONS:
        return False
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT EXISTS (SELECT 1 FROM runs_attempt a WHERE a.execution_id = %s
                AND (a.state = 'settled' OR a.called_id IS NOT NULL)
                AND NOT EXISTS (SELECT 1 FROM runs_turn t WHERE t.execution_id = a.execution_id AND t.index = a.turn))
            """,
            [claim.id],
        )
        row = cursor.fetchone()
    return bool(row and row[0])
