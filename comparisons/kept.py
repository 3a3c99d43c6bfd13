"""A paired comparison as bytes and back: the result as JSON, the per-case columns as compressed arrays.

What is kept is derived from immutable evidence and equal to computing it again, so a row is written
once under a key that covers all of it, and never goes stale.
"""

from __future__ import annotations

import dataclasses
import json
import struct
import types
import typing
from enum import Enum, IntEnum
from functools import cache
from typing import Any

import numpy as np
import zstandard

from analysis.results import PairedCases, PairedComparison, PairedResult, UnmatchedRows, plain

LAYOUT = b"EVPC1\0"
_LENGTHS = struct.Struct("<II")


def pack(comparison: PairedComparison) -> bytes:
    head = {
        "result": plain(comparison.result),
        "cases": _describe(comparison.cases),
        "unmatched": _describe(comparison.unmatched),
        "reasons": comparison.unmatched.reasons,
    }
    text = json.dumps(head, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    columns = b"".join(
        np.ascontiguousarray(array).tobytes()
        for table in (comparison.cases, comparison.unmatched)
        for _, array in _arrays(table)
    )
    body = zstandard.ZstdCompressor(level=1).compress(text + columns)
    return LAYOUT + _LENGTHS.pack(len(text), len(columns)) + body


def unpack(kept: bytes | memoryview) -> PairedComparison:
    data = bytes(kept)
    if not data.startswith(LAYOUT):
        raise ValueError("This kept result has a layout of another build.")
    start = len(LAYOUT) + _LENGTHS.size
    text_length, columns_length = _LENGTHS.unpack_from(data, len(LAYOUT))
    body = zstandard.ZstdDecompressor().decompress(data[start:], max_output_size=text_length + columns_length)
    head = json.loads(body[:text_length])  # noqa: TID251  # our own bytes
    columns = memoryview(body)[text_length:]
    at = 0

    def table(described: list[list[Any]]) -> dict[str, Any]:
        nonlocal at
        found = {}
        for name, kind, length in described:
            size = np.dtype(kind).itemsize * length
            found[name] = np.frombuffer(columns[at : at + size], dtype=kind)
            at += size
        return found

    cases = PairedCases(**table(head["cases"]))
    unmatched = UnmatchedRows(**table(head["unmatched"]), reasons=tuple(head["reasons"]))
    return PairedComparison(revive(PairedResult, head["result"]), cases, unmatched)


def size_of(comparison: PairedComparison) -> int:
    """Bytes of the columns, which are nearly all of it."""
    tables = (comparison.cases, comparison.unmatched)
    return 8_192 + sum(int(array.nbytes) for table in tables for _, array in _arrays(table))


def _arrays(table: Any) -> list[tuple[str, Any]]:
    found = [(field.name, getattr(table, field.name)) for field in dataclasses.fields(table)]
    return [(name, value) for name, value in found if isinstance(value, np.ndarray)]


def _describe(table: Any) -> list[list[Any]]:
    return [[name, array.dtype.str, len(array)] for name, array in _arrays(table)]


def revive(kind: Any, value: Any) -> Any:
    """The inverse of `analysis.results.plain` for one declared type."""
    origin = typing.get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        if value is None:
            return None
        inner = [one for one in typing.get_args(kind) if one is not type(None)]
        return revive(inner[0], value)
    if origin is tuple:
        entries = typing.get_args(kind)
        if len(entries) == 2 and entries[1] is Ellipsis:
            return tuple(revive(entries[0], entry) for entry in value)
        return tuple(revive(entry_kind, entry) for entry_kind, entry in zip(entries, value, strict=True))
    if isinstance(kind, type):
        if dataclasses.is_dataclass(kind):
            return kind(**{name: revive(of, value[name]) for name, of in _fields(kind).items()})
        if issubclass(kind, IntEnum):
            return kind[value.upper()]
        if issubclass(kind, Enum):
            return kind(value)
    if kind is float:
        return float(value)
    return value


@cache
def _fields(kind: Any) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    return {field.name: hints[field.name] for field in dataclasses.fields(kind)}
