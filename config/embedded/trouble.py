"""What stops us, said in one sentence."""

import errno


class Trouble(Exception):
    """A reason not to go on, written for the person at the terminal."""


FULL = "No space left on device"


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
