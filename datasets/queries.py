"""Reads of datasets: versions, their items, revisions. Content is asked for only with the right to it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

from django.core.paginator import Page, Paginator
from django.db import connection, models
from django.db.models import Count, OuterRef, Q, Subquery
from django.db.models.functions import Cast

from analysis.word_diff import Piece, diff
from datasets import filters
from datasets.models import (
    Change,
    Dataset,
    Draft,
    Erratum,
    ErratumContent,
    ItemContent,
    ItemRevision,
    Slice,
    SliceContent,
    SliceVersion,
    Version,
    VersionEntry,
)
from teams.models import Team
from teams.records import Availability
from teams.refusals import Code, Refusal, register

SEARCHED_CHARACTERS = 200
register({"slice_unavailable": Code(409, "Choose a slice version whose filter can still be read.")})


def counted(team: Team) -> models.QuerySet[Dataset]:
    """A team's datasets with their number of versions and the facts of the newest one."""
    newest = Version.objects.filter(dataset=OuterRef("pk")).order_by("-number")
    return Dataset.objects.filter(team=team).annotate(
        versions=Count("version"),
        newest=Subquery(newest.values("number")[:1]),
        items=Subquery(newest.values("count")[:1]),
        changed_at=Subquery(newest.values("made_at")[:1]),
    )


def datasets_of(team: Team, *, archived: bool = False) -> models.QuerySet[Dataset]:
    return counted(team).filter(archived_at__isnull=not archived)


def versions_of(dataset: Dataset) -> models.QuerySet[Version]:
    return Version.objects.filter(dataset=dataset).select_related("made_by").order_by("-number")


@dataclass(frozen=True, slots=True)
class ItemRow:
    """One item of a version; `content` is None without the right to it."""

    position: int
    item: UUID
    revision: UUID
    number: int
    fingerprint: str
    content: ItemContent | None = None

    @property
    def preview(self) -> str:
        return preview(self.content.body) if self.content else ""


if TYPE_CHECKING:
    Pages = Paginator[VersionEntry]
else:
    Pages = Paginator  # takes no parameter at run time


class _ByPosition(Pages):
    """Pages of a whole version: positions are dense, so a page is a range and costs the same anywhere."""

    def __init__(self, rows: models.QuerySet[VersionEntry], size: int, count: int) -> None:
        super().__init__(rows, size)
        self._rows = rows
        self._count = count

    @property
    def count(self) -> int:
        return self._count

    def page(self, number: int | str) -> Page[VersionEntry]:
        chosen = self.validate_number(number)
        first = (chosen - 1) * self.per_page
        rows = self._rows.filter(position__gte=first, position__lt=first + self.per_page)
        return Page(list(rows), chosen, self)


def entries_of(version: Version, *, search: str = "") -> models.QuerySet[VersionEntry]:
    """A version's entries in order. `search` looks into content, so the caller has judged the right to it."""
    rows = VersionEntry.objects.filter(version=version).select_related("revision").order_by("position")
    if not search:
        return rows
    text = search[:SEARCHED_CHARACTERS]
    holds = ItemContent.objects.annotate(words=Cast("body", models.TextField())).filter(
        Q(source_id__icontains=text) | Q(title__icontains=text) | Q(tags__contains=[text]) | Q(words__icontains=text),
        revision=OuterRef("revision"),
    )
    return rows.filter(models.Exists(holds))


def entry_pages(version: Version, size: int, *, search: str = "") -> Paginator[VersionEntry]:
    rows = entries_of(version, search=search)
    return Paginator(rows, size) if search else _ByPosition(rows, size, version.count)


def item_rows(entries: Iterable[VersionEntry], *, content: bool) -> list[ItemRow]:
    """Rows of a page. Without the right, content is not even asked for."""
    entries = list(entries)
    texts: dict[UUID, ItemContent] = {}
    if content:
        texts = ItemContent.objects.in_bulk([entry.revision_id for entry in entries])
    return [
        ItemRow(
            entry.position,
            entry.item_id,
            entry.revision_id,
            entry.revision.number,
            bytes(entry.revision.content_digest).hex(),
            texts.get(entry.revision_id),
        )
        for entry in entries
    ]


