"""The first rows of an uploaded file as a person must see them to say which field means what."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from django.conf import settings

from analysis import strict_json
from analysis.refusals import Refused
from intake import storage
from intake.models import Import
from intake.readers import Limits, NamedFile, files

ROWS: Final = 5
COLUMNS: Final = 40
CELL: Final = 200
TEXT: Final = 3000
DEPTH: Final = 3


@dataclass(frozen=True, slots=True)
class Preview:
    """Either a table of the first rows, or the beginning of a JSON document."""

    name: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    text: str = ""
    more_columns: int = 0
    paths: tuple[str, ...] = ()
    """Every path that the first rows hold, for the fields of the mapping form."""


def preview(row: Import) -> Preview | None:
    """Of the first file, reading no further than needed; None where it cannot be read or is gone."""
    first = row.importfile_set.select_related("importfilename").order_by("position").first()
    if first is None or not storage.path_of(first.sha256).is_file():
        return None
    name = first.importfilename.name or ""
    file = NamedFile(name, storage.path_of(first.sha256))
    limits = Limits(file_bytes=settings.MAX_UPLOAD_BYTES)
    try:
        if file.format in ("csv", "tsv"):
            return _table(file, limits)
        if file.format == "jsonl":
            return _lines(file, limits)
        return _document(file, limits)
    except Refused:
        return None


def _table(file: NamedFile, limits: Limits) -> Preview:
    lines = files.table_rows(file, limits, "\t" if file.format == "tsv" else ",")
    header = [*next(lines).value]
    rows = tuple(tuple(_shown(value) for value in line.value[:COLUMNS]) for line in islice(lines, ROWS))
    return Preview(
        file.name, tuple(header[:COLUMNS]), rows, more_columns=max(0, len(header) - COLUMNS), paths=tuple(header)
    )


def _lines(file: NamedFile, limits: Limits) -> Preview:
    flat = [dict(_flat(line.value)) for line in islice(files.json_lines(file, limits), ROWS)]
    columns = list(dict.fromkeys(name for row in flat for name in row))
    rows = tuple(tuple(_shown(row.get(name)) for name in columns[:COLUMNS]) for row in flat)
    return Preview(
        file.name, tuple(columns[:COLUMNS]), rows, more_columns=max(0, len(columns) - COLUMNS), paths=tuple(columns)
    )


def _flat(value: Any, prefix: str = "", depth: int = DEPTH) -> Iterator[tuple[str, Any]]:
    """An object's values under their dotted paths; keys that hold a dot stay as they are."""
    if not isinstance(value, dict):
        yield prefix or "$line", value
        return
    for key, inner in value.items():
        path = f"{prefix}.{key}" if prefix else key
        if isinstance(inner, dict) and inner and depth > 1:
            yield from _flat(inner, path, depth - 1)
        else:
            yield path, inner


def _document(file: NamedFile, limits: Limits) -> Preview:
    with files.opened(file, limits) as stream:
        head = stream.read(TEXT * 4)
    text = head.decode("utf-8", "ignore")
    return Preview(file.name, text=text[:TEXT] + ("…" if len(text) > TEXT else ""))


def _shown(value: Any) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return strict_json.visible(text.replace("\n", " "), CELL)
