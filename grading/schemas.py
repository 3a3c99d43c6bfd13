"""JSON Schemas that people write, held against answers that models write: bounded in work and in time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from typing import Any, Final

from jsonschema import Draft202012Validator, SchemaError, ValidationError
from jsonschema import validators as jsonschema_validators
from referencing import Registry
from referencing.exceptions import Unresolvable

from analysis.strict_json import canonical
from grading.patterns import PatternError, fault, found
from teams.given import json_object
from teams.refusals import Refusal

LARGEST: Final = 100_000
SECONDS: Final = 1.0
"""For one answer. References can make a small schema do an endless amount of work."""

ALONE: Final = ["$id", "$schema", "$recursiveRef", "$recursiveAnchor", "$dynamicRef", "$dynamicAnchor", "$vocabulary"]
"""Keywords that reach beyond what stands in the schema, or mean another dialect."""
UNBOUNDED: Final = ("patternProperties", "unevaluatedItems", "unevaluatedProperties")
"""Keywords whose work no bound of ours reaches."""
REFERENCE: Final = "#/$defs/"
DATA: Final = ("default", "const", "enum", "examples")
NAMED: Final = ("properties", "$defs", "dependentSchemas")
"""Keywords whose values are schemas under names that people choose."""


class SchemaFault(Exception):
    """The schema cannot be used, or takes too long. It says nothing about the answer."""


def checked(given: Any, place: str) -> dict[str, Any]:
    """The schema, or a refusal: JSON Schema 2020-12 that stands alone."""
    json_object(given, place, LARGEST)
    problem = _problem(given)
    if problem:
        raise Refusal("invalid_field", problem, place=place)
    return dict(given)


def fits(schema: Any, value: Any) -> str:
    """What is wrong with the value, in words, or nothing; `SchemaFault` where that cannot be told."""
    if not isinstance(schema, Mapping) or (problem := _problem(schema)):
        raise SchemaFault(problem if isinstance(schema, Mapping) else "A schema is an object.")
    until = _until.set(time.monotonic() + SECONDS)
    try:
        error = next(iter(_Bounded(schema, registry=Registry()).iter_errors(value)), None)
    except Unresolvable:
        raise SchemaFault("The schema refers to what does not stand in it.") from None
    except RecursionError:
        raise SchemaFault("The schema goes round in circles.") from None
    except PatternError as found_fault:
        raise SchemaFault(str(found_fault)) from None
    finally:
        _until.reset(until)
    if error is None:
        return ""
    where = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.absolute_path)
    return f"{where.lstrip('.') or 'The answer'}: {error.validator} is not met."[:500]


def _problem(schema: Mapping[str, Any]) -> str:
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError:
        return "This is no valid JSON schema."
    except RecursionError:
        return "The schema is too deep."
    for part in _schemas(schema):
        for name in (*ALONE, *UNBOUNDED):
            if name in part:
                return f"A schema stands alone, and without {name}."
        reference, pattern = part.get("$ref", "#"), part.get("pattern")
        if reference != "#" and (not isinstance(reference, str) or not _is_there(schema, reference)):
            return "A schema refers to itself, or to what stands in it: #/$defs/name."
        if isinstance(pattern, str) and (problem := fault(pattern)):
            return problem
    return ""


def _is_there(schema: Mapping[str, Any], reference: str) -> bool:
    return reference.startswith(REFERENCE) and reference.removeprefix(REFERENCE) in schema.get("$defs", {})


def _schemas(value: Any) -> Iterator[Mapping[str, Any]]:
    """The schema and every one inside it, but neither the data nor the names that it holds."""
    if isinstance(value, Mapping):
        yield value
        for name, inner in value.items():
            if name in NAMED and isinstance(inner, Mapping):
                for one in inner.values():
                    yield from _schemas(one)
            elif name not in DATA:
                yield from _schemas(inner)
    elif isinstance(value, list):
        for one in value:
            yield from _schemas(one)


# --- keywords, each with an eye on the clock ---------------------------------------------------------

_until: ContextVar[float] = ContextVar("until")
Keyword = Callable[[Any, Any, Any, Any], Any]


def _watched(keyword: Keyword) -> Keyword:
    def watched(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
        if time.monotonic() > _until.get():
            raise SchemaFault("The schema takes too long on this answer.")
        yield from keyword(validator, value, instance, schema) or ()

    return watched


def _pattern(validator: Any, pattern: str, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if isinstance(instance, str) and not found(pattern, instance):
        yield ValidationError("pattern")


def _unique(validator: Any, wanted: bool, instance: Any, schema: Any) -> Iterator[ValidationError]:
    """In one pass; the library's own compares each with each where they cannot be sorted."""
    if wanted and isinstance(instance, list) and len({canonical(plain(one)) for one in instance}) < len(instance):
        yield ValidationError("uniqueItems")


def plain(value: Any) -> Any:
    """A JSON value with whole numbers spelt in one way, so that 1 and 1.0 are equal, as they are in JSON."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {name: plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return value


_Bounded: Final[Any] = jsonschema_validators.extend(  # type: ignore[no-untyped-call,unused-ignore]
    Draft202012Validator,
    {
        name: _watched(keyword)
        for name, keyword in {**Draft202012Validator.VALIDATORS, "pattern": _pattern, "uniqueItems": _unique}.items()
    },
)
