"""Which words of two answers differ: a small difference over words, bounded, for reading side by side."""

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
    baseline: tuple[Piece, ...]
    candidate: tuple[Piece, ...]
    by: str
    """words or lines: how fine the difference is."""

    @property
    def same(self) -> bool:
        return not any(piece.differs for piece in (*self.baseline, *self.candidate))


def diff(baseline: str, candidate: str) -> WordDiff:
    """The pieces of each side in order; joined, they are exactly the texts that came in."""
    for by, split in (("words", _TOKEN.findall), ("lines", _lines)):
        mine, theirs = split(candidate), split(baseline)
        if by == "lines" or (max(len(mine), len(theirs)) <= MOST_TOKENS and len(mine) * len(theirs) <= MOST_WORK):
            break
    if len(mine) * len(theirs) > MOST_WORK:
        whole = mine != theirs
        return WordDiff(_pieces([(baseline, whole)]), _pieces([(candidate, whole)]), "whole")
    before: list[tuple[str, bool]] = []
    after: list[tuple[str, bool]] = []
    matcher = SequenceMatcher(None, theirs, mine, autojunk=False)
    for tag, start, end, other_start, other_end in matcher.get_opcodes():
        differs = tag != "equal"
        before.append(("".join(theirs[start:end]), differs))
        after.append(("".join(mine[other_start:other_end]), differs))
    return WordDiff(_pieces(before), _pieces(after), by)


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
