"""Calls to models over the network: OpenAI-compatible servers, Anthropic, Google, through pydantic-ai."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final, cast

import httpx2
from anthropic import AsyncAnthropic
from genai_prices import calc_price
from google.genai.types import HttpRetryOptions
from openai import AsyncOpenAI
from pydantic_ai.direct import model_request, model_request_stream
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.google import GoogleModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.google import GoogleProvider
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from analysis import strict_json
from analysis.refusals import Refused
from runs.executors import bridge
from runs.executors.bridge import NotAdmitted
from runs.executors.contract import Ask, CallFailed, Message, Reply, Target, ToolCall, Usage
from runs.executors.secrets import secret
from runs.executors.structured import of_schema
from runs.executors.transport import WIRE, Wire, client

log = logging.getLogger(__name__)

MICROS: Final = Decimal(1_000_000)


@lru_cache(maxsize=64)
def _model(target: Target, mark: str, key: str) -> Model:
    """A model of the shared client. A key that was changed where it stands is another `mark`."""
    base, wire = target.base_url or None, client()
    if target.kind == "anthropic":
        sdk = AsyncAnthropic(api_key=key or "none", base_url=base, http_client=wire, max_retries=0)
        return AnthropicModel(target.model_id, provider=AnthropicProvider(anthropic_client=sdk))
    if target.kind == "google":
        once = HttpRetryOptions(attempts=1)
        provider = GoogleProvider(api_key=key or "none", base_url=base, http_client=wire, retry_options=once)
        return GoogleModel(target.model_id, provider=provider)
    # an SDK without a key looks for one in the environment, so it always gets something
    openai = AsyncOpenAI(api_key=key or "none", base_url=base, http_client=wire, max_retries=0)
    return OpenAIChatModel(target.model_id, provider=OpenAIProvider(openai_client=openai))


class Providers:
    """The executor of everything that is reached over the network."""

    def call(self, ask: Ask, admit: Callable[[], None]) -> Reply:
        key = secret(ask.target.secret_ref)
        mark = hashlib.sha256(key.encode()).hexdigest()[:16]
        return bridge.run(lambda ask_leave: _call(ask, _model(ask.target, mark, key), ask_leave), admit)


EXECUTOR = Providers()


async def _call(ask: Ask, model: Model, admit: bridge.Admit) -> Reply:
    wire = Wire(admit, ask.reference)
    WIRE.set(wire)
    try:
        async with asyncio.timeout(ask.seconds):
            answer = await _asked(ask, model)
    except TimeoutError:
        raise CallFailed("provider_timed_out") from None
    except CallFailed:
        raise
    except Exception as failure:
        raise _failure(wire, failure) from None
    return _reply(ask, wire, answer)


async def _asked(ask: Ask, model: Model) -> ModelResponse:
    said, settings, shape = _messages(ask), _settings(ask.settings), _parameters(ask)
    if not _streams(ask):
        return await model_request(model, said, model_settings=settings, model_request_parameters=shape)
    async with model_request_stream(model, said, model_settings=settings, model_request_parameters=shape) as stream:
        async for _ in stream:
            pass
        answer = stream.get()
    if not answer.finish_reason:
        raise CallFailed("provider_cut_off")  # a stream that ends well says why it ended
    return answer


def _streams(ask: Ask) -> bool:
    """Only the OpenAI protocol is read as a stream; its last chunk tells the usage."""
    return bool(ask.settings.get("stream")) and ask.target.kind == "openai"


def _failure(wire: Wire, failure: Exception) -> Exception:
    """Our own name for what went wrong; nothing of what the provider wrote goes on."""
    if isinstance(wire.failure, CallFailed):
        return wire.failure
    if isinstance(wire.failure, NotAdmitted):
        return wire.failure
    status = wire.status
    if status in (401, 403):
        return CallFailed("provider_unauthorized")
    if status == 429:
        return CallFailed("provider_rate_limited", retry_after=_seconds(wire.headers.get("retry-after", "")))
    if status >= 500:
        return CallFailed("provider_server_error", retry_after=_seconds(wire.headers.get("retry-after", "")))
    if status >= 400:
        return CallFailed("provider_rejected")
    if 200 <= status < 300:
        return CallFailed("provider_answer_unreadable", usage=_raw_usage(wire))
    if isinstance(wire.failure, httpx2.TimeoutException):
        return CallFailed("provider_timed_out")
    if isinstance(wire.failure, httpx2.TransportError):
        return CallFailed("provider_cut_off")
    log.error("an outside call failed before it left: %s", type(failure).__name__)
    return CallFailed("executor_failed")


def _seconds(text: str) -> float | None:
    return float(text) if text.isascii() and text.isdecimal() and len(text) < 6 else None


# --- what is asked


def _messages(ask: Ask) -> list[ModelMessage]:
    """The conversation. A provider has one place for system messages, so they stand beside the instructions."""
    found: list[ModelMessage] = []
    for message in ask.messages:
        if message.role == "assistant":
            found.append(message.original or _said(message))
            continue
        part = _part(message)
        if found and isinstance(found[-1], ModelRequest):
            found[-1] = ModelRequest(parts=[*found[-1].parts, part])
        else:
            found.append(ModelRequest(parts=[part]))
    if ask.instructions and isinstance(found[-1], ModelRequest):
        found[-1] = ModelRequest(parts=found[-1].parts, instructions=ask.instructions)
    return found


def _said(message: Message) -> ModelResponse:
    calls = [ToolCallPart(one.name, one.arguments, one.id) for one in message.calls]
    return ModelResponse(parts=[*([TextPart(message.text)] if message.text or not calls else []), *calls])


def _part(message: Message) -> ModelRequestPart:
    if message.answers is not None:
        return ToolReturnPart(message.answers.name, message.text, message.answers.id)
    return SystemPromptPart(message.text) if message.role == "system" else UserPromptPart(message.text)


NAMES: Final = {"max_output_tokens": "max_tokens", "stop": "stop_sequences"}


def _settings(given: Mapping[str, Any]) -> ModelSettings:
    taken = ("temperature", "top_p", "max_output_tokens", "seed", "stop")
    return cast(ModelSettings, {NAMES.get(name, name): given[name] for name in taken if name in given})


def _parameters(ask: Ask) -> ModelRequestParameters:
    tools = [
        ToolDefinition(name=one["name"], description=one["description"], parameters_json_schema=one["parameters"])
        for one in ask.tools
    ]
    if ask.schema is None:
        return ModelRequestParameters(function_tools=tools)
    shape = OutputObjectDefinition(json_schema=dict(ask.schema), name="answer")
    return ModelRequestParameters(function_tools=tools, output_mode="native", output_object=shape)


# --- what came back


def _reply(ask: Ask, wire: Wire, answer: ModelResponse) -> Reply:
    usage = _usage(ask, wire, answer)
    texts = [part.content for part in answer.parts if isinstance(part, TextPart)]
    calls = [
        ToolCall(part.tool_name, _arguments(part), part.tool_call_id)
        for part in answer.parts
        if isinstance(part, ToolCallPart)
    ]
    text = "".join(texts) if texts else None
    reason = answer.finish_reason or ""
    if reason == "content_filter":
        raise CallFailed("provider_filtered", usage=usage)
    if reason == "length":
        raise CallFailed("output_limit_reached", usage=usage)
    if text is None and not calls:
        raise CallFailed("provider_answer_unreadable", usage=usage)
    structured = None
    if ask.schema is not None and not calls:
        structured = of_schema(text or "", ask.schema, usage)
    return Reply(
        text=text,
        structured=structured,
        tool_calls=calls,
        usage=usage,
        finish_reason=reason,
        provider_revision=_revision(wire, answer),
        provider_request_id=(wire.headers.get("x-request-id") or answer.provider_response_id or "")[:120],
        original=answer,
    )


def _arguments(part: ToolCallPart) -> Any:
    """The arguments as JSON; a text where a model wrote none that can be kept."""
    given = part.args if isinstance(part.args, str) else json.dumps(part.args or {})
    try:
        return strict_json.loads(given.encode())
    except (Refused, UnicodeEncodeError):
        return given.encode("ascii", "backslashreplace").decode().replace("\0", "\\0")


def _raw(wire: Wire) -> Mapping[str, Any]:
    """The document that came back; of a stream, what its chunks say beside the answer, the last word of each."""
    if wire.headers.get("content-type", "").startswith("text/event-stream"):
        lines = [line[5:].strip() for line in wire.body.splitlines() if line.startswith(b"data:")]
        found: dict[str, Any] = {}
        for line in lines:
            found |= {name: value for name, value in _document(line).items() if value is not None}
        return found
    return _document(wire.body)


def _document(text: bytes) -> Mapping[str, Any]:
    try:
        found = strict_json.loads(text)
    except Refused:
        return {}
    return found if isinstance(found, Mapping) else {}


def _raw_usage(wire: Wire) -> Usage:
    """Usage of an answer that could not be read otherwise, in the form of the OpenAI protocol."""
    said = _raw(wire).get("usage")
    if not isinstance(said, Mapping):
        return Usage()
    return Usage(input=_count(said.get("prompt_tokens")), output=_count(said.get("completion_tokens")))


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53 else None


def _usage(ask: Ask, wire: Wire, answer: ModelResponse) -> Usage:
    """Counts that the provider reported. A library's zero for what nobody reported stays unknown."""
    raw = _raw(wire)
    said = raw.get("usage", raw.get("usageMetadata"))
    if not isinstance(said, Mapping):
        return Usage()
    told = answer.usage
    cost = said.get("cost")
    micros = None
    if isinstance(cost, int | float) and not isinstance(cost, bool) and 0 <= cost < 1_000_000:
        micros = int((Decimal(str(cost)) * MICROS).to_integral_value(rounding="ROUND_HALF_UP"))
    return Usage(
        input=told.input_tokens,
        cached_input=told.cache_read_tokens,
        output=told.output_tokens,
        reported_micros=micros,
        reported_currency="USD" if micros is not None else "",
        listed_micros=_listed(ask.target, answer),
    )


OWN_HOSTS: Final = (
    "",
    "https://api.openai.com/v1",
    "https://api.anthropic.com",
    "https://generativelanguage.googleapis.com",
)


def _listed(target: Target, answer: ModelResponse) -> int | None:
    """The list price, where the provider itself was called; what another host takes is its own affair."""
    if target.base_url.rstrip("/") not in OWN_HOSTS or target.kind not in ("openai", "anthropic", "google"):
        return None
    try:
        price = calc_price(answer.usage, target.model_id, provider_id=target.kind)
    except (LookupError, ValueError):
        return None
    return int((price.total_price * MICROS).to_integral_value(rounding="ROUND_HALF_UP"))


def _revision(wire: Wire, answer: ModelResponse) -> str:
    mark = _raw(wire).get("system_fingerprint")
    parts = [answer.model_name or "", mark if isinstance(mark, str) else ""]
    return " ".join(part for part in parts if part)[:120]
