"""What the fields of a generic file mean: a closed dataclass and its JSON form.

A path names a value of a row: a column name or key, a dotted path (`grade.score`, `choices[0].text`),
or a JSON pointer (`/a.b/0`). An exact key wins over a dotted reading. `{arm}` inside a path stands
for the name of the arm. Names with a dollar sign are the row's surroundings:

    $file   the file's name without folders and endings     $line      its line or position, from 1
    $folder the name of the folder that the file lies in    $position  its place in the innermost list, from 1
    $case, $arm, $repetition, $key   the keys on the way to the row, by the mapping's `levels`
    $content   the digest of the captured content         $value  the row itself, where it is no object
"""

from __future__ import annotations

import dataclasses
import hashlib
import types
import typing
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, Final

from analysis import strict_json
from analysis.observations import Direction, Kind
from analysis.refusals import Refused
from intake.readers.values import LARGEST_SCORE

BUILTIN: Final = Path(__file__).parent / "builtin"

FORMATS: Final = ("auto", "csv", "tsv", "jsonl", "json")
LEVELS: Final = ("row", "case", "arm", "repetition", "key", "attempts")
BLANKS: Final = ("not_scored", "abstained", "not_applicable", "grader_error", "refuse")
TRANSFORMS: Final = ("none", "number", "truth", "inspect")
WORDS: Final = ("abstained", "not_scored", "not_applicable", "grader_error")
STATUSES: Final = (
    "completed",
    "blocked",
    "cancelled",
    "indeterminate",
    "provider_error",
    "timed_out",
    "limit_exceeded",
    "hung",
    "harness_error",
    "catastrophic",
    "infrastructure_failure",
    "invalid_output",
    "rights_lost",
    "interrupted",
)
COST_UNITS: Final = ("units", "cents", "micros")
TIME_UNITS: Final = ("ms", "s", "min")


@dataclass(frozen=True, slots=True)
class Amount:
    """A cost or a duration: where it stands, in which unit, and whether 0 means that nothing was recorded."""

    path: str
    unit: str
    zero_is_unknown: bool = False
    currency: str = "USD"


@dataclass(frozen=True, slots=True)
class ScorerMapping:
    """One measurement: a value column, or the equality of two columns.

    `transform`: `none` takes JSON numbers and truth values as they are (CSV text is read as a number
    for numeric and as a truth value for boolean metrics); `number` also reads texts such as "7";
    `truth` reads true/false, yes/no, pass/fail, correct/incorrect; `inspect` reads C, I, P and N.
    `values` says what single texts mean, before the transform: a number or an outcome word.
    """

    key: str
    kind: Kind
    direction: Direction
    value: str = ""
    equal: tuple[str, ...] = ()
    """Answer and reference; blank means that the answer (the first) is blank."""
    name: str = ""
    low: float | None = None
    high: float | None = None
    unit: str = ""
    transform: str = "none"
    values: dict[str, float | str] = field(default_factory=dict)
    blank: str = "not_scored"
    error: str = ""
    """A path: where it is not blank, the grader failed."""
    reasoning: str = ""
    categories: tuple[str, ...] = ()
    grader: dict[str, str] = field(default_factory=dict)
    """What is known of the grader; part of its identity."""