def preview(body: Any, length: int = 160) -> str:
    """The first words of what a case asks: its input, or the last thing said to the subject."""
    asked = body.get("input", body.get("turns", body)) if isinstance(body, dict) else body
    if isinstance(asked, list):
        said = [turn for turn in asked if isinstance(turn, dict) and isinstance(turn.get("content"), str)]
        asked = said[-1]["content"] if said else asked
    text = " ".join((asked if isinstance(asked, str) else "" if asked is None else str(asked)).split())
    return text if len(text) <= length else f"{text[: length - 1]}…"


def revisions_of(dataset: Dataset) -> models.QuerySet[ItemRevision]:
    return ItemRevision.objects.filter(item__dataset=dataset).select_related("item", "made_by")


def siblings_of(revision: ItemRevision) -> models.QuerySet[ItemRevision]:
    """Every revision of the same item, newest first."""
    return ItemRevision.objects.filter(item_id=revision.item_id).order_by("-number")


def versions_with(revision: ItemRevision) -> models.QuerySet[Version]:
    return Version.objects.filter(versionentry__revision=revision).order_by("-number")


@dataclass(frozen=True, slots=True)
class ListedPoint:
    """A point as it is read; `inside` marks a sub-item of the point above it."""

    id: str
    text: str
    worth: Any
    inside: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """One named part of a body, as text or as turns; anything else as JSON."""

    name: str
    text: str | None = None
    turns: tuple[tuple[str, str], ...] = ()
    points: tuple[ListedPoint, ...] = ()
    """What a good answer earns points for, and how many."""
    json: str = ""


def parts(body: Any) -> list[Part]:
    """A body in the order it is read: what was asked, what was expected, the rest."""
    if not isinstance(body, dict):
        return [] if body is None else [_part("Input", body)]
    first = ("input", "turns", "expected")
    names = [name for name in first if name in body] + sorted(name for name in body if name not in first)
    found: list[Part] = []
    for name in names:
        if name == "variants" and isinstance(body[name], list) and all(_is_variant(one) for one in body[name]):
            found += [part for one in body[name] for part in _variant(one)]
        else:
            found.append(_part(name.replace("_", " ").capitalize(), body[name]))
    return found


def _is_variant(given: Any) -> bool:
    return isinstance(given, dict) and isinstance(given.get("name"), str)


def _variant(given: dict[str, Any]) -> list[Part]:
    """What a variant asks and looks for beyond the case."""
    name = f"Variant {given['name']}"
    found = [Part(name, text=given["input"])] if isinstance(given.get("input"), str) else []
    if "checklist" in given:
        found.append(_part(f"Checklist of {given['name']}", given["checklist"]))
    return found or [Part(name, text="")]


def _part(name: str, value: Any) -> Part:
    if isinstance(value, str):
        return Part(name, text=value)
    if isinstance(value, int | float | bool):
        return Part(name, text=str(value))
    if isinstance(value, list) and value and all(_is_point(point) for point in value):
        return Part(name, points=tuple(listed for point in value for listed in _listed(point)))
    if isinstance(value, list) and value and all(_is_turn(turn) for turn in value):
        return Part(name, turns=tuple((str(turn.get("role", "")), turn["content"]) for turn in value))
    return Part(name, json=json.dumps(value, indent=2, ensure_ascii=False))


def _is_point(point: Any) -> bool:
    known = {"id", "text", "points"}
    if not isinstance(point, dict) or not known <= set(point) <= known | {"sub_items"}:
        return False
    inner = point.get("sub_items") or []
    return isinstance(point["text"], str) and isinstance(inner, list) and all(_is_point(one) for one in inner)


def _listed(point: dict[str, Any]) -> list[ListedPoint]:
    inner = [ListedPoint(one["id"], one["text"], one["points"], True) for one in point.get("sub_items") or []]
    return [ListedPoint(point["id"], point["text"], point["points"]), *inner]


def _is_turn(turn: Any) -> bool:
    return isinstance(turn, dict) and isinstance(turn.get("content"), str) and set(turn) <= {"role", "content"}


