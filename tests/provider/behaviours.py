"""Which behaviour a request meets, and the documents that the protocol answers with. No sockets here."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

PREFIX = "behave/"
PLAIN = {"ok", "cut", "reset", "garbage", "empty", "huge", "nousage", "hold", "use"}
SECONDS = {"slow", "silent"}
TEXT = {"redirect", "structured", "tool", "tools"}
STATUS = re.compile(r"[45]\d\d")
KINDS = {  # type and code, as OpenAI says them
    401: ("invalid_request_error", "invalid_api_key"),
    404: ("invalid_request_error", "model_not_found"),
    429: ("requests", "rate_limit_exceeded"),
}


class UnknownBehaviour(ValueError):
    """The words name no behaviour; the message lists what there is."""


@dataclass(frozen=True)
class Behaviour:
    name: str
    argument: str = ""

    @property
    def seconds(self) -> float:
        return float(self.argument)

    @property
    def status(self) -> int | None:
        """Of an error; None where the behaviour is not simply an error."""
        return int(self.name) if STATUS.fullmatch(self.name) else None


def parse(script: str) -> tuple[Behaviour, ...]:
    """One behaviour, or several in a row: "500,500,ok". Commas in brackets and in quoted text separate nothing."""
    return tuple(_one(text.strip()) for text in _split(script))


def _one(text: str) -> Behaviour:
    name, colon, argument = text.partition(":")
    if name in PLAIN and not colon:
        return Behaviour(name)
    if name in SECONDS and re.fullmatch(r"\d+(\.\d+)?", argument):
        return Behaviour(name, argument)
    if name in TEXT and argument and (name != "tool" or ":" in argument):
        return Behaviour(name, argument)
    if STATUS.fullmatch(name):
        return Behaviour(name, argument)
    raise UnknownBehaviour(
        f"{text!r} is no behaviour. There are {', '.join(sorted(PLAIN))}, slow:SECONDS, silent:SECONDS, redirect:URL, "
        "structured:JSON, tool:NAME:JSONARGS, tools:[[NAME, ARGS], …], use (what tools returned), "
        "a status of 400 to 599 as 500 or, with Retry-After, 429:SECONDS."
    )


def _split(script: str) -> list[str]:
    parts, depth, quoted, escaped = [""], 0, False, False
    for letter in script:
        if letter == "," and not depth and not quoted:
            parts.append("")
            continue
        if letter == '"' and not escaped:
            quoted = not quoted
        elif not quoted:
            depth += (letter in "{[") - (letter in "}]")
        escaped = letter == "\\" and not escaped
        parts[-1] += letter
    return parts


@dataclass(frozen=True)
class Rule:
    contains: str
    script: tuple[Behaviour, ...]
    key: str | None


class Scripts:
    """Picks by the model's name, else by the newest rule that matches, else the default.

    A sequence counts on with each request and stays at its last behaviour. It is counted for each text of the last
    user message by itself, so requests of several cases at once do not take each other's turns, and a tool loop, whose
    user message stays, goes forward. A rule with a key counts all its requests together.

    Its caller holds a lock.
    """

    def __init__(self, default: str) -> None:
        self._default = parse(default)
        self._rules: list[Rule] = []
        self._turns: Counter[object] = Counter()

    def rule(self, contains: str, behaviour: str, key: str | None = None) -> None:
        self._rules.append(Rule(contains, parse(behaviour), key))

    def forget_rules(self) -> None:
        self._rules.clear()
        self._turns.clear()

    def pick(self, model: str | None, text: str) -> Behaviour:
        script, key = self._script(model, text)
        turn = self._turns[key]
        self._turns[key] += 1
        return script[min(turn, len(script) - 1)]

    def _script(self, model: str | None, text: str) -> tuple[tuple[Behaviour, ...], object]:
        if model and model.startswith(PREFIX):
            return parse(model.removeprefix(PREFIX)), ("model", model, text)
        for place in reversed(range(len(self._rules))):
            rule = self._rules[place]
            if rule.contains in text:
                return rule.script, ("rule", place, text) if rule.key is None else ("key", rule.key)
        return self._default, ("default", text)


def last_user_text(body: dict[str, Any] | None) -> str:
    """Of the last user message; parts that are text are joined. Empty where there is none."""
    for message in reversed(_messages(body)):
        if message.get("role") == "user":
            return _text(message)
    return ""


def completion(behaviour: Behaviour, body: dict[str, Any], number: int) -> dict[str, Any]:
    """The document of a chat completion as this behaviour gives it."""
    message: dict[str, Any] = {"role": "assistant", "content": f"echo: {last_user_text(body)}", "refusal": None}
    reason = "stop"
    if behaviour.name == "structured":
        message["content"] = behaviour.argument
    elif behaviour.name == "use":
        message["content"] = "found: " + " ".join(_text(one) for one in _messages(body) if one.get("role") == "tool")
    elif behaviour.name in ("tool", "tools"):
        message["content"] = None
        message["tool_calls"] = [
            {"id": f"call_{number}" + (f"_{at}" if at else ""), "type": "function", "function": function}
            for at, function in enumerate(_asked_tools(behaviour))
        ]
        reason = "tool_calls"
    prompt = sum(len(_text(message).split()) for message in _messages(body))
    said = len((message["content"] or behaviour.argument).split())
    document: dict[str, Any] = {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": body.get("model"),
        "system_fingerprint": "fp_provider",
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": reason}],
        "usage": {
            "prompt_tokens": prompt,
            "completion_tokens": said,
            "total_tokens": prompt + said,
            "prompt_tokens_details": {"cached_tokens": 0},
        },
    }
    if behaviour.name == "empty":
        document["choices"] = []
    if behaviour.name == "nousage":
        del document["usage"]
    return document


def _asked_tools(behaviour: Behaviour) -> list[dict[str, str]]:
    if behaviour.name == "tools":
        asked = json.loads(behaviour.argument)
        return [{"name": name, "arguments": json.dumps(arguments)} for name, arguments in asked]
    name, _, arguments = behaviour.argument.partition(":")
    return [{"name": name, "arguments": arguments}]


def fault_of(body: dict[str, Any]) -> str:
    """What a strict server refuses a conversation for: each call of a tool is answered next, once, by its id."""
    open_: list[str] = []
    for message in _messages(body):
        if message.get("role") == "tool":
            if message.get("tool_call_id") not in open_:
                return "a message of a tool answers no call"
            open_.remove(message["tool_call_id"])
        elif open_:
            return f"the calls {', '.join(open_)} are not answered"
        else:
            open_ = [call["id"] for call in message.get("tool_calls") or []]
    return f"the calls {', '.join(open_)} are not answered" if open_ else ""


def chunks(document: dict[str, Any], include_usage: bool) -> Iterator[dict[str, Any]]:
    """The same completion as a stream: role, three pieces of content or of a tool call's arguments, end, usage."""
    frame = {name: document[name] for name in ("id", "created", "model", "system_fingerprint")}
    frame["object"] = "chat.completion.chunk"
    if include_usage:
        frame["usage"] = None

    def chunk(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
        return {**frame, "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}]}

    for choice in document["choices"]:
        message = choice["message"]
        yield chunk({"role": "assistant", "content": None if message["content"] is None else ""})
        if message["content"] is not None:
            for piece in _thirds(message["content"]):
                yield chunk({"content": piece})
        for index, call in enumerate(message.get("tool_calls", [])):
            first = {"name": call["function"]["name"], "arguments": ""}
            yield chunk({"tool_calls": [{"index": index, "id": call["id"], "type": "function", "function": first}]})
            for piece in _thirds(call["function"]["arguments"]):
                yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
        yield chunk({}, choice["finish_reason"])
    if not document["choices"]:
        yield {**frame, "choices": []}
    if include_usage and "usage" in document:
        yield {**frame, "choices": [], "usage": document["usage"]}


def event(document: object) -> bytes:
    """One server-sent event."""
    return f"data: {json.dumps(document)}\n\n".encode()


def error(status: int, message: str | None = None) -> dict[str, Any]:
    kind, code = KINDS.get(status, ("server_error" if status >= 500 else "invalid_request_error", None))
    said = message or f"The provider of the tests answers {status}."
    return {"error": {"message": said, "type": kind, "param": None, "code": code}}


def _messages(body: dict[str, Any] | None) -> list[dict[str, Any]]:
    found = (body or {}).get("messages")
    return [message for message in found if isinstance(message, dict)] if isinstance(found, list) else []


def _text(message: dict[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _thirds(text: str) -> list[str]:
    one, two = len(text) // 3, 2 * len(text) // 3
    return [text[:one], text[one:two], text[two:]]
