"""The verdict as an Inspect scorer.

The scorer has no metrics: admissibility is not a grade, and an accuracy of verdicts would be one. The
solver puts the decision record where a model's answer stands, so no model and no network is needed.
"""

from __future__ import annotations

import importlib.metadata
import sys
import tempfile
from collections.abc import Sequence
from typing import Any

from inspect_ai import Task  # type: ignore[import-not-found,unused-ignore]
from inspect_ai import eval as run_eval  # type: ignore[import-not-found,unused-ignore]
from inspect_ai.dataset import MemoryDataset, Sample  # type: ignore[import-not-found,unused-ignore]
from inspect_ai.model import ModelOutput  # type: ignore[import-not-found,unused-ignore]
from inspect_ai.scorer import CORRECT, INCORRECT, Score, Scorer, Target, scorer  # type: ignore[import-not-found,unused-ignore]
from inspect_ai.solver import Generate, Solver, TaskState, solver  # type: ignore[import-not-found,unused-ignore]

from analysis.comparability.adapters import pairs
from analysis.comparability.adapters.pairs import Pair, Report
from analysis.strict_json import loads

MODEL = "none/none"


@solver  # type: ignore[untyped-decorator,unused-ignore]
def adjudicated() -> Solver:
    """Adjudicates `case` and `claim` of the sample's metadata; the record is the sample's output."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        pair = Pair(str(state.sample_id), state.metadata["case"], state.metadata["claim"], "")
        state.output = ModelOutput.from_content(MODEL, pairs.decided(pair))
        return state

    return solve


@scorer(metrics=[])  # type: ignore[untyped-decorator,unused-ignore]
def admissibility() -> Scorer:
    """Whether the decision record in the output has the admissibility of the target."""

    async def score(state: TaskState, target: Target) -> Score:
        decision = loads(state.output.completion)
        found = decision["admissibility"]
        return Score(
            value=CORRECT if found == target.text else INCORRECT, answer=found, metadata={"decision": decision}
        )

    return score


def task(given: Sequence[Pair]) -> Task:
    """One sample per pair."""
    samples = [
        Sample(
            id=pair.name,
            input=pair.claim,
            target=pair.expected,
            metadata={"case": dict(pair.case), "claim": pair.claim},
        )
        for pair in given
    ]
    return Task(dataset=MemoryDataset(samples), solver=adjudicated(), scorer=admissibility(), name="comparability")


def run(given: Sequence[Pair]) -> Report:
    """All pairs through Inspect. Samples are counted, because a log may call itself a success without all of them."""
    report = Report("inspect_ai", importlib.metadata.version("inspect_ai"), len(given))
    with tempfile.TemporaryDirectory() as folder:
        logs = run_eval(
            task(given), model=MODEL, log_dir=folder, display="none", log_format="json", score=True, fail_on_error=False
        )
        if len(logs) != 1 or logs[0].status != "success":
            report.faults.append(f"the run ended as {[log.status for log in logs]}")
        samples: list[Any] = [sample for log in logs for sample in log.samples or []]
    for sample in samples:
        scores = sample.scores or {}
        if sample.error is not None or list(scores) != ["admissibility"]:
            report.faults.append(f"{sample.id}: {sample.error.message if sample.error else 'was not scored'}")
            continue
        score = scores["admissibility"]
        report.decisions[str(sample.id)] = (score.metadata or {}).get("decision")
        if score.value == CORRECT:
            report.agreed.append(str(sample.id))
    return report


if __name__ == "__main__":
    sys.exit(pairs.main(None, run, "analysis.comparability.adapters.inspect_scorer"))
