"""One item of an experiment: every turn of its conversation, under one claim."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db import transaction

from agents.models import ModelRoute, SnapshotDefinition
from analysis.observations import FailureKind, Generation
from datasets.models import ItemContent
from runs.engine import deployments, ledger, standing
from runs.engine.claims import Claim, Lost, give_back, renewed, settle
from runs.engine.conversation import Exchange, exchanges
from runs.engine.ledger import Account, by_route
from runs.engine.standing import RightsLost, Unready
from runs.engine.subjects import Asker
from runs.engine.tools import MOST_AT_ONCE, Tools, asked, kept_rounds
from runs.engine.turns import Next
from runs.executors import executor_for
from runs.executors.contract import CallFailed, Message, Reply
from runs.models import Answer, Execution, Experiment, Span, SpanContent, SpanKind, State, Turn
from runs.tools import unreachable
from teams.bulk import database_now
from teams.permissions import LAUNCH_RIGHTS

log = logging.getLogger(__name__)


class Stopped(Exception):
    """The experiment was cancelled or paused while the item was under way."""


class Unaskable(Exception):
    """This one item cannot be asked, now or later; the code says why."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


def work_on(taken: Next) -> None:
    """Do a claimed item to its end, or give it back where nothing left and it may not go on."""
    item = Item(taken)
    with renewed(taken.claim):
        try:
            item.run()
        except Lost:
            log.warning("execution %s is no longer ours; what came back late is kept", taken.claim.id)
        except (RightsLost, Stopped, Unready) as reason:
            item.stop(reason)
        except Unaskable as reason:
            item.end(Generation.BLOCKED, code=reason.code)
        except CallFailed as failure:
            item.end(Generation.FAILED, failure.kind, failure.code)


