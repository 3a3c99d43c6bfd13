"""Metrics and graders that tests of this folder share."""

from __future__ import annotations

import pytest

from grading import actions


@pytest.fixture
def access(cast):
    return cast.access(cast.ana)


@pytest.fixture
def correct(access):
    return actions.create_metric(
        access=access, key="correct", name="Correct", kind="boolean", direction="higher_is_better"
    )
