"""The input contract: a case is read whole, or all its problems are told at once, each with its path."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

Path = tuple[str | int, ...]

TEXT_FIELDS: Final = ("task_id", "harness", "model", "reward_status")
REQUIRED: Final = ("task_id", "harness", "model", "reward", "reward_status")
KNOWN: Final = frozenset((*REQUIRED, "trajectory_available", "score_scale", "repetition_count"))
SCALE_TEXTS: Final = ("range", "unit", "verifier")
DEEPEST: Final = 64  # levels of a declared scale; more is no scale, and comparing it could not end
WIDEST_NUMBER: Final = 10_000  # bits of a number in a declared scale; Python writes out some 14,000
LONGEST_SHOWN: Final = 60  # characters of a value in a message


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with the input. The empty path is the input as a whole."""

    path: Path
    message: str

    def __str__(self) -> str:
        return f"{path_text(self.path) or 'case'}: {self.message}"


class InvalidCase(ValueError):
    """The input is not a case; `problems` lists every reason, sorted by path. There is no verdict."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems: Final = tuple(sorted(problems, key=_place_in_order))
        super().__init__("\n".join(map(str, self.problems)))


@dataclass(frozen=True, slots=True)
class Record:
    """One run of one task, as far as the verdict looks at it. `scale` is None where none was declared."""

    task_id: str
    harness: str
    model: str
    reward: int | float
    reward_status: str
    trace_missing: bool
    scale: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class Case:
    case_id: str
    records: tuple[Record, ...]
    ignored_fields: tuple[str, ...]
    """Names of record fields that nobody reads, sorted."""


def read_case(value: Any) -> Case:
    """The case, or `InvalidCase` with all problems. The input is not changed."""
    problems: list[Problem] = []
    if not isinstance(value, Mapping):
        raise InvalidCase([Problem((), _expected("an object", value))])
    _check_text(value, "id", (), problems)
    records: list[Record] = []
    ignored: set[str] = set()
    given = value.get("records")
    if "records" not in value:
        problems.append(Problem(("records",), "is missing"))
    elif not isinstance(given, list | tuple):
        problems.append(Problem(("records",), _expected("a list", given)))
    elif not given:
        problems.append(Problem(("records",), "expected at least one record"))
    else:
        for index, entry in enumerate(given):
            found = len(problems)
            _check_record(entry, ("records", index), problems)
            if len(problems) == found:
                records.append(_record(entry))
                if not KNOWN.issuperset(entry):
                    ignored.update(plain_text(name) for name in entry if name not in KNOWN)
    if problems:
        raise InvalidCase(problems)
    return Case(plain_text(value["id"]), tuple(records), tuple(sorted(ignored)))


def path_text(path: Path) -> str:
    """`records[3].score_scale.unit`."""
    parts: list[str] = []
    for step in path:
        if isinstance(step, int):
            parts.append(f"[{step}]")
        else:
            parts.append(f".{step}" if parts else step)
    return "".join(parts)


def shown(value: Any) -> str:
    """A value for a message: as JSON in ASCII, cut short."""
    try:
        text = json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        return f"<{type(value).__name__}>"
    return text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + "..."


def _record(entry: Mapping[str, Any]) -> Record:
    scale = entry.get("score_scale")
    return Record(
        task_id=plain_text(entry["task_id"]),
        harness=plain_text(entry["harness"]),
        model=plain_text(entry["model"]),
        reward=entry["reward"],
        reward_status=plain_text(entry["reward_status"]),
        trace_missing=entry.get("trajectory_available") is False,
        scale=None if scale is None else _sorted(scale),
    )


def plain_text(text: str) -> str:
    """The exact text of a subclass of str, whose own spelling may differ."""
    return text if type(text) is str else str.__str__(text)


def _sorted(value: Mapping[str, Any]) -> dict[str, Any]:
    """An object with its keys in order at every level, and of plain types only."""
    return {plain_text(name): _plain_value(value[name]) for name in sorted(value)}


def _plain_value(value: Any) -> Any:
    if isinstance(value, str):
        return plain_text(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Mapping):
        return _sorted(value)
    if isinstance(value, list):
        return [_plain_value(entry) for entry in value]
    return int(value) if isinstance(value, int) else float(value)


def _check_record(entry: Any, path: Path, problems: list[Problem]) -> None:
    if not isinstance(entry, Mapping):
        problems.append(Problem(path, _expected("an object", entry)))
        return
    if not all(isinstance(name, str) for name in entry):
        problems.append(Problem(path, "expected texts as field names"))
        return
    for name in TEXT_FIELDS:
        _check_text(entry, name, path, problems)
    for name, check in _CHECKS.items():
        if name in entry:
            check(entry[name], (*path, name), problems)
        elif name in REQUIRED:
            problems.append(Problem((*path, name), "is missing"))


def _check_text(holder: Mapping[Any, Any], name: str, path: Path, problems: list[Problem]) -> None:
    path = (*path, name)
    if name not in holder:
        problems.append(Problem(path, "is missing"))
        return
    value = holder[name]
    if not isinstance(value, str):
        problems.append(Problem(path, _expected("a text", value)))
    elif not value:
        problems.append(Problem(path, "expected a text that is not empty"))
    elif _has_lone_surrogate(value):
        problems.append(Problem(path, "expected complete characters, got half of a surrogate pair"))


def _check_reward(value: Any, path: Path, problems: list[Problem]) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        problems.append(Problem(path, _expected("a number", value)))
    elif isinstance(value, float) and not math.isfinite(value):
        problems.append(Problem(path, f"expected a finite number, got {value}"))


def _check_trace(value: Any, path: Path, problems: list[Problem]) -> None:
    if not isinstance(value, bool):
        problems.append(Problem(path, _expected("true or false", value)))


def _check_count(value: Any, path: Path, problems: list[Problem]) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        problems.append(Problem(path, _expected("a whole number of at least 1", value)))
    elif value < 1:
        problems.append(Problem(path, f"expected a whole number of at least 1, got {shown(value)}"))


def _check_scale(value: Any, path: Path, problems: list[Problem]) -> None:
    if not isinstance(value, Mapping):
        problems.append(Problem(path, _expected("an object", value)))
        return
    for name in SCALE_TEXTS:
        if name in value and not isinstance(value[name], str):
            problems.append(Problem((*path, name), _expected("a text", value[name])))
    more = {name: inner for name, inner in value.items() if name not in SCALE_TEXTS}
    fault = next(_not_json(more), None)
    if fault is not None:
        problems.append(Problem(path, fault))


def _not_json(value: Any) -> Iterator[str]:
    """Why a value is not one of JSON. Two of JSON can always be compared, and the comparison ends."""
    level: list[Any] = [value]
    for _ in range(DEEPEST):
        inner: list[Any] = []
        for entry in level:
            if isinstance(entry, dict):
                if not all(isinstance(name, str) for name in entry):
                    yield "expected texts as field names"
                inner.extend(entry.values())
            elif isinstance(entry, list):
                inner.extend(entry)
            elif isinstance(entry, float) and not math.isfinite(entry):
                yield f"expected finite numbers, got {entry}"
            elif isinstance(entry, int) and entry.bit_length() > WIDEST_NUMBER:
                yield "expected numbers that can be written out"
            elif entry is not None and not isinstance(entry, str | int | float):
                yield f"expected values of JSON, got {shown(entry)}"
        if not inner:
            return
        level = inner
    yield f"expected at most {DEEPEST} levels"


_CHECKS: Final[dict[str, Callable[[Any, Path, list[Problem]], None]]] = {
    "reward": _check_reward,
    "trajectory_available": _check_trace,
    "score_scale": _check_scale,
    "repetition_count": _check_count,
}


def _expected(what: str, value: Any) -> str:
    return f"expected {what}, got {_kind(value)}"


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return f"a truth value ({shown(value)})"
    if isinstance(value, int | float):
        return f"a number ({shown(value)})"
    if isinstance(value, str):
        return f"a string ({shown(value)})"
    if isinstance(value, list | tuple):
        return f"a list ({shown(value)})"
    if isinstance(value, Mapping):
        return f"an object ({shown(value)})"
    return f"a value of type {type(value).__name__}"


def _has_lone_surrogate(text: str) -> bool:
    return not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text)


def _place_in_order(problem: Problem) -> tuple[tuple[int, int, str], ...]:
    """Positions in a list sort as numbers, names as texts."""
    return tuple((0, step, "") if isinstance(step, int) else (1, 0, step) for step in problem.path)