class Item:
    """A claimed execution on its way."""

    def __init__(self, taken: Next) -> None:
        self.claim: Claim = taken.claim
        self.experiment = Experiment.objects.select_related(
            "batch", "subject", "route_revision__provider", "route_revision__route"
        ).get(pk=taken.experiment)
        self.execution = Execution.objects.get(pk=taken.claim.id)

    def run(self) -> None:
        self._may_go_on()
        asker, script = self._asker(), self._script()
        done = list(Turn.objects.filter(execution=self.execution).order_by("index"))
        if done and (len(done) == len(script) or done[-1].answered is None):
            self._complete_from(done[-1])  # everything came back, and only the end was never written
            return
        account = Account(
            self.claim,
            executor_for(asker.route.provider.kind),
            self._may_go_on,
            by_route(asker.route),
            asker.route,
        )
        tools = Tools(self.claim, self.experiment.team_id, asker, self._may_go_on)
        said = self._so_far(script, done)
        for index in range(len(done), len(script)):
            now = script[index]
            said += now.said
            reference, reply = self._answered(account, asker, tools, said, index)
            self._settled(account, reference, reply, now, index, last=index + 1 == len(script) or _ends(reply))
            if _ends(reply):
                return
            said.append(Message("assistant", reply.text or ""))

    def _so_far(self, script: Sequence[Exchange], done: Sequence[Turn]) -> list[Message]:
        """The conversation of the turns that were answered, with what tools returned on the way."""
        found: list[Message] = []
        for exchange, turn in zip(script, done, strict=False):
            found += [*exchange.said, *kept_rounds(self.execution.pk, turn.index)]
            found.append(Message("assistant", turn.answered or ""))
        return found

    def _answered(
        self, account: Account, asker: Asker, tools: Tools, said: list[Message], index: int
    ) -> tuple[UUID, Reply]:
        """The model's answer, unsettled. The tools that it asks for on the way are run, and `said` grows by them."""
        for spent in range(asker.most_rounds + 1):
            reference, reply = account.reply(asker.ask(said, self.execution.repetition), index)
            if not (reply.tool_calls and asker.runs_tools):
                return reference, reply
            spans = tools.settle(account, reference, reply)
            if spent == asker.most_rounds or len(spans) > MOST_AT_ONCE:
                break
            said.append(asked(reply))
            said += [tools.run(call, span, index) for call, span in zip(reply.tool_calls, spans, strict=True)]
        raise CallFailed("tool_limit_reached")

    def _may_go_on(self) -> None:
        """Asked before the input is read, before each call, and so before each turn."""
        batch = self.experiment.batch
        assert batch is not None
        standing.starter_access(batch.starter_id, batch.team_id, *LAUNCH_RIGHTS)
        now = Experiment.objects.only("state", "paused_at", "cancel_asked_at").get(pk=self.experiment.pk)
        if now.state != State.RUNNING or now.cancel_asked_at is not None:
            raise Stopped

    def _asker(self) -> Asker:
        content = SnapshotDefinition.objects.filter(snapshot__subject=self.experiment.subject).first()
        if content is None or content.body is None:
            raise Unready("snapshot_unavailable")
        route = self.experiment.route_revision
        assert route is not None
        if ModelRoute.objects.filter(pk=route.route_id).exclude(active=None).filter(archived_at=None).first() is None:
            raise Unready("route_inactive")
        if unreachable(self.experiment.team_id, content.body, self.experiment.tool_policy):
            raise Unready("connector_unreachable")
        deployments.provision(self.experiment)
        return Asker(content.body, route, self.experiment.tool_policy)

    def _script(self) -> list[Exchange]:
        content = ItemContent.objects.filter(revision=self.execution.revision_id).first()
        if content is None or content.body is None:
            raise Unaskable("case_unavailable")
        script = exchanges(content.body)
        if not script:
            raise Unaskable("case_asks_nothing")
        return script

    def _settled(
        self, account: Account, reference: UUID, reply: Reply, now: Exchange, index: int, *, last: bool
    ) -> None:
        account.close(
            reference,
            reply,
            keep=lambda: self._keep(reference, reply, now, index),
            end=lambda: self._complete(reply) if last else None,
        )

    def _keep(self, reference: UUID, reply: Reply, now: Exchange, index: int) -> None:
        Turn.objects.create(
            execution=self.execution, index=index, asked=now.asked, answered=reply.text, structured=_structured(reply)
        )
        for position, call in enumerate(reply.tool_calls):
            span = Span.objects.create(attempt_id=reference, position=position, kind=SpanKind.TOOL_CALL)
            SpanContent.objects.create(span=span, body={"name": call.name, "arguments": call.arguments})

    def _complete(self, reply: Reply) -> None:
        Answer.objects.create(execution=self.execution, text=reply.text, structured=_structured(reply))
        self._end(Generation.COMPLETED, finish_reason=reply.finish_reason[:60])

    def _complete_from(self, turn: Turn) -> None:
        with transaction.atomic():
            Answer.objects.create(execution=self.execution, text=turn.answered, structured=turn.structured)
            reasons = [call.finish_reason for call in ledger.calls_of(self.claim) if call.finish_reason]
            self._end(Generation.COMPLETED, finish_reason=reasons[-1] if reasons else "")

    def _end(self, state: Generation, **columns: Any) -> None:
        totals = ledger.totals(ledger.calls_of(self.claim))
        settle(self.claim, state=state.value, finished_at=database_now(), trace=True, **totals, **columns)

    def end(self, state: Generation, kind: FailureKind = FailureKind.NONE, code: str = "") -> None:
        """An end without an answer."""
        try:
            with transaction.atomic():
                self._end(state, failure_kind=kind.value, error_code=code)
        except Lost:
            log.warning("execution %s is no longer ours", self.claim.id)

    def stop(self, reason: RightsLost | Stopped | Unready) -> None:
        """No further call. An item that nothing left for waits again; one in the middle ends as far as it came."""
        if isinstance(reason, RightsLost | Unready):
            standing.pause(self.experiment, reason.code)
        if isinstance(reason, Stopped):
            self.end(Generation.CANCELLED, code="cancelled")
        elif isinstance(reason, RightsLost) and ledger.calls_of(self.claim):
            self.end(Generation.FAILED, FailureKind.RIGHTS_LOST, reason.code)
        elif ledger.torn(self.claim):
            self.end(Generation.FAILED, FailureKind.INFRASTRUCTURE_FAILURE, reason.code)
        else:
            try:
                give_back(self.claim)
            except Lost:
                log.warning("execution %s is no longer ours", self.claim.id)


def _ends(reply: Reply) -> bool:
    """A call of a tool that nobody runs ends the conversation."""
    return bool(reply.tool_calls)


def _structured(reply: Reply) -> Any:
    """The object that was asked for, or the calls of tools that an answer consists of."""
    if reply.structured is None and reply.tool_calls:
        return {"tool_calls": [{"name": call.name, "arguments": call.arguments} for call in reply.tool_calls]}
    return reply.structured
