"""Tools that are run: calls over connectors on a real tool server, asked for by a real server of the protocol."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from uuid import UUID

import pytest
from django.db import connections
from hypothesis import given
from hypothesis import strategies as st

from agents import actions as agents
from agents.models import Connector
from analysis.observations import CostCoverage, FailureKind, Generation
from runs import actions
from runs import tools as chosen
from runs.engine import finishing, quantum, turns
from runs.engine import tools as running
from runs.models import Answer, Attempt, AttemptState, Execution, Experiment, Span, SpanContent, State, Turn
from teams import actions as team_actions
from teams.refusals import Refusal
from tests.factories import agents as factory
from tests.provider.tools import ToolServer

pytestmark = pytest.mark.django_db(transaction=True)

NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}
CANARY = "zq-canary-of-a-tool"
ONCE = 'tool:find:{"n": 7},use'


@pytest.fixture
def server() -> Iterator[ToolServer]:
    with ToolServer() as opened:
        yield opened


@pytest.fixture
def orders(cast, server) -> Connector:
    made = agents.create_connector(access=cast.access(cast.ana), name="Orders")
    return reach(made, server.url)


def reach(connector: Connector, address: str = "", **more) -> Connector:
    return agents.reach_connector(connector=connector, reach=agents.Reach(address, **more), by=None)


def definition(connector: Connector, mode: str = "read", **settings) -> dict:
    return {
        "tools": [
            {"name": "find", "description": "Finds.", "parameters": NUMBER, "connector": str(connector.pk)},
            {"name": "idle", "description": "Nobody runs it.", "parameters": NUMBER},
        ],
        "connectors": [{"connector": str(connector.pk), "mode": mode}],
        "settings": settings,
    }


@pytest.fixture
def agent(launched, provider, orders):
    """Launches an experiment of an agent over the provider, whose tool `find` is run over the connector."""

    def launch(script: str = ONCE, *, mode="read", policy="all", cases=1, settings=None, prices=None, **more):
        provider.rule("question", script)
        prices = prices or {}
        wire = factory.route(f"wire-{more.get('name', 'Desk').lower()}", "plain", kind="openai",
                             base_url=provider.url, **prices)  # fmt: skip
        said = more.pop("definition", None) or definition(orders, mode, **(settings or {}))
        return launched(route=wire, cases=cases, tool_policy=policy, definition=said, **more)

    return launch


def only(experiment: Experiment) -> Execution:
    return Execution.objects.get(experiment=experiment, superseded=False)


def results(row: Execution) -> list[dict]:
    spans = Span.objects.filter(attempt__execution=row, kind="tool_result").order_by("attempt__number", "position")
    return [span.spancontent.body for span in spans]


def expire() -> None:
    Execution.objects.filter(state=Generation.RUNNING).update(lease_until="2020-01-01T00:00:00Z")


def test_a_tool_is_called_and_the_model_uses_what_it_returned(agent, provider, server, work):
    server.answers["find"] = lambda body: {"status": "sent", "n": body["arguments"]["n"]}
    experiment = agent()
    assert work() == 1
    row = only(experiment)
    assert row.state == Generation.COMPLETED
    assert Answer.objects.get(execution=row).text == 'found: {"n":7,"status":"sent"}'
    first, tool, last = Attempt.objects.filter(execution=row).order_by("number")
    assert [one.state for one in (first, tool, last)] == [AttemptState.SETTLED] * 3
    assert [one.of_tool for one in (first, tool, last)] == [False, True, False]
    assert server.calls == [{"tool": "find", "arguments": {"n": 7}, "call": str(tool.pk)}]
    assert server.headers[0]["x-request-id"] == str(tool.pk)
    assert "authorization" not in server.headers[0]
    call = Span.objects.get(attempt=first, kind="tool_call")
    assert tool.called == call and call.connector.name == "Orders"
    assert call.spancontent.body["arguments"] == {"n": 7}
    assert call.result.spancontent.body == {"result": {"status": "sent", "n": 7}}
    assert Turn.objects.get(execution=row).answered.startswith("found")
    assert row.input_tokens == first.input_tokens + last.input_tokens and tool.input_tokens is None
    assert row.duration_ms == pytest.approx(first.duration_ms + tool.duration_ms + last.duration_ms)
    asked, said, told = provider.calls[1].body["messages"][-3:]
    assert (asked["role"], said["role"], told["role"]) == ("user", "assistant", "tool")
    assert said["tool_calls"][0]["id"] == told["tool_call_id"] == call.spancontent.body["id"]
    assert [one["function"]["name"] for one in provider.calls[0].body["tools"]] == ["find"]
    experiment.refresh_from_db()
    assert experiment.state == State.COMPLETED
    assert experiment.facts == [["Tools", "All tools are run"], ["Tools run", "1 of 2"]]


def test_tools_that_are_asked_for_at_once_are_called_in_their_order(agent, provider, server, work):
    agent('tools:[["find", {"n": 1}], ["find", {"n": 2}], ["find", {"n": 3}]],use')
    work()
    assert [call["arguments"]["n"] for call in server.calls] == [1, 2, 3]
    told = [one for one in provider.calls[1].body["messages"] if one["role"] == "tool"]
    assert [json.loads(one["content"])["echo"]["n"] for one in told] == [1, 2, 3]
    assert len({one["tool_call_id"] for one in told}) == 3
    assert Answer.objects.get().text.count("echo") == 3


def test_tools_are_run_the_same_where_answers_are_read_as_streams(agent, provider, server, work):
    experiment = agent('tools:[["find", {"n": 1}], ["find", {"n": 2}]],use', settings={"stream": True})
    work()
    row = only(experiment)
    assert row.state == Generation.COMPLETED and row.input_tokens is not None
    assert [call["arguments"]["n"] for call in server.calls] == [1, 2]
    assert [call.body["stream"] for call in provider.calls] == [True, True]


@pytest.mark.parametrize(("limits", "rounds"), [({}, 8), ({"max_tool_rounds": 2}, 2), ({"max_tool_rounds": 0}, 0)])
def test_a_model_that_never_stops_asking_for_tools_fails_at_its_limit(agent, server, work, limits, rounds):
    experiment = agent('tool:find:{"n": 7}', settings=limits)
    work()
    row = only(experiment)
    assert (row.state, row.failure_kind, row.error_code) == (
        Generation.FAILED, FailureKind.LIMIT_EXCEEDED, "tool_limit_reached",
    )  # fmt: skip
    assert len(server.calls) == rounds
    assert Attempt.objects.filter(execution=row, called=None).count() == rounds + 1
    assert not Turn.objects.filter(execution=row).exists()
    assert Span.objects.filter(attempt__execution=row, kind="tool_call").count() == rounds + 1


def test_a_reply_that_asks_for_very_many_tools_calls_none_of_them(agent, server, work):
    many = json.dumps([["find", {"n": at}] for at in range(running.MOST_AT_ONCE + 1)])
    experiment = agent(f"tools:{many},use")
    work()
    assert only(experiment).error_code == "tool_limit_reached" and server.calls == []


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ('tool:find:{"n": "seven"}', "tool_arguments_invalid"),
        ("tool:find:{}", "tool_arguments_invalid"),
        ("tool:find:[1]", "tool_arguments_invalid"),
        ("tool:find:no JSON", "tool_arguments_invalid"),
        ('tool:find:{"n": "a\\u0000b"}', "tool_arguments_invalid"),
        ('tool:elsewhere:{"n": 7}', "tool_unknown"),
        ('tool:idle:{"n": 7}', "tool_unknown"),
    ],
)
def test_a_call_that_cannot_be_made_is_told_to_the_model_and_never_leaves(agent, server, work, asked, code):
    experiment = agent(f"{asked},use")
    work()
    row = only(experiment)
    assert row.state == Generation.COMPLETED
    assert server.calls == [] and not Attempt.objects.filter(execution=row, called__isnull=False).exists()
    assert results(row) == [{"error": code}]
    assert Answer.objects.get().text == f'found: {{"error":"{code}"}}'


@pytest.mark.parametrize(
    ("status", "body", "code", "calls"),
    [
        (500, CANARY.encode(), "tool_server_error", 3),
        (429, CANARY.encode(), "tool_rate_limited", 3),
        (404, CANARY.encode(), "tool_rejected", 1),
        (401, CANARY.encode(), "tool_rejected", 1),
        (302, CANARY.encode(), "tool_redirected", 1),
        (200, CANARY.encode(), "tool_answer_unreadable", 1),
        (200, b'["a list"]', "tool_answer_unreadable", 1),
        (200, b'{"a": 1, "a": 2}', "tool_answer_unreadable", 1),
        (200, b'{"a": "\\u0000"}', "tool_answer_unreadable", 1),
        (200, b"\xff", "tool_answer_unreadable", 1),
        (200, b'{"a": "' + b"x" * 262_144 + b'"}', "tool_answer_too_large", 1),
    ],
)
def test_what_a_failed_tool_said_goes_nowhere(agent, provider, server, work, monkeypatch, status, body, code, calls):
    server.status, server.answers["find"] = status, lambda asked: body
    experiment = agent(policy="read")
    for_tools = running.Account

    def quick(*given, **more):
        return for_tools(*given, **more, pause=lambda seconds: None)

    monkeypatch.setattr(running, "Account", quick)
    work()
    row = only(experiment)
    assert row.state == Generation.COMPLETED
    assert results(row) == [{"error": code}]
    made = Attempt.objects.filter(execution=row, called__isnull=False)
    assert {one.state for one in made} == {"failed"} and len(made) == len(server.calls) == calls
    assert {one.failure_code for one in made} == {code if "large" in code else code.replace("tool", "provider", 1)}
    assert CANARY not in json.dumps([call.body for call in provider.calls])
    assert not [one for one in SpanContent.objects.all() if CANARY in json.dumps(one.body)]
    assert row.cost_coverage == CostCoverage.NONE


def test_a_tool_that_may_write_is_never_called_again_by_itself(agent, server, work):
    server.status = 500
    experiment = agent(mode="read_write")
    work()
    assert len(server.calls) == 1 and results(only(experiment)) == [{"error": "tool_server_error"}]


def test_a_tool_that_says_nothing_in_time_is_told_as_that(agent, server, work, monkeypatch):
    monkeypatch.setattr(running, "SECONDS", 0.3)
    gate = threading.Event()
    server.answers["find"] = lambda asked: (gate.wait(5) and {}) or {}
    experiment = agent()
    work()
    gate.set()
    assert results(only(experiment)) == [{"error": "tool_timed_out"}] and len(server.calls) == 1


# --- which tools are run


@pytest.mark.parametrize(
    ("policy", "mode", "offered", "called"),
    [
        *[("none", mode, [], 0) for mode in ("off", "read", "read_write")],
        *[("record", mode, ["find", "idle"], 0) for mode in ("off", "read", "read_write")],
        *[("read", "off", [], 0), ("read", "read", ["find"], 1), ("read", "read_write", [], 0)],
        *[("all", "off", [], 0), ("all", "read", ["find"], 1), ("all", "read_write", ["find"], 1)],
    ],
)
def test_a_policy_and_a_mode_say_which_tools_are_run(agent, provider, server, work, policy, mode, offered, called):
    agent(policy=policy, mode=mode)
    work()
    assert [one["function"]["name"] for one in provider.calls[0].body.get("tools", [])] == offered
    assert len(server.calls) == called


MODE = st.sampled_from(["off", "read", "read_write"])


@given(
    modes=st.lists(MODE, max_size=4),
    over=st.lists(st.one_of(st.none(), st.integers(0, 3)), max_size=6),
)
def test_what_only_reads_is_part_of_what_is_run_and_nothing_runs_without_a_connector(modes, over):
    said = {
        "connectors": [{"connector": str(at), "mode": mode} for at, mode in enumerate(modes)],
        "tools": [
            {"name": f"t{at}", **({} if one is None else {"connector": str(one)})} for at, one in enumerate(over)
        ],
    }
    names = {policy: [one["name"] for one in chosen.offered(said, policy)] for policy in chosen.MODES}
    assert set(names["read"]) <= set(names["all"])
    for tool in said["tools"]:
        mode = dict(enumerate(modes)).get(int(tool.get("connector", -1)), "off")
        assert (tool["name"] in names["read"]) == (mode == "read")
        assert (tool["name"] in names["all"]) == (mode != "off")


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", min_size=1), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


@given(arguments=st.dictionaries(st.text("abc", min_size=1), VALUES, max_size=3))
def test_arguments_reach_a_tool_as_the_model_wrote_them(arguments):
    from runs.executors import executor_for
    from runs.executors.contract import Post

    with ToolServer() as server:
        post = Post(server.url, {"tool": "find", "arguments": arguments}, reference="0198", named="call")
        reply = executor_for("tool").call(post, lambda: None)
    assert server.calls == [{"tool": "find", "arguments": arguments, "call": "0198"}]
    assert reply.structured == {"echo": arguments}


# --- connectors that cannot be reached


@pytest.mark.parametrize("policy", ["read", "all"])
def test_a_launch_is_refused_where_a_connector_has_no_address(agent, orders, cast, policy):
    reach(orders)
    with pytest.raises(Refusal, match="connector_unreachable") as refused:
        agent(policy=policy)
    assert "Orders" in refused.value.message and refused.value.place == "tool_policy"
    assert not Experiment.objects.exists()
    assert agent(policy="record", name="Other").planned == 1


def test_a_connector_that_no_tool_needs_may_have_no_address(agent, orders):
    reach(orders)
    assert agent(mode="off").facts[1] == ["Tools run", "0 of 2"]


def test_an_address_that_is_taken_away_pauses_the_arm_before_anything_leaves(agent, orders, provider, server, work):
    experiment = agent(cases=2)
    reach(orders)
    work(2)
    experiment.refresh_from_db()
    assert experiment.pause_code == "connector_unreachable" and provider.calls == []
    assert Execution.objects.filter(experiment=experiment, state=Generation.PLANNED).count() == 2


def test_an_address_that_is_taken_away_among_the_tools_ends_the_item_and_pauses_the_arm(agent, orders, server, work):
    server.answers["find"] = lambda asked: reach_nowhere(orders)
    experiment = agent('tools:[["find", {"n": 1}], ["find", {"n": 2}]],use')
    work()
    row = only(experiment)
    assert (row.state, row.error_code) == (Generation.FAILED, "connector_unreachable")
    assert row.failure_kind == FailureKind.INFRASTRUCTURE_FAILURE and len(server.calls) == 1


def reach_nowhere(connector: Connector) -> dict:
    """From the tool server's own thread."""
    try:
        reach(connector)
    finally:
        connections.close_all()
    return {}


