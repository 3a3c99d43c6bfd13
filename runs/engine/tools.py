"""The tools that a model asks for within a turn: each an outside call of its own, and what the model is told of it.

Spans name the connector, so that only whoever may read what came through it reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from jsonschema import Draft202012Validator

from agents.models import Connector
from analysis.observations import FailureKind
from analysis.strict_json import canonical
from runs.engine.claims import Claim, lock_claim
from runs.engine.ledger import MOST_TRIES, Account, by_fee
from runs.engine.standing import Unready
from runs.engine.subjects import Asker
from runs.executors import executor_for
from runs.executors.contract import CallFailed, Message, Post, Reply, ToolCall
from runs.models import Span, SpanContent, SpanKind
from runs.tools import WRITES, mode_of

MOST_AT_ONCE: Final = 32
"""Tools that a model may ask for in one reply."""
SECONDS: Final = 30.0
"""How long one call of a tool may take."""
BEHIND: Final = 1_000
"""Where the results of a reply stand: behind its calls."""


class Tools:
    """The tools of one claimed item. `check` judges, right before each call, whether it may leave."""

    def __init__(self, claim: Claim, team: UUID, asker: Asker, check: Callable[[], None]) -> None:
        self._claim, self._team, self._asker, self._check = claim, team, asker, check
        self._known = {tool["name"]: tool for tool in asker.tools}

    def settle(self, account: Account, attempt: UUID, reply: Reply) -> list[Span]:
        """Settle a reply that asks for tools, with what it asks for as evidence: one span for each."""
        spans: list[Span] = []
        account.close(attempt, reply, keep=lambda: spans.extend(self._kept(attempt, reply)), end=lambda: None)
        return spans

    def _kept(self, attempt: UUID, reply: Reply) -> list[Span]:
        found = []
        for position, call in enumerate(reply.tool_calls):
            span = Span.objects.create(
                attempt_id=attempt,
                position=position,
                kind=SpanKind.TOOL_CALL,
                connector_id=self._known.get(call.name, {}).get("connector"),
            )
            body = {"name": call.name, "arguments": call.arguments, "id": call.id}
            if reply.text and not position:
                body["said"] = reply.text
            SpanContent.objects.create(span=span, body=body)
            found.append(span)
        return found

    def run(self, call: ToolCall, span: Span, turn: int) -> Message:
        """What the model is told of a call: the tool's answer, or a code of ours, never a tool's words on errors."""
        return told(call, self._run(call, span, turn))

    def _run(self, call: ToolCall, span: Span, turn: int) -> Mapping[str, Any]:
        tool = self._known.get(call.name)
        if tool is None:
            return self._failed(span, "tool_unknown")
        if not Draft202012Validator(tool["parameters"]).is_valid(call.arguments):
            return self._failed(span, "tool_arguments_invalid")
        connector = self._connector(tool)

        def check() -> None:
            self._check()
            if self._connector(tool).address != connector.address:
                raise Unready("connector_unreachable")

        writes = mode_of(self._asker.definition, tool) == WRITES
        account = Account(
            self._claim,
            executor_for("tool"),
            check,
            by_fee(connector.fee_micros, connector.fee_currency),
            tries=1 if writes else MOST_TRIES,
            columns={"called": span, "writes": writes},
        )
        body = {"tool": call.name, "arguments": call.arguments}
        post = Post(connector.address, body, secret_ref=connector.secret_ref, named="call", seconds=SECONDS)
        try:
            reference, reply = account.reply(post, turn)
        except CallFailed as failure:
            if failure.kind is FailureKind.INFRASTRUCTURE_FAILURE:
                raise  # a fault of ours is not told to a model as if it were the tool's
            return self._failed(span, failure.code.replace("provider_", "tool_", 1))
        said = {"result": reply.structured}
        account.close(reference, reply, keep=lambda: self._result(span, said), end=lambda: None)
        return said

    def _connector(self, tool: Mapping[str, Any]) -> Connector:
        """As operators have it at this moment."""
        found = Connector.objects.filter(team=self._team, pk=tool["connector"]).first()
        if found is None or not found.reachable:
            raise Unready("connector_unreachable")
        return found

    def _failed(self, span: Span, code: str) -> Mapping[str, Any]:
        said = {"error": code}
        with transaction.atomic():
            lock_claim(self._claim)
            self._result(span, said)
        return said

    def _result(self, span: Span, said: Mapping[str, Any]) -> None:
        made = Span.objects.create(
            attempt_id=span.attempt_id,
            position=BEHIND + span.position,
            kind=SpanKind.TOOL_RESULT,
            connector_id=span.connector_id,
            answers=span,
        )
        SpanContent.objects.create(span=made, body=dict(said))


def told(call: ToolCall, said: Mapping[str, Any]) -> Message:
    return Message("tool", canonical(said.get("result", said)).decode(), answers=call)


def asked(reply: Reply) -> Message:
    """A reply that asks for tools, as it goes back to the model with their results."""
    return Message("assistant", reply.text or "", tuple(reply.tool_calls), original=reply.original)


def kept_rounds(execution: int, turn: int) -> list[Message]:
    """The rounds of a turn that was answered, from their evidence: for a worker that goes on with the next turn."""
    calls = (
        Span.objects.filter(attempt__execution=execution, attempt__turn=turn, kind=SpanKind.TOOL_CALL)
        .select_related("spancontent", "result__spancontent")
        .order_by("attempt__number", "position")
    )
    rounds: dict[UUID, list[Span]] = {}
    for span in calls:
        rounds.setdefault(span.attempt_id, []).append(span)
    return [message for spans in rounds.values() for message in _round(spans)]


def _round(spans: Sequence[Span]) -> list[Message]:
    bodies = [(span.spancontent.body, span.result.spancontent.body) for span in spans if hasattr(span, "result")]
    whole = [(call, said) for call, said in bodies if call is not None and said is not None]
    made = [(ToolCall(call["name"], call["arguments"], call["id"]), said) for call, said in whole]
    if not made:
        return []  # taken away since, or only recorded
    return [
        Message("assistant", whole[0][0].get("said", ""), tuple(call for call, _ in made)),
        *(told(call, said) for call, said in made),
    ]
