"""Inspect logs as cases: an explicit mapping, no guess, and every refusal with its path.

`convert` takes what a log holds as plain values (header and samples, read by whoever opened the file)
and needs no Inspect. In particular it never asks Inspect for "the value as a float", which makes 0.0
of every word it does not know.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from analysis.comparability.records import shown
from analysis.strict_json import canonical, visible

LETTERS: Final = {"C": 1.0, "I": 0.0}
PARTIAL_CREDIT: Final = {"P": 0.5}
NO_ANSWER: Final = "N"
UNITS: Final = ("sample", "task")


@dataclass(frozen=True, slots=True)
class Log:
    """One log. `samples` is None where the file holds none at all."""

    name: str
    header: Mapping[str, Any]
    samples: Sequence[Mapping[str, Any]] | None


@dataclass(frozen=True, slots=True)
class Policy:
    """How a log is read. `status` has no default: what a reward is worth must be said, not assumed."""

    status: str
    status_zero: str | None = None
    """Another status for rewards that are exactly 0."""
    unit: str = "sample"
    scorer: str | None = None
    score_key: str | None = None
    """Which key counts where a scorer gives several values."""
    metric: str | None = None
    reducer: str | None = None
    partial_credit: bool = False
    range: str | None = None
    unit_name: str | None = None
    """Unit of the declared scale; with `range`, for values outside [0, 1]."""
    harness: Sequence[str] = ()
    """One name per log, in their order, instead of the name made from the solvers."""
    allow_incomplete: bool = False
    allow_unscored: bool = False
    allow_no_answer: bool = False

    def to_dict(self) -> dict[str, Any]:
        found = dataclasses.asdict(self)
        found["harness"] = list(self.harness)
        return found


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a log cannot be converted, and where in it."""

    log: str
    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.log}: {self.path}: {self.message}" if self.path else f"{self.log}: {self.message}"


class InvalidLogs(ValueError):
    """The logs cannot be converted under the policy; `faults` lists every reason. There is no case."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        self.faults: Final = tuple(faults)
        super().__init__("\n".join(map(str, self.faults)))


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A sample that has no record, because the policy allows it to be left out."""

    log: str
    sample: Any
    epoch: Any
    reason: str


@dataclass(frozen=True, slots=True)
class Source:
    """Where a record comes from. `cut_off` names the limit that stopped the sample, if one did."""

    log: str
    sample: Any = None
    epoch: Any = None
    cut_off: str = ""


@dataclass(frozen=True, slots=True)
class ConvertedCase:
    case: dict[str, Any]
    sources: tuple[Source, ...]
    """One per record of the case."""


