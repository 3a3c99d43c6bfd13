"""Cases from a table: CSV, JSON Lines or an Excel workbook become rows with the fields of a case."""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, BinaryIO, Final

from openpyxl import load_workbook
from openpyxl.utils.exceptions import InvalidFileException

from analysis import strict_json
from analysis.refusals import Refused
from datasets.bodies import Case
from teams.refusals import Code, Refusal, register

MOST_ROWS: Final = 20_000
LARGEST_FILE: Final = 32 * 1024 * 1024
LARGEST_UNPACKED: Final = 256 * 1024 * 1024
ENDINGS: Final = (".csv", ".jsonl", ".xlsx")
TEXTS: Final = ("title", "language", "group")
BODY_TEXTS: Final = ("input", "expected")
BODY_VALUES: Final = ("turns", "checklist")
COLUMNS: Final = ("id", *TEXTS, "tags", "metadata", *BODY_TEXTS, *BODY_VALUES, "body")

register(
    {
        "table_format_unknown": Code(422, "Send a .csv, .jsonl or .xlsx file."),
        "table_too_large": Code(413, f"A table has at most {LARGEST_FILE >> 20} MB and {MOST_ROWS:,} rows."),
        "table_invalid": Code(422, "The file must be what its name says: UTF-8 text, or one Excel workbook."),
        "table_column_unknown": Code(422, f"Columns are {', '.join(COLUMNS)}, and metadata.NAME."),
    }
)


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a table. `given` holds the fields that it has; what it does not name stays as it is."""

    number: int
    """Of the row in its file, from 1; the header is row 1 where there is one."""
    given: Mapping[str, Any]


def read(name: str, file: BinaryIO, size: int) -> list[Row]:
    """All rows of a table by the ending of its name, or a refusal with its place."""
    if size > LARGEST_FILE:
        raise Refusal("table_too_large", place="file")
    ending = name[name.rfind(".") :].lower() if "." in name else ""
    if ending not in ENDINGS:
        raise Refusal("table_format_unknown", place="file")
    readers = {".csv": _csv, ".jsonl": _jsonl, ".xlsx": _xlsx}
    rows: list[Row] = []
    for row in readers[ending](file):
        if len(rows) >= MOST_ROWS:
            raise Refusal("table_too_large", place=f"row {row.number}")
        rows.append(row)
    if not rows:
        raise Refusal("table_invalid", "The table has no row.", place="file")
    return rows


def _text(file: BinaryIO) -> str:
    try:
        return file.read().decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        raise Refusal("table_invalid", f"Byte {fault.start + 1} is no UTF-8.", place="file") from None


def _csv(file: BinaryIO) -> Iterator[Row]:
    text = _text(file)
    if "\0" in text:
        raise Refusal("table_invalid", "The text holds a NUL.", place="file")
    first = text.partition("\n")[0]
    separator = max(",;\t", key=first.count)
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        header = [name.strip() for name in next(lines, [])]
        known(header)
        for number, cells in enumerate(lines, start=2):
            if not any(cell.strip() for cell in cells):
                continue
            if len(cells) != len(header):
                said = f"The row has {len(cells)} fields, the header {len(header)}."
                raise Refusal("table_invalid", said, place=f"row {number}")
            yield Row(number, dict(zip(header, cells, strict=True)))
    except csv.Error as fault:
        raise Refusal("table_invalid", f"No well-formed CSV: {fault}.", place=f"row {lines.line_num}") from None


def _jsonl(file: BinaryIO) -> Iterator[Row]:
    for number, line in enumerate(_text(file).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            value = strict_json.loads(line)
        except Refused as refused:
            raise Refusal("table_invalid", refused.message, place=f"row {number}") from None
        if not isinstance(value, dict):
            raise Refusal("table_invalid", "A row is one JSON object.", place=f"row {number}")
        known(value, f"row {number}")
        yield Row(number, value)


def _xlsx(file: BinaryIO) -> Iterator[Row]:
    try:
        with zipfile.ZipFile(file) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > LARGEST_UNPACKED:
                raise Refusal("table_too_large", "The workbook unpacks to too much.", place="file")
        file.seek(0)
        book = load_workbook(file, read_only=True, data_only=True, keep_links=False)
    except Refusal:
        raise
    except (zipfile.BadZipFile, InvalidFileException, KeyError, ValueError, OSError, EOFError):
        raise Refusal("table_invalid", "This is no readable Excel workbook.", place="file") from None
    try:
        sheet = book.worksheets[0]
        rows = sheet.iter_rows(values_only=True)
        header = ["" if name is None else str(name).strip() for name in next(rows, ())]
        while header and not header[-1]:
            header.pop()
        known(header)
        for number, cells in enumerate(rows, start=2):
            values = [_cell(cell) for cell in cells[: len(header)]]
            if any(value != "" for value in values):
                yield Row(number, dict(zip(header, values, strict=False)))
    except Refusal:
        raise
    except Exception as fault:  # a hostile workbook may break the library anywhere
        raise Refusal("table_invalid", f"The workbook cannot be read ({type(fault).__name__}).", place="file") from None
    finally:
        book.close()


def _cell(value: Any) -> str:
    """A cell as text, as a person would type it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, datetime | date):
        return value.isoformat()
    return str(value)


