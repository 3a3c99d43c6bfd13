"""What the setup of a group has to choose from, and the names of what was chosen and is on no list any more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from agents.models import Snapshot
from agents.queries import found_snapshots, routes
from comparisons.groups.forms import Offered, ids_in
from comparisons.groups.naming import names
from grading.queries import usable_versions
from runs.queries import slices_to_run, versions_to_run
from teams.access import Access

PAGE: Final = 10
MOST: Final = 500
"""Snapshots that one page shows, however often more are loaded; words narrow further."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a search for snapshots shows: the chosen ones apart, and whether there are more."""

    words: str
    shown: int
    rows: Sequence[Snapshot]
    chosen: Sequence[Snapshot]
    more: bool


def search(access: Access, words: str, shown: int, fields: Mapping[str, Sequence[str]]) -> Found:
    """The newest snapshots that the words name. What is chosen stays, wherever the search has moved."""
    shown = min(max(shown, PAGE), MOST)
    rows = list(found_snapshots(access, words)[: shown + 1])
    listed = {str(one.pk) for one in rows[:shown]}
    picked = (
        ids_in({name: values for name, values in fields.items() if name == "base" or name.startswith("arm_")}) - listed
    )
    chosen = list(found_snapshots(access).filter(pk__in=picked)) if picked else []
    return Found(words, shown, rows[:shown], chosen, len(rows) > shown and shown < MOST)


def offered(access: Access, found: Found, fields: Mapping[str, Sequence[str]]) -> Offered:
    versions, slices, graders = versions_to_run(access), slices_to_run(access), usable_versions(access)
    known = {str(row.pk) for rows in (versions, slices, graders) for row in rows}
    return Offered(
        snapshots=[*found.chosen, *found.rows],
        routes=list(routes(active=True)),
        versions=versions,
        slices=slices,
        graders=graders,
        gone=names(access, ids_in(fields) - known),
    )
