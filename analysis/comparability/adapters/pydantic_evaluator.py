"""The verdict as a Pydantic Evals dataset: the task adjudicates, the evaluator looks at what came out.

The evaluator never adjudicates again; a task that gives a wrong output must be seen. The report is
read whole, because a task that raises is no case of it, and an evaluator that raises leaves its case
without a score.
"""

from __future__ import annotations

import importlib.metadata
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_evals import Case, Dataset  # type: ignore[import-not-found,unused-ignore]
from pydantic_evals.evaluators import Evaluator, EvaluatorContext  # type: ignore[import-not-found,unused-ignore]

from analysis.comparability.adapters import pairs
from analysis.comparability.adapters.pairs import Pair, Report
from analysis.strict_json import loads


@dataclass
class Admissibility(Evaluator[Any, Any, Any]):  # type: ignore[misc,unused-ignore]
    """1.0 where the decision record that the task gave has the expected admissibility, else 0.0."""

    def evaluate(self, ctx: EvaluatorContext[Any, Any, Any]) -> float:
        return 1.0 if ctx.output["admissibility"] == ctx.expected_output else 0.0


def adjudicated(pair: Pair) -> dict[str, Any]:
    """The task: a pair's decision record."""
    decision: dict[str, Any] = loads(pairs.decided(pair))
    return decision


def run(given: Sequence[Pair], task: Callable[[Pair], dict[str, Any]] = adjudicated) -> Report:
    """All pairs through Pydantic Evals."""
    report = Report("pydantic_evals", importlib.metadata.version("pydantic-evals"), len(given))
    dataset = Dataset(
        name="comparability",
        cases=[Case(name=pair.name, inputs=pair, expected_output=pair.expected) for pair in given],
        evaluators=[Admissibility()],
    )
    found = dataset.evaluate_sync(task, progress=False)
    report.faults += [f"{failure.name}: {failure.error_message}" for failure in found.failures]
    for case in found.cases:
        report.faults += [f"{case.name}: {failure.error_message}" for failure in case.evaluator_failures]
        scores = [score.value for score in case.scores.values()]
        report.decisions[case.name] = case.output
        if len(scores) != 1:
            report.faults.append(f"{case.name}: has {len(scores)} scores, not one")
        elif scores[0] == 1.0:
            report.agreed.append(case.name)
    return report


if __name__ == "__main__":
    sys.exit(pairs.main(None, run, "analysis.comparability.adapters.pydantic_evaluator"))
