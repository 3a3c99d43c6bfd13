"""What a case says to a subject, in order, and which of it the subject answers. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runs.executors.contract import Message


@dataclass(frozen=True, slots=True)
class Exchange:
    """What is said before the subject speaks, the last of it by the user."""

    said: tuple[Message, ...]

    @property
    def asked(self) -> str:
        return self.said[-1].text


def exchanges(body: Mapping[str, Any]) -> list[Exchange]:
    """The exchanges of a case.

    The subject answers each turn of the user that no written turn of the assistant answers; written ones
    are history. What follows the last turn of the user is said to nobody. A case without a turn to
    answer has no exchange.
    """
    if "turns" not in body:
        given = body.get("input")
        text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False, indent=2)
        return [Exchange((Message("user", text),))]
    found: list[Exchange] = []
    waiting: list[Message] = []
    turns = [Message(_role(one["role"]), one["content"]) for one in body["turns"]]
    for at, turn in enumerate(turns):
        waiting.append(turn)
        following = turns[at + 1].role if at + 1 < len(turns) else ""
        if turn.role == "user" and following != "assistant":
            found.append(Exchange(tuple(waiting)))
            waiting = []
    return found


def _role(role: str) -> str:
    """What a tool returned was read by the model as something said to it."""
    return "user" if role == "tool" else role


def instructions_of(definition: Mapping[str, Any]) -> str:
    """What a model is told before anything else: the instructions, then each text of the context under its name."""
    parts = [definition.get("instructions", "")]
    parts += [f"# {one['name']}\n\n{one['text']}" for one in definition.get("context", [])]
    return "\n\n".join(part for part in parts if part.strip())
