"""Write the experiment's logs with the real Inspect: no network, no model, a few kilobytes each.

    python -P tests/conformance/experiment/make_logs.py FOLDER      (in the environment of make conformance)

The "models" are names; a solver puts fixed answers where a model's would stand. Ids and times differ
from run to run, so the logs that the record speaks of are kept beside this file.
"""

from __future__ import annotations

import sys
from pathlib import Path

from inspect_ai import Task
from inspect_ai import eval as run_eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import accuracy, match, scorer
from inspect_ai.solver import solver

QUESTIONS = {"refund-window": "14 days", "return-label": "yes", "gift-card": "no"}
WRONG = {("plain", "gift-card")}
"""Which harness misses which question, whatever the model is called."""


def answered(harness: str):
    async def solve(state, generate):
        known = QUESTIONS[state.sample_id]
        text = "I cannot tell" if (harness, state.sample_id) in WRONG else known
        state.output = ModelOutput.from_content(str(state.model), text)
        state.messages.append(state.output.message)
        return state

    return solve


@solver
def plain():
    return answered("plain")


@solver
def with_tools(tools: str = "orders"):
    return answered("with_tools")


@scorer(metrics=[accuracy()])
def exact():
    return match(location="exact")


LOGS = {
    "plain_model-a": (plain, "model-a", True),
    "tools_model-a": (with_tools, "model-a", True),
    "tools_model-b": (with_tools, "model-b", True),
    "tools_model-a_without_samples": (with_tools, "model-a", False),
}


def main(folder: Path) -> None:
    for name, (harness, model, log_samples) in LOGS.items():
        samples = [Sample(id=key, input=f"About the {key}?", target=target) for key, target in QUESTIONS.items()]
        task = Task(
            dataset=MemoryDataset(samples, name="support"), solver=harness(), scorer=exact(), name="support", version=3
        )
        work = folder / "work"
        logs = run_eval(
            task,
            model=f"mockllm/{model}",
            log_dir=str(work),
            log_format="eval",
            display="none",
            log_samples=log_samples,
        )
        assert logs[0].status == "success", logs[0].error
        next(work.glob("*.eval")).rename(folder / f"{name}.eval")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