def test_a_secret_goes_along_and_its_absence_is_no_answer_of_the_tool(
    agent, orders, provider, server, work, monkeypatch
):
    monkeypatch.setitem(os.environ, "EVENHAND_KEY_ORDERS", "sk-orders")
    reach(orders, server.url, secret_ref="env:EVENHAND_KEY_ORDERS")
    agent()
    work()
    assert server.headers[0]["authorization"] == "Bearer sk-orders"
    assert "sk-orders" not in json.dumps([call.body for call in provider.calls])
    monkeypatch.delitem(os.environ, "EVENHAND_KEY_ORDERS")
    experiment = agent(name="Other")
    work()
    row = only(experiment)
    assert (row.state, row.error_code) == (Generation.FAILED, "secret_missing") and len(server.calls) == 1
    assert row.failure_kind == FailureKind.INFRASTRUCTURE_FAILURE


# --- rights and content


def test_P4_rights_are_asked_anew_before_each_call_of_a_tool(agent, cast, server, work):
    viewer = team_actions.preset("Viewer")

    def lose(asked):
        team_actions.set_role(access=None, team=cast.team, user=cast.omar, role=viewer, by=None)
        connections.close_all()
        return {"said": "once"}

    server.answers["find"] = lose
    experiment = agent('tools:[["find", {"n": 1}], ["find", {"n": 2}]],use', by=cast.omar)
    work()
    row = only(experiment)
    assert (row.failure_kind, row.error_code) == (FailureKind.RIGHTS_LOST, "starter_unauthorized")
    assert len(server.calls) == 1 and results(row) == [{"result": {"said": "once"}}]
    assert set(Attempt.objects.values_list("state", flat=True)) == {"settled"}


