"""Zip archives read by hand: what the directory says is checked against what is there.

The standard reader trusts sizes in the directory, takes either of two equal names, ignores bytes
before the first member and cannot read Zstandard before Python 3.14. Member names are keys here,
never paths, and nothing is ever written to disk.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

import zstandard

from analysis.refusals import Refused
from analysis.strict_json import visible
from intake.readers.files import CHUNK, Limits

STORED: Final = 0
DEFLATED: Final = 8
ZSTANDARD: Final = 93
FRAME_HEADER: Final = 18  # bytes that the header of a Zstandard frame has at most

_END: Final = struct.Struct("<IHHHHIIH")
_ENTRY: Final = struct.Struct("<IHHHHHHIIIHHHHHII")
_LOCAL: Final = struct.Struct("<IHHHHHIIIHH")
_END_MARK: Final = b"PK\x05\x06"
_DRIVE: Final = re.compile(r"[A-Za-z]:")


@dataclass(frozen=True, slots=True)
class Member:
    """One entry of the directory; `start` is where its compressed bytes begin."""

    name: str
    method: int
    flags: int
    crc: int
    packed: int
    size: int
    start: int


class Archive:
    """The checked directory of a zip file; members are unpacked one at a time, within the budget."""

    def __init__(self, path: Path, limits: Limits) -> None:
        self._path = path
        self._limits = limits
        with path.open("rb") as stream:
            self.members = _directory(stream, limits)

    def read(self, name: str) -> bytes:
        """A member's content, or `Refused`. The checksum and the size are those of the directory."""
        member = self.members[name]
        with self._path.open("rb") as stream:
            return _unpack(stream, member, self._limits)

    def stream(self, names: list[str]) -> Iterator[tuple[str, bytes]]:
        """The contents of several members, one in memory at a time; their sum is bounded too."""
        left = self._limits.unpacked_bytes
        with self._path.open("rb") as stream:
            for name in names:
                data = _unpack(stream, self.members[name], self._limits)
                left -= len(data)
                if left < 0:
                    raise _too_large(name)
                yield name, data


def _directory(stream: IO[bytes], limits: Limits) -> dict[str, Member]:
    size = stream.seek(0, 2)
    tail_at = max(0, size - _END.size - 0xFFFF)
    stream.seek(tail_at)
    tail = stream.read()
    found = tail.rfind(_END_MARK)
    if found < 0 or len(tail) - found < _END.size:
        raise _invalid("The archive has no end record; it may be cut off.")
    _, disk, first_disk, here, entries, length, offset, comment = _END.unpack_from(tail, found)
    end_at = tail_at + found
    if disk or first_disk or here != entries or end_at + _END.size + comment != size:
        raise _invalid("The archive's end record does not fit the file.")
    if 0xFFFF in (entries, here) or 0xFFFFFFFF in (length, offset):
        raise _invalid("Zip64 archives are larger than what is read here.")
    if entries > limits.members:
        raise Refused(
            "import_zip_too_many_members", f"An archive may have at most {limits.members:,} members, not {entries:,}."
        )
    if offset + length != end_at:
        raise _invalid("The archive's directory is not where its end record says.")
    stream.seek(offset)
    directory = stream.read(length)
    listed = [*_entries(directory, entries)]
    spans = [_checked(stream, member, header_at, offset) for member, header_at in listed]
    _refuse_overlaps(spans)
    members: dict[str, Member] = {}
    for _, _, member in spans:
        if member.name in members:
            raise Refused(
                "import_zip_duplicate_member", "Each member name may stand once in an archive.", visible(member.name)
            )
        members[member.name] = member
    return members


def _entries(directory: bytes, count: int) -> Iterator[tuple[Member, int]]:
    """Members as the directory lists them, with the offset of their local headers."""
    at = 0
    for _ in range(count):
        if len(directory) - at < _ENTRY.size:
            raise _invalid("The archive's directory ends too early.")
        values = _ENTRY.unpack_from(directory, at)
        mark, made_by, _, flags, method, _, _, crc, packed, size, name_len, extra_len, comment_len = values[:13]
        external, header_at = values[15], values[16]
        if mark != 0x02014B50:
            raise _invalid("The archive's directory is damaged.")
        raw = directory[at + _ENTRY.size : at + _ENTRY.size + name_len]
        at += _ENTRY.size + name_len + extra_len + comment_len
        if len(raw) != name_len or at > len(directory):
            raise _invalid("The archive's directory ends too early.")
        name = _checked_name(raw, flags)
        unix = external >> 16
        if made_by >> 8 == 3 and unix and unix & 0o170000 not in (0, 0o100000):
            raise Refused("import_zip_member_path", "Only regular files are allowed as members.", visible(name))
        if flags & 1:
            raise Refused("import_zip_encrypted", "Members may not be encrypted.", visible(name))
        if method not in (STORED, DEFLATED, ZSTANDARD):
            raise Refused(
                "import_zip_method_unsupported",
                f"Compression method {method} is not read; stored, deflate and Zstandard are.",
                visible(name),
            )
        yield Member(name, method, flags, crc, packed, size, 0), header_at
    if at != len(directory):
        raise _invalid("The archive's directory is longer than its entries.")


