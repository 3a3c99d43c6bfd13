"""What stops us, said in one sentence."""

import errno
import os
from pathlib import Path


class Trouble(Exception):
    """A reason not to go on, written for the person at the terminal."""


ROOM_TO_WORK = 16 * 1024 * 1024  # bytes; PostgreSQL writes its log in pieces of this size


def disk_is_full(path: Path, needed: int = ROOM_TO_WORK) -> bool:
    """Whether there is no room; asked of the disk because a log on it cannot tell any more."""
    disk = os.statvfs(path)
    return disk.f_bavail * disk.f_frsize < needed


def sentence(error: OSError) -> str:
    """Say what the operating system refused, and where."""
    place = error.filename or "the disk"
    if error.errno == errno.ENOSPC:
        return f"The disk that holds {place} is full."
    if error.errno == errno.EDQUOT:
        return f"The disk quota for {place} is used up."
    if error.errno in (errno.EACCES, errno.EPERM):
        return f"This account may not use {place}: {error.strerror}."
    if error.errno == errno.EROFS:
        return f"{place} lies on a read-only file system."
    return f"{place}: {error.strerror or error}."
