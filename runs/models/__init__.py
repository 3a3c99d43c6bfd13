"""Batches, experiments, executions, attempts, answers, cost facts, Agent Tests."""

from runs.models.columns import ArmColumns
from runs.models.costs import COVERAGES, Cost, known_cost
from runs.models.draft_tests import DraftTest, DraftTestAnswer, DraftTestAttempt, DraftTestContent
from runs.models.executions import (
    FAILURES,
    GENERATIONS,
    TERMINAL,
    Answer,
    Attempt,
    AttemptState,
    Call,
    Execution,
    Span,
    SpanContent,
    SpanKind,
    Turn,
    machine_of_calls,
)
from runs.models.experiments import (
    Batch,
    BatchMode,
    Deployment,
    Experiment,
    Origin,
    State,
    ToolPolicy,
    TrustTier,
)

__all__ = [
    "COVERAGES",
    "FAILURES",
    "GENERATIONS",
    "TERMINAL",
    "Answer",
    "ArmColumns",
    "Attempt",
    "AttemptState",
    "Batch",
    "BatchMode",
    "Call",
    "Cost",
    "Deployment",
    "DraftTest",
    "DraftTestAnswer",
    "DraftTestAttempt",
    "DraftTestContent",
    "Execution",
    "Experiment",
    "Origin",
    "Span",
    "SpanContent",
    "SpanKind",
    "State",
    "ToolPolicy",
    "TrustTier",
    "Turn",
    "known_cost",
    "machine_of_calls",
]
