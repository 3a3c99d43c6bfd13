"""Assertions: checks that a program decides without a model, at no cost. No I/O, nothing here can hang.

A configuration is one JSON object:

    {"match": "all",
     "checks": [{"operator": "contains", "at": null, "source": "case", "pointer": "/expected",
                 "ignore_case": true, "space": "fold", "negate": false}]}

A check is true or false of what stands at a place: the answer's text (`at` null), or a JSON pointer into the
answer as a JSON value. Where nothing stands there, or the answer is no JSON, it is false, and so its negation
is true. What it is compared with is written into the configuration (`value`), or stands in the case (`pointer`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from grading import patterns, pointers, schemas
from grading.judging import (
    ABSENT,
    Evidence,
    Judged,
    expects_nothing,
    grader_error,
    not_applicable,
    scored,
    structured_of,
    text_of,
)
from teams.given import json_object
from teams.refusals import Refusal

OPERATORS: Final = {
    "equals": ("equals", "does not equal"),
    "contains": ("contains", "does not contain"),
    "regex": ("matches, as a pattern,", "does not match, as a pattern,"),
    "json_schema": ("fits, as a JSON schema,", "does not fit, as a JSON schema,"),
    "numeric": ("is, as a number,", "is not, as a number,"),
}
"""What a check says of an answer, and what its negation says."""
MATCHES: Final = {"all": "all of them are true", "any": "at least one is true"}
SOURCES: Final = {"case": "What the case expects", "literal": "What is written here"}
SPACES: Final = {"keep": "counts", "strip": "does not count at both ends", "fold": "counts as one space"}
SCALES: Final = {"absolute": "in the number's unit", "relative": "as a share of what is expected"}
EXPECTED: Final = "/expected"
MOST_CHECKS: Final = 20
LARGEST: Final = 256 * 1024
LONGEST_TEXT: Final = 20_000
LARGEST_TOLERANCE: Final = 1e15


def checked(config: Any) -> dict[str, Any]:
    """The configuration with every field in its place, or a refusal that names the place of the fault."""
    json_object(config, "config", LARGEST)
    _fields(config, "config", "match", "checks")
    match = _one_of(config.get("match", "all"), MATCHES, "config.match")
    given = config.get("checks")
    if not isinstance(given, list) or not 1 <= len(given) <= MOST_CHECKS:
        raise Refusal("invalid_field", f"1 to {MOST_CHECKS} checks.", place="config.checks")
    return {"match": match, "checks": [_check(one, f"config.checks[{at}]") for at, one in enumerate(given)]}


def judge(config: Mapping[str, Any], evidence: Evidence) -> Judged:
    """1 where the checks are met, 0 where they are not. A check that cannot be decided makes no number of anything."""
    if evidence.answer is None and evidence.structured is None:
        return grader_error("The answer cannot be read.")
    told, met = [], []
    for number, check in enumerate(config["checks"], start=1):
        one = _judge(check, evidence)
        name = f"Check {number}: " if len(config["checks"]) > 1 else ""
        if not one.scored:
            return Judged(one.outcome, reason=f"{name}{one.reason}")
        met.append(bool(one.value))
        told.append(f"{name}{one.reason}")
    value = all(met) if config["match"] == "all" else any(met)
    return scored(1.0 if value else 0.0, "\n".join(told))


# --- reading a configuration -----------------------------------------------------------------------


def _check(given: Any, place: str) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise Refusal("invalid_field", "An object is needed.", place=place)
    operator = _one_of(given.get("operator"), OPERATORS, f"{place}.operator")
    own = OWN[operator]
    _fields(given, place, "operator", "at", "source", "value", "pointer", "negate", *own)
    at = given.get("at")
    found: dict[str, Any] = {
        "operator": operator,
        "at": None if at is None else pointers.checked(at, f"{place}.at"),
        "source": _one_of(given.get("source", "literal" if "value" in given else "case"), SOURCES, f"{place}.source"),
        "negate": _flag(given.get("negate", False), f"{place}.negate"),
    }
    if operator == "json_schema" and found["at"] is None:
        found["at"] = ""
    if found["source"] == "case":
        found["pointer"] = pointers.checked(given.get("pointer", EXPECTED), f"{place}.pointer")
        if given.get("value") is not None:
            raise Refusal("invalid_field", "Compare with the case or with a value, not both.", place=f"{place}.value")
    else:
        found["value"] = _value(operator, given.get("value"), f"{place}.value")
        if given.get("pointer") is not None:
            raise Refusal("invalid_field", "Compare with the case or with a value, not both.", place=f"{place}.pointer")
    if "ignore_case" in own:
        found["ignore_case"] = _flag(given.get("ignore_case", False), f"{place}.ignore_case")
        found["space"] = _one_of(given.get("space", "keep"), SPACES, f"{place}.space")
    if "tolerance" in own:
        found["tolerance"] = _tolerance(given.get("tolerance", 0), f"{place}.tolerance")
        found["scale"] = _one_of(given.get("scale", "absolute"), SCALES, f"{place}.scale")
    return found


TEXTUAL: Final = ("ignore_case", "space")
OWN: Final[dict[str, tuple[str, ...]]] = {
    "equals": TEXTUAL,
    "contains": TEXTUAL,
    "regex": TEXTUAL,
    "json_schema": (),
    "numeric": ("tolerance", "scale"),
}
"""Fields beside those that every check has."""


def _value(operator: str, value: Any, place: str) -> Any:
    """What is compared with, as the operator needs it."""
    if operator == "json_schema":
        return schemas.checked(value, place)
    if operator == "regex":
        problem = patterns.fault(value) if isinstance(value, str) else "A pattern is a text."
        if problem:
            raise Refusal("invalid_field", problem, place=place)
        return value
    if operator == "numeric":
        if _decimal(value) is None or isinstance(value, str):
            raise Refusal("invalid_field", "A number is needed.", place=place)
        return value
    if operator == "contains" and expects_nothing(value):
        raise Refusal("invalid_field", "Every text contains nothing; say what is looked for.", place=place)
    if isinstance(value, str) and len(value) > LONGEST_TEXT:
        raise Refusal("invalid_field", f"A text of at most {LONGEST_TEXT:,} characters.", place=place)
    return value


def _tolerance(value: Any, place: str) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= LARGEST_TOLERANCE:
        raise Refusal("invalid_field", "A tolerance is a number of zero or more.", place=place)
    return value


def _flag(value: Any, place: str) -> bool:
    if not isinstance(value, bool):
        raise Refusal("invalid_field", "true or false.", place=place)
    return value


def _one_of(value: Any, allowed: Mapping[str, Any], place: str) -> str:
    if not isinstance(value, str) or value not in allowed:
        name = place.rpartition(".")[2]
        raise Refusal("invalid_field", f"{name} is one of {', '.join(allowed)}.", place=place)
    return value


def _fields(given: Mapping[str, Any], place: str, *names: str) -> None:
    unknown = sorted(set(given) - set(names))
    if unknown:
        raise Refusal("unknown_field", f"The fields are {', '.join(names)}.", place=f"{place}.{unknown[0]}"[:200])


# --- judging ---------------------------------------------------------------------------------------


class _Undecided(Exception):
    """What a check is compared with cannot be used."""


def _judge(check: Mapping[str, Any], evidence: Evidence) -> Judged:
    wanted = check.get("value")
    if check["source"] == "case":
        wanted = pointers.pointed(evidence.body, check["pointer"])
        if expects_nothing(wanted):
            return not_applicable(f"The case says nothing at {check['pointer'] or 'its whole'}.")
    found = _found(check, evidence)
    try:
        met = found is not ABSENT and DECIDE[check["operator"]](check, found, wanted)
    except (_Undecided, patterns.PatternError, schemas.SchemaFault) as fault:
        return grader_error(str(fault))
    except RecursionError:
        return grader_error("The values are too deep to be compared.")
    value = met is not check["negate"]
    return scored(1.0 if value else 0.0, f"{'Met' if value else 'Not met'}: {sentence(check, found is ABSENT)}.")


def sentence(check: Mapping[str, Any], absent: bool = False) -> str:
    """What a check looks for, in words; `absent` where nothing stands in its place."""
    where = "the answer"
    if check["at"] is not None:
        where = f"the answer at {check['at']}" if check["at"] else "the answer as JSON"
    if absent:
        return f"{where} is not there"
    compared = "what is written in the check"
    if check["source"] == "case":
        at = check["pointer"]
        compared = "what the case expects" if at == EXPECTED else f"what the case says at {at or 'its whole'}"
    return f"{where} {OPERATORS[check['operator']][check['negate']]} {compared}"


def _found(check: Mapping[str, Any], evidence: Evidence) -> Any:
    """What stands where the check looks."""
    if check["at"] is None:
        return text_of(evidence.structured) if evidence.answer is None else evidence.answer
    whole = structured_of(evidence)
    return whole if whole is ABSENT else pointers.pointed(whole, check["at"])


def _equals(check: Mapping[str, Any], found: Any, wanted: Any) -> bool:
    if check["at"] is None or (isinstance(found, str) and isinstance(wanted, str)):
        return any(_tidy(found, check) == _tidy(one, check) for one in _texts(wanted))
    return bool(_plain(found, check) == _plain(wanted, check))


def _contains(check: Mapping[str, Any], found: Any, wanted: Any) -> bool:
    if isinstance(found, str):
        return any(_tidy(one, check) in _tidy(found, check) for one in _texts(wanted))
    if isinstance(found, list):
        return any(_plain(one, check) == _plain(wanted, check) for one in found)
    return isinstance(found, Mapping) and isinstance(wanted, str) and wanted in found


def _regex(check: Mapping[str, Any], found: Any, wanted: Any) -> bool:
    if not isinstance(wanted, str):
        raise _Undecided("The case holds no pattern there.")
    text = _space(text_of(found), check["space"])
    return patterns.found(wanted, text, ignore_case=check["ignore_case"])


def _schema(check: Mapping[str, Any], found: Any, wanted: Any) -> bool:
    return not schemas.fits(wanted, found)


def _numeric(check: Mapping[str, Any], found: Any, wanted: Any) -> bool:
    """In decimal figures as they are written, so that 1.1 lies within 0.1 of 1."""
    expected = _decimal(wanted)
    if expected is None:
        raise _Undecided("The case holds no number there.")
    number = _decimal(found)
    if number is None:
        return False
    tolerance = _decimal(check["tolerance"]) or Decimal(0)
    allowed = tolerance * abs(expected) if check["scale"] == "relative" else tolerance
    return abs(number - expected) <= allowed


DECIDE: Final = {
    "equals": _equals,
    "contains": _contains,
    "regex": _regex,
    "json_schema": _schema,
    "numeric": _numeric,
}

NUMBER: Final = re.compile(r"[+-]?([0-9]{1,40}(\.[0-9]{0,40})?|\.[0-9]{1,40})([eE][+-]?[0-9]{1,3})?", re.ASCII)


def _decimal(value: Any) -> Decimal | None:
    """A JSON number, or a text that is nothing but one, as it is written."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    text = value.strip() if isinstance(value, str) else repr(value) if isinstance(value, float) else _digits(value)
    return Decimal(text) if NUMBER.fullmatch(text) else None


def _digits(value: int) -> str:
    """A whole number's figures; beyond what any answer holds, none."""
    return str(value) if value.bit_length() < 200 else ""


def _texts(wanted: Any) -> list[str]:
    """What is looked for, as texts: any of a list of texts will do."""
    if isinstance(wanted, list) and wanted and all(isinstance(one, str) and one for one in wanted):
        return wanted
    return [text_of(wanted)]


def _tidy(text: str, check: Mapping[str, Any]) -> str:
    kept = _space(text, check["space"])
    return kept.casefold() if check["ignore_case"] else kept


def _space(text: str, how: str) -> str:
    if how == "fold":
        return " ".join(text.split())
    return text.strip() if how == "strip" else text


def _plain(value: Any, check: Mapping[str, Any]) -> Any:
    """A JSON value so that equal ones are equal: numbers of one spelling, true apart from 1, texts tidied."""
    if isinstance(value, bool):
        return ("truth", value)
    if isinstance(value, str):
        return _tidy(value, check)
    if isinstance(value, Mapping):
        return {name: _plain(inner, check) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner, check) for inner in value]
    return value
