"""Four scenarios over real Inspect logs, one for each verdict: log, converter, core.

    python -m tests.conformance.experiment.scenarios        run them and print the record
    python -m tests.conformance.experiment.scenarios -w     and keep it as record.json

`record.json` is what came out when the experiment was made; a test runs it again and compares.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from analysis.comparability.command import json_bytes
from cli.inspect_claim import main as inspect_claim

HERE = Path(__file__).resolve().parent
LOGS = HERE / "logs"
RECORD = HERE / "record.json"


class Scenario(NamedTuple):
    name: str
    logs: tuple[str, ...]
    options: tuple[str, ...]


SCENARIOS = (
    Scenario(
        "one model, two harnesses",
        ("plain_model-a.eval", "tools_model-a.eval"),
        ("--status", "verified", "--unit", "task"),
    ),
    Scenario(
        "a zero that nobody resolved beside a verified score",
        ("plain_model-a.eval", "tools_model-a.eval"),
        ("--status", "verified", "--status-zero", "unresolved_zero"),
    ),
    Scenario(
        "confounded: model and harness changed together",
        ("plain_model-a.eval", "tools_model-b.eval"),
        ("--status", "verified", "--unit", "task"),
    ),
    Scenario(
        "the trajectories of one run were not kept",
        ("plain_model-a.eval", "tools_model-a_without_samples.eval"),
        ("--status", "verified", "--unit", "task"),
    ),
)


def run(scenario: Scenario) -> dict[str, Any]:
    """What the command says of a scenario, beside the digests of what it read."""
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.json"
        paths = [str(LOGS / name) for name in scenario.logs]
        code = inspect_claim([*paths, "--claim", "score_comparison", *scenario.options, "-o", str(result)])
        found = json.loads(result.read_bytes()) if result.exists() else None
    return {
        "scenario": scenario.name,
        "command": " ".join(["evenhand inspect-claim", *scenario.logs, "--claim score_comparison", *scenario.options]),
        "sha256": {name: hashlib.sha256((LOGS / name).read_bytes()).hexdigest() for name in scenario.logs},
        "exit_code": code,
        "result": found,
    }


def record() -> list[dict[str, Any]]:
    return [run(scenario) for scenario in SCENARIOS]


if __name__ == "__main__":
    text = json_bytes(record())
    if "-w" in sys.argv[1:]:
        RECORD.write_bytes(text)
    sys.stdout.write(text.decode())
