"""The demo's own graders: an assertion in two versions, and a judge over one of the demo's model routes."""

from __future__ import annotations

from typing import Any

from agents.models import ModelRoute
from grading import actions
from grading.models import Grader
from teams.access import Access

CHECK: dict[str, Any] = {"operator": "contains", "source": "case", "pointer": "/expected"}
PROMPT = """A customer wrote:
{{input}}

A good answer does this:
{{expected}}

The answer:
{{answer}}

Does the answer do what a good answer does?"""
RUBRIC = "Yes where everything that matters is there and nothing is wrong. Tone and length do not count."


def load_graders(access: Access) -> None:
    """Unless the team has made graders: a metric of yes or no, and what measures it."""
    if Grader.objects.filter(definition__team=access.team).exclude(kind="imported").exists():
        return
    correct = actions.create_metric(
        access=access, key="correct", name="Correct", kind="boolean", direction="higher_is_better"
    )
    first = actions.create_grader(
        access=access, metric=correct, kind="assertion", name="Says what is expected", config={"checks": [CHECK]}
    )
    looser = {"checks": [{**CHECK, "ignore_case": True, "space": "fold"}]}
    actions.add_grader_version(access=access, grader=first.grader, config=looser, revision=1)
    route = ModelRoute.objects.filter(key="support-judge", active__isnull=False, archived_at=None).first()
    if route is not None:
        judge = {"route": route.key, "prompt": PROMPT, "rubric": RUBRIC}
        actions.create_grader(access=access, metric=correct, kind="judge", name="Correctness judge", config=judge)
