"""The one JSON reader for everything that enters: upload, archive member, API body.

The standard parser takes the last of two equal keys, NaN, half a surrogate pair and a million
brackets without a word. Here each of them is refused, with a code and the place. What is accepted
can be stored, compared and written out again without change.

The work is done by the C scanner of `json`; the checks in front of it look at bytes only, and the
walk over the parsed value runs only where a check found something to look at.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from analysis.refusals import Refused

Path = tuple[str | int, ...]

BOM: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class JsonLimits:
    """How large one JSON text may be. Sizes are bytes of UTF-8."""

    record_bytes: int = 2 * 1024 * 1024
    field_bytes: int = 100_000
    depth: int = 64
    digits: int = 40  # of one whole number; more fits neither a float nor a database column


DEFAULT_LIMITS: Final = JsonLimits()


class _Suspicious(Exception):
    """A hook met something that needs the slow, locating pass."""


@dataclass(frozen=True, slots=True)
class _Fault:
    """Stands in the parsed value where something refused stood, so that the walk can name its place."""

    code: str
    text: str = ""


_DUPLICATE: Final = _Fault("import_json_duplicate_key")


def loads(
    data: bytes | str,
    *,
    place: str = "",
    limits: JsonLimits = DEFAULT_LIMITS,
    nan_as_missing_at: Callable[[Path], bool] | None = None,
) -> Any:
    """The value of one JSON text, or `Refused` with a code and the place after `place`.

    `nan_as_missing_at` tells for which paths the literal NaN is allowed; there the value is a float
    NaN, which the caller must read as *missing*. Infinity is never allowed.
    """
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    if raw.startswith(BOM):
        raw = raw[3:]
    if len(raw) > limits.record_bytes:
        raise Refused(
            "import_record_too_large",
            f"One record may be at most {limits.record_bytes:,} bytes; this one has {len(raw):,}.",
            place,
        )
    text = decode(raw, place)
    walk_sizes = _check_shape(raw, place, limits)
    walk_text = b"\\u0000" in raw or _has_lone_escape(raw)
    odd_numbers = _has_large_number(raw)
    try:
        value = (_NUMBERS if odd_numbers else _PLAIN).decode(text)
        if not (walk_sizes or walk_text):
            return value
        return _walk(value, place, limits, nan_as_missing_at)
    except _Suspicious:
        return _walk(_tolerant(limits).decode(text), place, limits, nan_as_missing_at)
    except json.JSONDecodeError as error:
        raise Refused(
            "import_json_invalid",
            f"This is not valid JSON: {error.msg}. One complete JSON value is allowed, nothing before or after it.",
            _syntax_place(place, error),
        ) from None


def decode(raw: bytes, place: str = "") -> str:
    """The text of UTF-8 bytes, or `Refused`."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Refused(
            "import_not_utf8",
            f"Byte {error.start + 1} is not valid UTF-8. Text must be UTF-8.",
            place or f"line {raw.count(b'\n', 0, error.start) + 1}",
        ) from None


def canonical(value: Any) -> bytes:
    """The one spelling of a JSON value: sorted keys, no spaces, UTF-8. Equal values, equal bytes."""
    return _CANONICAL.encode(value).encode()


def content_digest(content: dict[str, Any]) -> bytes:
    """Identity of a captured content: SHA-256 of its canonical spelling."""
    return hashlib.sha256(b"evenhand/content/1\0" + canonical(content)).digest()


def path_text(path: Path) -> str:
    """`records[2].scores.match`, with odd keys shortened and their control characters made visible."""
    parts: list[str] = []
    for step in path:
        if isinstance(step, int):
            parts.append(f"[{step}]")
        else:
            shown = visible(step)
            parts.append(f".{shown}" if parts else shown)
    return "".join(parts)


def visible(text: str, length: int = 120) -> str:
    """A name fit for a message: control characters as pictures, no half surrogates, bounded."""
    shown = "".join(_picture(character) for character in text[:length])
    return shown + "…" if len(text) > length else shown


