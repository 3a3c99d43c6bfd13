"""JSON pointers (RFC 6901): a place in a JSON value."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from grading.judging import ABSENT
from teams.given import storable
from teams.refusals import Refusal

LONGEST: Final = 500
POINTER: Final = re.compile(r"(/([^~/]|~[01])*)*")
INDEX: Final = re.compile(r"0|[1-9][0-9]{0,8}")


def checked(pointer: Any, place: str) -> str:
    """The pointer, or a refusal. An empty one is the whole value."""
    if (
        not isinstance(pointer, str)
        or len(pointer) > LONGEST
        or not storable(pointer)
        or not POINTER.fullmatch(pointer)
    ):
        raise Refusal("invalid_field", "A JSON pointer, such as /total or /items/0/name.", place=place)
    return pointer


def pointed(value: Any, pointer: str) -> Any:
    """What stands at a place, or ABSENT."""
    for step in pointer.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(value, Mapping) and name in value:
            value = value[name]
        elif isinstance(value, list) and INDEX.fullmatch(name) and int(name) < len(value):
            value = value[int(name)]
        else:
            return ABSENT
    return value
