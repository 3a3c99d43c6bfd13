"""A suggested mapping, from the names and values of the first rows; a person confirms or corrects it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Final

from analysis import strict_json
from analysis.observations import Direction, Kind
from analysis.refusals import Refused
from intake.readers import files
from intake.readers.files import Limits, NamedFile
from intake.readers.mapping import Amount, Mapping, ScorerMapping
from intake.readers.table import LETTERS, TRUTH

LOOKED_AT: Final = 200

_CASE: Final = (
    "case_id", "item_id", "task_id", "question_id", "sample_id", "example_id", "test_id", "prompt_id", "query_id",
    "instance_id", "doc_id", "problem_id", "case", "item", "task", "id", "name", "idx", "index",
)  # fmt: skip
_ARM: Final = ("model_id", "model_name", "model", "arm", "system", "agent", "variant", "experiment", "run", "llm")
_REPETITION: Final = (
    "epoch",
    "repetition",
    "repetition_number",
    "rep",
    "trial",
    "attempt",
    "replicate",
    "repeat",
    "seed",
)
_SCORE: Final = (
    "score",
    "reward",
    "correct",
    "is_correct",
    "passed",
    "pass",
    "success",
    "grade",
    "rating",
    "label",
    "value",
)
_GROUP: Final = ("group", "group_id", "cluster", "cluster_key", "document_id", "template_id", "family")
_QUESTION: Final = ("question", "input", "prompt", "query", "original_question", "instruction", "problem")
_EXPECTED: Final = ("expected", "target", "reference", "ground_truth", "expected_output", "ideal", "gold")
_ANSWER: Final = ("answer", "output", "response", "completion", "solution", "prediction", "model_output")
_ERROR: Final = ("error", "error_message", "exception")
_LATENCY: Final = {
    "latency_ms": "ms", "duration_ms": "ms", "elapsed_ms": "ms", "latency_s": "s", "duration_s": "s",
    "duration_seconds": "s", "latency_seconds": "s",
}  # fmt: skip
_COST: Final = ("cost_usd", "total_cost_usd", "cost_micros")
_INPUT: Final = ("input_tokens", "prompt_tokens")
_OUTPUT: Final = ("output_tokens", "completion_tokens")


def suggest(named: Sequence[NamedFile], limits: Limits) -> Mapping | None:
    """The best guess for these files, or None where not even a case can be told."""
    if not named:
        return None
    formats = [file.format for file in named]
    file = next(file for file in named if formats.count(file.format) == max(map(formats.count, formats)))
    if file.format == "json":
        return _for_document(file, limits)
    rows = [*islice(_first_rows(file, limits), LOOKED_AT)]
    return _for_rows(rows, text=file.format in ("csv", "tsv")) if rows else None


def _first_rows(file: NamedFile, limits: Limits) -> Iterator[dict[str, Any]]:
    if file.format in ("csv", "tsv"):
        lines = files.table_rows(file, limits, "\t" if file.format == "tsv" else ",")
        header = next(lines).value
        for line in lines:
            yield dict(zip(header, line.value, strict=True))
    else:
        for line in files.json_lines(file, limits):
            if isinstance(line.value, dict):
                yield line.value


def _for_document(file: NamedFile, limits: Limits) -> Mapping | None:
    document = strict_json.loads(files.whole(file, limits), limits=limits.document)
    holder, path = document, ""
    if isinstance(document, dict):
        for key, value in document.items():
            if isinstance(value, list) and value and isinstance(value[0], dict):
                holder, path = value, key
                break
    if isinstance(holder, list):
        rows = [row for row in holder[:LOOKED_AT] if isinstance(row, dict)]
        return _for_rows(rows, text=False, holder=path) if rows else None
    return _for_nested(document) if isinstance(document, dict) else None


def _for_nested(document: dict[str, Any]) -> Mapping | None:
    """Case → arm → list of attempts, or case → arm → one record."""
    inner = [entry for by_arm in document.values() if isinstance(by_arm, dict) for entry in by_arm.values()]
    levels: tuple[str, ...] = ("case", "arm")
    repetition = ""
    if inner and isinstance(inner[0], list):
        levels, repetition = ("case", "arm", "attempts"), "$position"
        inner = [attempt for attempts in inner if isinstance(attempts, list) for attempt in attempts]
    rows = [row for row in inner[:LOOKED_AT] if isinstance(row, dict)]
    if not rows:
        return None
    guess = _for_rows(rows, text=False, case=("$case",), arm="$arm")
    if guess is None:
        return None
    return _replaced(guess, levels=levels, repetition=repetition)


def _for_rows(
    rows: Sequence[dict[str, Any]], *, text: bool, holder: str = "", case: tuple[str, ...] = (), arm: str = ""
) -> Mapping | None:
    names = {name.lower(): name for name in rows[0]}
    wide = _wide_arms(rows[0])
    found_case = case or _case(names, rows)
    content = {
        key: name for key, name in (("input", _named(names, _QUESTION)), ("expected", _named(names, _EXPECTED))) if name
    }
    prefix = "{arm}." if wide else ""
    inner = rows[0][wide[0]] if wide else rows[0]
    inner_names = {name.lower(): name for name in inner}
    answer = _named(inner_names, _ANSWER)
    judged = [row[wide[0]] for row in rows if isinstance(row.get(wide[0]), dict)] if wide else rows
    scorers = _scorers(judged, inner_names, prefix, text)
    latency = next((inner_names[name] for name in _LATENCY if name in inner_names), "")
    cost = _named(inner_names, _COST)
    try:
        return Mapping(
            case=found_case,
            arm=arm or ("{arm}" if wide else _named(names, _ARM) or "$file"),
            scorers=tuple(scorers),
            rows=holder,
            arms=tuple(wide),
            repetition="" if case else _named(names, _REPETITION),
            group=_named(names, _GROUP),
            content=content,
            content_optional=True,
            answer=prefix + answer if answer and answer not in content.values() else "",
            error=tuple(prefix + inner_names[name] for name in _ERROR if name in inner_names),
            latency=Amount(prefix + latency, _LATENCY[latency.lower()]) if latency else None,
            cost=Amount(prefix + cost, "micros" if cost.lower() == "cost_micros" else "units") if cost else None,
            input_tokens=_prefixed(prefix, _named(inner_names, _INPUT)),
            output_tokens=_prefixed(prefix, _named(inner_names, _OUTPUT)),
        )
    except Refused:
        return None


def _replaced(mapping: Mapping, *, levels: tuple[str, ...], repetition: str) -> Mapping:
    return Mapping(
        **{
            name: getattr(mapping, name)
            for name in mapping.__dataclass_fields__
            if name not in ("levels", "repetition")
        },
        levels=levels,
        repetition=repetition,
    )


def _prefixed(prefix: str, name: str) -> str:
    return prefix + name if name else ""


def _named(names: dict[str, str], wanted: Sequence[str]) -> str:
    return next((names[name] for name in wanted if name in names), "")


def _case(names: dict[str, str], rows: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    for wanted in _CASE:
        values = [row.get(names[wanted]) for row in rows] if wanted in names else []
        if values and all(type(value) in (int, str) and value != "" for value in values):
            return (names[wanted],)
    return ("$line",)


def _wide_arms(row: dict[str, Any]) -> list[str]:
    """Keys whose values are objects with the same keys: one per arm."""
    objects = {key: frozenset(value) for key, value in row.items() if isinstance(value, dict) and value}
    shapes = list(objects.values())
    same = [key for key, shape in objects.items() if shapes.count(shape) > 1]
    return same if len({objects[key] for key in same}) == 1 else []


def _scorers(rows: Sequence[dict[str, Any]], names: dict[str, str], prefix: str, text: bool) -> Iterator[ScorerMapping]:
    for lower, name in names.items():
        fits = lower in _SCORE or lower.endswith(("_score", "_correct", "_reward"))
        values = [row.get(name) for row in rows if row.get(name) not in (None, "")]
        if not fits or not values:
            continue
        kind, direction, transform = _kind_of(values, text)
        if kind is None:
            continue
        yield ScorerMapping(key=lower, kind=kind, direction=direction, value=prefix + name, transform=transform)


def _kind_of(values: list[Any], text: bool) -> tuple[Kind | None, Direction, str]:
    higher = Direction.HIGHER_IS_BETTER
    if all(isinstance(value, bool) for value in values):
        return Kind.BOOLEAN, higher, "none"
    if all(isinstance(value, int | float) for value in values):
        return (Kind.BOOLEAN if set(values) <= {0, 1} else Kind.NUMERIC), higher, "none"
    if not all(isinstance(value, str) for value in values):
        return None, higher, "none"
    words = {value.strip() for value in values}
    if words <= {"0", "1", "0.0", "1.0"}:
        return Kind.BOOLEAN, higher, "none" if text else "number"
    if words <= {*LETTERS, "N"}:
        return (Kind.NUMERIC if "P" in words else Kind.BOOLEAN), higher, "inspect"
    if {word.lower() for word in words} <= set(TRUTH):
        return Kind.BOOLEAN, higher, "truth"
    if all(_is_number(word) for word in words):
        return Kind.NUMERIC, higher, "none" if text else "number"
    return (Kind.CATEGORICAL, Direction.UNORDERED, "none") if len(words) <= 20 else (None, higher, "none")


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return word.isascii() and "_" not in word