def known(names: Iterable[str], place: str = "row 1") -> None:
    found = list(names)
    for name in found:
        if name not in COLUMNS and not (name.startswith("metadata.") and len(name) > len("metadata.")):
            raise Refusal("table_column_unknown", f"There is no column {name[:80]!r}.", place=place)
    if "id" not in found:
        raise Refusal("table_column_unknown", "Every table has the column id.", place=place)
    twice = {name for name in found if found.count(name) > 1}
    if twice:
        raise Refusal("table_column_unknown", f"The column {min(twice)!r} stands twice.", place=place)


def case_of(row: Row, now: Case | None) -> Case:
    """The case that a row makes of the one at hand. What the row does not name stays as it is.

    In a text cell `tags` are separated by `|` or `;`, and `metadata`, `turns`, `checklist` and `body` are
    JSON; an empty cell empties its field. JSON Lines hold the values themselves.
    """
    given = row.given
    source_id = given.get("id")
    if isinstance(source_id, int) and not isinstance(source_id, bool):
        source_id = str(source_id)
    texts = {name: _plain(given[name], name) if name in given else getattr(now, name, "") for name in TEXTS}
    tags = _tags(given["tags"]) if "tags" in given else list(now.tags) if now else []
    metadata = _value(given["metadata"], "metadata", {}) if "metadata" in given else dict(now.metadata) if now else {}
    if not isinstance(metadata, dict):
        raise Refusal("invalid_field", "metadata is a JSON object.", place="metadata")
    for name, value in given.items():
        if name.startswith("metadata."):
            _put(metadata, name.removeprefix("metadata."), value)
    body = _value(given["body"], "body", {}) if "body" in given else dict(now.body) if now else {}
    if not isinstance(body, dict):
        raise Refusal("invalid_field", "body is a JSON object.", place="body")
    for name in BODY_TEXTS:
        if name in given:
            _put(body, name, given[name])
    for name in BODY_VALUES:
        if name in given:
            _put(body, name, _value(given[name], name, ""))
    if "input" in given and given["input"] not in ("", None) and "turns" not in given:
        body.pop("turns", None)
    if "turns" in given and given["turns"] not in ("", None) and "input" not in given:
        body.pop("input", None)
    if not isinstance(source_id, str):
        raise Refusal("invalid_field", "An id is a text or a whole number.", place="id")
    return Case(source_id=source_id, body=body, tags=tags, metadata=metadata, **texts)


def _plain(value: Any, place: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise Refusal("invalid_field", "A text is needed.", place=place)
    return value


def _tags(value: Any) -> list[str]:
    if isinstance(value, str):
        return [tag.strip() for tag in value.replace(";", "|").split("|") if tag.strip()]
    if value is None:
        return []
    if isinstance(value, list) and all(isinstance(tag, str) for tag in value):
        return value
    raise Refusal("invalid_field", "tags is a list of texts.", place="tags")


def _value(value: Any, place: str, empty: Any) -> Any:
    """A JSON value: itself from JSON Lines, parsed from a text cell."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return empty
    if not isinstance(value, str):
        return deepcopy(value)
    try:
        return strict_json.loads(value)
    except Refused as refused:
        raise Refusal("invalid_field", f"No JSON: {refused.message}", place=place) from None


def _put(target: dict[str, Any], name: str, value: Any) -> None:
    if value is None or value == "":
        target.pop(name, None)
    else:
        target[name] = value