def _picture(character: str) -> str:
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    if 0xD800 <= code <= 0xDFFF or 0x80 <= code < 0xA0:
        return "\ufffd"
    return character


# --- checks on the bytes, before parsing

_LONE_ESCAPE: Final = re.compile(  # begins with two literal bytes, which the scanner finds fast
    rb"\\u(?:[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F][0-9a-fA-F]{2})"
    rb"|(?<!\\u[dD][89abAB][0-9a-fA-F]{2}\\u)[dD][c-fC-F][0-9a-fA-F]{2})"
)
_DIGITS: Final = bytes(0x30 if 0x30 <= byte < 0x3A else 0x65 if byte in b"eE" else 0x20 for byte in range(256))
_LONG_DIGITS: Final = b"0" * (DEFAULT_LIMITS.digits + 1)
_NOT_SHAPE: Final = bytes(set(range(256)) - set(b'"[]{}'))
_ONE_KIND: Final = bytes.maketrans(b"{}", b"[]")
_SHORT_STRING: Final = re.compile(rb'"[^"]*"')


def _has_lone_escape(raw: bytes) -> bool:
    """Whether an escape may be half of a surrogate pair; a doubled backslash in front may deceive it."""
    return (b"\\ud" in raw or b"\\uD" in raw) and _LONE_ESCAPE.search(raw) is not None


def _has_large_number(raw: bytes) -> bool:
    """Whether a number may be too long or too large for a float; digits inside a text may deceive it."""
    digits = raw.translate(_DIGITS)
    if b"0e000" in digits or b"e+" in raw or b"E+" in raw:
        return True
    return _LONG_DIGITS in digits


def _check_shape(raw: bytes, place: str, limits: JsonLimits) -> bool:
    """Refuse what is nested too deep; tell whether some text may be longer than a field may be."""
    deep = raw.count(b"[") + raw.count(b"{") > limits.depth
    long = len(raw) > limits.field_bytes
    if not (deep or long):
        return False
    # Escapes become two other bytes, so that every quote left opens or closes a text. Runs of
    # backslashes pair from their first one, which is what replacing left to right does.
    plain = raw
    if b"\\" in raw:
        plain = (raw.replace(b"\\\\", b"__") if b"\\\\" in raw else raw).replace(b'\\"', b"__")
    if deep:
        shape = plain.translate(_ONE_KIND, _NOT_SHAPE).replace(b'""', b"")  # keeps which side of a quote all else is
        if b'"' in shape:
            shape = _SHORT_STRING.sub(b"", shape)
        if _depth(shape, limits.depth) > limits.depth:
            raise Refused(
                "import_json_too_deep",
                f"Values may be nested at most {limits.depth} levels deep.",
                place or "line 1",
            )
    return long and _has_long_run(plain, limits.field_bytes)


def _has_long_run(plain: bytes, length: int) -> bool:
    """Whether more than `length` bytes may stand without a quote: half of such a run would fill a window."""
    window = max(1, length // 2)
    return any(plain.find(b'"', start, start + window) < 0 for start in range(0, len(plain) - window + 1, window))


def _depth(shape: bytes, allowed: int) -> int:
    """The greatest depth of a text of brackets alone; any number above `allowed` where it is greater."""
    rest = shape
    for level in range(1, allowed + 1):  # each round removes the innermost level everywhere
        shorter = rest.replace(b"[]", b"")
        if not shorter:
            return level
        if len(shorter) == len(rest):
            break
        rest = shorter
    depth = greatest = 0  # unbalanced or deep: count exactly, the parser names unbalanced ones
    for byte in shape:
        depth += 1 if byte == 0x5B else -1
        if depth > greatest:
            greatest = depth
            if greatest > allowed:
                break
    return greatest


# --- hooks of the scanner


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _Suspicious
    return found


def _constant(name: str) -> Any:
    raise _Suspicious


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise _Suspicious
    return number


def _whole(text: str) -> int:
    if len(text) > DEFAULT_LIMITS.digits:
        raise _Suspicious
    return int(text)


_CANONICAL: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
_PLAIN: Final = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_constant)
_NUMBERS: Final = json.JSONDecoder(
    object_pairs_hook=_unique, parse_constant=_constant, parse_float=_finite, parse_int=_whole
)


