"""Outside calls: one request per attempt, fixed codes for failures, costs known or unknown, addresses judged."""

from __future__ import annotations

import os
import socket

import pytest

from analysis.observations import CostCoverage
from runs.executors import addresses, executor_for, prices, providers
from runs.executors.contract import FAILURES, Ask, CallFailed, Message, Target, Usage
from tests.provider.server import Provider

CANARY = "zq-canary-instructions"


@pytest.fixture
def provider():
    with Provider() as server:
        yield server


def ask(provider: Provider, model: str = "plain", **more) -> Ask:
    more.setdefault("settings", {"timeout_seconds": 5})
    messages = more.pop("messages", (Message("user", "hello"),))
    target = Target("openai", "local", model, more.pop("base_url", provider.url), more.pop("secret_ref", ""))
    return Ask(target, CANARY, messages, reference="0198-reference", **more)


def call(asked: Ask, admitted: list[int] | None = None):
    seen = [] if admitted is None else admitted
    return executor_for(asked.target.kind).call(asked, lambda: seen.append(1))


def test_an_answer_comes_with_its_usage_and_ids(provider):
    admitted: list[int] = []
    reply = call(ask(provider), admitted)
    assert reply.text == "echo: hello"
    assert reply.finish_reason == "stop"
    assert reply.usage.input is not None and reply.usage.output is not None
    assert reply.provider_revision.startswith("plain")
    assert reply.provider_request_id
    assert admitted == [1]
    (sent,) = provider.calls
    assert sent.headers["x-request-id"] == "0198-reference"
    assert sent.headers["accept-encoding"] == "identity"
    assert [(one["role"], one["content"]) for one in sent.body["messages"]] == [
        ("system", CANARY),
        ("user", "hello"),
    ]


def test_a_conversation_and_its_settings_go_out_as_they_are(provider):
    said = (Message("user", "one"), Message("assistant", "two"), Message("user", "three"))
    tool = {"name": "find", "description": "Finds.", "parameters": {"type": "object", "properties": {}}}
    settings = {"temperature": 0.5, "max_output_tokens": 7, "seed": 3, "stop": ["END"], "timeout_seconds": 5}
    call(ask(provider, messages=said, settings=settings, tools=[tool]))
    body = provider.calls[0].body
    assert [one["content"] for one in body["messages"][1:]] == ["one", "two", "three"]
    assert (body["temperature"], body["seed"], body["stop"]) == (0.5, 3, ["END"])
    assert body.get("max_completion_tokens", body.get("max_tokens")) == 7
    assert body["tools"][0]["function"]["name"] == "find"


def test_a_cookie_is_never_sent_back(provider):
    provider.cookie = "session=zq-crumb; Path=/"
    for _ in range(2):
        call(ask(provider))
    assert [sent.headers.get("cookie") for sent in provider.calls] == [None, None]


def test_routes_that_come_and_go_leave_no_connection_open(provider):
    """More routes than models are kept: those of the models that went would never be closed by anybody."""
    kept = providers._model.cache_info().maxsize
    for number in range(kept + 3):
        call(ask(provider, model=f"plain-{number}"))
    assert providers._model.cache_info().currsize == kept
    assert provider.connections == 1


FAULTS = {
    "429:7": "provider_rate_limited",
    "500": "provider_server_error",
    "503": "provider_server_error",
    "400": "provider_rejected",
    "401": "provider_unauthorized",
    "cut": "provider_cut_off",
    "reset": "provider_cut_off",
    "garbage": "provider_answer_unreadable",
    "empty": "provider_answer_unreadable",
    "huge": "provider_answer_too_large",
    "silent:20": "provider_timed_out",
    "redirect:http://127.0.0.1:1/v1": "provider_redirected",
}


@pytest.mark.parametrize("behaviour", FAULTS)
def test_F32_a_failed_call_is_one_call_under_a_code_of_ours(provider, behaviour):
    """S13, P6: whatever the provider does, one attempt is one request, and no word of it goes on."""
    provider.rule("", behaviour)
    admitted: list[int] = []
    with pytest.raises(CallFailed) as failed:
        call(ask(provider, settings={"timeout_seconds": 2}), admitted)
    assert failed.value.code == FAULTS[behaviour]
    assert admitted == [1]
    assert len(provider.calls) == 1
    assert CANARY not in str(failed.value) and failed.value.__cause__ is None
    if behaviour == "429:7":
        assert failed.value.retry_after == 7.0


STREAM = {"timeout_seconds": 5, "stream": True}


