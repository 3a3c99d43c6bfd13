"""Uploaded bytes, kept by their digest in a private directory. No path ever comes from a user."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from teams.refusals import Refusal


@dataclass(frozen=True, slots=True)
class Kept:
    sha256: str
    size: int


def path_of(sha256: str) -> Path:
    return Path(settings.UPLOAD_DIR) / sha256[:2] / sha256


def _private(directory: Path) -> Path:
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    return directory


def keep(chunks: Iterable[bytes]) -> Kept:
    """Write the bytes under their digest, completely or not at all. Bytes that are there already stay."""
    limit = settings.MAX_UPLOAD_BYTES
    root = _private(Path(settings.UPLOAD_DIR))
    digest, size = hashlib.sha256(), 0
    handle, name = tempfile.mkstemp(prefix="arriving-", dir=root)  # 0600
    arriving = Path(name)
    try:
        with os.fdopen(handle, "wb") as target:
            for chunk in chunks:
                size += len(chunk)
                if size > limit:
                    raise Refusal("import_file_too_large", f"A file may have {limit:,} bytes.", place="files")
                digest.update(chunk)
                target.write(chunk)
            if size == 0:
                raise Refusal("import_empty", "The file is empty.", place="files")
            target.flush()
            os.fsync(target.fileno())
        final = path_of(digest.hexdigest())
        _private(final.parent)
        arriving.replace(final)
    except BaseException:
        arriving.unlink(missing_ok=True)
        raise
    return Kept(digest.hexdigest(), size)


def chunks_of(path: Path, size: int = 1 << 20) -> Iterable[bytes]:
    with path.open("rb") as stream:
        while chunk := stream.read(size):
            yield chunk


def drop(sha256: str) -> None:
    path_of(sha256).unlink(missing_ok=True)


def left_over(older_than: float) -> Iterable[Path]:
    """Files last written before this time: finished ones by digest, and uploads that never finished."""
    root = Path(settings.UPLOAD_DIR)
    if not root.is_dir():
        return
    for path in (*root.glob("arriving-*"), *root.glob("??/*")):
        if path.stat().st_mtime < older_than:
            yield path
