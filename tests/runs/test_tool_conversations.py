"""How a conversation with tools goes out to each protocol, seen on the wire."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from runs.executors import executor_for
from runs.executors.contract import Ask, Message, Reply, Target, ToolCall

TOOL = {
    "name": "find",
    "description": "Finds.",
    "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}},
}

ANTHROPIC_ASKS = {
    "id": "msg_1", "type": "message", "role": "assistant", "model": "claude", "stop_reason": "tool_use",
    "stop_sequence": None, "usage": {"input_tokens": 5, "output_tokens": 3},
    "content": [
        {"type": "thinking", "thinking": "I look it up.", "signature": "sig-of-the-thought"},
        {"type": "text", "text": "One moment."},
        {"type": "tool_use", "id": "toolu_1", "name": "find", "input": {"n": 7}},
        {"type": "tool_use", "id": "toolu_2", "name": "find", "input": {"n": 8}},
    ],
}  # fmt: skip
ANTHROPIC_SAYS = {**ANTHROPIC_ASKS, "stop_reason": "end_turn", "content": [{"type": "text", "text": "Done."}]}
SIGNATURE = "c2lnbmF0dXJl"
GOOGLE_ASKS = {
    "candidates": [
        {
            "finishReason": "STOP",
            "content": {
                "role": "model",
                "parts": [
                    {"functionCall": {"id": "f1", "name": "find", "args": {"n": 7}}, "thoughtSignature": SIGNATURE},
                    {"functionCall": {"id": "f2", "name": "find", "args": {"n": 8}}},
                ],
            },
        }
    ],
    "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 3, "totalTokenCount": 8},
    "modelVersion": "gemini", "responseId": "r1",
}  # fmt: skip
GOOGLE_SAYS = {
    **GOOGLE_ASKS,
    "candidates": [{"finishReason": "STOP", "content": {"role": "model", "parts": [{"text": "Done."}]}}],
}


@pytest.fixture
def wire() -> Iterator[Callable[[list[dict[str, Any]]], tuple[str, list[dict[str, Any]]]]]:
    """Serves documents in a row to whatever is posted; tells its address and what it received."""
    opened: list[ThreadingHTTPServer] = []

    def serve(documents: list[dict[str, Any]]) -> tuple[str, list[dict[str, Any]]]:
        received: list[dict[str, Any]] = []
        waiting = iter(documents)

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: Any) -> None:
                """Says nothing."""

            def do_POST(self) -> None:
                received.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                data = json.dumps(next(waiting)).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        opened.append(server)
        return f"http://127.0.0.1:{server.server_port}", received

    yield serve
    for server in opened:
        server.shutdown()
        server.server_close()


def conversation(kind: str, url: str, rebuilt: bool) -> tuple[Reply, Reply]:
    """A question, two calls at once, their results, an answer; rebuilt: as another worker knows it from evidence."""
    said = [Message("user", "What is with 7 and 8?")]

    def ask() -> Reply:
        target = Target(kind, kind, "gemini-2.5-pro" if kind == "google" else "claude-sonnet-4-0", url)
        asked = Ask(target, "Be brief.", tuple(said), tools=[TOOL], settings={"timeout_seconds": 5})
        return executor_for(kind).call(asked, lambda: None)

    first = ask()
    calls = tuple(ToolCall(one.name, one.arguments, one.id) for one in first.tool_calls)
    said.append(Message("assistant", first.text or "", calls, original=None if rebuilt else first.original))
    said += [Message("tool", json.dumps({"found": one.arguments["n"]}), answers=one) for one in calls]
    return first, ask()


@pytest.mark.parametrize("rebuilt", [False, True])
def test_anthropic_gets_each_result_by_the_id_of_its_call(wire, rebuilt):
    url, received = wire([ANTHROPIC_ASKS, ANTHROPIC_SAYS])
    first, last = conversation("anthropic", url, rebuilt)
    assert [(one.id, one.arguments) for one in first.tool_calls] == [("toolu_1", {"n": 7}), ("toolu_2", {"n": 8})]
    assert last.text == "Done."
    user, assistant, told = received[1]["messages"]
    assert (user["role"], assistant["role"], told["role"]) == ("user", "assistant", "user")
    kinds = [part["type"] for part in assistant["content"]]
    assert kinds == (["text", "tool_use", "tool_use"] if rebuilt else ["thinking", "text", "tool_use", "tool_use"])
    if not rebuilt:
        assert assistant["content"][0]["signature"] == "sig-of-the-thought"
    assert [part["id"] for part in assistant["content"] if part["type"] == "tool_use"] == ["toolu_1", "toolu_2"]
    assert [(part["type"], part["tool_use_id"]) for part in told["content"]] == [
        ("tool_result", "toolu_1"),
        ("tool_result", "toolu_2"),
    ]


@pytest.mark.parametrize("rebuilt", [False, True])
def test_google_gets_each_result_under_the_name_of_its_call(wire, rebuilt):
    url, received = wire([GOOGLE_ASKS, GOOGLE_SAYS])
    first, last = conversation("google", url, rebuilt)
    assert [(one.id, one.arguments) for one in first.tool_calls] == [("f1", {"n": 7}), ("f2", {"n": 8})]
    assert last.text == "Done."
    user, model, told = received[1]["contents"]
    assert (user["role"], model["role"], told["role"]) == ("user", "model", "user")
    called = [part["functionCall"] for part in model["parts"]]
    assert [(one["name"], one["args"]) for one in called] == [("find", {"n": 7}), ("find", {"n": 8})]
    returned = [part["functionResponse"] for part in told["parts"]]
    assert [(one["name"], one["id"]) for one in returned] == [("find", "f1"), ("find", "f2")]
    if not rebuilt:
        assert model["parts"][0]["thoughtSignature"].rstrip("=") == SIGNATURE