def _tolerant(limits: JsonLimits) -> json.JSONDecoder:
    """A parser that leaves a `_Fault` where something refused stands."""

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        kept: dict[str, Any] = {}
        for key, value in found:
            kept[key] = _DUPLICATE if key in kept else value
        return kept

    def constant(name: str) -> Any:
        return _Fault("import_json_nonfinite", name)

    def real(text: str) -> Any:
        number = float(text)
        return _Fault("import_json_nonfinite", text[:20]) if math.isinf(number) else number

    def whole(text: str) -> Any:
        return int(text) if len(text) <= limits.digits else _Fault("import_json_number_out_of_range")

    return json.JSONDecoder(object_pairs_hook=pairs, parse_constant=constant, parse_float=real, parse_int=whole)


# --- the walk over a parsed value


def _walk(value: Any, place: str, limits: JsonLimits, nan_as_missing_at: Callable[[Path], bool] | None) -> Any:
    """Refuse the first fault in document order; put a NaN where one is allowed."""
    if isinstance(value, _Fault):
        raise _refusal(value, place, (), limits)
    if isinstance(value, str):
        _check_text(value, place, (), limits)
        return value
    stack: list[tuple[Path, Any, Iterator[tuple[str | int, Any]]]] = []
    if isinstance(value, dict | list):
        stack.append(((), value, _children(value)))
    while stack:
        path, holder, rest = stack[-1]
        step, child = next(rest, (None, None))
        if step is None:
            stack.pop()
            continue
        if isinstance(step, str):
            _check_text(step, place, path, limits)
        if isinstance(child, dict | list):
            inner = (*path, step)
            stack.append((inner, child, _children(child)))
        elif isinstance(child, str):
            _check_text(child, place, (*path, step), limits)
        elif isinstance(child, _Fault):
            inner = (*path, step)
            if child.text == "NaN" and nan_as_missing_at is not None and nan_as_missing_at(inner):
                holder[step] = math.nan
            else:
                raise _refusal(child, place, inner, limits)
    return value


def _children(value: Any) -> Iterator[tuple[str | int, Any]]:
    return iter(list(value.items())) if isinstance(value, dict) else iter(list(enumerate(value)))


def _check_text(text: str, place: str, path: Path, limits: JsonLimits) -> None:
    if "\0" in text:
        raise Refused(
            "import_nul_character", "A text holds the character U+0000, which is not allowed.", _join(place, path)
        )
    if len(text) * 4 > limits.field_bytes or not text.isascii():
        try:
            size = len(text.encode())
        except UnicodeEncodeError:
            raise Refused(
                "import_lone_surrogate",
                "A text holds half of a surrogate pair. Only complete Unicode characters are allowed.",
                _join(place, path),
            ) from None
        if size > limits.field_bytes:
            raise Refused(
                "import_record_too_large",
                f"One field may be at most {limits.field_bytes:,} bytes; this one has {size:,}.",
                _join(place, path),
            )


def _refusal(fault: _Fault, place: str, path: Path, limits: JsonLimits) -> Refused:
    messages = {
        "import_json_duplicate_key": "A key stands twice in one object. Each key is allowed once.",
        "import_json_nonfinite": f"{fault.text} is not a finite number. Only finite numbers are allowed.",
        "import_json_number_out_of_range": f"A whole number may have at most {limits.digits} digits.",
    }
    return Refused(fault.code, messages[fault.code], _join(place, path))


def _join(place: str, path: Path) -> str:
    return " ".join(part for part in (place, path_text(path)) if part)


def _syntax_place(place: str, error: json.JSONDecodeError) -> str:
    if place.startswith("line "):
        return f"{place} column {error.colno}"
    return " ".join(part for part in (place, f"line {error.lineno} column {error.colno}") if part)