def test_what_came_through_a_connector_is_read_by_its_readers_alone(agent, cast, server, work, page_client, api_client):
    server.answers["find"] = lambda asked: {"secret": CANARY}
    experiment = agent('tool:find:{"n": 4711},ok')
    work()
    page = f"/t/{cast.team.slug}/experiments/{experiment.pk}/executions/0/"
    address = f"/api/v1/experiments/{experiment.pk}/executions/0/tool_calls"
    shown = page_client(cast.ana).get(page).content.decode()
    assert CANARY in shown and "4711" in shown and "a tool" in shown
    (told,) = api_client(cast.ana, cast.team).get(address).json()["items"]
    assert (told["name"], told["arguments"], told["result"]) == ("find", {"n": 4711}, {"secret": CANARY})
    hidden = page_client(cast.omar).get(page).content.decode()
    assert "a connector that you may not read" in hidden and CANARY not in hidden and "4711" not in hidden
    (told,) = api_client(cast.omar, cast.team).get(address).json()["items"]
    assert told["withheld"] and told["name"] is told["arguments"] is told["result"] is None
    assert CANARY not in page_client(cast.ben).get(page).content.decode()
    assert api_client(cast.ben, cast.team).get(address).status_code == 403
    assert api_client(cast.cleo, cast.other_team).get(address).status_code == 404
    attempts = api_client(cast.ben, cast.team).get(address.replace("tool_calls", "attempts")).json()["items"]
    assert [(one["to"], one["writes"]) for one in attempts] == [("model", False), ("tool", False), ("model", False)]


