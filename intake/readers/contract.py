"""Records of the agent-comparability contract: one object per task, harness and model.

`reward` counts only where `reward_status` is verified; an unresolved zero may be a crash or a
failure, so it is indeterminate, never 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from analysis import strict_json
from analysis.observations import Direction, Generation, Kind, Outcome
from analysis.refusals import Refused
from intake.readers import files, values
from intake.readers.files import FileFact, Limits, NamedFile
from intake.readers.records import Case, Execution, Rejected, Run, RunFacts, Score, Scorer
from intake.readers.values import RowFault

NAME: Final = "records"
VERSION: Final = "1"
REQUIRED: Final = ("task_id", "harness", "model", "reward", "reward_status")
KNOWN: Final = frozenset({*REQUIRED, "answer", "repetition", "trajectory_available", "score_scale", "repetition_count"})
VERIFIED: Final = "verified"
UNRESOLVED: Final = "unresolved_zero"

REWARD: Final = Scorer(
    key="reward",
    name="reward",
    kind=Kind.NUMERIC,
    direction=Direction.HIGHER_IS_BETTER,
    low=0.0,
    high=1.0,
    config={"tool": "records", "scorer": "reward"},
)


@dataclass(frozen=True, slots=True)
class _Found:
    place: str
    record: dict[str, Any]
    text: bool
    """Whether every value is a text, as in CSV."""


def is_record(row: Any) -> bool:
    return isinstance(row, dict) and set(REQUIRED) <= set(row)


def read(named: Sequence[NamedFile], facts: Sequence[FileFact], limits: Limits) -> Iterator[Run]:
    """One run per (harness, model), in order of first appearance."""
    arms: dict[str, tuple[str, str]] = {}
    extra: set[str] = set()
    repeats = False
    for found in _records(named, limits):
        try:
            harness, model = _arm(found)
        except RowFault:
            continue  # reported when the rows are read
        arms.setdefault(_label(harness, model), (harness, model))
        extra |= set(found.record) - KNOWN
        repeats = repeats or not values.is_blank(found.record.get("repetition"))
    if not arms:  # every row is faulty: the first arm's reading reports them
        arms = {"": ("", "")}
    first = True
    for label, (harness, model) in arms.items():
        notes = [] if repeats else ["The file names no repetition; every row is repetition 1."]
        if extra:
            shown = ", ".join(strict_json.visible(name, 60) for name in sorted(extra)[:20])
            notes.append(f"Fields kept out of the rows, as unknown conditions: {shown}.")
        run = RunFacts(
            arm=label,
            arm_from_file_name=False,
            subject={"harness": harness, "model": model},
            source_run_id=values.run_id(facts, label),
            scorers=(REWARD,),
            tool="records",
            facts=(("Harness", harness), ("Model", model)),
            missing=("cost", "latency", "error", "trace", "content", "expected", *(() if repeats else ("repetition",))),
            notes=tuple(notes),
        )
        yield Run(run, _executions(named, limits, label, faults=first))
        first = False


def _executions(
    named: Sequence[NamedFile], limits: Limits, label: str, *, faults: bool
) -> Iterator[Execution | Rejected]:
    """The records of one arm. Rows whose arm cannot be told are reported with the first arm."""
    seen: set[tuple[str, int]] = set()
    for found in _records(named, limits):
        try:
            harness, model = _arm(found)
        except RowFault as fault:
            if faults:
                yield fault.rejected(found.place)
            continue
        if _label(harness, model) != label:
            continue
        try:
            execution = _execution(found)
        except RowFault as fault:
            yield fault.rejected(found.place)
            continue
        key = (str(execution.case.source_id), execution.repetition)
        if key in seen:
            yield Rejected(
                "import_duplicate_identity",
                found.place,
                "This task, harness, model and repetition were already read. Each may stand once.",
                strict_json.visible(key[0], 80),
            )
            continue
        seen.add(key)
        yield execution


def _arm(found: _Found) -> tuple[str, str]:
    return _name(found.record, "harness"), _name(found.record, "model")


def _label(harness: str, model: str) -> str:
    return f"{harness} / {model}"


def _name(record: dict[str, Any], key: str) -> str:
    if key not in record:
        raise RowFault("import_record_missing_field", key, "This field is required.")
    if not isinstance(record[key], str):
        raise RowFault("import_record_wrong_type", key, "A text is required.", record[key])
    return str(values.identity(record[key], key))


def _execution(found: _Found) -> Execution:
    record = found.record
    task = _name(record, "task_id")
    if "reward" not in record:
        raise RowFault("import_record_missing_field", "reward", "This field is required.")
    reward = values.number(record["reward"], "reward", from_text=found.text)
    if not 0 <= reward <= 1:
        raise RowFault("import_score_out_of_scale", "reward", "A reward lies between 0 and 1.", reward)
    status = _name(record, "reward_status")
    if status not in (VERIFIED, UNRESOLVED):
        raise RowFault(
            "import_record_wrong_type", "reward_status", f"The status is {VERIFIED} or {UNRESOLVED}.", status
        )
    if status == UNRESOLVED and reward != 0:
        raise RowFault("import_score_out_of_scale", "reward", "An unresolved zero has reward 0.", reward)
    answer = record.get("answer")
    if answer is not None and not isinstance(answer, str):
        raise RowFault("import_record_wrong_type", "answer", "An answer is a text.", answer)
    given = record.get("repetition")
    resolved = status == VERIFIED
    return Execution(
        case=Case(source_id=task, content=None),
        repetition=1 if values.is_blank(given) else values.repetition(given, "repetition"),
        generation=Generation.COMPLETED,
        answer=answer,
        scores={
            REWARD.key: Score(Outcome.SCORED, value=reward)
            if resolved
            else Score(Outcome.INDETERMINATE, error="An unresolved zero: crash or failure cannot be told apart.")
        },
        place=found.place,
    )


def _records(named: Sequence[NamedFile], limits: Limits) -> Iterator[_Found]:
    several = len(named) > 1
    for index, file in enumerate(named, 1):
        prefix = f"file {index} " if several else ""
        for found in _records_of(file, limits):
            yield _Found(prefix + found.place, found.record, found.text)


def _records_of(file: NamedFile, limits: Limits) -> Iterator[_Found]:
    if file.format in ("csv", "tsv"):
        yield from _table(file, limits)
    elif file.format == "json":
        yield from _group(strict_json.loads(files.whole(file, limits), limits=limits.document))
    else:
        for line in files.json_lines(file, limits):
            yield _object(line.value, f"line {line.number}")


def _table(file: NamedFile, limits: Limits) -> Iterator[_Found]:
    rows = files.table_rows(file, limits, "\t" if file.format == "tsv" else ",")
    header = next(rows)
    for name in REQUIRED:
        if name not in header.value:
            raise Refused("import_record_missing_field", "This column is required.", f"line {header.number} {name}")
    for row in rows:
        yield _Found(f"line {row.number}", dict(zip(header.value, row.value, strict=True)), text=True)


def _group(document: Any) -> Iterator[_Found]:
    records = document.get("records") if isinstance(document, dict) else document
    if not isinstance(records, list):
        raise Refused("import_record_wrong_type", "A list of records is required.", "records")
    if not records:
        raise Refused("import_empty", "The file holds no record.", "records")
    for index, record in enumerate(records):
        yield _object(record, f"records[{index}]")


def _object(value: Any, place: str) -> _Found:
    if not isinstance(value, dict):
        raise Refused("import_record_wrong_type", "A record must be an object.", place)
    return _Found(place, value, text=False)
