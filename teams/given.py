"""Values that people and programs send, checked before they are stored: texts of one line, JSON objects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from analysis.strict_json import canonical
from teams.refusals import Refusal

DEEPEST: Final = 64


def line(text: Any, place: str, longest: int) -> str:
    """A text of one line, its white space folded."""
    if not isinstance(text, str):
        raise Refusal("invalid_field", "A text is needed.", place=place)
    found = " ".join(text.split())
    if len(found) > longest or not storable(found):
        raise Refusal("invalid_field", f"A text of at most {longest} characters, without NUL.", place=place)
    return found


JOINERS: Final = "\u200c\u200d"
"""Invisible, and needed: Persian and other scripts join letters by them, and so do composed emoji."""


def readable(text: str) -> bool:
    """Whether a person can read all of it: printable characters, and joiners between them."""
    return text.strip(JOINERS) == text and all(one.isprintable() or one in JOINERS for one in text)


def name(text: Any, what: str, place: str = "name", longest: int = 120) -> str:
    """A name: 1 to `longest` printable characters, its white space folded."""
    found = " ".join(text.split()) if isinstance(text, str) else ""
    if not 1 <= len(found) <= longest or not readable(found):
        raise Refusal("invalid_field", f"Name {what} with 1 to {longest} printable characters.", place=place)
    return found


def storable(text: str) -> bool:
    """PostgreSQL keeps no NUL, and UTF-8 no half of a surrogate pair."""
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def json_object(value: Any, place: str, largest: int) -> None:
    """Refuse what is no JSON object of at most `largest` bytes, or holds what cannot be stored."""
    if not isinstance(value, Mapping):
        raise Refusal("invalid_field", "An object is needed.", place=place)
    _walk(value, place, 1)
    if len(canonical(dict(value))) > largest:
        raise Refusal("invalid_field", f"At most {largest:,} bytes of JSON.", place=place)


def _walk(value: Any, place: str, depth: int) -> None:
    if depth > DEEPEST:
        raise Refusal("invalid_field", f"Values are nested at most {DEEPEST} levels deep.", place=place)
    if isinstance(value, str):
        if not storable(value):
            raise Refusal("invalid_field", "A text holds no NUL and no half of a surrogate pair.", place=place)
    elif isinstance(value, float):
        # beyond that the database gives back a whole number of many digits, which is no longer the same JSON
        if not abs(value) < 1e16:
            raise Refusal("invalid_field", "Numbers are finite, and below 10 to the power of 16.", place=place)
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            _walk(key, place, depth + 1)
            _walk(inner, f"{place}.{key}"[:200], depth + 1)
    elif isinstance(value, list | tuple):
        for at, inner in enumerate(value):
            _walk(inner, f"{place}[{at}]"[:200], depth + 1)