@dataclass(frozen=True, slots=True)
class Mapping:
    """How the rows of a generic file become executions. See the module's text for paths."""

    case: tuple[str, ...]
    """Paths of the case id; one keeps its type, several are joined with `/`."""
    arm: str
    """A path; or a constant name after `=`; or `{arm}` where `arms` lists columns or keys."""
    scorers: tuple[ScorerMapping, ...] = ()
    name: str = ""
    format: str = "auto"
    rows: str = ""
    """JSON only: path to what holds the rows."""
    levels: tuple[str, ...] = ("row",)
    """JSON only: what each level from `rows` downwards is. `row` is a list whose order means nothing,
    `attempts` a list inside one case whose position is the repetition; the others are keys."""
    attempts: str = ""
    """Path to the list of a row's own attempts: each becomes an execution, whose paths are looked up in
    the attempt first and then in the row."""
    arms: tuple[str, ...] = ()
    """Wide files: the arms that every row holds."""
    repetition: str = ""
    """A path, or empty: every row is repetition 1."""
    content: dict[str, str] = field(default_factory=dict)
    """The captured question by name (input, expected …); its digest is the case's revision."""
    content_optional: bool = False
    """Whether a blank content means that it was not captured, instead of a fault."""
    answer: str = ""
    structured: str = ""
    title: str = ""
    group: str = ""
    """A path to what the case shares with others, such as the document it is about."""
    language: str = ""
    tags: tuple[str, ...] = ()
    metadata: dict[str, str] = field(default_factory=dict)
    error: tuple[str, ...] = ()
    """Where one of these is not blank, the generation failed; its text is the error."""
    error_kind: str = "harness_error"
    status: str = ""
    statuses: dict[str, str] = field(default_factory=dict)
    """What the texts at `status` mean: completed or how the generation ended."""
    finish_reason: str = ""
    cost: Amount | None = None
    latency: Amount | None = None
    input_tokens: str = ""
    output_tokens: str = ""
    trace: str = ""
    subject: dict[str, str] = field(default_factory=dict)
    """The subject's definition: paths, or constants after `=`; read from the arm's first row."""
    dataset: str = ""

    def digest(self) -> str:
        """Identity of the mapping, without its name."""
        return hashlib.sha256(strict_json.canonical(to_json(dataclasses.replace(self, name="")))).hexdigest()


# --- the JSON form


def to_json(mapping: Mapping) -> dict[str, Any]:
    """The mapping as JSON values, without what is as it would be anyway."""
    shown: dict[str, Any] = _out(mapping)
    return shown


def from_json(value: Any) -> Mapping:
    """A mapping from parsed JSON, or `Refused` with the place of the first fault."""
    mapping: Mapping = _in(Mapping, value, "")
    _check(mapping)
    return mapping


def loads(data: bytes | str) -> Mapping:
    """A mapping from its JSON text."""
    return from_json(strict_json.loads(data))


def builtin(name: str) -> Mapping:
    """A mapping that is shipped with Evenhand, by its name."""
    names = builtin_names()
    if name not in names:
        raise Refused(
            "import_mapping_invalid", f"There is no built-in mapping of that name. There are {_listed(names)}."
        )
    return loads((BUILTIN / f"{name}.json").read_bytes())


def builtin_names() -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in BUILTIN.glob("*.json")))