@pytest.mark.parametrize("behaviour", ["ok", "nousage", 'tool:find:{"x": 1}', "slow:0.2"])
def test_a_streamed_answer_says_what_a_whole_one_says(provider, behaviour):
    """One request each; usage from the last chunk, and unknown where no chunk told it."""
    provider.rule("", behaviour)
    tool = {"name": "find", "description": "", "parameters": {"type": "object"}}
    admitted: list[int] = []
    streamed, whole = (call(ask(provider, tools=[tool], settings=one), admitted) for one in (STREAM, {}))
    assert [one.body.get("stream", False) for one in provider.calls] == [True, False] and admitted == [1, 1]
    assert provider.calls[0].body["stream_options"] == {"include_usage": True}
    told = [
        (one.text, one.usage, one.finish_reason, one.provider_revision, [(c.name, c.arguments) for c in one.tool_calls])
        for one in (streamed, whole)
    ]
    assert told[0] == told[1]
    assert (streamed.usage == Usage()) == (behaviour == "nousage")


@pytest.mark.parametrize("behaviour", [one for one in FAULTS if one != "empty"])
def test_F32_a_failed_stream_is_one_call_under_the_same_code(provider, behaviour):
    provider.rule("", behaviour)
    admitted: list[int] = []
    with pytest.raises(CallFailed) as failed:
        call(ask(provider, settings={**STREAM, "timeout_seconds": 2}), admitted)
    assert failed.value.code == FAULTS[behaviour]
    assert admitted == [1] and len(provider.calls) == 1


def test_a_stream_that_ends_without_saying_why_was_cut(provider):
    provider.rule("", "empty")
    with pytest.raises(CallFailed) as failed:
        call(ask(provider, settings=STREAM))
    assert failed.value.code in ("provider_cut_off", "provider_answer_unreadable")


def test_a_shape_is_held_to_in_a_stream_too(provider):
    shape = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    assert call(ask(provider, 'behave/structured:{"n": 3}', schema=shape, settings=STREAM)).structured == {"n": 3}
    with pytest.raises(CallFailed, match="output_invalid"):
        call(ask(provider, 'behave/structured:{"n": "x"}', schema=shape, settings=STREAM))


def test_nobody_at_the_address_is_a_failure_that_may_be_tried_again(provider):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    with pytest.raises(CallFailed) as failed:
        call(ask(provider, base_url=f"http://127.0.0.1:{port}/v1"))
    assert failed.value.code == "provider_unreachable" and failed.value.again


def test_what_admission_refuses_never_leaves(provider):
    class Refused(Exception):
        pass

    def refuse() -> None:
        raise Refused

    with pytest.raises(Refused):
        executor_for("openai").call(ask(provider), refuse)
    assert provider.calls == []


def test_even_the_end_of_the_worker_does_not_end_the_loop(provider):
    def end() -> None:
        raise SystemExit

    with pytest.raises(SystemExit):
        executor_for("openai").call(ask(provider), end)
    assert call(ask(provider)).text == "echo: hello"


def test_tokens_that_nobody_counted_are_unknown(provider):
    reply = call(ask(provider, "behave/nousage"))
    assert reply.usage == Usage()


def test_a_shape_is_asked_for_and_held_to(provider):
    shape = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    reply = call(ask(provider, 'behave/structured:{"n": 3}', schema=shape))
    assert reply.structured == {"n": 3}
    assert provider.calls[-1].body["response_format"]["type"] == "json_schema"
    with pytest.raises(CallFailed) as failed:
        call(ask(provider, 'behave/structured:{"n": "x"}', schema=shape))
    assert failed.value.code == "output_invalid"
    assert failed.value.usage.output is not None  # it was paid for


def test_a_tool_call_is_an_answer(provider):
    tool = {"name": "find", "description": "", "parameters": {"type": "object"}}
    reply = call(ask(provider, 'behave/tool:find:{"x": 1}', tools=[tool]))
    assert [(one.name, one.arguments) for one in reply.tool_calls] == [("find", {"x": 1})]
    assert reply.finish_reason == "tool_call"


def test_a_key_goes_out_from_where_it_stands_and_its_absence_stops_the_call(provider, monkeypatch):
    monkeypatch.setitem(os.environ, "EVENHAND_KEY_LOCAL", "sk-one")
    call(ask(provider, secret_ref="env:EVENHAND_KEY_LOCAL"))
    monkeypatch.setitem(os.environ, "EVENHAND_KEY_LOCAL", "sk-two")
    call(ask(provider, secret_ref="env:EVENHAND_KEY_LOCAL"))
    assert [one.headers["authorization"] for one in provider.calls] == ["Bearer sk-one", "Bearer sk-two"]
    monkeypatch.delitem(os.environ, "EVENHAND_KEY_LOCAL")
    admitted: list[int] = []
    with pytest.raises(CallFailed) as failed:
        call(ask(provider, secret_ref="env:EVENHAND_KEY_LOCAL"), admitted)
    assert failed.value.code == "secret_missing"
    assert admitted == [] and len(provider.calls) == 2


