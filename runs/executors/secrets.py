"""Secrets of model routes: read at the moment of a call from where the route says, kept nowhere."""

from __future__ import annotations

import os
from pathlib import Path

from runs.executors.contract import CallFailed

LONGEST = 10_000


def secret(reference: str) -> str:
    """The secret behind a reference, or nothing where the route has none."""
    where, _, name = reference.partition(":")
    if not reference:
        return ""
    if where == "env":
        found = os.environ.get(name, "")
    else:
        try:
            with Path(name).open(encoding="utf-8") as file:
                found = file.read(LONGEST)
        except (OSError, ValueError):
            found = ""
    found = found.strip()
    if not found or not found.isascii() or not found.isprintable():
        raise CallFailed("secret_missing")
    return found
