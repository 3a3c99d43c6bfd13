"""The fixture provider: models that answer on this machine, the same to the same question, at any time.

`fixture:support` and `fixture:support-small` know the demo's questions in English and Arabic; the small one
misses more. A share of their calls fails as planned, once or for good. `fixture:judge` judges their answers.
`fixture:echo` repeats what it was told, at once; `fixture:fail/CODE` fails with that code; `fixture:tool` calls the
first tool it is given, and then says what that returned.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from django.conf import settings

from analysis import strict_json
from runs.executors.contract import FAILURES, Ask, CallFailed, Reply, ToolCall, Usage
from runs.executors.structured import of_schema

REVISION: Final = "fixture-1"


@dataclass(frozen=True, slots=True)
class Manner:
    """How a model of the fixture behaves. Shares are of calls, in thousandths; milliseconds of latency."""

    misses: int
    stumbles: int
    """Server errors that another attempt gets over."""
    fails: int
    """Time-outs, which end the execution."""
    least_ms: int
    spread_ms: int


MANNERS: Final = {
    "fixture:support": Manner(misses=160, stumbles=15, fails=8, least_ms=60, spread_ms=240),
    "fixture:support-small": Manner(misses=300, stumbles=25, fails=12, least_ms=20, spread_ms=80),
}
LATIN: Final = (
    "I would have to look into your order for that. Please send me its number, and I hand you over to a person."
)
ARABIC: Final = "أحتاج إلى رقم طلبك كي أراجع ذلك. أرسله من فضلك وسأحوّلك إلى موظف."


class Fixture:
    """The executor of `fixture:` models."""

    def call(self, ask: Ask, admit: Callable[[], None]) -> Reply:
        model = ask.target.model_id
        if model.startswith("fixture:fail/"):
            return _fail(model.removeprefix("fixture:fail/"), admit)
        if model in MANNERS:
            return _support(ask, MANNERS[model], admit)
        if model not in SIMPLE:
            raise CallFailed("provider_rejected")
        admit()
        return SIMPLE[model](ask)


EXECUTOR = Fixture()


def _fail(code: str, admit: Callable[[], None]) -> Reply:
    admit()
    raise CallFailed(code if code in FAILURES else "provider_rejected")


def _support(ask: Ask, manner: Manner, admit: Callable[[], None]) -> Reply:
    said = ask.messages[-1].text
    chance = _draws(ask.target.model_id, ask.instructions, *(one.text for one in ask.messages), str(ask.repetition))
    admit()
    if chance("fail") < manner.fails:
        _wait(manner.least_ms)
        raise CallFailed("provider_timed_out")
    if ask.attempt == 1 and chance("stumble") < manner.stumbles:
        raise CallFailed("provider_server_error")
    _wait(manner.least_ms + manner.spread_ms * chance("latency") * chance("latency again") // 1_000_000)
    known = _known().get(_folded(said))
    if known is None:
        return _reply(ask, ARABIC if any("\u0600" <= one <= "\u06ff" for one in said) else LATIN)
    names = [name for name in known if name.startswith("miss") == (chance("miss") < manner.misses)] or list(known)
    return _reply(ask, known[names[chance("answer") % len(names)]])


def _wait(milliseconds: int) -> None:
    time.sleep(milliseconds / 1000 * settings.FIXTURE_PACE)


def _draws(*given: str) -> Callable[[str], int]:
    """Numbers from 0 to 999, the same for the same words."""
    seed = hashlib.sha256("\0".join(("evenhand fixture", *given)).encode()).digest()

    def draw(what: str) -> int:
        return int.from_bytes(hashlib.sha256(seed + what.encode()).digest()[:8]) % 1000

    return draw


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()


@cache
def _cases() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = strict_json.loads(settings.FIXTURE_ANSWERS.read_bytes())
    return found


@cache
def _known() -> Mapping[str, Mapping[str, str]]:
    """The answers that were written for each question, by name; those that begin with `miss` miss something."""
    return {
        _folded(case["message"]): {
            name: one["text"] if isinstance(one, dict) else one for name, one in case["answers"].items()
        }
        for case in _cases()
    }


@cache
def _verdicts() -> Mapping[str, tuple[bool, str]]:
    """Whether an answer that was written for a question is a good one, and why."""
    found = {}
    for case in _cases():
        for name, one in case["answers"].items():
            text, why = (one["text"], one["why"]) if isinstance(one, dict) else (one, case["pass_why"])
            found[text] = (not name.startswith("miss"), why)
    return found


def _reply(ask: Ask, text: str, **more: Any) -> Reply:
    asked = len(ask.instructions.encode()) + sum(len(one.text.encode()) for one in ask.messages)
    usage = Usage(input=12 + asked // 4, cached_input=0, output=4 + len(text.encode()) // 4)
    structured = of_schema(text, ask.schema, usage) if ask.schema is not None else None
    more.setdefault("finish_reason", "stop")
    return Reply(text=text, structured=structured, usage=usage, provider_revision=REVISION, **more)


# --- models that do one simple thing


def _echo(ask: Ask) -> Reply:
    return _reply(ask, ask.messages[-1].text)


def _tool(ask: Ask) -> Reply:
    if not ask.tools:
        return _reply(ask, "No tool was given.")
    if ask.messages[-1].role == "tool":
        return _reply(ask, f"The tool says: {ask.messages[-1].text}")
    call = ToolCall(ask.tools[0]["name"], {"asked": ask.messages[-1].text[:100]}, f"call-{len(ask.messages)}")
    return Reply(None, tool_calls=(call,), usage=Usage(10, 0, 5), finish_reason="tool_call", provider_revision=REVISION)


def _judge(ask: Ask) -> Reply:
    """Judges by the demo's own verdicts; an answer that nobody wrote a verdict for is not judged."""
    prompt = "\n".join(one.text for one in ask.messages)
    _wait(20)
    said = max((text for text in _verdicts() if text in prompt), key=len, default=None)
    schema: Mapping[str, Any] = ask.schema or {}
    shape: Mapping[str, Any] = schema.get("properties", {})
    if said is None:
        return _reply(ask, _json(_instance(shape, None, "No verdict was written for this answer.")))
    good, why = _verdicts()[said]
    return _reply(ask, _json(_instance(shape, good, why)))


def _json(value: Any) -> str:
    return strict_json.canonical(value).decode()


def _instance(shape: Mapping[str, Any], good: bool | None, why: str) -> dict[str, Any]:
    """An object of the shape that judges are asked for: value, abstained, reasoning."""
    found: dict[str, Any] = {}
    for name, said in shape.items():
        kinds = said.get("type", [])
        kinds = [kinds] if isinstance(kinds, str) else kinds
        if name == "abstained" or name == "abstain":
            found[name] = good is None
        elif "enum" in said:
            choices = [one for one in said["enum"] if one is not None]
            found[name] = None if good is None else choices[0 if good else -1]
        elif "boolean" in kinds:
            found[name] = None if good is None and "null" in kinds else bool(good)
        elif "number" in kinds or "integer" in kinds:
            low, high = said.get("minimum", 0), said.get("maximum", 1)
            found[name] = None if good is None and "null" in kinds else high if good else low
        else:
            found[name] = why
    return found


SIMPLE: Final[dict[str, Callable[[Ask], Reply]]] = {
    "fixture:echo": _echo,
    "fixture:tool": _tool,
    "fixture:judge": _judge,
}
