"""Every right by its spoken name, and the role presets."""

from __future__ import annotations

from django.db import models


class Right(models.TextChoices):
    EVALUATION_READ = "evaluation.read", "See lists, figures and fingerprints"
    EVALUATION_EXECUTE = "evaluation.execute", "Import and run evaluations"
    EVALUATION_CONTENT_READ = "evaluation.content.read", "See inputs, answers, reasoning and titles"
    EVALUATION_REVIEW = "evaluation.review", "Review cases"
    EVALUATION_MANAGE = "evaluation.manage", "Manage datasets, metrics, graders and interpretations"
    AGENT_READ = "agent.read", "See agents and snapshots"
    AGENT_TEST = "agent.test", "Test agents"
    AGENT_EDIT = "agent.edit", "Edit agents"
    TEAM_MANAGE = "team.manage", "Manage members, roles and tokens"


VIEWER = (Right.EVALUATION_READ, Right.AGENT_READ)
ANALYST = (*VIEWER, Right.EVALUATION_CONTENT_READ, Right.EVALUATION_EXECUTE, Right.AGENT_TEST)
REVIEWER = (*VIEWER, Right.EVALUATION_CONTENT_READ, Right.EVALUATION_REVIEW)
MANAGER = (*ANALYST, Right.EVALUATION_REVIEW, Right.EVALUATION_MANAGE, Right.AGENT_EDIT)
OWNER = tuple(Right)

PRESETS: dict[str, tuple[Right, ...]] = {
    "Viewer": VIEWER,
    "Analyst": ANALYST,
    "Reviewer": REVIEWER,
    "Manager": MANAGER,
    "Owner": OWNER,
}

IMPORT_RIGHTS = (
    Right.EVALUATION_EXECUTE,
    Right.EVALUATION_CONTENT_READ,
    Right.AGENT_READ,
    Right.AGENT_TEST,
)
"""What importing evidence needs."""

LAUNCH_RIGHTS = (Right.EVALUATION_READ, *IMPORT_RIGHTS)
"""What launching an experiment or a group needs, at the start and at every step of its work."""

TEST_RIGHTS = (Right.AGENT_READ, Right.AGENT_TEST, Right.EVALUATION_CONTENT_READ)
"""What Agent Test needs: a draft, what is asked and what comes back are content."""

GRADING_RIGHTS = (Right.EVALUATION_READ, Right.EVALUATION_EXECUTE, Right.EVALUATION_CONTENT_READ)
"""What grading answers that are there already needs."""
