"""A team with an agent, two models, two cases and an assertion: what a comparison needs."""

from __future__ import annotations

from typing import Any

import pytest

from grading import actions as grading
from runs.engine import wakes
from tests.factories import agents as factory


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    monkeypatch.setattr(wakes, "send", lambda count, task="": None)


@pytest.fixture
def access(cast):
    return cast.access(cast.ana)


@pytest.fixture
def given(access) -> dict[str, Any]:
    """A comparison of a snapshot with a variant of it."""
    base = factory.snapshot(access, factory.route("large"))
    factory.route("small", "fixture:tool")
    version = factory.version(access, [{"input": "yes", "expected": "yes"}, {"input": "no", "expected": "yes"}])
    metric = grading.create_metric(
        access=access, key="correct", name="Correct", kind="boolean", direction="higher_is_better"
    )
    check_ = {"operator": "equals", "source": "case", "pointer": "/expected"}
    grader = grading.create_grader(
        access=access, metric=metric, kind="assertion", name="Equals", config={"checks": [check_]}
    )
    return {
        "name": "Large against small",
        "base": str(base.pk),
        "version": str(version.pk),
        "slice": None,
        "arms": [{"snapshot": str(base.pk)}, {"route": "small"}],
        "repetitions": 2,
        "tool_policy": "none",
        "graders": [{"version": str(grader.pk), "evidence": "generation"}],
        "enrichment": None,
        "primary": str(grader.pk),
    }