@dataclass(frozen=True, slots=True)
class Readable:
    """A revision's protected side as it can be read now: its parts, or why there are none."""

    content: ItemContent | None
    parts: list[Part]
    removed: str


def content_of(revision: UUID) -> Readable:
    """The caller has judged the right to content."""
    content = ItemContent.objects.filter(revision_id=revision).first()
    if content is None or (content.body is None and content.availability == Availability.AVAILABLE):
        return Readable(content, [], "never captured")
    if content.availability != Availability.AVAILABLE:
        return Readable(content, [], content.availability)
    return Readable(content, parts(content.body), "")


# --- drafts, and what differs between two lists ---------------------------------------------------


def draft_of(dataset: Dataset) -> Draft | None:
    return Draft.objects.select_related("base", "made_by").filter(dataset=dataset).first()


@dataclass(frozen=True, slots=True)
class Difference:
    """One case that two lists do not share. Contents are None without the right to them."""

    kind: str
    """added, revised or removed."""
    item: UUID
    before: ItemRevision | None
    after: ItemRevision | None
    content: ItemContent | None = None
    """Of the newer revision, or of the removed one."""

    @property
    def name(self) -> str:
        return (self.content.source_id or "") if self.content else ""

    @property
    def preview(self) -> str:
        return preview(self.content.body) if self.content else ""


KINDS = ("added", "revised", "removed")


def changes_of(draft: Draft) -> models.QuerySet[Change]:
    """The changes of a draft in the order in which they were begun."""
    before = VersionEntry.objects.filter(version=draft.base_id, item=OuterRef("item"))
    return (
        Change.objects.filter(draft=draft)
        .select_related("revision", "made_by")
        .annotate(before_id=Subquery(before.values("revision")[:1]))
        .order_by("id")
    )


def counts_of(draft: Draft) -> dict[str, int]:
    """How many cases the draft adds, revises and removes."""
    rows = changes_of(draft).aggregate(
        added=Count("pk", filter=Q(before_id__isnull=True)),
        removed=Count("pk", filter=Q(before_id__isnull=False, revision__isnull=True)),
        revised=Count("pk", filter=Q(before_id__isnull=False, revision__isnull=False)),
    )
    return {kind: rows[kind] for kind in KINDS}


def draft_differences(changes: Iterable[Change], *, content: bool) -> list[Difference]:
    rows = [(change.item_id, change.before_id, change.revision_id) for change in changes]  # type: ignore[attr-defined]
    return _differences(rows, content=content)


def compared(older: Version, newer: Version) -> list[tuple[str, UUID, UUID | None, UUID | None]]:
    """(kind, item, revision before, revision after) of each case that differs: by kind, in the order of its list."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT coalesce(b.item_id, a.item_id), a.revision_id, b.revision_id
            FROM (SELECT * FROM datasets_versionentry WHERE version_id = %s) a
            FULL JOIN (SELECT * FROM datasets_versionentry WHERE version_id = %s) b ON b.item_id = a.item_id
            WHERE a.revision_id IS DISTINCT FROM b.revision_id
            ORDER BY a.revision_id IS NOT NULL, b.revision_id IS NULL, coalesce(b.position, a.position)
            """,
            [older.pk, newer.pk],
        )
        return [
            ("added" if before is None else "removed" if after is None else "revised", item, before, after)
            for item, before, after in cursor.fetchall()
        ]


def version_differences(
    rows: Iterable[tuple[str, UUID, UUID | None, UUID | None]], *, content: bool
) -> list[Difference]:
    """A page of `compared` with what there is to show."""
    return _differences([(item, before, after) for _, item, before, after in rows], content=content)


def _differences(rows: list[tuple[UUID, UUID | None, UUID | None]], *, content: bool) -> list[Difference]:
    wanted = [revision for _, before, after in rows for revision in (before, after) if revision is not None]
    revisions = ItemRevision.objects.in_bulk(wanted)
    texts = ItemContent.objects.in_bulk(wanted) if content else {}
    return [
        Difference(
            "added" if before is None else "removed" if after is None else "revised",
            item,
            revisions.get(before) if before else None,
            revisions.get(after) if after else None,
            texts.get(after or before),
        )
        for item, before, after in rows
    ]