def test_content_that_was_taken_away_reads_so_and_the_rest_stays(agent, cast, server, work, page_client, api_client):
    server.answers["find"] = lambda asked: {"secret": CANARY}
    experiment = agent('tool:find:{"n": 4711},ok')
    work()
    SpanContent.objects.filter(span__kind="tool_result").update(availability="expired", body=None)
    page = page_client(cast.ana).get(f"/t/{cast.team.slug}/experiments/{experiment.pk}/executions/0/").content.decode()
    assert "(expired)" in page and "4711" in page and CANARY not in page
    SpanContent.objects.filter(span__kind="tool_call").update(availability="redacted", body=None)
    address = f"/api/v1/experiments/{experiment.pk}/executions/0/tool_calls"
    (told,) = api_client(cast.ana, cast.team).get(address).json()["items"]
    assert (told["removed"], told["name"], told["result"], told["withheld"]) == ("redacted", None, None, False)


# --- money

PRICED = {"input_micros": 1_000_000, "output_micros": 1_000_000, "cached_input_micros": 0}


@pytest.mark.parametrize(
    ("fee", "status", "coverage", "known"),
    [
        (2_500, 200, CostCoverage.COMPLETE, 2_500),
        (0, 200, CostCoverage.COMPLETE, 0),
        (None, 200, CostCoverage.PARTIAL, 0),
        (2_500, 404, CostCoverage.PARTIAL, 0),  # nobody knows whether a refused call is charged
        (0, 404, CostCoverage.COMPLETE, 0),
    ],
)
def test_the_fee_of_a_tool_is_part_of_what_its_item_cost(agent, orders, server, work, fee, status, coverage, known):
    server.status = status
    reach(orders, server.url, fee_micros=fee, fee_currency="USD" if fee is not None else "")
    experiment = agent(prices=PRICED)
    work()
    row = only(experiment)
    models = Attempt.objects.filter(execution=row, called=None)
    assert row.cost_micros == sum(one.cost_micros for one in models) + known
    assert row.cost_coverage == coverage and row.currency == "USD"
    tool = Attempt.objects.get(execution=row, called__isnull=False)
    assert tool.cost_basis == ("fee" if coverage == CostCoverage.COMPLETE else "") and tool.price_revision is None


