"""What an agent is told and given, checked whole: instructions, model, tools, connectors, context, settings. No I/O.

A definition is one JSON object:

    {"instructions": "...", "route": "support-large",
     "tools": [{"name": "find_order", "description": "...", "parameters": {JSON schema}, "connector": "<id>"}],
     "connectors": [{"connector": "<id>", "mode": "read"}],
     "context": [{"name": "refund policy", "text": "..."}],
     "settings": {"temperature": 0.2, ...}}

A snapshot's definition holds, instead of the name of a route, what the route's active revision said. A tool without
a connector is offered to models and never run; the key is left out then.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final
from urllib.parse import unquote

from jsonschema import Draft202012Validator, SchemaError

from analysis.strict_json import canonical
from teams.given import json_object, storable
from teams.given import name as given_name
from teams.refusals import Refusal

PARTS: Final = ("instructions", "route", "tools", "connectors", "context", "settings")
MODES: Final = {"off": "Off", "read": "Reads", "read_write": "Reads and writes"}
LARGEST: Final = 2 * 1024 * 1024
LONGEST_INSTRUCTIONS: Final = 100_000
LONGEST_TEXT: Final = 100_000
LONGEST_NAME: Final = 120
LONGEST_DESCRIPTION: Final = 2_000
MOST_TOOLS: Final = 64
MOST_CONTEXT: Final = 50
MOST_CONNECTORS: Final = 50
TOOL_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")

EMPTY: Final[dict[str, Any]] = {
    "instructions": "",
    "route": "",
    "tools": [],
    "connectors": [],
    "context": [],
    "settings": {},
}


def checked(given: Any, *, whole: bool = True) -> dict[str, Any]:
    """The definition with every part in its place, or a refusal that names the place of the fault.

    Of a part alone (`whole=False`), such as a toolset, what it refers to stands elsewhere.
    """
    json_object(given, "definition", LARGEST)
    unknown = sorted(set(given) - set(PARTS))
    if unknown:
        raise Refusal("unknown_field", f"The parts are {', '.join(PARTS)}.", place=unknown[0][:60])
    found = {
        "instructions": _text(given.get("instructions", ""), "instructions", LONGEST_INSTRUCTIONS),
        "route": _text(given.get("route", ""), "route", 80),
        "tools": _each(given.get("tools", []), "tools", MOST_TOOLS, _tool, "name"),
        "connectors": _each(given.get("connectors", []), "connectors", MOST_CONNECTORS, _connector, "connector"),
        "context": _each(given.get("context", []), "context", MOST_CONTEXT, _context, "name"),
        "settings": _settings(given.get("settings", {})),
    }
    if whole:
        _connected(found)
    return found


def _connected(body: Mapping[str, Any]) -> None:
    named = {one["connector"] for one in body["connectors"]}
    for at, tool in enumerate(body["tools"]):
        if tool.get("connector", "") not in {"", *named}:
            raise Refusal("invalid_field", "Name one of the definition's connectors.", place=f"tools[{at}].connector")


def _text(value: Any, place: str, longest: int) -> str:
    if not isinstance(value, str) or len(value) > longest or not storable(value):
        raise Refusal("invalid_field", f"A text of at most {longest:,} characters, without NUL.", place=place)
    return value


def _each(
    given: Any, place: str, most: int, read: Callable[[Mapping[str, Any], str], dict[str, Any]], key: str
) -> list[dict[str, Any]]:
    """A list of objects, each name once."""
    if not isinstance(given, list) or len(given) > most:
        raise Refusal("invalid_field", f"A list of at most {most}.", place=place)
    found: list[dict[str, Any]] = []
    for at, one in enumerate(given):
        where = f"{place}[{at}]"
        if not isinstance(one, Mapping):
            raise Refusal("invalid_field", "An object is needed.", place=where)
        entry = read(one, where)
        if any(entry[key] == other[key] for other in found):
            raise Refusal("invalid_field", "Each name stands once in the list.", place=f"{where}.{key}")
        found.append(entry)
    return found


def _fields(given: Mapping[str, Any], place: str, *names: str) -> None:
    unknown = sorted(set(given) - set(names))
    if unknown:
        raise Refusal("unknown_field", f"The fields are {', '.join(names)}.", place=f"{place}.{unknown[0]}"[:200])


def _tool(given: Mapping[str, Any], place: str) -> dict[str, Any]:
    _fields(given, place, "name", "description", "parameters", "connector")
    name = given.get("name")
    if not isinstance(name, str) or not TOOL_NAME.fullmatch(name):
        raise Refusal(
            "invalid_field",
            "A tool's name: letters, digits, _ and -, at most 64, no digit first.",
            place=f"{place}.name",
        )
    parameters = given.get("parameters", {"type": "object", "properties": {}})
    schema_of_object(parameters, f"{place}.parameters")
    description = _text(given.get("description", ""), f"{place}.description", LONGEST_DESCRIPTION)
    found = {"name": name, "description": description, "parameters": parameters}
    if connector := _text(given.get("connector") or "", f"{place}.connector", 36):
        found["connector"] = connector
    return found


def schema_of_object(given: Any, place: str) -> None:
    """Refuse what is no JSON Schema (2020-12) of an object, or points outside itself."""
    if not isinstance(given, Mapping) or given.get("type") != "object":
        raise Refusal("invalid_field", 'A JSON schema of an object: {"type": "object", …}.', place=place)
    try:
        Draft202012Validator.check_schema(given)
    except SchemaError as error:
        where = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.absolute_path)
        raise Refusal("invalid_field", "This is no valid JSON schema.", place=f"{place}{where}"[:200]) from None
    _refers_to_itself(given, place)


FOREIGN: Final = ("$id", "$recursiveRef", "$recursiveAnchor", "$dynamicRef", "$dynamicAnchor", "$vocabulary")
"""Keywords that make a schema reach beyond what stands in it, or mean another dialect."""
DATA: Final = ("default", "const", "enum", "examples")
"""Keywords whose values are data: what looks like a reference there is none."""
DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


def _refers_to_itself(schema: Mapping[str, Any], place: str) -> None:
    """Refuse references to elsewhere or to nothing, and other dialects."""
    for found in _schemas(schema):
        if any(name in found for name in FOREIGN) or found.get("$schema", DIALECT).rstrip("#") != DIALECT:
            raise Refusal("invalid_field", "A schema stands alone, in the dialect of 2020-12.", place=place)
        reference = found.get("$ref")
        if isinstance(reference, str) and not _is_there(schema, reference):
            raise Refusal("invalid_field", "A schema refers to what stands in it: #/$defs/name.", place=place)


def _schemas(value: Any) -> Iterator[Mapping[str, Any]]:
    """The schema and everything inside it, but the data that it holds."""
    if isinstance(value, Mapping):
        yield value
        for name, inner in value.items():
            if name not in DATA:
                yield from _schemas(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _schemas(inner)


def _is_there(schema: Any, reference: str) -> bool:
    """Whether a reference names something inside the schema, by a pointer."""
    if reference != "#" and not reference.startswith("#/"):
        return False
    found = schema
    for step in reference[1:].split("/")[1:]:
        name = unquote(step).replace("~1", "/").replace("~0", "~")
        if isinstance(found, list) and name.isdecimal() and int(name) < len(found):
            found = found[int(name)]
        elif isinstance(found, Mapping) and name in found:
            found = found[name]
        else:
            return False
    return isinstance(found, Mapping | bool)


def _connector(given: Mapping[str, Any], place: str) -> dict[str, Any]:
    _fields(given, place, "connector", "mode")
    mode = given.get("mode")
    if not isinstance(mode, str) or mode not in MODES:
        raise Refusal("invalid_field", f"mode is one of {', '.join(MODES)}.", place=f"{place}.mode")
    return {"connector": _text(given.get("connector", ""), f"{place}.connector", 36), "mode": mode}


def _context(given: Mapping[str, Any], place: str) -> dict[str, Any]:
    _fields(given, place, "name", "text")
    name = given_name(given.get("name"), "the text", f"{place}.name", LONGEST_NAME)
    text = _text(given.get("text", ""), f"{place}.text", LONGEST_TEXT)
    if not text.strip():
        raise Refusal("invalid_field", "Context says something.", place=f"{place}.text")
    return {"name": name, "text": text}


# --- settings --------------------------------------------------------------------------------------

NUMBERS: Final[dict[str, tuple[type, float, float]]] = {
    "temperature": (float, 0, 2),
    "top_p": (float, 0, 1),
    "max_output_tokens": (int, 1, 1_000_000),
    "seed": (int, 0, 2**31 - 1),
    "max_tool_rounds": (int, 0, 50),
    "timeout_seconds": (int, 1, 3_600),
}
"""Settings that are numbers: type, least and most. What is not set is the provider's own."""