def _checked_name(raw: bytes, flags: int) -> str:
    try:
        name = raw.decode("utf-8" if flags & 0x800 else "ascii")
    except UnicodeDecodeError:
        raise _invalid("A member's name is not valid text.") from None
    parts = name.split("/")
    strange = (
        not name
        or "\\" in name
        or _DRIVE.match(name) is not None
        or any(part in ("", ".", "..") for part in parts)
        or any(ord(character) < 0x20 or ord(character) == 0x7F for character in name)
        or len(raw) > 1024
    )
    if strange:
        raise Refused(
            "import_zip_member_path", "Member names must be plain relative paths of regular files.", visible(name, 1100)
        )
    return name


def _checked(stream: IO[bytes], member: Member, header_at: int, directory_at: int) -> tuple[int, int, Member]:
    """First and last byte of a member, whose local header must say what the directory says."""
    stream.seek(header_at)
    head = stream.read(_LOCAL.size)
    if len(head) != _LOCAL.size:
        raise _invalid("A member lies outside the archive.", member.name)
    mark, _, flags, method, _, _, _, _, _, name_len, extra_len = _LOCAL.unpack(head)
    if mark != 0x04034B50 or method != member.method or flags & 1 != member.flags & 1:
        raise _invalid("A member does not begin with the header that the directory announces.", member.name)
    local_name = stream.read(name_len)
    if local_name != member.name.encode():
        raise _invalid("A member has another name than the directory says.", member.name)
    start = header_at + _LOCAL.size + name_len + extra_len
    end = start + member.packed
    if end > directory_at:
        raise _invalid("A member reaches beyond the archive's contents.", member.name)
    whole = Member(member.name, member.method, member.flags, member.crc, member.packed, member.size, start)
    return header_at, end, whole


def _refuse_overlaps(spans: list[tuple[int, int, Member]]) -> None:
    reached = 0
    for header_at, end, member in sorted(spans, key=lambda span: span[:2]):
        if header_at < reached:
            raise Refused("import_zip_overlap", "Members may not share bytes of the archive.", visible(member.name))
        reached = end


def _unpack(stream: IO[bytes], member: Member, limits: Limits) -> bytes:
    """What comes out, counted while it comes out; kept only as far as the directory's size allows."""
    stream.seek(member.start)
    kept: list[bytes] = []
    total = crc = 0
    for piece in _pieces(stream, member, limits.member_bytes):
        if total <= member.size:
            kept.append(piece)
            crc = zlib.crc32(piece, crc)
        total += len(piece)
        if total > limits.member_bytes:
            raise _too_large(member.name)
    if total != member.size:
        raise Refused(
            "import_zip_size_lie",
            f"The directory says {member.size:,} bytes; {total:,} came out.",
            visible(member.name),
        )
    if crc != member.crc:
        raise Refused("import_zip_crc", "The member's content does not match its checksum.", visible(member.name))
    return b"".join(kept)


def _pieces(stream: IO[bytes], member: Member, allowed: int) -> Iterator[bytes]:
    """Unpacked pieces of bounded size, whatever the compressed bytes say."""
    left = member.packed
    if member.method == STORED:
        while left:
            data = _take(stream, min(CHUNK, left), member)
            left -= len(data)
            yield data
    elif member.method == DEFLATED:
        inflate = zlib.decompressobj(-15)
        try:
            while left and not inflate.eof:
                data = _take(stream, min(CHUNK, left), member)
                left -= len(data)
                while data and not inflate.eof:
                    yield inflate.decompress(data, CHUNK * 4)
                    data = inflate.unconsumed_tail
        except zlib.error:
            raise _invalid("A member's compressed bytes are damaged.", member.name) from None
        if not inflate.eof or left or inflate.unused_data:
            raise _invalid("A member's compressed bytes do not end where the directory says.", member.name)
    else:
        yield from _zstandard(_Window(stream, left, member), member, allowed)


def _zstandard(window: _Window, member: Member, allowed: int) -> Iterator[bytes]:
    """Zstandard pieces. A frame that asks for more memory than a member may have is refused before it gets any."""
    try:
        frame = zstandard.get_frame_parameters(window.peek(FRAME_HEADER))
        if frame.window_size > allowed:
            raise _too_large(member.name)
        decoder = zstandard.ZstdDecompressor(max_window_size=max(allowed, 1 << 23))
        with decoder.stream_reader(window, read_size=CHUNK, read_across_frames=True) as reader:  # type: ignore[arg-type]
            while data := reader.read(CHUNK * 4):
                yield data
    except zstandard.ZstdError:
        raise _invalid("A member's compressed bytes are damaged.", member.name) from None


class _Window:
    """The compressed bytes of one member as a file of its own."""

    def __init__(self, stream: IO[bytes], left: int, member: Member) -> None:
        self._stream = stream
        self._left = left
        self._member = member

    def peek(self, size: int) -> bytes:
        at = self._stream.tell()
        data = self._stream.read(min(size, self._left))
        self._stream.seek(at)
        return data

    def read(self, size: int = -1) -> bytes:
        wanted = self._left if size < 0 else min(size, self._left)
        if not wanted:
            return b""
        data = _take(self._stream, wanted, self._member)
        self._left -= len(data)
        return data


def _take(stream: IO[bytes], size: int, member: Member) -> bytes:
    data = stream.read(size)
    if not data:
        raise _invalid("A member ends too early.", member.name)
    return data


def _invalid(message: str, name: str = "") -> Refused:
    return Refused("import_zip_invalid", message, visible(name))


def _too_large(name: str) -> Refused:
    return Refused(
        "import_zip_too_large_unpacked", "What comes out of the archive is larger than allowed.", visible(name)
    )