def _out(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        shown = {}
        for entry in dataclasses.fields(value):
            inner = getattr(value, entry.name)
            default = entry.default_factory() if callable(entry.default_factory) else entry.default
            if inner != default:
                shown[entry.name] = _out(inner)
        return shown
    if isinstance(value, tuple):
        return [_out(entry) for entry in value]
    if isinstance(value, dict):
        return {key: _out(entry) for key, entry in value.items()}
    return value


def _in(kind: Any, value: Any, place: str) -> Any:
    if dataclasses.is_dataclass(kind):
        return _in_record(typing.cast("type[Any]", kind), value, place)
    if isinstance(kind, types.UnionType):
        if value is None and type(None) in kind.__args__:
            return None
        choices = [entry for entry in kind.__args__ if entry is not type(None)]
        if len(choices) == 1:
            return _in(choices[0], value, place)
        if isinstance(value, str):
            return value
        return _in(float, value, place)
    origin = typing.get_origin(kind)
    if origin is tuple:
        if not isinstance(value, list):
            raise _wrong(place, "a list")
        inner = typing.get_args(kind)[0]
        return tuple(_in(inner, entry, f"{place}[{index}]") for index, entry in enumerate(value))
    if origin is dict:
        if not isinstance(value, dict):
            raise _wrong(place, "an object")
        inner = typing.get_args(kind)[1]
        return {key: _in(inner, entry, _joined(place, key)) for key, entry in value.items()}
    if isinstance(kind, type) and issubclass(kind, Enum):
        if not isinstance(value, str) or value not in {entry.value for entry in kind}:
            raise _wrong(place, _listed([entry.value for entry in kind]))
        return kind(value)
    if kind is float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise _wrong(place, "a number")
        return float(value)
    names = {str: "a text", bool: "true or false"}
    if type(value) is not kind:
        raise _wrong(place, names.get(kind, kind.__name__))
    return value


def _in_record(kind: type[Any], value: Any, place: str) -> Any:
    if not isinstance(value, dict):
        raise _wrong(place, "an object")
    hints = typing.get_type_hints(kind)
    known = {entry.name: entry for entry in dataclasses.fields(kind)}
    for key in value:
        if key not in known:
            raise Refused(
                "import_mapping_invalid",
                f"This key is not known here. Known are {_listed(known)}.",
                _joined(place, key),
            )
    for key, entry in known.items():
        if entry.default is dataclasses.MISSING and entry.default_factory is dataclasses.MISSING and key not in value:
            raise Refused("import_mapping_invalid", "This key is required.", _joined(place, key))
    return kind(**{key: _in(hints[key], entry, _joined(place, key)) for key, entry in value.items()})


def _check(mapping: Mapping) -> None:
    """What the types alone do not say."""
    _one_of("format", mapping.format, FORMATS)
    for index, level in enumerate(mapping.levels):
        _one_of(f"levels[{index}]", level, LEVELS)
    if not mapping.case or not all(mapping.case):
        raise _wrong("case", "at least one path")
    if not mapping.arm:
        raise _wrong("arm", "a path, or a name after =")
    if (mapping.arm == "{arm}") != bool(mapping.arms):
        raise Refused(
            "import_mapping_invalid", "The arm is {arm} exactly where `arms` lists the arms of a wide file.", "arms"
        )
    if len(set(mapping.arms)) != len(mapping.arms):
        raise Refused("import_mapping_invalid", "Each arm may stand once.", "arms")
    _one_of("error_kind", mapping.error_kind, STATUSES[4:])
    for text, status in mapping.statuses.items():
        _one_of(_joined("statuses", text), status, STATUSES)
    if bool(mapping.status) != bool(mapping.statuses):
        raise Refused("import_mapping_invalid", "`status` and `statuses` stand together or not at all.", "statuses")
    if mapping.cost is not None:
        _one_of("cost.unit", mapping.cost.unit, COST_UNITS)
        currency = mapping.cost.currency
        if not (len(currency) == 3 and currency.isascii() and currency.isupper()):
            raise _wrong("cost.currency", "a code of three capital letters")
    if mapping.latency is not None:
        _one_of("latency.unit", mapping.latency.unit, TIME_UNITS)
    seen: set[str] = set()
    for index, scorer in enumerate(mapping.scorers):
        _check_scorer(f"scorers[{index}]", scorer)
        if scorer.key in seen:
            raise Refused("import_mapping_invalid", "Each scorer key may stand once.", f"scorers[{index}].key")
        seen.add(scorer.key)


def _check_scorer(place: str, scorer: ScorerMapping) -> None:
    if not scorer.key:
        raise _wrong(f"{place}.key", "a name")
    if bool(scorer.value) == bool(scorer.equal):
        raise Refused("import_mapping_invalid", "A scorer has either a `value` or two `equal` paths.", place)
    if scorer.equal and len(scorer.equal) != 2:
        raise _wrong(f"{place}.equal", "two paths")
    if scorer.equal and scorer.kind is not Kind.BOOLEAN:
        raise Refused("import_mapping_invalid", "Equality is a boolean metric.", f"{place}.kind")
    _one_of(f"{place}.transform", scorer.transform, TRANSFORMS)
    _one_of(f"{place}.blank", scorer.blank, BLANKS)
    for text, meaning in scorer.values.items():
        if isinstance(meaning, str) and scorer.kind is not Kind.CATEGORICAL:
            _one_of(_joined(f"{place}.values", text), meaning, WORDS)
    for name, bound in (("low", scorer.low), ("high", scorer.high)):
        if bound is not None and abs(bound) > LARGEST_SCORE:
            raise Refused("import_mapping_invalid", f"`{name}` lies between -10^15 and 10^15.", f"{place}.{name}")
    if scorer.low is not None and scorer.high is not None and not scorer.low < scorer.high:
        raise Refused("import_mapping_invalid", "`low` must be less than `high`.", f"{place}.low")


def _one_of(place: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise _wrong(place, _listed(allowed))


def _wrong(place: str, wanted: str) -> Refused:
    return Refused("import_mapping_invalid", f"Allowed here: {wanted}.", place)


def _joined(place: str, key: str) -> str:
    shown = strict_json.visible(key, 60)
    return f"{place}.{shown}" if place else shown


def _listed(names: Any) -> str:
    return ", ".join(str(name) for name in names)