def test_no_proxy_of_the_environment_is_asked(provider, monkeypatch):
    monkeypatch.setitem(os.environ, "HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setitem(os.environ, "ALL_PROXY", "http://127.0.0.1:1")
    assert call(ask(provider, "fresh-connection")).text == "echo: hello"


# --- addresses


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0", "100.64.0.1"),
        *("::1", "fe80::1", "fc00::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::"),
        *("224.0.0.1", "255.255.255.255", "192.0.2.1", "198.18.0.1", "ff02::1", "::"),
    ],
)
def test_an_address_inside_is_not_public(address):
    assert not addresses.is_public(address)


@pytest.mark.parametrize("address", ["8.8.8.8", "1.1.1.1", "2606:4700:4700::1111", "64:ff9b::808:808"])
def test_an_address_outside_is(address):
    assert addresses.is_public(address)


def test_a_name_that_leads_inside_is_not_called(provider, monkeypatch):
    """P6.5: the second judgment. One inside address among many is enough to refuse."""

    def resolve(host, port, **more):
        public = (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("8.8.8.8", port))
        return [public, (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

    monkeypatch.setattr(addresses.socket, "getaddrinfo", resolve)
    port = provider.url.split(":")[2].split("/")[0]
    with pytest.raises(CallFailed) as failed:
        call(ask(provider, "rebound", base_url=f"http://models.example.org:{port}/v1"))
    assert failed.value.code == "address_forbidden"
    assert provider.calls == []


def test_a_name_is_asked_once_and_the_connection_goes_where_it_was_judged(provider, monkeypatch):
    """A resolver that answers otherwise the second time is not asked a second time."""
    answers = ["127.0.0.1", "10.0.0.1"]
    asked = []

    def resolve(host, port, **more):
        asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (answers[min(len(asked), 2) - 1], port))]

    monkeypatch.setattr(addresses.socket, "getaddrinfo", resolve)
    port = provider.url.split(":")[2].split("/")[0]
    reply = call(ask(provider, "once", base_url=f"http://localhost:{port}/v1"))
    assert reply.text == "echo: hello"
    assert asked == ["localhost"]


def test_outside_of_embedded_mode_this_machine_is_inside_a_network(provider, settings):
    settings.EMBEDDED = False
    with pytest.raises(CallFailed) as failed:
        call(ask(provider, "not-embedded"))
    assert failed.value.code == "address_forbidden"


# --- costs


TABLE = prices.Prices("EUR", input=3_000_000, cached_input=300_000, output=15_000_000, call_fee=7)


@pytest.mark.parametrize(
    ("usage", "table", "expected"),
    [
        (Usage(1000, 400, 50), TABLE, (600 * 3 + 400 * 0.3 + 50 * 15 + 7, CostCoverage.COMPLETE, "price table")),
        (Usage(1000, 0, 50), prices.Prices("EUR", input=0, output=0), (0, CostCoverage.COMPLETE, "price table")),
        (Usage(1000, 0, 50), prices.Prices("EUR", input=3_000_000), (3000, CostCoverage.PARTIAL, "price table")),
        (Usage(1000, 9, 50), prices.Prices("EUR", input=0, output=0), (0, CostCoverage.PARTIAL, "price table")),
        (Usage(), prices.Prices("EUR", call_fee=5), (5, CostCoverage.PARTIAL, "fee")),
        (Usage(), prices.Prices("EUR", input=1, output=1), (0, CostCoverage.NONE, "")),
        (Usage(1, 0, 1), prices.Prices("EUR"), (0, CostCoverage.NONE, "")),
        (Usage(1, 0, 1, 42, "USD"), TABLE, (42, CostCoverage.COMPLETE, "reported")),
        (Usage(1, 0, 1, listed_micros=9), prices.Prices("EUR"), (9, CostCoverage.COMPLETE, "price list")),
        (Usage(1, 0, 1, listed_micros=9), TABLE, (18 + 7, CostCoverage.COMPLETE, "price table")),
    ],
)
def test_Q3_a_cost_is_known_as_far_as_prices_and_counts_are(usage, table, expected):
    fact = prices.cost_of(usage, table)
    assert (fact.micros, fact.coverage, fact.basis) == expected


def test_every_failure_says_something_to_a_person():
    for code, failure in FAILURES.items():
        assert code.islower() and failure.says.endswith(".")