# --- what differs between two revisions ----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FieldDiff:
    """One field of a case in two revisions: pieces of the text before and after."""

    name: str
    before: tuple[Piece, ...]
    after: tuple[Piece, ...]


def field_diffs(before: ItemContent, after: ItemContent) -> list[FieldDiff]:
    """The fields in which two revisions differ, in the order in which a case is read."""
    names = {name: None for one in (before, after) for name in _fields(one)}
    left, right = _fields(before), _fields(after)
    found = []
    for name in names:
        one, other = left.get(name, ""), right.get(name, "")
        if one != other:
            told = diff(one, other)
            found.append(FieldDiff(name, told.before, told.after))
    return found


def _fields(content: ItemContent) -> dict[str, str]:
    fields = {
        "Title": content.title or "",
        "Language": content.language,
        "Tags": ", ".join(sorted(content.tags or [])),
        "Group": content.group_name or "",
    }
    for part in parts(content.body):
        said = [f"{role}: {text}" for role, text in part.turns]
        said += [f"{point.text} ({point.worth})" for point in part.points]
        fields[part.name] = part.text or part.json or "\n\n".join(said)
    metadata = content.metadata or {}
    fields["Metadata"] = json.dumps(metadata, indent=2, ensure_ascii=False, sort_keys=True) if metadata else ""
    return fields


# --- errata ----------------------------------------------------------------------------------------


def errata_of(revision: ItemRevision) -> models.QuerySet[Erratum]:
    """What was found wrong with a case's checklist, in order; its content needs the right to it."""
    rows: models.QuerySet[Erratum] = Erratum.objects.filter(revision=revision)
    return rows.select_related("made_by", "erratumcontent")


def excluded_points(revision: ItemRevision) -> frozenset[str]:
    """Ids of points that do not count after all."""
    lists_of = ErratumContent.objects.filter(erratum__revision=revision).values_list("excluded", flat=True)
    return frozenset(point for one in lists_of if one for point in one)


# --- slices ----------------------------------------------------------------------------------------


def slices_of(dataset: Dataset, *, archived: bool | None = False) -> models.QuerySet[Slice]:
    """A dataset's slices with the facts of their newest version; `archived` None means all of them."""
    newest = SliceVersion.objects.filter(slice=OuterRef("pk")).order_by("-number")
    rows = Slice.objects.filter(dataset=dataset)
    if archived is not None:
        rows = rows.filter(archived_at__isnull=not archived)
    return rows.annotate(
        versions=Count("sliceversion"),
        number=Subquery(newest.values("number")[:1]),
        count=Subquery(newest.values("count")[:1]),
        scope=Subquery(newest.values("scope")[:1]),
        counted_on_number=Subquery(newest.values("counted_on__number")[:1]),
        newest=Subquery(newest.values("pk")[:1]),
    )


def slice_versions(slice_: Slice) -> models.QuerySet[SliceVersion]:
    return SliceVersion.objects.filter(slice=slice_).select_related("counted_on", "made_by").order_by("-number")


class CaseKey(NamedTuple):
    """A case as an experiment plans it: its revision, and the digests of source and content."""

    revision: UUID
    source: bytes
    content: bytes


def cases_of(version: Version, slice_version: SliceVersion | None = None) -> list[CaseKey]:
    """The cases of a version in its order; with a slice those that it takes from it. Digests only, no content."""
    rows = VersionEntry.objects.filter(version=version).order_by("position")
    if slice_version is not None:
        kept = SliceContent.objects.filter(slice_version=slice_version, filter__isnull=False).first()
        if kept is None:
            raise Refusal("slice_unavailable", "The filter of this slice version was taken away.", place="slice")
        rows = filters.entries(version, filters.read(kept.filter))
    found = rows.values_list("revision_id", "item__source_digest", "revision__content_digest")
    return [CaseKey(revision, bytes(source), bytes(content)) for revision, source, content in found]


def words_of(versions: Iterable[UUID]) -> dict[UUID, SliceContent]:
    """Filters of slice versions. The caller has judged the right to content."""
    return SliceContent.objects.in_bulk(list(versions))