def test_a_fee_in_another_currency_is_never_added_up(agent, orders, server, work):
    reach(orders, server.url, fee_micros=5_000, fee_currency="EUR")
    experiment = agent(prices=PRICED)
    work()
    row = only(experiment)
    assert (row.currency, row.cost_coverage) == ("USD", CostCoverage.PARTIAL)


def test_calls_of_tools_do_not_count_against_a_route(agent, server, work):
    experiment = agent(cases=2)
    route = experiment.route_revision.route
    route.most_per_minute = 4
    route.save()
    assert work() == 2 and len(server.calls) == 2


# --- lost workers


def lost_at(monkeypatch, name: str, which: int) -> list[int]:
    """The worker ends at the call of a method of the ledger, as if it had been killed there."""
    seen: list[int] = []
    real = getattr(quantum.Account, name)

    def die(self, *given, **more):
        seen.append(1)
        if len(seen) == which:
            raise SystemExit
        return real(self, *given, **more)

    monkeypatch.setattr(quantum.Account, name, die)
    return seen


@pytest.mark.parametrize("mode", ["read", "read_write"])
def test_S4_a_tool_that_was_called_and_never_settled_makes_the_item_indeterminate(
    agent, server, work, monkeypatch, mode
):
    experiment = agent(mode=mode)
    with monkeypatch.context() as patched, pytest.raises(SystemExit):
        lost_at(patched, "close", 2)
        quantum.work_on(turns.claim_next())
    expire()
    assert finishing.sweep() == 1
    row = only(experiment)
    assert (row.state, row.error_code) == (Generation.INDETERMINATE, "invocation_indeterminate")
    tool = Attempt.objects.get(execution=row, called__isnull=False)
    assert (tool.state, tool.writes) == ("indeterminate", mode == "read_write")
    assert work() == 0 and len(server.calls) == 1


