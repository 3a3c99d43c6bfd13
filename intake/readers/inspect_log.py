"""Inspect logs: `.eval` archives, read sample by sample, and `.json` logs.

What a log says and what it holds are kept apart: a log of status success with fewer samples than it
counts is refused, an empty list of results means that nothing was scored, and a sample that raised
has failed whatever the status is.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from analysis import strict_json
from analysis.observations import Direction, FailureKind, Generation, Kind, Outcome
from analysis.refusals import Refused
from intake.readers import values
from intake.readers.archive import Archive
from intake.readers.files import FileFact, Limits, NamedFile
from intake.readers.records import AttemptFact, Case, Execution, Rejected, Run, RunFacts, Score, Scorer
from intake.readers.values import RowFault, as_dict, as_list, as_text

NAME: Final = "inspect"
VERSION: Final = "1"
LOG_VERSION: Final = 2

HEADER: Final = "header.json"
JOURNAL: Final = "_journal/start.json"
SUMMARIES: Final = "summaries.json"
_MEMBER: Final = re.compile(r"samples/.+\.json|_journal/.+\.json|[^/]+\.json")
LETTERS: Final = {"C": 1.0, "I": 0.0, "P": 0.5}
ABSTAINED: Final = "N"
LONGEST_ERROR: Final = 20_000

_LIMIT_KINDS: Final = {"time": FailureKind.TIMED_OUT, "working": FailureKind.TIMED_OUT}


@dataclass(slots=True)
class _Log:
    """What is known of a log before its samples are read."""

    file: FileFact
    status: str
    eval: dict[str, Any]
    plan: dict[str, Any]
    results: dict[str, Any] | None
    stats: dict[str, Any]
    scorers: dict[str, Scorer] = field(default_factory=dict)
    latency: bool = True
    notes: list[str] = field(default_factory=list)


def is_json_log(document: Any) -> bool:
    """Whether a JSON document is an Inspect log."""
    return isinstance(document, dict) and isinstance(document.get("eval"), dict) and "status" in document


# --- an archive


def read_archive(file: NamedFile, fact: FileFact, limits: Limits) -> Run:
    """The run of an `.eval` archive; its samples are unpacked one at a time."""
    archive = Archive(file.path, limits)
    for name in archive.members:
        if not _MEMBER.fullmatch(name):
            raise Refused(
                "import_eval_unknown_member", "An Inspect log holds JSON members of its own only.", _shown(name)
            )
    header = _header(archive, limits)
    names = sorted(name for name in archive.members if name.startswith("samples/"))
    log = _opened(header, fact, HEADER if HEADER in archive.members else JOURNAL)
    _catalogue(log, _archive_scores(archive, names, limits))
    _check_count(log, len(names), "")
    if not names:
        raise Refused("import_empty", "The log holds no sample.")
    return Run(_facts(log, len(names)), _archive_executions(log, archive, names, limits))


def _header(archive: Archive, limits: Limits) -> dict[str, Any]:
    for name in (HEADER, JOURNAL):
        if name in archive.members:
            value = _loads(archive.read(name), name, limits)
            if not isinstance(value, dict):
                raise Refused("import_record_wrong_type", "An object is required.", name)
            return value if name == HEADER else {**value, "status": "started"}
    raise Refused("import_eval_no_header", "The log has neither header.json nor _journal/start.json.")


def _archive_scores(archive: Archive, names: list[str], limits: Limits) -> Iterator[dict[str, Any]]:
    """The scores and times of all samples: from the summaries where they tell all, else from the samples."""
    if SUMMARIES in archive.members and archive.members[SUMMARIES].size <= limits.member_bytes:
        summaries = as_list(_loads(archive.read(SUMMARIES), SUMMARIES, limits))
        if len(summaries) == len(names) and all("scores" in as_dict(entry) for entry in summaries):
            yield from summaries
            return
    for name, data in archive.stream(names):
        yield as_dict(_loads(data, name, limits))


def _archive_executions(
    log: _Log, archive: Archive, names: list[str], limits: Limits
) -> Iterator[Execution | Rejected]:
    for name, data in archive.stream(names):
        place = _shown(name)
        sample = _loads(data, name, limits)
        if not isinstance(sample, dict):
            raise Refused("import_record_wrong_type", "A sample must be an object.", place)
        expected = f"samples/{as_text(sample.get('id'))}_epoch_{as_text(sample.get('epoch'))}.json"
        if name != expected:
            raise Refused(
                "import_eval_identity_mismatch", "The sample's id and epoch are not those of its member's name.", place
            )
        yield _entry(log, sample, place)


# --- one JSON document


def read_json(document: dict[str, Any], fact: FileFact) -> Run:
    """The run of a `.json` log that was read whole."""
    log = _opened(document, fact, "")
    samples = document.get("samples") or []
    if not isinstance(samples, list):
        raise Refused("import_record_wrong_type", "Samples must be a list.", "samples")
    _check_count(log, len(samples), "samples")
    if not samples:
        raise Refused("import_empty", "The log holds no sample.")
    _catalogue(log, (as_dict(sample) for sample in samples))
    return Run(_facts(log, len(samples)), _json_executions(log, samples))


def _json_executions(log: _Log, samples: list[Any]) -> Iterator[Execution | Rejected]:
    for index, sample in enumerate(samples):
        place = f"samples[{index}]"
        if isinstance(sample, dict):
            yield _entry(log, sample, place)
        else:
            yield Rejected("import_record_wrong_type", place, "A sample must be an object.")


# --- the log as a whole


def _opened(header: dict[str, Any], fact: FileFact, member: str) -> _Log:
    version = header.get("version")
    if type(version) is not int or version != LOG_VERSION:
        raise Refused(
            "import_eval_version_unsupported",
            f"Inspect logs of version {LOG_VERSION} are read; this one says {as_text(version)[:20] or 'nothing'}.",
            f"{member} version".strip(),
        )
    if not isinstance(header.get("eval"), dict):
        raise Refused("import_record_wrong_type", "An object is required.", f"{member} eval".strip())
    status = header.get("status")
    if status not in ("started", "success", "cancelled", "error"):
        raise Refused(
            "import_record_wrong_type",
            "The status is one of started, success, cancelled, error.",
            f"{member} status".strip(),
        )
    results = header.get("results")
    log = _Log(
        file=fact,
        status=status,
        eval=header["eval"],
        plan=as_dict(header.get("plan")),
        results=results if isinstance(results, dict) else None,
        stats=as_dict(header.get("stats")),
    )
    if status != "success":
        log.notes.append(f"The run did not end well (status {status}); only the samples it wrote are here.")
    if header.get("invalidated") is True:
        log.notes.append("The log was marked as invalidated.")
    return log


def _check_count(log: _Log, found: int, place: str) -> None:
    told = log.results.get("total_samples") if log.results is not None else None
    if log.status == "success" and type(told) is int and told != found:
        raise Refused(
            "import_eval_count_mismatch",
            f"The log says success with {told:,} samples; {found:,} are here. A log must hold all it counts.",
            place or HEADER,
        )


def _facts(log: _Log, samples: int) -> RunFacts:
    told = log.eval
    config = as_dict(told.get("config"))
    generate = as_dict(told.get("model_generate_config")) or as_dict(log.plan.get("config"))
    dataset = as_dict(told.get("dataset"))
    packages = as_dict(told.get("packages"))
    revision = as_dict(told.get("revision"))
    arguments = as_dict(told.get("task_args_passed")) or as_dict(told.get("task_args"))
    steps = [as_text(as_dict(step).get("solver")) for step in as_list(log.plan.get("steps"))]
    epochs = config.get("epochs")
    missing = ["expected"] if not samples else []
    if not _has_cost(log.stats):
        missing.append("cost")
    if not log.latency:
        missing.append("latency")
    if not log.scorers:
        log.notes.append("No sample was scored: the log holds answers only.")
    return RunFacts(
        arm=_arm(told, arguments),
        arm_from_file_name=False,
        subject={
            "model": told.get("model"),
            "model_args": as_dict(told.get("model_args")),
            "model_roles": as_dict(told.get("model_roles")),
            "generate_config": generate,
            "solver": [
                {"name": as_dict(step).get("solver"), "params": as_dict(step).get("params")}
                for step in as_list(log.plan.get("steps"))
            ],
            "task_args": as_dict(told.get("task_args")),
            "revision": {key: revision[key] for key in ("commit", "dirty") if key in revision},
        },
        source_run_id=as_text(told.get("eval_id")) or values.run_id([log.file], as_text(told.get("task_id"))),
        scorers=tuple(log.scorers.values()),
        tool="inspect",
        tool_version=as_text(packages.get("inspect_ai")),
        created_at=as_text(told.get("created")),
        dataset=as_text(dataset.get("name")) or as_text(told.get("task")),
        repetitions=epochs if type(epochs) is int and epochs > 0 else None,
        facts=values.shown(
            [
                ("Model", told.get("model")),
                ("Task", told.get("task")),
                ("Task version", told.get("task_version")),
                ("Task arguments", arguments),
                ("Solver", ", ".join(step for step in steps if step)),
                ("Generation settings", {key: value for key, value in generate.items() if value is not None}),
                ("Message limit", config.get("message_limit")),
                ("Token limit", config.get("token_limit")),
                ("Time limit", config.get("time_limit")),
                ("Epochs", epochs),
                ("Epoch reducer", ", ".join(as_text(name) for name in as_list(config.get("epochs_reducer")))),
                ("Tool", f"Inspect {as_text(packages.get('inspect_ai'))}".strip()),
                ("Revision", revision.get("commit")),
                ("Status", log.status),
            ]
        ),
        missing=tuple(missing),
        notes=tuple(log.notes),
    )


def _arm(told: dict[str, Any], arguments: dict[str, Any]) -> str:
    """The model, and what distinguishes two runs of one model: the arguments that were passed."""
    parts = [as_text(told.get("model")) or "unknown model"]
    parts += [
        f"{key}={as_text(value)}" for key, value in sorted(arguments.items()) if not isinstance(value, dict | list)
    ]
    return strict_json.visible(" ".join(parts), 200)


def _has_cost(stats: dict[str, Any]) -> bool:
    usages = as_dict(stats.get("model_usage")).values()
    return any(as_dict(usage).get("total_cost") is not None for usage in usages)


# --- which scorers there are, and of what kind


def _catalogue(log: _Log, samples: Iterable[dict[str, Any]]) -> None:
    """One scorer per name, or per key where a scorer gives several values; its kind from all values."""
    sorts: dict[str, set[str]] = {}
    latency = False
    edited = 0
    for sample in samples:
        latency = latency or sample.get("total_time") is not None
        for name, given in as_dict(sample.get("scores")).items():
            edited += bool(as_list(as_dict(given).get("history")))
            for key, value in _flat(name, _current(as_dict(given))):
                sorts.setdefault(key, set()).add(_sort(value))
    log.latency = latency
    described = {as_text(entry.get("name")): entry for entry in map(as_dict, as_list(log.eval.get("scorers")))}
    for key in sorted(sorts):
        log.scorers[key] = _scorer(key, sorts[key] - {"none"}, described)
    if edited:
        log.notes.append(f"{edited:,} scores were edited after the run; the last edit counts.")
    if log.scorers:
        log.notes.append("Inspect records no direction of its scorers; higher is taken as better.")


def _scorer(key: str, sorts: set[str], described: dict[str, dict[str, Any]]) -> Scorer:
    base = key.split("/")[0]
    options = as_dict(described.get(base, {}).get("options"))
    kind, direction, low, high = Kind.NUMERIC, Direction.HIGHER_IS_BETTER, None, None
    if sorts and sorts <= {"letter", "truth", "partial"}:
        low, high = 0.0, 1.0
        kind = Kind.NUMERIC if "partial" in sorts else Kind.BOOLEAN
    elif "text" in sorts:
        kind, direction = Kind.CATEGORICAL, Direction.UNORDERED
    return Scorer(
        key=key,
        name=key,
        kind=kind,
        direction=direction,
        low=low,
        high=high,
        config={"tool": "inspect", "scorer": base, "options": options},
    )


def _flat(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield f"{name}/{key}", inner
    elif isinstance(value, list):
        for index, inner in enumerate(value, 1):
            yield f"{name}/{index}", inner
    else:
        yield name, value


def _sort(value: Any) -> str:
    if value is None or value == ABSTAINED or (isinstance(value, float) and math.isnan(value)):
        return "none"
    if isinstance(value, bool):
        return "truth"
    if isinstance(value, int | float):
        return "number"
    if value == "P":
        return "partial"
    if isinstance(value, str) and value in LETTERS:
        return "letter"
    if isinstance(value, str):
        try:
            values.number(value, "", from_text=True)
        except RowFault:
            return "text"
        return "number"
    return "text"


def _current(score: dict[str, Any]) -> Any:
    """The value that counts: the last edit that changed it, else the recorded one."""
    for edit in reversed(as_list(score.get("history"))):
        value = as_dict(edit).get("value", "UNCHANGED")
        if value != "UNCHANGED":
            return value
    return score.get("value")


# --- one sample


def _entry(log: _Log, sample: dict[str, Any], place: str) -> Execution | Rejected:
    try:
        return _execution(log, sample, place)
    except RowFault as fault:
        return fault.rejected(place)


def _execution(log: _Log, sample: dict[str, Any], place: str) -> Execution:
    source_id = values.identity(sample.get("id"), "id")
    if type(sample.get("epoch")) is not int:
        raise RowFault("import_repetition_invalid", "epoch", "An epoch is a whole number.", sample.get("epoch"))
    epoch = values.repetition(sample["epoch"], "epoch")
    scores = _scores(log, sample)
    error = as_dict(sample.get("error"))
    limit = as_dict(sample.get("limit"))
    choice = as_dict(next(iter(as_list(as_dict(sample.get("output")).get("choices"))), None))
    generation, failure, text = Generation.COMPLETED, FailureKind.NONE, None
    finish = as_text(choice.get("stop_reason"))
    if error:
        generation, failure = Generation.FAILED, FailureKind.HARNESS_ERROR
        text = as_text(error.get("message"))[:LONGEST_ERROR]
        scores = {}
    elif limit:
        finish = f"limit:{as_text(limit.get('type'))}"
        if not scores:
            kind = _LIMIT_KINDS.get(as_text(limit.get("type")), FailureKind.LIMIT_EXCEEDED)
            generation, failure = Generation.FAILED, kind
            text = as_text(limit.get("reason")) or f"The {as_text(limit.get('type'))} limit was reached."
    spent = _usage(sample)
    attachments = as_dict(sample.get("attachments"))
    messages = as_list(sample.get("messages"))
    return Execution(
        case=_case(log, sample, source_id, attachments),
        repetition=epoch,
        generation=generation,
        failure=failure,
        error=text,
        answer=_answer(sample, choice, attachments) if generation is Generation.COMPLETED else None,
        structured=_resolved(messages, attachments) if messages else None,
        finish_reason=finish,
        duration_ms=_duration(sample),
        cost_micros=spent.cost,
        cost_partial=spent.partial,
        cost_basis="reported" if spent.cost is not None else "",
        input_tokens=spent.input_tokens,
        output_tokens=spent.output_tokens,
        trace=bool(messages or as_list(sample.get("events"))),
        scores=scores,
        attempts=_attempts(sample, generation),
        place=place,
    )


def _case(log: _Log, sample: dict[str, Any], source_id: str | int, attachments: dict[str, Any]) -> Case:
    asked = _resolved(sample.get("input"), attachments)
    content: dict[str, Any] | None = None
    if asked is not None:
        content = {"input": _asked(asked)}
        for name in ("target", "choices"):
            if sample.get(name) not in (None, "", []):
                content[name] = sample[name]
        if log.eval.get("task_version") not in (None, "", 0):
            content["task_version"] = log.eval["task_version"]
    metadata = as_dict(sample.get("metadata"))
    return Case(source_id=source_id, content=content, metadata=metadata)


def _asked(asked: Any) -> Any:
    """A conversation without what differs from run to run: message ids and their source."""
    if not isinstance(asked, list):
        return asked
    return [
        {key: value for key, value in message.items() if key not in ("id", "source", "model", "internal")}
        if isinstance(message, dict)
        else message
        for message in asked
    ]


def _resolved(value: Any, attachments: dict[str, Any]) -> Any:
    """A value with the texts that the log keeps apart put back."""
    if not attachments:
        return value
    if isinstance(value, str):
        if value.startswith("attachment://"):
            return attachments.get(value.removeprefix("attachment://"), value)
        return value
    if isinstance(value, list):
        return [_resolved(entry, attachments) for entry in value]
    if isinstance(value, dict):
        return {key: _resolved(entry, attachments) for key, entry in value.items()}
    return value


def _answer(sample: dict[str, Any], choice: dict[str, Any], attachments: dict[str, Any]) -> str | None:
    completion = as_dict(sample.get("output")).get("completion")
    if not isinstance(completion, str):
        content = as_dict(choice.get("message")).get("content")
        if isinstance(content, list):
            content = "\n".join(as_text(as_dict(part).get("text")) for part in content if as_dict(part).get("text"))
        completion = content
    found = _resolved(completion, attachments)
    return found if isinstance(found, str) else None


def _duration(sample: dict[str, Any]) -> float | None:
    seconds = sample.get("total_time")
    return None if seconds is None else values.measure(seconds, "total_time", from_text=False) * 1000


@dataclass(frozen=True, slots=True)
class _Usage:
    cost: int | None
    partial: bool
    input_tokens: int | None
    output_tokens: int | None


def _usage(sample: dict[str, Any]) -> _Usage:
    """Tokens and cost over all models of the sample. A model without a cost leaves the cost partial."""
    usages = [as_dict(usage) for usage in as_dict(sample.get("model_usage")).values()]
    costs = [usage["total_cost"] for usage in usages if usage.get("total_cost") is not None]
    total = sum(values.measure(cost, "model_usage total_cost", from_text=False) for cost in costs)
    return _Usage(
        cost=values.micros(total) if costs else None,
        partial=0 < len(costs) < len(usages),
        input_tokens=_tokens(usages, ("input_tokens", "input_tokens_cache_read", "input_tokens_cache_write")),
        output_tokens=_tokens(usages, ("output_tokens",)),
    )


def _tokens(usages: list[dict[str, Any]], names: tuple[str, ...]) -> int | None:
    counts = [usage[name] for usage in usages for name in names if usage.get(name) is not None]
    if not counts:
        return None
    return sum(
        values.whole(count, "model_usage tokens", code="import_measure_invalid", largest=10**12) for count in counts
    )


def _attempts(sample: dict[str, Any], generation: Generation) -> tuple[AttemptFact, ...]:
    """The tries that raised and were repeated, and the one that stands."""
    retries = as_list(sample.get("error_retries"))
    if not retries:
        return ()
    last = AttemptFact("settled" if generation is Generation.COMPLETED else "failed")
    return (*(AttemptFact("failed", failure_code="harness_error") for _ in retries), last)


def _scores(log: _Log, sample: dict[str, Any]) -> dict[str, Score]:
    given = sample.get("scores")
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise RowFault("import_record_wrong_type", "scores", "Scores must be an object.", given)
    invalid = bool(sample.get("invalidation"))
    found: dict[str, Score] = {}
    for name, entry in given.items():
        if not isinstance(entry, dict):
            raise RowFault("import_record_wrong_type", f"scores.{name}", "A score must be an object.", entry)
        for key, value in _flat(name, _current(entry)):
            scorer = log.scorers.get(key)
            if scorer is None:
                raise Refused(
                    "import_eval_summary_mismatch",
                    "A sample has a score that summaries.json does not tell of. Both must agree.",
                    f"{SUMMARIES} scores",
                )
            score = _score(scorer, value, entry, invalid)
            if score is not None:
                found[key] = score
    return found


def _score(scorer: Scorer, value: Any, entry: dict[str, Any], invalid: bool) -> Score | None:
    reasoning = entry.get("explanation")
    reasoning = reasoning if isinstance(reasoning, str) and reasoning else None
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if invalid:
        return Score(Outcome.CANCELLED, reasoning=reasoning, error="The sample was marked as invalid.")
    if value == ABSTAINED:
        return Score(Outcome.ABSTAINED, reasoning=reasoning)
    field_name = f"scores.{scorer.key}"
    if isinstance(value, dict | list):
        raise RowFault(
            "import_record_wrong_type",
            field_name,
            "A score is a number, a truth value or a text, at most one level deep.",
        )
    if scorer.kind is Kind.CATEGORICAL:
        return Score(Outcome.SCORED, category=as_text(value), reasoning=reasoning)
    if isinstance(value, bool):
        found = float(value)
    elif isinstance(value, str) and value in LETTERS:
        found = LETTERS[value]
    else:
        found = values.score(value, field_name, from_text=True)
    if scorer.kind is Kind.BOOLEAN and found not in (0.0, 1.0):
        raise RowFault("import_score_out_of_scale", field_name, "A truth value is required.", value)
    return Score(Outcome.SCORED, value=found, reasoning=reasoning)


# --- JSON of logs


def nan_is_missing(path: strict_json.Path) -> bool:
    """In an Inspect log a NaN score value means not scored; its metrics are NaN where nothing was."""
    return "value" in path


def _loads(data: bytes, name: str, limits: Limits) -> Any:
    return strict_json.loads(data, place=_shown(name), limits=limits.sample, nan_as_missing_at=nan_is_missing)


def _shown(name: str) -> str:
    return strict_json.visible(name, 1100)
