"""Which words of two texts differ: a small difference over words, bounded, for reading side by side."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher

_TOKEN = re.compile(r"\w+|\s+|[^\w\s]", re.UNICODE)
MOST_TOKENS = 6_000
"""Per side; beyond it, or where too much work is to be done, only lines are told apart."""
MOST_WORK = 8_000_000


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of one side's text; `differs` where the other side does not have it there."""

    text: str
    differs: bool


@dataclass(frozen=True, slots=True)
class WordDiff:
    before: tuple[Piece, ...]
    after: tuple[Piece, ...]
    by: str
    """words or lines: how fine the difference is."""

    @property
    def same(self) -> bool:
        return not any(piece.differs for piece in (*self.before, *self.after))


def diff(before: str, after: str) -> WordDiff:
    """The pieces of each side in order; joined, they are exactly the texts that came in."""
    for by, split in (("words", _TOKEN.findall), ("lines", _lines)):
        mine, theirs = split(after), split(before)
        if by == "lines" or (max(len(mine), len(theirs)) <= MOST_TOKENS and len(mine) * len(theirs) <= MOST_WORK):
            break
    if len(mine) * len(theirs) > MOST_WORK:
        whole = mine != theirs
        return WordDiff(_pieces([(before, whole)]), _pieces([(after, whole)]), "whole")
    left: list[tuple[str, bool]] = []
    right: list[tuple[str, bool]] = []
    matcher = SequenceMatcher(None, theirs, mine, autojunk=False)
    for tag, start, end, other_start, other_end in matcher.get_opcodes():
        differs = tag != "equal"
        left.append(("".join(theirs[start:end]), differs))
        right.append(("".join(mine[other_start:other_end]), differs))
    return WordDiff(_pieces(left), _pieces(right), by)


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def _pieces(parts: list[tuple[str, bool]]) -> tuple[Piece, ...]:
    """Neighbours of one kind joined, and a lone space between two differing words joined with them."""
    joined: list[Piece] = []
    for index, (text, differs) in enumerate(parts):
        if not text:
            continue
        bridge = not differs and text.isspace() and 0 < index < len(parts) - 1 and "\n" not in text
        kind = differs or (bridge and bool(joined) and joined[-1].differs)
        if joined and joined[-1].differs == kind:
            joined[-1] = Piece(joined[-1].text + text, kind)
        else:
            joined.append(Piece(text, kind))
    return tuple(joined)
