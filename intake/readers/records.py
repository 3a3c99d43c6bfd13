"""What a reader finds in a file, before anything is stored.

A file holds one or more runs (one subject each); a run holds executions; an execution carries at
most one score per scorer. Unknown is None, never zero and never an empty text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from analysis.observations import Direction, FailureKind, Generation, Kind, Outcome


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a file something stands: `line 3 reward`, `samples/1_epoch_1.json score`."""

    text: str


@dataclass(frozen=True, slots=True)
class Rejected:
    """A row that was left out: a stable code, its place, what is allowed, and a short excerpt (content)."""

    code: str
    place: str
    message: str
    excerpt: str = ""


@dataclass(frozen=True, slots=True)
class Scorer:
    """One measurement that the file carries, or that a mapping defines."""

    key: str
    name: str
    kind: Kind
    direction: Direction
    low: float | None = None
    high: float | None = None
    unit: str = ""
    config: dict[str, Any] = field(default_factory=dict)
    """What is known of the grader (tool, scorer name, parameters, judge model); hashed into its identity."""
    categories: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Score:
    """One judgment. `value` for boolean (0.0 or 1.0) and numeric scorers, `category` for categorical ones."""

    outcome: Outcome
    value: float | None = None
    category: str | None = None
    reasoning: str | None = None
    error: str | None = None
    cost_micros: int | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """What the subject was asked. `content` None means it was not captured.

    `content` is the hashed part: what makes this the same question (input or turns, expected
    behaviour where the file has it). `title`, `tags`, `metadata` describe it and are not hashed;
    neither is `group`.
    """

    source_id: str | int
    content: dict[str, Any] | None
    title: str = ""
    language: str = ""
    tags: tuple[str, ...] = ()
    metadata: dict[str, Any] = field(default_factory=dict)
    group: str = ""
    """Name of what the case shares with others (a document, a template); empty where nothing is known."""


@dataclass(frozen=True, slots=True)
class AttemptFact:
    """One outside call of an execution, where the file tells of it."""

    state: str
    failure_code: str = ""
    duration_ms: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_micros: int | None = None


@dataclass(frozen=True, slots=True)
class Execution:
    """One (case, repetition) of a run."""

    case: Case
    repetition: int
    generation: Generation
    failure: FailureKind = FailureKind.NONE
    error: str | None = None
    """Error text: content, never shown without the right."""
    answer: str | None = None
    structured: Any = None
    """The answer's structured form (messages, tool calls) where the file has one."""
    finish_reason: str = ""
    duration_ms: float | None = None
    cost_micros: int | None = None
    cost_partial: bool = False
    currency: str = "USD"
    cost_basis: str = ""
    """reported, price table, configured fee; empty where the cost is unknown."""
    input_tokens: int | None = None
    output_tokens: int | None = None
    trace: bool = False
    """Whether the file captured a trace (messages or events) of this execution."""
    scores: dict[str, Score] = field(default_factory=dict)
    """By scorer key. A scorer that returned nothing is absent."""
    attempts: tuple[AttemptFact, ...] = ()
    place: str = ""


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What is known of a run as a whole."""

    arm: str
    """Name of the arm inside the file (the part after `#` in FILE#ARM)."""
    arm_from_file_name: bool
    """Whether `arm` was taken from a file's or folder's name, which is content and may not become a label unasked."""
    subject: dict[str, Any]
    """Definition of what was evaluated: model, provider, agent, solver, settings … as recorded. Hashed."""
    source_run_id: str
    """The tool's own id of the run, or a digest of (file digest, arm)."""
    scorers: tuple[Scorer, ...]
    tool: str
    tool_version: str = ""
    created_at: str = ""
    dataset: str = ""
    """The tool's own name of the dataset, as a suggestion."""
    repetitions: int | None = None
    facts: tuple[tuple[str, str], ...] = ()
    """Configuration facts for the comparison page: (name, value)."""
    missing: tuple[str, ...] = ()
    """What the file does not carry: repetition, cost, latency, error, trace, content, expected."""
    notes: tuple[str, ...] = ()
    """Sentences the dry run must show (repetition set to 1, case id made from line number …)."""


@dataclass(frozen=True, slots=True)
class Run:
    """One arm of a file, its executions read lazily and once."""

    facts: RunFacts
    executions: Iterator[Execution | Rejected]
