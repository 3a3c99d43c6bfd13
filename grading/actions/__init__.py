"""What creates grading evidence: definitions, graders with exact versions, passes."""

from agents.actions.hosts import set_host_listed
from grading.actions.graders import (
    add_grader_version,
    archive_grader,
    create_grader,
    rename_grader,
    restore_grader,
)
from grading.actions.hosts import list_host
from grading.actions.metrics import create_metric
from grading.actions.passes import complete, definition_of, grader_version, open_pass
from grading.actions.planning import GradingPlan, Planned, checked_plan, open_planned_pass
from grading.actions.regrading import cancel_pass, pause_pass, regrade, resume_pass

__all__ = [
    "GradingPlan",
    "Planned",
    "add_grader_version",
    "archive_grader",
    "cancel_pass",
    "checked_plan",
    "complete",
    "create_grader",
    "create_metric",
    "definition_of",
    "grader_version",
    "list_host",
    "open_pass",
    "open_planned_pass",
    "pause_pass",
    "regrade",
    "rename_grader",
    "restore_grader",
    "resume_pass",
    "set_host_listed",
]
