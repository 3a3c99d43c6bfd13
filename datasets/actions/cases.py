"""What creates dataset evidence: cases with their revisions, and exact versions.

The functions of this file run inside the caller's transaction, which holds the team's evidence lock:
numbers are dense and nothing is created twice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection
from psycopg.types.json import Jsonb

from analysis.observations import group_digest
from datasets.models import Dataset, Item, ItemContent, ItemRevision, Version, VersionEntry
from teams.access import Access
from teams.bulk import copy_rows
from teams.records import Availability, new_id


@dataclass(frozen=True, slots=True)
class CaseDraft:
    """A case as evidence tells of it. `content_digest` is empty where the content was not captured."""

    source_digest: bytes
    content_digest: bytes
    source_id: str
    source_is_number: bool
    body: Mapping[str, Any] | None
    title: str = ""
    language: str = ""
    tags: Sequence[str] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    group: str = ""
    """Name of the group of related cases that this one belongs to, if the evidence tells of one."""


@dataclass(frozen=True, slots=True)
class Stored:
    """Where a case lies: its item and the exact revision."""

    item: UUID
    revision: UUID
    content_digest: bytes
    group_digest: bytes = b""
    description_digest: bytes = b""


def store_cases(
    *, dataset: Dataset, drafts: Sequence[CaseDraft], by: UUID, at: datetime
) -> dict[tuple[bytes, bytes], Stored]:
    """Every case's exact revision, found or made. Two reads and three writes, whatever the number of cases.

    A draft without a group takes the newest revision of its content, whatever group that belongs to.
    """
    wanted = {(draft.source_digest, draft.content_digest): draft for draft in drafts}
    items: dict[bytes, UUID] = {}
    highest: dict[bytes, int] = {}
    known: dict[tuple[bytes, bytes, bytes], Stored] = {}
    newest: dict[tuple[bytes, bytes], Stored] = {}
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id, source_digest FROM datasets_item WHERE dataset_id = %s AND source_digest = ANY(%s)",
            [dataset.pk, list({source for source, _ in wanted})],
        )
        sources = {item: bytes(source) for item, source in cursor}
        items |= {source: item for item, source in sources.items()}
        cursor.execute(
            "SELECT item_id, id, number, content_digest, group_digest, description_digest FROM datasets_itemrevision"
            " WHERE item_id = ANY(%s) ORDER BY number",
            [list(sources)],
        )
        for item, revision, number, content, group, described in cursor:
            source = sources[item]
            highest[source] = number
            found = Stored(item, revision, bytes(content), bytes(group), bytes(described))
            known[source, found.content_digest, found.group_digest] = found
            newest[source, found.content_digest] = found
    stored: dict[tuple[bytes, bytes], Stored] = {}
    new_items: list[tuple[UUID, UUID, bytes]] = []
    revisions: list[tuple[Any, ...]] = []
    contents: list[tuple[Any, ...]] = []
    for key, draft in wanted.items():
        group = group_digest(draft.group)
        there = known.get((*key, group)) if group else newest.get(key)
        if there is not None:
            stored[key] = there
            continue
        source = draft.source_digest
        if source not in items:
            items[source] = new_id()
            new_items.append((items[source], dataset.pk, source))
        highest[source] = highest.get(source, 0) + 1
        revision = new_id()
        stored[key] = Stored(items[source], revision, draft.content_digest, group)
        revisions.append((revision, items[source], highest[source], draft.content_digest, group, b"", by, at))
        contents.append(
            (
                revision,
                Availability.AVAILABLE.value,
                draft.source_id,
                draft.source_is_number,
                draft.title or None,
                draft.language,
                list(draft.tags),
                Jsonb(dict(draft.metadata)),
                None if draft.body is None else Jsonb(dict(draft.body)),
                draft.group or None,
            )
        )
    copy_rows(Item, ("id", "dataset", "source_digest"), new_items)
    copy_rows(
        ItemRevision,
        ("id", "item", "number", "content_digest", "group_digest", "description_digest", "made_by", "made_at"),
        revisions,
    )
    copy_rows(
        ItemContent,
        (
            *("revision", "availability", "source_id", "source_is_number", "title"),
            *("language", "tags", "metadata", "body", "group_name"),
        ),
        contents,
    )
    return stored


def exact_version(
    *, access: Access, dataset: Dataset, cases: Iterable[tuple[bytes, Stored]], at: datetime, in_order: bool = False
) -> Version:
    """The version that lists exactly these revisions, by case digest; an equal one is used again.

    `in_order` they are listed as they come, and only the newest version is used again: who goes back to an
    earlier list by hand goes on from there.
    """
    given = list(cases)
    ordered = sorted(given, key=lambda case: case[0])
    identity = _identity([(source, stored) for source, stored in ordered])
    newest: Version | None = Version.objects.filter(dataset=dataset).order_by("-number").first()
    last = newest.number if newest is not None else 0
    if newest is not None and newest.sha256 == identity:
        return newest
    known: Version | None = Version.objects.filter(dataset=dataset, sha256=identity).order_by("-number").first()
    if known is not None and not in_order:
        return known
    version: Version = Version.objects.create(
        dataset=dataset, number=last + 1, count=len(ordered), sha256=identity, made_by=access.user
    )
    copy_rows(
        VersionEntry,
        ("version", "position", "item", "revision"),
        (
            (version.pk, position, stored.item, stored.revision)
            for position, (_, stored) in enumerate(given if in_order else ordered)
        ),
    )
    return version


def _identity(ordered: Sequence[tuple[bytes, Stored]]) -> str:
    """SHA-256 over cases and what their revisions say. What no case has is left out, so that old ones stay."""
    described = any(stored.description_digest for _, stored in ordered)
    grouped = described or any(stored.group_digest for _, stored in ordered)
    layout = 3 if described else 2 if grouped else 1
    digest = hashlib.sha256(b"evenhand/version/%d\0" % layout)
    for source, stored in ordered:
        digest.update(source + stored.content_digest.ljust(32, b"\0"))
        if grouped:
            digest.update(stored.group_digest.ljust(32, b"\0"))
        if described:
            digest.update(stored.description_digest.ljust(32, b"\0"))
    return digest.hexdigest()
