"""The reference vectors beside the project: numbers from independent implementations.

`../shared/reference/statistics.json` is not part of the project. Without it the tests that read it
skip with a reason; with it none may.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

PATH = Path(__file__).parents[3] / "shared" / "reference" / "statistics.json"


def vectors() -> list[dict[str, Any]]:
    if not PATH.parents[1].exists():
        return []
    return list(json.loads(PATH.read_text())["vectors"])


def parameters(topic: str) -> list[Any]:
    """One pytest parameter per vector of a topic, or one that says why there is none."""
    found = [pytest.param(vector, id=vector["id"]) for vector in vectors() if vector["topic"] == topic]
    reason = f"No reference vectors: {PATH} is not beside this checkout."
    return found or [pytest.param({}, marks=pytest.mark.skip(reason=reason), id="absent")]
