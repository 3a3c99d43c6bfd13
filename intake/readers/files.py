"""Files as they come in: bounded, hashed once, read again as often as needed."""

from __future__ import annotations

import csv
import gzip
import hashlib
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import IO, Any, Final

from analysis import strict_json
from analysis.refusals import Refused
from analysis.strict_json import JsonLimits

CHUNK: Final = 1 << 16
MAGIC: Final = (
    b"PK\x03\x04",
    b"PK\x05\x06",
    b"\x1f\x8b",
    b"\x28\xb5\x2f\xfd",
    b"\x89PNG",
    b"%PDF",
    b"PAR1",
    b"SQLite format 3",
    b"\x7fELF",
    b"BZh",
    b"\xfd7zXZ",
    b"\xff\xd8\xff",
)
FORMAT_OF_ENDING: Final = {
    ".eval": "eval",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
}


@dataclass(frozen=True, slots=True)
class Limits:
    """How large things may be. Unpacked sizes count what comes out, never what a directory claims.

    `json` bounds one record of a generic file. Samples of Inspect and trajectories of tau-bench are
    whole conversations: one sample may be `sample_bytes`, one text in it `sample_field_bytes`.
    """

    file_bytes: int = 64 * 1024 * 1024
    unpacked_bytes: int = 1024 * 1024 * 1024
    member_bytes: int = 64 * 1024 * 1024
    members: int = 20_000
    json: JsonLimits = field(default_factory=JsonLimits)
    document_bytes: int = 64 * 1024 * 1024
    sample_bytes: int = 64 * 1024 * 1024
    sample_field_bytes: int = 16 * 1024 * 1024

    @property
    def document(self) -> JsonLimits:
        """For one JSON document that holds many records."""
        return JsonLimits(self.document_bytes, self.json.field_bytes, self.json.depth)

    @property
    def sample(self) -> JsonLimits:
        """For a sample with its conversation, or a document of such samples."""
        return JsonLimits(self.sample_bytes, self.sample_field_bytes, self.json.depth)


@dataclass(frozen=True, slots=True)
class NamedFile:
    """A file as the person named it, possibly with folders, and where its bytes lie."""

    name: str
    path: Path

    @property
    def stem(self) -> str:
        """The name without folders, `.gz` and the format's ending."""
        return _stem(self.name)

    @property
    def folder(self) -> str:
        return PurePosixPath(self.name.replace("\\", "/")).parent.name

    @property
    def packed(self) -> bool:
        return self.name.lower().endswith(".gz")

    @property
    def format(self) -> str:
        """The format that the name says, or an empty text."""
        return FORMAT_OF_ENDING.get(PurePosixPath(self.name.lower().removesuffix(".gz")).suffix, "")


@lru_cache(maxsize=256)  # asked for every row
def _stem(name: str) -> str:
    name = PurePosixPath(name.replace("\\", "/")).name.removesuffix(".gz")
    ending = PurePosixPath(name).suffix.lower()
    return name[: -len(ending)] if ending in FORMAT_OF_ENDING else name


