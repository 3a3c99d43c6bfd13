"""What goes to an executor and what comes back: plain values, no I/O."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from analysis.observations import FailureKind


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that a model asks for. `id` is the model's own, by which it knows the result again."""

    name: str
    arguments: Any
    id: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """Something said in a conversation. `role` is system, user, assistant or tool.

    A reply of the assistant may ask for tools (`calls`); what a tool returned names the call that it answers.
    """

    role: str
    text: str
    calls: Sequence[ToolCall] = ()
    answers: ToolCall | None = None
    original: Any = None
    """The same reply in the form of the executor that brought it, with what only its provider understands."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where a call goes: what a revision of a model route says. The secret is a reference, never the secret."""

    kind: str
    provider: str
    model_id: str
    base_url: str = ""
    secret_ref: str = ""


@dataclass(frozen=True, slots=True)
class Ask:
    """One request to a model. `schema` asks for an answer that is a JSON object of this shape."""

    target: Target
    instructions: str
    messages: Sequence[Message]
    tools: Sequence[Mapping[str, Any]] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    schema: Mapping[str, Any] | None = None
    reference: str = ""
    """Our id of the attempt; the provider gets it as the request's id."""
    repetition: int = 1
    attempt: int = 1
    """Which try of the same request this is. Only the fixture looks at these two, to vary and to recover."""

    @property
    def seconds(self) -> float:
        """How long the whole call may take."""
        return float(self.settings.get("timeout_seconds", USUAL_SECONDS))


USUAL_SECONDS: Final = 120


@dataclass(frozen=True, slots=True)
class Post:
    """One JSON object for a program that answers with one. `reference` is our id of the attempt.

    With `named` the program is told it as the object's field of this name; with a secret it is called as a bearer.
    """

    url: str
    body: Mapping[str, Any]
    reference: str = ""
    attempt: int = 1
    headers: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 30.0
    """How long the whole call may take."""
    told: bool = False
    """Somebody is told something: any success is an answer, and what it says is not read."""
    secret_ref: str = ""
    named: str = ""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens by class, as the provider counted them; None is unknown. Cached ones are part of `input`."""

    input: int | None = None
    cached_input: int | None = None
    output: int | None = None
    reported_micros: int | None = None
    """What the provider itself says that the call cost, in millionths of `reported_currency`."""
    reported_currency: str = ""
    listed_micros: int | None = None
    """What a public price list says, in millionths of a US dollar; where the provider itself was called."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model answered. `structured` is set where a schema was asked for."""

    text: str | None
    structured: Any = None
    tool_calls: Sequence[ToolCall] = ()
    usage: Usage = field(default_factory=Usage)
    finish_reason: str = ""
    provider_revision: str = ""
    """The exact model and the fingerprint that the provider names."""
    provider_request_id: str = ""
    original: Any = None
    """For the message that holds this reply, should the conversation go on."""


class CallFailed(Exception):
    """An outside call without a usable answer. Its code is one of `FAILURES`; what the provider wrote is not kept."""

    def __init__(
        self, code: str, *, usage: Usage | None = None, retry_after: float | None = None, status: int | None = None
    ) -> None:
        super().__init__(code)
        self.code = code
        self.kind = FAILURES[code].kind
        self.usage = usage or Usage()
        self.retry_after = retry_after
        self.status = status
        """Of the answer, where there was one and the executor says it."""

    @property
    def again(self) -> bool:
        """Whether another attempt may follow by itself: the provider refused the call, and said so."""
        return FAILURES[self.code].again


@dataclass(frozen=True, slots=True)
class Failure:
    kind: FailureKind
    again: bool
    says: str


FAILURES: Final[dict[str, Failure]] = {
    "provider_unreachable": Failure(FailureKind.PROVIDER_ERROR, True, "No connection to the provider."),
    "provider_rate_limited": Failure(FailureKind.PROVIDER_ERROR, True, "The provider takes no more requests now."),
    "provider_server_error": Failure(FailureKind.PROVIDER_ERROR, True, "The provider answered with a server error."),
    "provider_rejected": Failure(FailureKind.PROVIDER_ERROR, False, "The provider refused the request."),
    "provider_unauthorized": Failure(FailureKind.PROVIDER_ERROR, False, "The provider does not take the key."),
    "provider_redirected": Failure(FailureKind.PROVIDER_ERROR, False, "The provider sends elsewhere; nobody follows."),
    "provider_cut_off": Failure(FailureKind.PROVIDER_ERROR, False, "The connection ended before the answer did."),
    "provider_answer_unreadable": Failure(FailureKind.PROVIDER_ERROR, False, "The provider's answer cannot be read."),
    "provider_answer_too_large": Failure(FailureKind.LIMIT_EXCEEDED, False, "The answer exceeds 8 MB."),
    "provider_timed_out": Failure(FailureKind.TIMED_OUT, False, "No answer within the time of the settings."),
    "provider_filtered": Failure(FailureKind.PROVIDER_ERROR, False, "The provider's filter held the answer back."),
    "tool_limit_reached": Failure(FailureKind.LIMIT_EXCEEDED, False, "It asked for more tools than it may."),
    "tool_answer_too_large": Failure(FailureKind.LIMIT_EXCEEDED, False, "The tool's answer exceeds 256 KB."),
    "output_limit_reached": Failure(FailureKind.LIMIT_EXCEEDED, False, "The answer ended at the most output tokens."),
    "output_invalid": Failure(FailureKind.INVALID_OUTPUT, False, "The answer does not have the shape asked for."),
    "address_forbidden": Failure(FailureKind.INFRASTRUCTURE_FAILURE, False, "The address leads inside a network."),
    "secret_missing": Failure(FailureKind.INFRASTRUCTURE_FAILURE, False, "The key is not where the route says."),
    "executor_failed": Failure(FailureKind.INFRASTRUCTURE_FAILURE, False, "The fault is ours; operators see it."),
}
"""Every way in which an outside call fails. The words are for people; programs read the code."""


class Executor(Protocol):
    def call(self, ask: Any, admit: Callable[[], None]) -> Reply:
        """Make exactly one outside call. `admit` is called right before anything leaves, once.

        Raises `CallFailed`. Whatever `admit` raises goes through, and then nothing has left.
        """