@pytest.mark.parametrize("mode", ["read", "read_write"])
@pytest.mark.parametrize("which", [2, 3])
def test_a_worker_that_is_lost_among_the_tools_of_a_turn_leaves_no_replay(
    agent, provider, server, work, monkeypatch, mode, which
):
    """Before the tool, whose asking is settled, and after it. The next worker asks neither model nor tool again."""
    experiment = agent(mode=mode)
    with monkeypatch.context() as patched, pytest.raises(SystemExit):
        lost_at(patched, "_once", which)
        quantum.work_on(turns.claim_next())
    expire()
    assert finishing.sweep() == 1
    row = only(experiment)
    assert (row.state, row.failure_kind) == (Generation.FAILED, FailureKind.INTERRUPTED)
    assert row.error_code == "interrupted_among_tools" and row.finished_at is not None
    assert work() == 0
    assert len(server.calls) == which - 2 and len(provider.calls) == 1
    assert len(results(row)) == which - 2  # what came back is kept


def test_a_worker_that_is_lost_before_anything_left_leaves_the_item_to_the_next(agent, server, work, monkeypatch):
    experiment = agent()
    with monkeypatch.context() as patched, pytest.raises(SystemExit):
        lost_at(patched, "_once", 1)
        quantum.work_on(turns.claim_next())
    expire()
    finishing.sweep()
    work()
    assert only(experiment).state == Generation.COMPLETED and len(server.calls) == 1


def test_S2_a_conversation_goes_on_with_what_tools_returned_in_earlier_turns(
    agent, provider, server, work, monkeypatch
):
    """The second turn is asked in the same words, whether the same worker asks or another one."""
    said = [{"role": "user", "content": "question one"}, {"role": "user", "content": "question two"}]
    conversations = []
    for name, dies in (("One", False), ("Two", True)):
        server.calls.clear()
        experiment = agent(cases=[{"turns": said}], name=name)
        before = len(provider.calls)
        if dies:
            with monkeypatch.context() as patched, pytest.raises(SystemExit):
                lost_at(patched, "_once", 4)
                quantum.work_on(turns.claim_next())
            expire()
            finishing.sweep()
        work()
        assert only(experiment).state == Generation.COMPLETED
        assert len(server.calls) == 2 and len(provider.calls) == before + 4
        asked = [one for one in provider.calls[-1].body["messages"] if one["role"] != "system"]
        conversations.append([(one["role"], one.get("content"), len(one.get("tool_calls") or [])) for one in asked])
        provider.forget_rules()
    assert conversations[0] == conversations[1]
    roles = [role for role, _, _ in conversations[0]]
    assert roles == ["user", "assistant", "tool", "assistant", "user", "assistant", "tool"]


