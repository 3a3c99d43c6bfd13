"""What a configuration says, checked whole: roles, launch slots, delegation. No I/O.

    {"root": "lead", "slots": ["main"],
     "roles": [{"role": "lead", "agent": "<id of a saved agent>", "slot": "main"},
               {"role": "reader", "instructions": "You read files.", "route": "support-small"}],
     "delegation": [{"from": "lead", "to": "reader"}]}

A role is a saved agent, taken over as its draft stands, or instructions of its own. Its model is bound at
launch, by a slot, or fixed, by the key of a model route.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from agents.definitions import LONGEST_INSTRUCTIONS
from teams.given import json_object, storable
from teams.refusals import Refusal

MOST_ROLES: Final = 20
NAME: Final = re.compile(r"[a-z][a-z0-9_-]{0,59}")
PARTS: Final = ("root", "slots", "roles", "delegation")


def checked(given: Any) -> dict[str, Any]:
    """The configuration with every part in its place, or a refusal that names the place of the fault."""
    json_object(given, "configuration", 2 * 1024 * 1024)
    _known(given, "", PARTS)
    slots = _names(given.get("slots", []), "slots")
    roles = _roles(given.get("roles"), slots)
    names = [one["role"] for one in roles]
    root = given.get("root", "")
    if root not in names:
        raise Refusal("invalid_field", "The root is one of the roles.", place="root")
    unused = [slot for slot in slots if not any(one.get("slot") == slot for one in roles)]
    if unused:
        raise Refusal("invalid_field", f"No role runs on the slot {unused[0]}.", place="slots")
    return {"root": root, "slots": slots, "roles": roles, "delegation": _delegation(given.get("delegation", []), names)}


def _known(given: Mapping[str, Any], place: str, names: tuple[str, ...]) -> None:
    unknown = sorted(set(given) - set(names))
    if unknown:
        raise Refusal("unknown_field", f"The fields are {', '.join(names)}.", place=f"{place}{unknown[0]}"[:200])


def _name(value: Any, place: str) -> str:
    if not isinstance(value, str) or not NAME.fullmatch(value):
        raise Refusal("invalid_field", "A name of small letters, digits, _ and -, at most 60.", place=place)
    return value


def _names(given: Any, place: str) -> list[str]:
    if not isinstance(given, list) or len(given) > MOST_ROLES:
        raise Refusal("invalid_field", f"A list of at most {MOST_ROLES} names.", place=place)
    found = [_name(one, f"{place}[{at}]") for at, one in enumerate(given)]
    if len(set(found)) != len(found):
        raise Refusal("invalid_field", "Each name stands once.", place=place)
    return found


def _roles(given: Any, slots: list[str]) -> list[dict[str, Any]]:
    if not isinstance(given, list) or not 1 <= len(given) <= MOST_ROLES:
        raise Refusal("invalid_field", f"A list of 1 to {MOST_ROLES} roles.", place="roles")
    found: list[dict[str, Any]] = []
    for at, one in enumerate(given):
        place = f"roles[{at}]"
        if not isinstance(one, Mapping):
            raise Refusal("invalid_field", "An object is needed.", place=place)
        _known(one, f"{place}.", ("role", "agent", "instructions", "slot", "route"))
        role: dict[str, Any] = {"role": _name(one.get("role"), f"{place}.role")}
        if any(role["role"] == other["role"] for other in found):
            raise Refusal("invalid_field", "Each role stands once.", place=f"{place}.role")
        role |= _one_of(one, place, "agent", "instructions", "a saved agent or instructions")
        role |= _one_of(one, place, "slot", "route", "a slot or a model route")
        if "slot" in role and role["slot"] not in slots:
            raise Refusal("invalid_field", "Name one of the slots.", place=f"{place}.slot")
        found.append(role)
    return found


def _one_of(given: Mapping[str, Any], place: str, one: str, other: str, what: str) -> dict[str, str]:
    said = [name for name in (one, other) if given.get(name)]
    if len(said) != 1:
        raise Refusal("invalid_field", f"A role has {what}, one of them.", place=f"{place}.{one}")
    value = given[said[0]]
    if not isinstance(value, str) or len(value) > LONGEST_INSTRUCTIONS or not storable(value) or not value.strip():
        raise Refusal("invalid_field", "A text is needed.", place=f"{place}.{said[0]}")
    return {said[0]: value}


def _delegation(given: Any, roles: list[str]) -> list[dict[str, str]]:
    if not isinstance(given, list) or len(given) > MOST_ROLES * MOST_ROLES:
        raise Refusal("invalid_field", "A list is needed.", place="delegation")
    found: list[dict[str, str]] = []
    for at, one in enumerate(given):
        place = f"delegation[{at}]"
        if not isinstance(one, Mapping):
            raise Refusal("invalid_field", "An object is needed.", place=place)
        _known(one, f"{place}.", ("from", "to"))
        step = {name: one.get(name) for name in ("from", "to")}
        for name, role in step.items():
            if role not in roles:
                raise Refusal("invalid_field", "Name one of the roles.", place=f"{place}.{name}")
        if step["from"] == step["to"] or step in found:
            raise Refusal("invalid_field", "One role delegates to another, once.", place=place)
        found.append({name: str(role) for name, role in step.items()})
    return found