@dataclass(slots=True)
class Conversion:
    """Cases by id. Nothing that was left out is missing from `left_out`."""

    cases: list[ConvertedCase] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class _Unusable(Exception):
    """One place of a log that the policy does not cover."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(message)
        self.path = path
        self.message = message


def convert(logs: Sequence[Log], policy: Policy) -> Conversion:
    """One case per sample id over all logs, or one over the logs as tasks; else `InvalidLogs` with all reasons."""
    _check_policy(logs, policy)
    found = Conversion()
    faults: list[Fault] = []
    records: list[tuple[str, dict[str, Any], Source]] = []
    for index, log in enumerate(logs):
        try:
            frame = _frame(log, policy, index)
        except _Unusable as unusable:
            faults.append(Fault(log.name, unusable.path, unusable.message))
            continue
        if policy.unit == "task":
            try:
                records.append(_task_record(log, frame, policy))
            except _Unusable as unusable:
                faults.append(Fault(log.name, unusable.path, unusable.message))
        else:
            records += _sample_records(log, frame, policy, found, faults)
    if not records and not faults:
        faults.append(Fault(logs[0].name, "samples", "no sample is left to make a record of"))
    if faults:
        raise InvalidLogs(faults)
    found.cases = _grouped(records, policy)
    if policy.unit == "sample":
        alone = sum(len({source.log for source in case.sources}) < len(logs) for case in found.cases)
        if alone:
            found.notes.append(f"{alone} of {len(found.cases)} cases do not have a record of every log.")
    return found


def _check_policy(logs: Sequence[Log], policy: Policy) -> None:
    if not logs:
        raise ValueError("At least one log is needed.")
    if policy.unit not in UNITS:
        raise ValueError(f"The unit is one of {', '.join(UNITS)}.")
    if not policy.status or policy.status_zero == "":
        raise ValueError("A status must be a text that is not empty.")
    if policy.harness and len(policy.harness) != len(logs):
        raise ValueError(f"{len(policy.harness)} harnesses are named for {len(logs)} logs; name one for each.")
    if (policy.range is None) != (policy.unit_name is None):
        raise ValueError("A range and the name of its unit belong together.")
    if len({log.name for log in logs}) != len(logs):
        raise ValueError("Each log must have a name of its own.")


def _grouped(records: Sequence[tuple[str, dict[str, Any], Source]], policy: Policy) -> list[ConvertedCase]:
    groups: dict[str, list[tuple[dict[str, Any], Source]]] = {}
    tasks = " + ".join(sorted({task for task, _, _ in records}))
    for task, record, source in records:
        groups.setdefault(task if policy.unit == "sample" else tasks, []).append((record, source))
    return [
        ConvertedCase({"id": case_id, "records": [record for record, _ in group]}, tuple(source for _, source in group))
        for case_id, group in sorted(groups.items())
    ]


# --- the log as a whole


@dataclass(frozen=True, slots=True)
class _Frame:
    """What all records of a log share."""

    task: str
    model: str
    harness: str
    scorer: str
    verifier: str
    epochs: int | None


def _frame(log: Log, policy: Policy, index: int) -> _Frame:
    told = log.header.get("eval")
    if not isinstance(told, Mapping):
        raise _Unusable("eval", "expected an object")
    status = log.header.get("status")
    if status != "success" and not policy.allow_incomplete:
        raise _Unusable("status", f"the run ended as {shown(status)}; --allow-incomplete takes what is there")
    task, model = told.get("task"), told.get("model")
    for name, value in (("task", task), ("model", model)):
        if not isinstance(value, str) or not value:
            raise _Unusable(f"eval.{name}", f"expected a text, got {shown(value)}")
    scorer, options = _scorer(log, told, policy)
    epochs = _mapping(told.get("config")).get("epochs")
    return _Frame(
        task=f"{task}@{told.get('task_version', 0)}",
        model=str(model),
        harness=policy.harness[index] if policy.harness else _harness(log),
        scorer=scorer,
        verifier=f"inspect:{scorer}" + (f"@{_short_digest(options)}" if options else ""),
        epochs=epochs if type(epochs) is int and epochs > 0 else None,
    )


def _harness(log: Log) -> str:
    steps = _mapping(log.header.get("plan")).get("steps")
    if not _items(steps):
        raise _Unusable("plan.steps", "the log names no solver; --harness names the harness")
    told = [{"solver": _mapping(step).get("solver"), "params": _mapping(step).get("params")} for step in _items(steps)]
    names = ">".join(str(step["solver"]) for step in told)
    return f"inspect:{names}@{_short_digest(told)}"


def _short_digest(value: Any) -> str:
    try:
        return hashlib.sha256(canonical(value)).hexdigest()[:12]
    except ValueError:
        raise _Unusable("plan.steps", "expected finite numbers") from None


def _scorer(log: Log, told: Mapping[str, Any], policy: Policy) -> tuple[str, Any]:
    """The scorer that counts and its options. A second scorer of one name is called as Inspect calls it: `name1`."""
    options: dict[str, Any] = {}
    counts: dict[str, int] = {}
    for entry in _items(told.get("scorers")):
        name = str(_mapping(entry).get("name"))
        count = counts[name] = counts.get(name, -1) + 1
        options[f"{name}{count}" if count else name] = _mapping(entry).get("options")
    if not options:
        options = {name: None for sample in log.samples or () for name in _mapping(sample.get("scores"))}
    if policy.scorer is not None:
        if policy.scorer not in options:
            raise _Unusable("eval.scorers", f"there is no scorer {shown(policy.scorer)}; there are {_listed(options)}")
        return policy.scorer, options[policy.scorer]
    if len(options) != 1:
        raise _Unusable("eval.scorers", f"expected one scorer, or --scorer NAME; there are {_listed(options)}")
    return next(iter(options.items()))


def _listed(names: Mapping[str, Any]) -> str:
    return ", ".join(visible(name) for name in names) or "none"


# --- one record per sample


def _sample_records(
    log: Log, frame: _Frame, policy: Policy, found: Conversion, faults: list[Fault]
) -> Iterator[tuple[str, dict[str, Any], Source]]:
    if not log.samples:
        faults.append(Fault(log.name, "samples", "the log holds no sample; --unit task takes its results"))
        return
    seen: set[str] = set()
    for sample in sorted(log.samples, key=_sample_order):
        place = _place(sample)
        try:
            if type(sample.get("id")) not in (int, str) or type(sample.get("epoch")) is not int:
                raise _Unusable("", "expected an id and an epoch")
            if place in seen:
                raise _Unusable("", "this id and epoch stand twice in the log")
            seen.add(place)
            reason = _why_not_scored(sample, frame, policy)
            if reason is not None:
                found.left_out.append(LeftOut(log.name, sample["id"], sample["epoch"], reason))
                continue
            yield _sample_record(log, sample, frame, policy)
        except _Unusable as unusable:
            faults.append(Fault(log.name, f"{place}{unusable.path}", unusable.message))


def _sample_order(sample: Mapping[str, Any]) -> tuple[str, str]:
    """Positions in the file mean nothing; whole numbers keep their order."""
    number = sample.get("id")
    key = f"0{number:020d}" if type(number) is int and 0 <= number < 10**20 else "1" + shown(number)
    epoch = sample.get("epoch")
    return key, f"{epoch:020d}" if type(epoch) is int and 0 <= epoch < 10**20 else shown(epoch)


def _place(sample: Mapping[str, Any]) -> str:
    return f"samples[id={json.dumps(sample.get('id'))},epoch={json.dumps(sample.get('epoch'))}]"


def _why_not_scored(sample: Mapping[str, Any], frame: _Frame, policy: Policy) -> str | None:
    """The reason to leave a sample out, None where it has a score, or `_Unusable` where the policy allows neither."""
    score = _mapping(sample.get("scores")).get(frame.scorer)
    path = f".scores.{visible(frame.scorer)}"
    reason = None
    if sample.get("error") is not None:
        reason = f"error {shown(_mapping(sample['error']).get('message'))}"
    elif sample.get("invalidation"):
        reason = "was marked as invalid"
    elif score is None:
        reason = "was not scored"
    if reason is not None:
        if policy.allow_unscored:
            return reason
        raise _Unusable(path, f"{reason}; --allow-unscored lists such samples and leaves them out")
    if _value(score) == NO_ANSWER:
        if policy.allow_no_answer:
            return "gave no answer (N)"
        raise _Unusable(path, 'no answer ("N") is no zero; --allow-no-answer lists such samples and leaves them out')
    return None


def _sample_record(
    log: Log, sample: Mapping[str, Any], frame: _Frame, policy: Policy
) -> tuple[str, dict[str, Any], Source]:
    score = _mapping(sample["scores"])[frame.scorer]
    path = f".scores.{visible(frame.scorer)}"
    key = ""
    value = _value(score)
    if isinstance(value, Mapping):
        if policy.score_key is None or policy.score_key not in value:
            raise _Unusable(path, f"expected one value, or --score-key KEY; there are {_listed(value)}")
        key = f"/{policy.score_key}"
        value = value[policy.score_key]
    reward = _reward(value, path, policy)
    task = f"{frame.task}/{json.dumps(sample['id'], ensure_ascii=False)}"
    traced = bool(sample.get("messages")) or bool(sample.get("events"))
    limit = _mapping(sample.get("limit")).get("type")
    record = _record(task, reward, frame, policy, f"{frame.verifier}{key}", traced=traced)
    return task, record, Source(log.name, sample["id"], sample["epoch"], "" if limit is None else str(limit))


def _value(score: Any) -> Any:
    """The value that counts: the last edit that changed it, else the recorded one."""
    score = _mapping(score)
    for edit in reversed(_items(score.get("history"))):
        value = _mapping(edit).get("value", "UNCHANGED")
        if value != "UNCHANGED":
            return value
    return score.get("value")


def _reward(value: Any, path: str, policy: Policy) -> float:
    words = LETTERS | (PARTIAL_CREDIT if policy.partial_credit else {})
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, str) and value in words:
        return words[value]
    if isinstance(value, str) and value in PARTIAL_CREDIT:
        raise _Unusable(path, 'partial credit ("P") counts as 0.5 only with --partial-credit')
    if isinstance(value, float) and not math.isfinite(value):
        raise _Unusable(path, "a value that is no number means that nothing was scored")
    if not isinstance(value, int | float):
        raise _Unusable(path, f"expected a number, true, false, C or I, got {shown(value)}")
    if policy.range is None and not 0 <= value <= 1:
        raise _Unusable(path, f"{shown(value)} lies outside 0..1; --range and --unit-name declare its scale")
    return value


# --- one record per log


def _task_record(log: Log, frame: _Frame, policy: Policy) -> tuple[str, dict[str, Any], Source]:
    results = _items(_mapping(log.header.get("results")).get("scores"))
    entries = [entry for entry in map(_mapping, results) if entry.get("name") == frame.scorer]
    if policy.reducer is not None:
        entries = [entry for entry in entries if entry.get("reducer") == policy.reducer]
    path = "results.scores"
    if len(entries) != 1:
        reducers = ", ".join(shown(_mapping(entry).get("reducer")) for entry in results) or "none"
        raise _Unusable(path, f"expected one result of {shown(frame.scorer)}, or --reducer NAME; reducers: {reducers}")
    total, done = (_mapping(log.header.get("results")).get(name) for name in ("total_samples", "completed_samples"))
    if total != done and not policy.allow_unscored:
        raise _Unusable("results.completed_samples", f"{done} of {total} samples; --allow-unscored takes the result")
    metrics = _mapping(entries[0].get("metrics"))
    if policy.metric is not None and policy.metric not in metrics:
        raise _Unusable(path, f"there is no metric {shown(policy.metric)}; there are {_listed(metrics)}")
    if policy.metric is None and len(metrics) != 1:
        raise _Unusable(path, f"expected one metric, or --metric NAME; there are {_listed(metrics)}")
    metric = policy.metric if policy.metric is not None else next(iter(metrics))
    value = _mapping(metrics[metric]).get("value")
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _Unusable(f"{path}.{visible(metric)}", f"expected a number, got {shown(value)}")
    reward = _reward(value, f"{path}.{visible(metric)}", policy)
    reducer = entries[0].get("reducer")
    verifier = f"{frame.verifier}/{metric}" + (f"/{reducer}" if reducer else "")
    record = _record(frame.task, reward, frame, policy, verifier, traced=_all_traced(log))
    return frame.task, record, Source(log.name)


def _all_traced(log: Log) -> bool:
    return bool(log.samples) and all(sample.get("messages") or sample.get("events") for sample in log.samples or ())


def _record(task: str, reward: float, frame: _Frame, policy: Policy, verifier: str, *, traced: bool) -> dict[str, Any]:
    zero = reward == 0 and policy.status_zero is not None
    record: dict[str, Any] = {
        "task_id": task,
        "harness": frame.harness,
        "model": frame.model,
        "reward": reward,
        "reward_status": policy.status_zero if zero else policy.status,
        "trajectory_available": traced,
        "score_scale": {
            "range": "0..1" if policy.range is None else policy.range,
            "unit": "fraction" if policy.unit_name is None else policy.unit_name,
            "verifier": verifier,
        },
    }
    if frame.epochs is not None:
        record["repetition_count"] = frame.epochs
    return record


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _items(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else ()