def test_I5_what_a_tool_returned_after_its_claim_was_lost_is_kept(agent, server):
    gate, there = threading.Event(), threading.Event()

    def late(asked):
        there.set()
        gate.wait(10)
        return {"late": True}

    server.answers["find"] = late
    experiment = agent(mode="read_write")
    taken = turns.claim_next()

    def worker() -> None:
        try:
            quantum.work_on(taken)
        finally:
            connections.close_all()

    thread = threading.Thread(target=worker)
    thread.start()
    assert there.wait(10)
    expire()
    finishing.sweep()
    gate.set()
    thread.join()
    row = only(experiment)
    assert row.state == Generation.INDETERMINATE
    assert Attempt.objects.get(execution=row, called__isnull=False).state == AttemptState.SETTLED_LATE
    assert results(row) == [{"result": {"late": True}}]


def test_a_cancel_among_the_tools_lets_what_left_settle(agent, cast, server, work):
    def cancel(asked):
        actions.cancel(access=cast.access(cast.ana), experiment=Experiment.objects.get())
        connections.close_all()
        return {}

    server.answers["find"] = cancel
    experiment = agent()
    work()
    row = only(experiment)
    assert (row.state, row.error_code) == (Generation.CANCELLED, "cancelled")
    assert results(row) == [{"result": {}}]


# --- explicit retries


def failed_item(agent, work, **more) -> Execution:
    experiment = agent('tool:find:{"n": 7}', settings={"max_tool_rounds": 1}, **more)
    work()
    return only(experiment)


@pytest.mark.parametrize("status", [200, 500])
def test_S6_an_item_whose_tools_may_have_written_is_not_done_again(
    agent, cast, server, work, page_client, api_client, status
):
    """Whatever became of the call: what a server did before it failed is not known."""
    server.status = status
    row = failed_item(agent, work, mode="read_write")
    with pytest.raises(Refusal, match="retry_side_effect_uncertain") as refused:
        actions.retry(access=cast.access(cast.ana), execution=row)
    assert refused.value.status == 409 and "new experiment" in refused.value.allowed
    row.refresh_from_db()
    assert not row.superseded and Execution.objects.filter(experiment=row.experiment).count() == 1
    page = f"/t/{cast.team.slug}/experiments/{row.experiment_id}/executions/0/"
    shown = page_client(cast.ana).get(page).content.decode()
    assert "retry_side_effect_uncertain" in shown and "Do it again" not in shown
    assert page_client(cast.ana).post(f"{page}retry").status_code == 409
    answer = api_client(cast.ana, cast.team).post(
        f"/api/v1/experiments/{row.experiment_id}/executions/0/retries",
        {}, content_type="application/json", headers={"Idempotency-Key": "again-please"},
    )  # fmt: skip
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "retry_side_effect_uncertain")


def test_S6_an_item_whose_tools_only_read_may_be_done_again(agent, cast, server, work, provider):
    row = failed_item(agent, work, mode="read")
    made = actions.retry(access=cast.access(cast.ana), execution=row)
    provider.rule("question", ONCE)
    work()
    made.refresh_from_db()
    assert made.state == Generation.COMPLETED


def test_S6_an_indeterminate_call_that_may_have_written_is_not_repeated(agent, cast, server, work, monkeypatch):
    experiment = agent(mode="read_write")
    with monkeypatch.context() as patched, pytest.raises(SystemExit):
        lost_at(patched, "close", 2)
        quantum.work_on(turns.claim_next())
    expire()
    finishing.sweep()
    with pytest.raises(Refusal, match="retry_side_effect_uncertain"):
        actions.retry(access=cast.access(cast.ana), execution=only(experiment))


def test_ids_of_spans_and_calls_fit_together(agent, server, work):
    """The database itself holds: a result answers a call, and only a call of a tool may write."""
    from django.db import IntegrityError, transaction

    row = only(agent())
    work()
    attempt = Attempt.objects.filter(execution=row, called=None).first()
    assert isinstance(attempt.pk, UUID)
    with pytest.raises(IntegrityError), transaction.atomic():
        Span.objects.create(attempt=attempt, position=99, kind="tool_result")
    with pytest.raises(IntegrityError), transaction.atomic():
        Attempt.objects.create(execution=row, number=99, state="admitted", writes=True)
