"""A refusal of something that came in: a stable code, the place, and what is allowed."""

from __future__ import annotations


class Refused(Exception):
    """Bad input, refused. Nothing was kept. `place` says where (`line 3 reward`), in the reader's words."""

    def __init__(self, code: str, message: str, place: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.place = place

    def __str__(self) -> str:
        return f"{self.place}: {self.message}" if self.place else self.message
