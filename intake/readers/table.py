"""Generic files with a mapping: long, wide and nested CSV, TSV, JSONL and JSON.

CSV and JSONL are read row by row, once to find the arms and once per arm; a JSON document is read
whole. Nothing is guessed: what the mapping does not name is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from analysis import strict_json
from analysis.observations import FailureKind, Generation, Kind, Outcome
from analysis.refusals import Refused
from intake.readers import files, values
from intake.readers.files import FileFact, Limits, NamedFile
from intake.readers.mapping import STATUSES, Amount, Mapping, ScorerMapping
from intake.readers.records import Case, Execution, Rejected, Run, RunFacts, Score, Scorer
from intake.readers.values import RowFault, as_text, is_blank

NAME: Final = "mapped"
VERSION: Final = "1"
LONGEST_ERROR: Final = 20_000

ABSENT: Final = object()
"""What a path finds where it leads nowhere; unlike None, which a file can hold."""

TRUTH: Final = {
    **dict.fromkeys(("true", "yes", "y", "pass", "passed", "correct", "success", "1", "1.0"), 1.0),
    **dict.fromkeys(("false", "no", "n", "fail", "failed", "incorrect", "wrong", "failure", "0", "0.0"), 0.0),
}
CSV_TRUTH: Final = {key: TRUTH[key] for key in ("true", "false", "1", "0", "1.0", "0.0")}
LETTERS: Final = {"C": 1.0, "I": 0.0, "P": 0.5}
WORDS: Final = {
    "abstained": Outcome.ABSTAINED,
    "not_applicable": Outcome.NOT_APPLICABLE,
    "grader_error": Outcome.GRADER_ERROR,
}
TO_UNITS: Final = {"units": 1.0, "cents": 0.01, "micros": 1e-6}
TO_MS: Final = {"ms": 1.0, "s": 1000.0, "min": 60_000.0}
_STEP: Final = re.compile(r"[^.\[\]]+|\[[0-9]+\]")


@dataclass(slots=True)
class Row:
    """One row with its surroundings."""

    place: str
    line: int
    value: Any
    file: NamedFile
    text: bool = False
    """Whether all values are texts, as in CSV."""
    outer: Any = ABSENT
    keys: dict[str, Any] = field(default_factory=dict)
    position: int | None = None


Getter = Callable[[Row], Any]


# --- paths


def getter(path: str, arm: str = "") -> Getter:
    """What a path finds in a row, or ABSENT."""
    path = path.replace("{arm}", arm)
    if not path:
        return _nowhere
    if path.startswith("="):
        constant = path[1:]
        return lambda row: constant
    if path.startswith("$"):
        return _surrounding(path)
    if path.startswith("/"):
        steps: list[str | int] = [part.replace("~1", "/").replace("~0", "~") for part in path[1:].split("/")]
        return lambda row: _in_row(row, "", steps)
    steps = [int(part[1:-1]) if part.startswith("[") else part for part in _STEP.findall(path)]
    if steps == [path]:
        return _plain_key(path)
    return lambda row: _in_row(row, path, steps)


def _nowhere(row: Row) -> Any:
    return ABSENT


def _surrounding(path: str) -> Getter:
    known: dict[str, Getter] = {
        "$file": lambda row: row.file.stem,
        "$folder": lambda row: row.file.folder or ABSENT,
        "$line": lambda row: row.line,
        "$position": lambda row: ABSENT if row.position is None else row.position,
        "$value": lambda row: row.value,
    }
    if path in known:
        return known[path]
    if path in ("$case", "$arm", "$repetition", "$key"):
        name = path[1:]
        return lambda row: row.keys.get(name, ABSENT)
    raise Refused("import_mapping_invalid", "This name with a dollar sign is not known.", strict_json.visible(path, 60))


def _plain_key(key: str) -> Getter:
    """A path of one step, which most are."""

    def find(row: Row) -> Any:
        value = row.value
        if isinstance(value, dict) and key in value:
            return value[key]
        outer = row.outer
        return outer.get(key, ABSENT) if isinstance(outer, dict) else ABSENT

    return find


def _in_row(row: Row, exact: str, steps: list[str | int]) -> Any:
    found = _in_value(row.value, exact, steps)
    if found is ABSENT and row.outer is not ABSENT:
        found = _in_value(row.outer, exact, steps)
    return found


def _in_value(value: Any, exact: str, steps: list[str | int]) -> Any:
    if exact and isinstance(value, dict) and exact in value:
        return value[exact]
    for step in steps:
        if isinstance(value, dict):
            value = value.get(str(step), ABSENT)
        elif isinstance(value, list):
            index = step if isinstance(step, int) else int(step) if step.isdecimal() else len(value)
            value = value[index] if index < len(value) else ABSENT
        else:
            return ABSENT
    return value


def column_paths(mapping: Mapping) -> list[str]:
    """Every path of the mapping that names a column or key, `{arm}` not yet replaced."""
    paths = [*mapping.case, mapping.repetition, *mapping.content.values(), mapping.answer, mapping.structured]
    paths += [mapping.title, mapping.group, mapping.language, *mapping.tags, *mapping.metadata.values(), *mapping.error]
    paths += [mapping.status, mapping.finish_reason, mapping.input_tokens, mapping.output_tokens, mapping.trace]
    paths += [*mapping.subject.values(), mapping.attempts]
    paths += [amount.path for amount in (mapping.cost, mapping.latency) if amount is not None]
    if mapping.arm != "{arm}":
        paths.append(mapping.arm)
    for scorer in mapping.scorers:
        paths += [scorer.value, *scorer.equal, scorer.error, scorer.reasoning]
    return [path for path in paths if path and path[0] not in "=$"]


# --- the reader


class TableReader:
    """The runs of generic files under one mapping."""

    def __init__(self, named: Sequence[NamedFile], facts: Sequence[FileFact], mapping: Mapping, limits: Limits) -> None:
        self._named = named
        self._file_facts = dict(zip((file.name for file in named), facts, strict=True))
        self._mapping = mapping
        self._limits = limits
        self._documents: dict[str, Any] = {}
        self._told: list[NamedFile] = []
        """Files that are one arm each, or all arms, as their first row says."""
        for path in (*column_paths(mapping), *mapping.case, mapping.arm, mapping.repetition):
            if path != "$content":
                getter(path)  # refuses unknown names before anything is read

    def runs(self) -> Iterator[Run]:
        """One run per arm, in order of first appearance; an arm may be spread over several files."""
        arms = self._arms()
        for label, (first, held) in arms.items():
            plan = _Plan(self._mapping, label)
            facts = self._facts(label, plan, first, held)
            yield Run(facts, self._executions(label, plan, held, report=label == next(iter(arms))))

    def _arms(self) -> dict[str, tuple[Row, list[NamedFile]]]:
        """Arms with their first row and the files that hold them."""
        mapping = self._mapping
        found: dict[str, tuple[Row, list[NamedFile]]] = {}
        fixed = mapping.arm.startswith("=") or mapping.arm in ("$file", "$folder") or bool(mapping.arms)
        arm_of = getter(mapping.arm if not mapping.arms else "=")
        fallback: Row | None = None
        for file in self._named:
            for row in self._rows(file):
                fallback = fallback or row
                try:
                    labels = mapping.arms or (_label(arm_of(row)),)
                except RowFault:
                    continue  # reported when the rows are read
                for label in labels:
                    holder = found.setdefault(label, (row, []))[1]
                    if file not in holder:
                        holder.append(file)
                if fixed:
                    self._told.append(file)
                    break
        if not found and fallback is not None:
            found[""] = (fallback, list(self._named))
        return found

    def _facts(self, label: str, plan: _Plan, first: Row, held: list[NamedFile]) -> RunFacts:
        mapping = self._mapping
        given = {name: _plain(getter(path, label)(first)) for name, path in mapping.subject.items()}
        return RunFacts(
            arm=label,
            arm_from_file_name=mapping.arm in ("$file", "$folder"),
            subject={"name": label, **given},
            source_run_id=values.run_id([self._file_facts[file.name] for file in held], label),
            scorers=tuple(plan.scorers.values()),
            tool="mapped file",
            dataset=mapping.dataset,
            facts=values.shown({"Subject": label, **given}),
            missing=_missing(mapping),
            notes=_notes(mapping),
        )

    def _executions(
        self, label: str, plan: _Plan, held: list[NamedFile], *, report: bool
    ) -> Iterator[Execution | Rejected]:
        """The rows of one arm. Rows whose arm cannot be told are reported with the first arm."""
        mapping = self._mapping
        arm_of = getter(mapping.arm if not mapping.arms else "=")
        for file in self._files(held, others=report):
            for row in self._rows(file):
                try:
                    if not mapping.arms and _label(arm_of(row)) != label:
                        continue
                except RowFault as fault:
                    if report:
                        yield fault.rejected(row.place)
                    continue
                if mapping.arms and not plan.present(row):
                    continue
                try:
                    yield plan.execution(row)
                except RowFault as fault:
                    yield fault.rejected(row.place)
        plan.check_paths_were_found()

    def _files(self, held: list[NamedFile], *, others: bool) -> list[NamedFile]:
        """The files of an arm, with those in which a row may name no arm; a file that is an arm has no such row."""
        if not others:
            return held
        if self._mapping.arm in ("$file", "$folder") and not self._mapping.arms:
            return [file for file in self._named if file in held or file not in self._told]
        return list(self._named)

    # --- rows of a file

    def _rows(self, file: NamedFile) -> Iterator[Row]:
        kind = file.format if self._mapping.format == "auto" else self._mapping.format
        prefix = f"file {self._named.index(file) + 1} " if len(self._named) > 1 else ""
        rows = {"csv": self._csv, "tsv": self._csv, "jsonl": self._jsonl, "json": self._json}.get(kind)
        if rows is None:
            raise Refused("import_format_unknown", "Generic files are CSV, TSV, JSONL or JSON, also as .gz.")
        for row in rows(file, kind, prefix):
            yield from self._attempts(row) if self._mapping.attempts else (row,)

    def _csv(self, file: NamedFile, kind: str, prefix: str) -> Iterator[Row]:
        rows = files.table_rows(file, self._limits, "\t" if kind == "tsv" else ",")
        header = next(rows)
        names: list[str] = header.value
        for path in column_paths(self._mapping):
            for column in {path.replace("{arm}", arm) for arm in self._mapping.arms} if "{arm}" in path else {path}:
                if column not in names:
                    raise Refused(
                        "import_record_missing_field",
                        "The mapping names a column that the header does not have.",
                        f"{prefix}line {header.number} {strict_json.visible(column)}",
                    )
        for line in rows:
            row = dict(zip(names, line.value, strict=True))
            yield Row(f"{prefix}line {line.number}", line.number, row, file, text=True)

    def _jsonl(self, file: NamedFile, kind: str, prefix: str) -> Iterator[Row]:
        for line in files.json_lines(file, self._limits):
            if not isinstance(line.value, dict):
                raise Refused(
                    "import_record_wrong_type", "Each line must hold an object.", f"{prefix}line {line.number}"
                )
            yield Row(f"{prefix}line {line.number}", line.number, line.value, file)

    def _json(self, file: NamedFile, kind: str, prefix: str) -> Iterator[Row]:
        if file.name not in self._documents:
            data = files.whole(file, self._limits)
            self._documents[file.name] = strict_json.loads(data, limits=self._limits.document)
        root = self._mapping.rows
        holder: Any = self._documents[file.name]
        if root:
            holder = getter(root)(Row("", 0, holder, file))
        if holder is ABSENT:
            raise Refused("import_record_missing_field", "The mapping's `rows` leads nowhere.", prefix + root)
        found = False
        for number, row in enumerate(_descend(holder, self._mapping.levels, Row(prefix + root, 0, None, file)), 1):
            found = True
            row.line = number
            yield row
        if not found:
            raise Refused("import_empty", "The file holds no record.", prefix + root)

    def _attempts(self, row: Row) -> Iterator[Row]:
        listed = getter(self._mapping.attempts)(row)
        if not isinstance(listed, list):
            raise Refused(
                "import_record_wrong_type",
                "The attempts of a row must be a list.",
                f"{row.place} {self._mapping.attempts}",
            )
        for position, attempt in enumerate(listed, 1):
            place = f"{row.place} {self._mapping.attempts}[{position - 1}]"
            yield Row(place, row.line, attempt, row.file, row.text, row.value, row.keys, position)


def _descend(value: Any, levels: tuple[str, ...], at: Row) -> Iterator[Row]:
    """The rows below `value`; list positions count only where the mapping calls them attempts."""
    if not levels:
        yield Row(at.place, 0, value, at.file, keys=at.keys, position=at.position)
        return
    level = levels[0]
    if level in ("row", "attempts"):
        if not isinstance(value, list):
            raise Refused("import_record_wrong_type", "The mapping expects a list here.", at.place)
        for index, inner in enumerate(value):
            position = index + 1 if level == "attempts" else at.position
            inner_at = Row(f"{at.place}[{index}]", 0, None, at.file, keys=at.keys, position=position)
            yield from _descend(inner, levels[1:], inner_at)
    else:
        if not isinstance(value, dict):
            raise Refused("import_record_wrong_type", "The mapping expects an object here.", at.place)
        for key, inner in value.items():
            shown = strict_json.visible(key, 60)
            place = f"{at.place}.{shown}" if at.place and not at.place.endswith(" ") else f"{at.place}{shown}"
            inner_at = Row(place, 0, None, at.file, keys={**at.keys, level: key}, position=at.position)
            yield from _descend(inner, levels[1:], inner_at)


def _label(value: Any) -> str:
    found = values.identity(None if value is ABSENT else value, "arm")
    return str(found)


def _plain(value: Any) -> Any:
    return None if value is ABSENT else value


# --- what a row becomes


class _Plan:
    """A mapping compiled for one arm: its paths looked up once, its scorers ready."""

    def __init__(self, mapping: Mapping, arm: str) -> None:
        def at(path: str) -> Getter:
            return getter(path, arm)

        self._mapping = mapping
        self._case = [(path, None if path == "$content" else at(path)) for path in mapping.case]
        self._repetition = at(mapping.repetition)
        self._content = {name: at(path) for name, path in mapping.content.items()}
        self._answer = at(mapping.answer)
        self._structured = at(mapping.structured)
        self._title = at(mapping.title)
        self._group = at(mapping.group)
        self._language = at(mapping.language)
        self._tags = [at(path) for path in mapping.tags]
        self._metadata = {name: at(path) for name, path in mapping.metadata.items()}
        self._error = [at(path) for path in mapping.error]
        self._status = at(mapping.status)
        self._finish = at(mapping.finish_reason)
        self._cost = at(mapping.cost.path) if mapping.cost else None
        self._latency = at(mapping.latency.path) if mapping.latency else None
        self._input_tokens = at(mapping.input_tokens)
        self._output_tokens = at(mapping.output_tokens)
        self._trace = at(mapping.trace)
        self._measures = [_Measurement(scorer, arm) for scorer in mapping.scorers]
        self.scorers = {scorer.key: _scorer(scorer) for scorer in mapping.scorers}
        self._of_arm = [at(path) for path in column_paths(mapping) if "{arm}" in path]
        self._completed = 0

    def present(self, row: Row) -> bool:
        """Whether a wide row holds anything of this arm."""
        return any(get(row) is not ABSENT for get in self._of_arm)

    def check_paths_were_found(self) -> None:
        """Refuse a value path that no completed row had: a misspelt path must not read as *not scored*."""
        for index, measure in enumerate(self._measures):
            if self._completed and not measure.found:
                raise Refused(
                    "import_mapping_invalid",
                    "No row has a value at this path.",
                    f"scorers[{index}].{'equal' if self._mapping.scorers[index].equal else 'value'}",
                )

    def execution(self, row: Row) -> Execution:
        mapping = self._mapping
        content = self._captured(row)
        generation, failure, error = self._ending(row)
        completed = generation is Generation.COMPLETED
        self._completed += completed
        scores: dict[str, Score] = {}
        if completed:
            for measure in self._measures:
                score = measure.score(row)
                if score is not None:
                    scores[measure.key] = score
        cost = _amount(self._cost, mapping.cost, row, TO_UNITS)
        return Execution(
            case=Case(
                source_id=self._source_id(row, content),
                content=content,
                title=_text(self._title(row)),
                group=_text(self._group(row)),
                language=_text(self._language(row)),
                tags=tuple(tag for get in self._tags for tag in _texts(get(row))),
                metadata={name: found for name, get in self._metadata.items() if (found := get(row)) is not ABSENT},
            ),
            repetition=self._repeated(row),
            generation=generation,
            failure=failure,
            error=error,
            answer=_optional_text(self._answer(row)),
            structured=_plain(self._structured(row)),
            finish_reason=_text(self._finish(row)),
            duration_ms=_amount(self._latency, mapping.latency, row, TO_MS),
            cost_micros=None if cost is None else values.micros(cost),
            currency=mapping.cost.currency if mapping.cost else "USD",
            cost_basis="" if cost is None else "reported",
            input_tokens=_tokens(self._input_tokens(row), mapping.input_tokens),
            output_tokens=_tokens(self._output_tokens(row), mapping.output_tokens),
            trace=not _is_nothing(self._trace(row)),
            scores=scores,
            place=row.place,
        )

    def _source_id(self, row: Row, content: dict[str, Any] | None) -> str | int:
        parts: list[str | int] = []
        for path, get in self._case:
            if get is None:
                if content is None:
                    raise RowFault("import_record_missing_field", "case", "The case id is the content, which is blank.")
                parts.append(strict_json.content_digest(content).hex())
            else:
                parts.append(values.identity(_plain(get(row)), path))
        return parts[0] if len(parts) == 1 else "/".join(map(str, parts))

    def _captured(self, row: Row) -> dict[str, Any] | None:
        if not self._content:
            return None
        found = {name: _plain(get(row)) for name, get in self._content.items()}
        if all(is_blank(value) for value in found.values()):
            if self._mapping.content_optional:
                return None
            raise RowFault(
                "import_record_missing_field", next(iter(self._mapping.content.values())), "Content is required."
            )
        return {name: value for name, value in found.items() if value is not None}

    def _repeated(self, row: Row) -> int:
        if not self._mapping.repetition:
            return 1
        found = _plain(self._repetition(row))
        if is_blank(found):
            raise RowFault("import_record_missing_field", self._mapping.repetition, "The repetition is required.")
        return values.repetition(found, self._mapping.repetition)

    def _ending(self, row: Row) -> tuple[Generation, FailureKind, str | None]:
        for get in self._error:
            found = get(row)
            if not _is_nothing(found):
                return Generation.FAILED, FailureKind[self._mapping.error_kind.upper()], as_text(found)[:LONGEST_ERROR]
        if not self._mapping.status:
            return Generation.COMPLETED, FailureKind.NONE, None
        text = as_text(_plain(self._status(row))).strip()
        meaning = self._mapping.statuses.get(text)
        if meaning is None:
            allowed = ", ".join(self._mapping.statuses)
            raise RowFault("import_record_wrong_type", self._mapping.status, f"The status is one of {allowed}.", text)
        if meaning in STATUSES[:4]:
            return Generation[meaning.upper()], FailureKind.NONE, None
        return Generation.FAILED, FailureKind[meaning.upper()], text


class _Measurement:
    """One scorer of the mapping for one arm."""

    def __init__(self, scorer: ScorerMapping, arm: str) -> None:
        self.key = scorer.key
        self.found = False
        self._scorer = scorer
        self._value = getter(scorer.equal[0] if scorer.equal else scorer.value, arm)
        self._reference = getter(scorer.equal[1], arm) if scorer.equal else None
        self._field = (scorer.equal[0] if scorer.equal else scorer.value).replace("{arm}", arm)
        self._error = getter(scorer.error, arm)
        self._reasoning = getter(scorer.reasoning, arm)

    def score(self, row: Row) -> Score | None:
        scorer = self._scorer
        reasoning = _optional_text(self._reasoning(row))
        error = self._error(row)
        if not _is_nothing(error):
            self.found = True
            return Score(Outcome.GRADER_ERROR, reasoning=reasoning, error=as_text(error)[:LONGEST_ERROR])
        value = self._value(row)
        self.found = self.found or value is not ABSENT
        value = _plain(value)
        if is_blank(value):
            return self._blank(reasoning)
        meaning = scorer.values.get(as_text(value)) if scorer.values else None
        if isinstance(meaning, str) and meaning in (*WORDS, "not_scored"):
            return None if meaning == "not_scored" else Score(WORDS[meaning], reasoning=reasoning)
        if self._reference is not None:
            return Score(Outcome.SCORED, value=self._equality(row, value), reasoning=reasoning)
        if scorer.kind is Kind.CATEGORICAL:
            return Score(Outcome.SCORED, category=self._category(value, meaning), reasoning=reasoning)
        if meaning is None and scorer.transform == "inspect" and value == "N":
            return Score(Outcome.ABSTAINED, reasoning=reasoning)
        number = meaning if isinstance(meaning, float) else self._number(row, value)
        return Score(Outcome.SCORED, value=self._on_scale(number), reasoning=reasoning)

    def _blank(self, reasoning: str | None) -> Score | None:
        if self._scorer.blank == "refuse":
            raise RowFault("import_record_missing_field", self._field, "A score is required.")
        outcome = WORDS.get(self._scorer.blank)
        return None if outcome is None else Score(outcome, reasoning=reasoning)

    def _equality(self, row: Row, value: Any) -> float:
        assert self._reference is not None
        reference = _plain(self._reference(row))
        if is_blank(reference):
            raise RowFault("import_record_missing_field", self._scorer.equal[1], "The reference is required.")
        return float(as_text(value).strip() == as_text(reference).strip())

    def _category(self, value: Any, meaning: float | str | None) -> str:
        text = as_text(value if meaning is None else meaning)
        if self._scorer.categories and text not in self._scorer.categories:
            allowed = ", ".join(self._scorer.categories)
            raise RowFault("import_score_unknown", self._field, f"The categories are {allowed}.", text)
        return text

    def _number(self, row: Row, value: Any) -> float:
        transform = self._scorer.transform
        if isinstance(value, bool):
            return float(value)
        if isinstance(value, str):
            words = {"truth": TRUTH, "inspect": LETTERS}.get(transform)
            if words is None and row.text and self._scorer.kind is Kind.BOOLEAN:
                words = CSV_TRUTH
            found = words.get(value.strip() if words is LETTERS else value.strip().lower()) if words else None
            if found is not None:
                return found
        return values.number(value, self._field, from_text=row.text or transform == "number")

    def _on_scale(self, number: float) -> float:
        scorer = self._scorer
        if scorer.kind is Kind.BOOLEAN and number not in (0.0, 1.0):
            raise RowFault("import_score_out_of_scale", self._field, "A truth value is 0 or 1.", number)
        if (scorer.low is not None and number < scorer.low) or (scorer.high is not None and number > scorer.high):
            raise RowFault(
                "import_score_out_of_scale",
                self._field,
                f"The scale reaches from {_bound(scorer.low)} to {_bound(scorer.high)}.",
                number,
            )
        return values.scorable(number, self._field)


def _bound(value: float | None) -> str:
    return "no bound" if value is None else f"{value:g}"


def _scorer(scorer: ScorerMapping) -> Scorer:
    boolean = scorer.kind is Kind.BOOLEAN
    return Scorer(
        key=scorer.key,
        name=scorer.name or scorer.key,
        kind=scorer.kind,
        direction=scorer.direction,
        low=0.0 if boolean else scorer.low,
        high=1.0 if boolean else scorer.high,
        unit=scorer.unit,
        config={"tool": "mapped file", "equality": bool(scorer.equal), **scorer.grader},
        categories=scorer.categories,
    )


def _is_nothing(value: Any) -> bool:
    """Whether an error, a status or a trace is absent: blank, false or empty."""
    return value is ABSENT or is_blank(value) or value is False or value in ([], {})


def _text(value: Any) -> str:
    return "" if value is ABSENT else as_text(value)


def _optional_text(value: Any) -> str | None:
    return None if value is ABSENT or value is None else as_text(value)


def _texts(value: Any) -> list[str]:
    if value is ABSENT or is_blank(value):
        return []
    return [as_text(entry) for entry in value] if isinstance(value, list) else [as_text(value)]


def _tokens(value: Any, path: str) -> int | None:
    if value is ABSENT or is_blank(value):
        return None
    return values.whole(value, path, code="import_measure_invalid", largest=10**12)


def _amount(get: Getter | None, amount: Amount | None, row: Row, factors: dict[str, float]) -> float | None:
    """A cost in units or a duration in milliseconds; None where it is not known."""
    if get is None or amount is None:
        return None
    value = get(row)
    if value is ABSENT or is_blank(value):
        return None
    found = values.measure(value, amount.path)
    if found == 0 and amount.zero_is_unknown:
        return None
    return found * factors[amount.unit]


def _missing(mapping: Mapping) -> tuple[str, ...]:
    facts = {
        "repetition": bool(mapping.repetition),
        "cost": mapping.cost is not None,
        "latency": mapping.latency is not None,
        "error": bool(mapping.error or mapping.status),
        "trace": bool(mapping.trace),
        "content": bool(mapping.content),
        "expected": "expected" in mapping.content,
    }
    return tuple(name for name, known in facts.items() if not known)


def _notes(mapping: Mapping) -> tuple[str, ...]:
    notes = []
    if not mapping.repetition:
        notes.append("No repetition is mapped; every row is repetition 1.")
    if mapping.repetition == "$position":
        notes.append("The repetition is the position in each case's own list of attempts.")
    if "$line" in mapping.case:
        notes.append("The file names no case; cases are called by their line, so both sides must have the same order.")
    if "$content" in mapping.case:
        notes.append("Cases are called by the digest of their content.")
    if not mapping.content:
        notes.append("The content of the cases was not captured; they pair by their id, revision unknown.")
    if any(scorer.blank == "abstained" for scorer in mapping.scorers):
        notes.append("A blank value counts as an abstention, which is not scored.")
    if mapping.error or mapping.status:
        notes.append("Rows that failed have no score, whatever value stands beside the error.")
    return tuple(notes)
