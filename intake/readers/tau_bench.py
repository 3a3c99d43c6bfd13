"""tau-bench v1 results: a list of attempts, each with its task, reward, trajectory and what went wrong.

The tool writes reward 0 for a crash and for a run that was stopped before a reward was computed.
Neither is a measured 0: a crash has `info.error`, a stopped run has no `info.reward_info`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from analysis import strict_json
from analysis.observations import Direction, FailureKind, Generation, Kind, Outcome
from intake.readers import values
from intake.readers.files import FileFact, NamedFile
from intake.readers.records import Case, Execution, Rejected, Run, RunFacts, Score, Scorer
from intake.readers.values import RowFault, as_dict, as_list

NAME: Final = "tau_bench"
VERSION: Final = "1"
KEYS: Final = frozenset({"task_id", "reward", "info", "traj"})
LONGEST_ERROR: Final = 20_000

REWARD: Final = Scorer(
    key="reward",
    name="tau-bench reward",
    kind=Kind.BOOLEAN,
    direction=Direction.HIGHER_IS_BETTER,
    low=0.0,
    high=1.0,
    config={"tool": "tau-bench", "scorer": "reward"},
)


def is_results(document: Any) -> bool:
    """Whether a JSON document is a list of tau-bench attempts."""
    return isinstance(document, list) and bool(document) and set(as_dict(document[0])) >= KEYS


def read(document: list[Any], file: NamedFile, fact: FileFact) -> Run:
    """The one run of a results file, which names no model: the file's name is all there is."""
    trials = _trials(document)
    notes = ["The file names no model; the arm is called after the file."]
    if not trials:
        notes.append("`trial` only repeats the task's number, so it is no repetition: every attempt is repetition 1.")
    if any("reward_info" not in as_dict(_info(entry)) or _info(entry)["reward_info"] is None for entry in document):
        notes.append("Attempts that crashed or were stopped before a reward was computed are not scored, never 0.")
    facts = RunFacts(
        arm=strict_json.visible(file.stem, 200),
        arm_from_file_name=True,
        subject={"results": fact.sha256},
        source_run_id=values.run_id([fact], "tau-bench"),
        scorers=(REWARD,),
        tool="tau-bench",
        dataset="tau-bench",
        facts=(("Tool", "tau-bench v1"),),
        missing=("cost", "latency") if trials else ("repetition", "cost", "latency"),
        notes=tuple(notes),
    )
    return Run(facts, _executions(document, trials))


def _info(entry: Any) -> dict[str, Any]:
    return as_dict(as_dict(entry).get("info"))


def _trials(document: list[Any]) -> bool:
    """Whether `trial` counts repetitions, rather than repeating the task's number."""
    entries = [as_dict(entry) for entry in document]
    return all("trial" in entry for entry in entries) and any(
        entry["trial"] != entry.get("task_id") for entry in entries
    )


def _executions(document: list[Any], trials: bool) -> Iterator[Execution | Rejected]:
    for index, entry in enumerate(document):
        place = f"[{index}]"
        try:
            if not isinstance(entry, dict):
                raise RowFault("import_record_wrong_type", "", "An attempt must be an object.")
            yield _execution(entry, trials, place)
        except RowFault as fault:
            yield fault.rejected(place)


def _execution(entry: dict[str, Any], trials: bool, place: str) -> Execution:
    info = _info(entry)
    task = as_dict(info.get("task"))
    crash = info.get("error") or info.get("traceback")
    measured = info.get("reward_info") is not None
    reward = values.number(entry.get("reward"), "reward", from_text=False)
    if not 0 <= reward <= 1:
        raise RowFault("import_score_out_of_scale", "reward", "A reward lies between 0 and 1.", reward)
    if measured and not crash and reward not in (0.0, 1.0):
        raise RowFault("import_score_out_of_scale", "reward", "A reward is 0 or 1.", reward)
    generation, failure, error = Generation.COMPLETED, FailureKind.NONE, None
    if crash:
        generation, failure = Generation.FAILED, FailureKind.HARNESS_ERROR
        error = values.as_text(info.get("error") or info.get("traceback"))[:LONGEST_ERROR]
    elif not measured:
        generation, failure = Generation.FAILED, FailureKind.LIMIT_EXCEEDED
        error = "The run was stopped before a reward was computed."
    messages = as_list(entry.get("traj"))
    return Execution(
        case=_case(entry, task),
        repetition=values.repetition(entry.get("trial"), "trial") if trials else 1,
        generation=generation,
        failure=failure,
        error=error,
        answer=_answer(messages) if generation is Generation.COMPLETED else None,
        structured=messages or None,
        trace=bool(messages),
        scores={REWARD.key: Score(Outcome.SCORED, value=reward)} if generation is Generation.COMPLETED else {},
        place=place,
    )


def _case(entry: dict[str, Any], task: dict[str, Any]) -> Case:
    content: dict[str, Any] | None = None
    if task:
        content = {
            "input": task.get("instruction"),
            "expected": {key: task[key] for key in ("actions", "outputs") if key in task},
        }
    metadata = {key: task[key] for key in ("user_id",) if key in task}
    return Case(source_id=values.identity(entry.get("task_id"), "task_id"), content=content, metadata=metadata)


def _answer(messages: list[Any]) -> str | None:
    """The last words of the assistant."""
    for message in reversed(messages):
        content = as_dict(message).get("content")
        if as_dict(message).get("role") == "assistant" and isinstance(content, str) and content:
            return content
    return None