USUAL_TOOL_ROUNDS: Final = 8
"""How often tools are run for one turn where the settings do not say."""
SETTINGS: Final = (*NUMBERS, "stop", "output_schema", "stream")


def _settings(given: Any) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise Refusal("invalid_field", "An object is needed.", place="settings")
    _fields(given, "settings", *SETTINGS)
    found: dict[str, Any] = {}
    for name, (kind, low, high) in NUMBERS.items():
        value = given.get(name)
        if value is None:
            continue
        whole = isinstance(value, int) and not isinstance(value, bool)
        if not (whole or (kind is float and isinstance(value, float))) or not low <= value <= high:
            what = "number" if kind is float else "whole number"
            raise Refusal("invalid_field", f"A {what} from {low:,} to {high:,}.", place=f"settings.{name}")
        found[name] = kind(value)
    stop = given.get("stop", [])
    if not isinstance(stop, list) or len(stop) > 4 or not all(isinstance(one, str) and one for one in stop):
        raise Refusal("invalid_field", "At most four texts.", place="settings.stop")
    if stop:
        found["stop"] = [_text(one, "settings.stop", 100) for one in stop]
    stream = given.get("stream", False)
    if not isinstance(stream, bool):
        raise Refusal("invalid_field", "true or false.", place="settings.stream")
    if stream:
        found["stream"] = True
    if given.get("output_schema") is not None:
        schema_of_object(given["output_schema"], "settings.output_schema")
        found["output_schema"] = given["output_schema"]
    return found


# --- identity --------------------------------------------------------------------------------------

DIMENSIONS: Final = {
    "prompt": "instructions",
    "tools": "tools",
    "connectors": "connectors",
    "context": "context",
    "settings": "settings",
}
"""What a reader of metadata can tell apart, and the part of the definition that each is."""


def digest(what: str, value: Any) -> str:
    """SHA-256 of a value in canonical JSON, under its own name, so that no two kinds are ever equal."""
    return hashlib.sha256(f"evenhand/{what}/1\0".encode() + canonical(value)).hexdigest()


def digests(body: Mapping[str, Any]) -> dict[str, str]:
    """One hash per dimension, and one over the whole.

    Of the route the number of its revision is left out: one that changes prices alone changes no answer.
    """
    route = {name: value for name, value in body["route"].items() if name != "revision"}
    found = {f"{name}_sha256": digest(name, body[part]) for name, part in DIMENSIONS.items()}
    return {"definition_sha256": digest("definition", {**body, "route": route}), **found}
