"""CSV as people open it: streamed, and no cell that a spreadsheet would run as a formula."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from typing import Any

from django.http import StreamingHttpResponse

_RUNS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""First characters that make a spreadsheet compute; full-width forms are normalised to them by some."""
_BYTE_ORDER_MARK = "\ufeff"
_ROWS = 200  # rows per piece of the stream


def safe_cell(value: Any) -> Any:
    """The value for one cell. Numbers stay numbers; a text that would run begins with an apostrophe instead."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    text = str(value).replace("\0", "")
    return f"'{text}" if text.startswith(_RUNS) or text.lstrip(" ").startswith(_RUNS[:4]) else text


class _Echo:
    def write(self, text: str) -> str:
        return text


def lines(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> Iterator[str]:
    """Encoded rows in pieces; the mark at the beginning tells spreadsheets that it is UTF-8."""
    writer = csv.writer(_Echo())
    piece = [_BYTE_ORDER_MARK, writer.writerow([safe_cell(name) for name in head])]
    for number, row in enumerate(rows, start=1):
        piece.append(writer.writerow([safe_cell(value) for value in row]))
        if number % _ROWS == 0:
            yield "".join(piece)
            piece = []
    yield "".join(piece)


def response(name: str, head: Iterable[str], rows: Iterable[Iterable[Any]]) -> StreamingHttpResponse:
    """A download. `name` is made of our own words and numbers, never of content."""
    answer = StreamingHttpResponse(lines(head, rows), content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    return answer
