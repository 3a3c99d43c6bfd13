"""Every behaviour of the provider once, over real HTTP: faults that tests rely on must be the faults they say."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.provider import Provider, Remote, read_log
from tests.provider.behaviours import Behaviour, UnknownBehaviour, parse

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as opened:
        yield opened


@pytest.fixture
def client() -> Iterator[httpx.Client]:
    with httpx.Client(timeout=5, trust_env=False) as opened:
        yield opened


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as opened:
        yield opened


def body(behaviour: str | None = None, text: str = "hello there", **more: object) -> dict[str, object]:
    model = f"behave/{behaviour}" if behaviour else "some-model"
    return {"model": model, "messages": [{"role": "user", "content": text}], **more}


def ask(client: httpx.Client, provider: Provider | Remote, *args: str, **more: object) -> httpx.Response:
    return client.post(f"{provider.url}/chat/completions", json=body(*args, **more))


def streamed(client: httpx.Client, provider: Provider, *args: str, **more: object) -> list[dict]:
    answer = ask(client, provider, *args, stream=True, **more)
    assert answer.headers["content-type"] == "text/event-stream"
    *events, done, rest = answer.text.split("\n\n")
    assert (done, rest) == ("data: [DONE]", "")
    return [json.loads(event.removeprefix("data: ")) for event in events]


def deltas(events: list[dict]) -> list[dict]:
    return [event["choices"][0]["delta"] for event in events if event["choices"]]


def test_ok_echoes_and_writes_the_call_down(provider, client):
    before = time.monotonic()
    answer = client.post(f"{provider.url}/chat/completions", json=body(), headers={"Authorization": "Bearer k"})
    said = answer.json()
    assert answer.status_code == 200
    assert answer.headers["x-request-id"] == "req_1"
    assert said["object"] == "chat.completion"
    assert {"id", "created", "system_fingerprint"} <= set(said)
    assert said["model"] == "some-model"
    assert said["choices"][0]["message"]["content"] == "echo: hello there"
    assert said["choices"][0]["finish_reason"] == "stop"
    assert said["usage"] == {
        "prompt_tokens": 2,
        "completion_tokens": 3,
        "total_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": 0},
    }
    [call] = provider.calls
    assert (call.number, call.path, call.model) == (1, "/v1/chat/completions", "some-model")
    assert call.headers["authorization"] == "Bearer k"
    assert call.body == body()
    assert before <= call.at <= time.monotonic()
    assert (call.answered, call.client_gone) == (True, False)


def test_the_last_user_message_may_be_parts(provider, client):
    parts = [{"type": "text", "text": "in "}, {"type": "image_url", "image_url": {}}, {"type": "text", "text": "parts"}]
    messages = [{"role": "user", "content": parts}, {"role": "assistant", "content": "no"}]
    answer = client.post(f"{provider.url}/chat/completions", json={"model": "m", "messages": messages})
    assert answer.json()["choices"][0]["message"]["content"] == "echo: in parts"


@pytest.mark.parametrize("status", [400, 401, 429, 500, 503])
def test_errors(provider, client, status):
    answer = ask(client, provider, str(status))
    assert answer.status_code == status
    assert "retry-after" not in answer.headers
    assert answer.headers["x-request-id"] == "req_1"
    assert set(answer.json()["error"]) == {"message", "type", "param", "code"}
    assert provider.calls[0].answered


def test_too_many_says_when_to_come_back(provider, client):
    answer = ask(client, provider, "429:7")
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "7")


def test_slow(provider, client):
    begun = time.monotonic()
    assert ask(client, provider, "slow:0.2").status_code == 200
    assert time.monotonic() - begun >= 0.2


def test_a_client_that_goes_is_noticed(provider, client):
    with pytest.raises(httpx.ReadTimeout):
        client.post(f"{provider.url}/chat/completions", json=body("slow:30"), timeout=0.1)
    provider.wait_quiet()
    [call] = provider.calls
    assert (call.answered, call.client_gone) == (False, True)


def test_cut(provider, client):
    with client.stream("POST", f"{provider.url}/chat/completions", json=body("cut")) as answer:
        assert answer.status_code == 200
        with pytest.raises(httpx.RemoteProtocolError, match="without sending complete message body"):
            answer.read()
        assert 0 < answer.num_bytes_downloaded < int(answer.headers["content-length"])
    provider.wait_quiet()
    assert not provider.calls[0].answered


def test_cut_while_streaming_comes_after_the_first_piece_of_content(provider, client):
    received = []
    with (
        pytest.raises(httpx.RemoteProtocolError),
        client.stream("POST", f"{provider.url}/chat/completions", json=body("cut", stream=True)) as answer,
    ):
        received.extend(line for line in answer.iter_lines() if line)
    role, piece = [json.loads(line.removeprefix("data: ")) for line in received]
    assert deltas([role, piece]) == [{"role": "assistant", "content": ""}, {"content": "echo:"}]


def test_reset(provider, client):
    with pytest.raises(httpx.ReadError, match="reset by peer"):
        ask(client, provider, "reset")
    assert not provider.calls[0].answered


def test_silent(provider, client):
    with pytest.raises(httpx.RemoteProtocolError, match="without sending a response"):
        ask(client, provider, "silent:0.1")
    provider.wait_quiet()
    assert (provider.calls[0].answered, provider.calls[0].client_gone) == (False, False)


def test_garbage(provider, client):
    answer = ask(client, provider, "garbage")
    assert answer.status_code == 200
    with pytest.raises(ValueError):
        answer.json()
    events = ask(client, provider, "garbage", stream=True).text
    assert events.startswith("data: <html>")


def test_empty(provider, client):
    assert ask(client, provider, "empty").json()["choices"] == []
    assert [event["choices"] for event in streamed(client, provider, "empty")] == [[]]


@pytest.mark.parametrize("stream", [False, True])
def test_huge_until_the_client_goes(provider, client, stream):
    with client.stream("POST", f"{provider.url}/chat/completions", json=body("huge", stream=stream)) as answer:
        for _ in answer.iter_raw():
            if answer.num_bytes_downloaded > 5_000_000:
                break
    provider.wait_quiet()
    assert (provider.calls[0].answered, provider.calls[0].client_gone) == (False, True)


def test_redirect_takes_the_client_to_another_server(provider, client):
    with Provider() as other:
        answer = ask(client, provider, f"redirect:{other.url}/elsewhere?a=b")
        assert answer.status_code == 302
        assert other.calls == []
        followed = client.get(answer.headers["location"])
    assert followed.status_code == 404
    [call] = other.calls
    assert (call.path, call.body, call.model) == ("/v1/elsewhere", None, None)


def test_tool(provider, client):
    arguments = '{"city": "Bonn, am Rhein", "days": [1, 2]}'
    choice = ask(client, provider, f"tool:weather:{arguments}").json()["choices"][0]
    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"]["content"] is None
    [call] = choice["message"]["tool_calls"]
    assert call["type"] == "function"
    assert call["function"] == {"name": "weather", "arguments": arguments}

    first, *pieces = [
        delta["tool_calls"][0]
        for delta in deltas(streamed(client, provider, f"tool:weather:{arguments}"))
        if "tool_calls" in delta
    ]
    assert (first["id"], first["function"]["name"]) == ("call_2", "weather")
    assert "".join(piece["function"]["arguments"] for piece in pieces) == arguments


def test_a_tool_loop_ends(provider, client):
    provider.rule("weather", "tool:weather:{},ok")
    assert ask(client, provider, text="weather?").json()["choices"][0]["finish_reason"] == "tool_calls"
    assert ask(client, provider, text="weather?").json()["choices"][0]["finish_reason"] == "stop"


def test_structured(provider, client):
    wanted = '{"verdict": "pass", "reasons": ["a", "b, c"]}'
    assert ask(client, provider, f"structured:{wanted}").json()["choices"][0]["message"]["content"] == wanted


def test_nousage(provider, client):
    assert "usage" not in ask(client, provider, "nousage").json()
    events = streamed(client, provider, "nousage", stream_options={"include_usage": True})
    assert not any(event["usage"] for event in events)


def test_streaming(provider, client):
    events = streamed(client, provider, stream_options={"include_usage": True})
    role, *pieces, end = deltas(events)
    assert role == {"role": "assistant", "content": ""}
    assert len(pieces) == 3
    assert "".join(piece["content"] for piece in pieces) == "echo: hello there"
    assert end == {}
    assert [event["choices"][0]["finish_reason"] for event in events if event["choices"]] == [None] * 4 + ["stop"]
    assert events[-1]["choices"] == []
    assert events[-1]["usage"]["total_tokens"] == 5
    assert {event["object"] for event in events} == {"chat.completion.chunk"}
    assert not any("usage" in event for event in streamed(client, provider))


def test_hold_waits_until_released(provider, client, pool):
    asked = [pool.submit(ask, client, provider, "hold", f"case {place}") for place in range(3)]
    provider.wait_held(3)
    assert provider.held == 3
    assert not any(call.answered for call in provider.calls)
    assert provider.release(1) == 1
    provider.wait_calls(3)
    assert provider.held == 2
    assert provider.release() == 2
    assert {answer.result().status_code for answer in asked} == {200}
    assert provider.release() == 0


def test_a_held_client_that_goes_is_not_held(provider, client):
    with pytest.raises(httpx.ReadTimeout):
        client.post(f"{provider.url}/chat/completions", json=body("hold"), timeout=0.1)
    provider.wait_quiet()
    assert provider.held == 0
    assert provider.calls[0].client_gone
    with pytest.raises(TimeoutError, match="1 held requests; there are 1 calls, 0 open, 0 held"):
        provider.wait_held(1, timeout=0.05)


def test_a_sequence_counts_each_text_by_itself_and_stays_at_its_end(provider, client):
    def statuses(text: str, times: int) -> list[int]:
        return [ask(client, provider, "500,429:1,ok", text).status_code for _ in range(times)]

    assert statuses("one", 2) == [500, 429]
    assert statuses("two", 4) == [500, 429, 200, 200]
    assert statuses("one", 2) == [200, 200]


def test_rules(provider, client):
    provider.rule("", "503")
    provider.rule("fragile", "500,ok", key="all")
    assert ask(client, provider, text="any").status_code == 503
    assert ask(client, provider, text="fragile one").status_code == 500
    assert ask(client, provider, text="fragile two").status_code == 200  # one key: counted together
    assert ask(client, provider, "400", "fragile").status_code == 400  # the model's name comes first
    provider.forget_rules()
    assert ask(client, provider, text="fragile").status_code == 200


def test_the_default_can_be_a_fault(client):
    with Provider(default="500") as failing:
        assert ask(client, failing).status_code == 500


def test_what_is_not_the_protocol_is_written_down_and_refused(provider, client):
    assert ask(client, provider, "nonsense").status_code == 404
    assert client.post(f"{provider.url}/chat/completions", content=b"[1]").status_code == 400
    assert client.post(f"{provider.url}/chat/completions", content=iter([b'{"mo', b'del": "m"}'])).status_code == 200
    assert client.get(f"{provider.url}/models").status_code == 404
    assert [call.body for call in provider.calls[1:]] == [None, {"model": "m"}, None]


@pytest.mark.parametrize("script", ["", "fine", "slow", "slow:x", "ok:1", "ok,", "tool:name", "299", "structured"])
def test_no_behaviour(provider, script):
    with pytest.raises(UnknownBehaviour, match="slow:SECONDS"):
        provider.rule("", script)


def test_commas_in_json_separate_nothing():
    assert parse('structured:{"a": "}, \\", ok", "b": [1, 2]}, 429:3 ,ok') == (
        Behaviour("structured", '{"a": "}, \\", ok", "b": [1, 2]}'),
        Behaviour("429", "3"),
        Behaviour("ok"),
    )


def test_the_end_leaves_nothing_behind(client, pool):
    threads = set(threading.enumerate())
    with Provider() as ending:
        asked: Future[httpx.Response] = pool.submit(ask, client, ending, "hold")
        idle = ask(client, ending)  # its connection stays open
        ending.wait_held(1)
    assert idle.status_code == 200
    assert isinstance(asked.exception(5), httpx.TransportError)
    assert not any(call.client_gone for call in ending.calls)
    with pytest.raises(httpx.ConnectError):
        ask(client, ending)
    left = {thread for thread in set(threading.enumerate()) - threads if "ThreadPool" not in thread.name}
    assert left == set()


def test_a_fault_of_its_own_is_raised_at_the_end(client, monkeypatch):
    monkeypatch.setattr("tests.provider.behaviours.completion", lambda *_: {}["missing"])
    with pytest.raises(KeyError, match="missing"), Provider() as faulty:
        with pytest.raises(httpx.RemoteProtocolError):
            ask(client, faulty)
        faulty.wait_quiet()


def test_many_at_once_are_written_down_in_one_order(provider, client):
    with ThreadPoolExecutor(16) as crowd:
        answers = list(crowd.map(lambda place: ask(client, provider, text=f"case {place}"), range(200)))
    said = [answer.json()["choices"][0]["message"]["content"] for answer in answers]
    assert said == [f"echo: case {place}" for place in range(200)]
    assert [call.number for call in provider.calls] == list(range(1, 201))
    assert all(call.answered for call in provider.calls)
    assert [call.at for call in provider.calls] == sorted(call.at for call in provider.calls)


def test_the_log_is_on_disk_before_the_answer_and_is_continued(tmp_path, client, pool):
    log = tmp_path / "calls.jsonl"
    with Provider(log=log) as first:
        asked = pool.submit(ask, client, first, "hold")
        first.wait_held(1)
        [call] = read_log(log)
        assert (call.number, call.model, call.answered) == (1, "behave/hold", False)
        first.release()
        asked.result(5)
    assert read_log(log) == first.calls
    assert read_log(log)[0].answered
    with log.open("a") as torn:
        torn.write('{"number": 2, "at"')
    with Provider(log=log) as second:
        assert ask(client, second, text="again").headers["x-request-id"] == "req_2"
    assert [call.number for call in read_log(log)] == [1, 2]


def test_a_process_of_its_own(tmp_path, client, pool):
    log, ready = tmp_path / "calls.jsonl", tmp_path / "ready"
    command = [sys.executable, "-m", "tests.provider", "--port", "0", "--log", str(log), "--ready", str(ready)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            _appears(ready)
            assert ready.read_text() == url
            remote = Remote(url)
            remote.rule("wait", "hold")
            with pytest.raises(ValueError, match="no behaviour"):
                remote.rule("", "nonsense")
            asked = pool.submit(ask, client, remote, text="wait for me")
            remote.wait_held(1)
            remote.wait_calls(1)
            assert remote.state() == {"calls": 1, "held": 1}
            assert remote.held == 1
            assert [call.answered for call in remote.calls] == [False]
            assert remote.release() == 1
            assert asked.result(5).status_code == 200
            assert [call.answered for call in remote.calls] == [True]
            with pytest.raises(TimeoutError, match="2 calls"):
                remote.wait_calls(2, timeout=0.05)
            remote.forget_rules()
            assert ask(client, remote, text="wait no more").status_code == 200
        finally:
            process.terminate()
        assert process.wait(5) == 0
    assert [call.number for call in read_log(log)] == [1, 2]


def _appears(path: Path) -> None:
    end = time.monotonic() + 5
    while not path.exists():
        assert time.monotonic() < end, f"{path} does not appear"
        time.sleep(0.01)