@dataclass(frozen=True, slots=True)
class FileFact:
    """What is known of a file whatever its format."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Line:
    """One record of a text file: where it stands and what it holds."""

    number: int
    value: Any


def examine(file: NamedFile, limits: Limits) -> FileFact:
    """Size and digest, or `Refused` where the file is empty, too large, or not what its name says."""
    status = file.path.stat()
    if not stat.S_ISREG(status.st_mode):  # a pipe has no end, and can be read only once
        raise Refused("import_not_a_file", "This is not a regular file.")
    size = status.st_size
    if size == 0:
        raise Refused("import_empty", "The file is empty.")
    if size > limits.file_bytes:
        raise Refused(
            "import_file_too_large", f"A file may be at most {limits.file_bytes:,} bytes; this one has {size:,}."
        )
    with file.path.open("rb") as stream:
        head = stream.read(16)
        stream.seek(0)
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    expected = {"eval": b"PK\x03\x04"}.get(file.format)
    if file.packed:
        expected = b"\x1f\x8b"
    wrong = not head.startswith(expected) if expected else head.startswith(MAGIC)
    if wrong:
        raise Refused("import_type_mismatch", "The content is not what the name of the file says.")
    return FileFact(file.name, size, digest)


class _Bounded:
    """Counts what comes out of a gzip stream and turns its faults into refusals."""

    def __init__(self, stream: IO[bytes], allowed: int) -> None:
        self._stream = stream
        self._left = allowed

    def readline(self, size: int = -1) -> bytes:
        return self._count(self._checked(lambda: self._stream.readline(size)))

    def read(self, size: int = -1) -> bytes:
        return self._count(self._checked(lambda: self._stream.read(size)))

    def _checked(self, call: Any) -> bytes:
        try:
            result: bytes = call()
        except (EOFError, gzip.BadGzipFile, zlib.error):
            raise Refused("import_gzip_invalid", "This is not one complete gzip stream.") from None
        return result

    def _count(self, data: bytes) -> bytes:
        self._left -= len(data)
        if self._left < 0:
            raise Refused("import_gzip_too_large_unpacked", "The unpacked content is larger than allowed.")
        return data


@contextmanager
def opened(file: NamedFile, limits: Limits) -> Iterator[_Bounded]:
    """The bytes of a text file, unpacked where its name ends with `.gz`."""
    with file.path.open("rb") as raw:
        if file.packed:
            with gzip.GzipFile(fileobj=raw) as unpacked:
                yield _Bounded(unpacked, limits.unpacked_bytes)  # type: ignore[arg-type]  # reads bytes like any file
        else:
            yield _Bounded(raw, limits.unpacked_bytes)


def whole(file: NamedFile, limits: Limits) -> bytes:
    """All bytes of a JSON document."""
    with opened(file, limits) as stream:
        data = stream.read(limits.document_bytes + 1)
        while len(data) <= limits.document_bytes and (more := stream.read(CHUNK)):
            data += more
    if len(data) > limits.document_bytes:
        raise Refused(
            "import_file_too_large",
            f"One JSON document may be at most {limits.document_bytes:,} bytes. Larger evidence fits JSONL or CSV.",
        )
    if not data.strip(b" \t\r\n"):
        raise Refused("import_empty", "The file holds nothing.")
    return data


def raw_lines(file: NamedFile, limits: Limits) -> Iterator[tuple[int, bytes]]:
    """Physical lines with their number, without the line end. Only LF and CRLF end a line."""
    allowed = limits.json.record_bytes
    with opened(file, limits) as stream:
        number = 0
        while line := stream.readline(allowed + 3):
            number += 1
            if number == 1 and line.startswith(strict_json.BOM):
                line = line[3:]
            if line.endswith(b"\n"):
                line = line[:-2] if line.endswith(b"\r\n") else line[:-1]
            if len(line) > allowed:
                raise Refused(
                    "import_record_too_large", f"One record may be at most {allowed:,} bytes.", f"line {number}"
                )
            yield number, line


def json_lines(file: NamedFile, limits: Limits) -> Iterator[Line]:
    """The values of a JSONL file. Blank lines are skipped; a file without a value is refused."""
    found = False
    for number, line in raw_lines(file, limits):
        if not line.strip(b" \t\r"):
            continue
        found = True
        if line.startswith(strict_json.BOM):
            raise Refused("import_json_invalid", "A byte order mark may stand at the beginning only.", f"line {number}")
        yield Line(number, strict_json.loads(line, place=f"line {number}", limits=limits.json))
    if not found:
        raise Refused("import_empty", "The file holds no record.")


def table_rows(file: NamedFile, limits: Limits, separator: str) -> Iterator[Line]:
    """The header (a list of names), then every row (a list of as many texts) of a CSV or TSV file."""
    if csv.field_size_limit() < limits.json.field_bytes:
        csv.field_size_limit(limits.json.field_bytes)
    reader = csv.reader(_text_lines(file, limits), delimiter=separator, strict=True)
    width = rows = 0
    while True:
        start = reader.line_num + 1
        try:
            row = next(reader, None)
        except csv.Error as error:
            raise _csv_refusal(str(error), start, limits) from None
        if row is None:
            break
        if not row:
            continue
        if any(len(value) * 4 > limits.json.field_bytes for value in row):
            _check_fields(row, start, limits)
        if not width:
            width = _check_header(row, start)
        elif len(row) != width:
            raise Refused(
                "import_csv_ragged_row",
                f"This row has {len(row)} fields; the header has {width}.",
                f"line {start}",
            )
        else:
            rows += 1
        yield Line(start, row)
    if not rows:
        raise Refused("import_empty", "The file holds no record.")


def _text_lines(file: NamedFile, limits: Limits) -> Iterator[str]:
    for number, line in raw_lines(file, limits):
        if b"\0" in line:
            raise Refused("import_nul_character", "The character U+0000 is not allowed.", f"line {number}")
        yield strict_json.decode(line, f"line {number}") + "\n"


def _check_header(row: list[str], line: int) -> int:
    for index, name in enumerate(row):
        if not name.strip() or name in row[:index]:
            raise Refused(
                "import_csv_header_duplicate",
                f"Column {index + 1} has a name that is blank or stands twice. Each column needs a name of its own.",
                f"line {line}",
            )
    return len(row)


def _check_fields(row: list[str], line: int, limits: Limits) -> None:
    for index, value in enumerate(row):
        if len(value.encode()) > limits.json.field_bytes:
            raise Refused(
                "import_record_too_large",
                f"One field may be at most {limits.json.field_bytes:,} bytes.",
                f"line {line} column {index + 1}",
            )


def _csv_refusal(message: str, line: int, limits: Limits) -> Refused:
    if "field larger" in message:
        return Refused(
            "import_record_too_large", f"One field may be at most {limits.json.field_bytes:,} bytes.", f"line {line}"
        )
    return Refused(
        "import_csv_unterminated_quote",
        "A quoted field does not end with a quote before the next separator or line end.",
        f"line {line}",
    )
