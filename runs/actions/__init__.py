"""Writes of experiments: launching, steering, retrying, archiving; and what imports create."""

from runs import refusals  # noqa: F401  # its codes must be registered before one is raised
from runs.actions.archiving import archive, restore
from runs.actions.draft_tests import test_draft
from runs.actions.experiments import complete, manifest_sha256, next_number
from runs.actions.launching import (
    MOST_EXECUTIONS,
    Plan,
    evaluate_draft,
    launch,
    open_batch,
    open_experiment,
    plan_of,
    planned,
    tools_ready,
)
from runs.actions.retrying import retry
from runs.actions.steering import cancel, pause, resume

__all__ = [
    "MOST_EXECUTIONS",
    "Plan",
    "archive",
    "cancel",
    "complete",
    "evaluate_draft",
    "launch",
    "manifest_sha256",
    "next_number",
    "open_batch",
    "open_experiment",
    "pause",
    "plan_of",
    "planned",
    "restore",
    "resume",
    "retry",
    "test_draft",
    "tools_ready",
]
