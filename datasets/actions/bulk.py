"""Many cases at once into the draft: looked at first, then written with a handful of statements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from psycopg.types.json import Jsonb

from analysis.observations import group_digest, source_digest
from datasets.actions import drafts
from datasets.actions.drafts import EDIT, opened
from datasets.bodies import Case, checked
from datasets.models import Change, Dataset, Draft, Item, ItemContent, ItemRevision, Version, VersionEntry
from datasets.tables import Row, case_of
from teams import audit
from teams.access import Access
from teams.bulk import copy_rows
from teams.records import Availability, new_id
from teams.refusals import Code, Refusal, register

SHOWN_FAULTS = 200

register(
    {"table_rows_faulty": Code(422, "Mend the rows that are named, or choose to leave them out; nothing was written.")}
)


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a row is not taken: its number, the field, and what is allowed."""

    row: int
    place: str
    message: str


@dataclass(slots=True)
class Report:
    """What a table would do, or has done, to the draft."""

    added: int = 0
    revised: int = 0
    unchanged: int = 0
    faulty: int = 0
    faults: list[Fault] = field(default_factory=list)
    """The first of them."""

    @property
    def changes(self) -> int:
        return self.added + self.revised


@dataclass(frozen=True, slots=True)
class _Listed:
    """What the draft lists of an item now."""

    item: UUID
    revision: UUID
    case: Case
    content_digest: bytes
    group_digest: bytes


@dataclass(frozen=True, slots=True)
class _Wanted:
    digest: bytes
    is_number: bool
    case: Case


def look_at_table(*, access: Access, dataset: Dataset, rows: Sequence[Row], base: Version | None = None) -> Report:
    """What the rows would do; nothing is written."""
    access.require(*EDIT)
    draft = Draft.objects.select_related("base").filter(dataset=dataset).first()
    start = draft.base if draft else base or Version.objects.filter(dataset=dataset).order_by("-number").first()
    return _judged(dataset, draft, start, rows)[0]


@transaction.atomic
def bring_table(
    *, access: Access, dataset: Dataset, rows: Sequence[Row], leave_out: bool = False, base: Version | None = None
) -> Report:
    """Add and revise cases as the rows say. With a faulty row nothing is written, unless they are left out."""
    draft = opened(access, dataset, base)
    report, wanted = _judged(draft.dataset, draft, draft.base, rows)
    if report.faulty and not leave_out:
        first = report.faults[0]
        raise Refusal(
            "table_rows_faulty",
            f"{report.faulty:,} of {len(rows):,} rows cannot be taken. The first is row {first.row}: {first.message}",
            place=f"row {first.row}, {first.place}",
            faults=[{"row": one.row, "place": one.place, "message": one.message} for one in report.faults],
        )
    if Change.objects.filter(draft=draft).count() + report.changes > drafts.MOST_CHANGES:
        raise Refusal("draft_too_large")
    if report.changes:
        _write(access, draft, wanted)
        draft.revision += 1
        draft.save(update_fields=["revision"])
    audit.by("cases.brought", access, draft.dataset, added=report.added, revised=report.revised, left_out=report.faulty)
    return report


def _judged(
    dataset: Dataset, draft: Draft | None, base: Version | None, rows: Sequence[Row]
) -> tuple[Report, list[_Wanted]]:
    report = Report()
    known = _known(dataset, rows)
    listed = _listed(draft, base, known)
    wanted: list[_Wanted] = []
    seen: dict[bytes, int] = {}
    for row in rows:
        digest, is_number = _digest(row, known)
        try:
            if digest and digest in seen:
                raise Refusal("invalid_field", f"The id stands in row {seen[digest]} already.", place="id")
            now = listed.get(digest)
            case = checked(case_of(row, now.case if now else None))
        except Refusal as refusal:
            report.faulty += 1
            if len(report.faults) < SHOWN_FAULTS:
                place = "id" if refusal.place == "source_id" else refusal.place
                report.faults.append(Fault(row.number, place, refusal.message))
            continue
        seen[digest] = row.number
        if now is None:
            report.added += 1
        elif _same(now, case):
            report.unchanged += 1
            continue
        else:
            report.revised += 1
        wanted.append(_Wanted(digest, is_number, case))
    return report, wanted


def _spellings(row: Row) -> list[tuple[bytes, bool]]:
    """Digests that the row's id may have, and whether as a number: as it is written first, then the other way."""
    given = row.given.get("id")
    if isinstance(given, int) and not isinstance(given, bool):
        return [(source_digest(given), True), (source_digest(str(given)), False)]
    name = " ".join(given.split()) if isinstance(given, str) else ""
    if not name or any("\ud800" <= letter <= "\udfff" for letter in name):
        return []
    found = [(source_digest(name), False)]
    if name.isascii() and name.isdecimal() and len(name) <= 18 and str(int(name)) == name:
        found.append((source_digest(int(name)), True))
    return found


def _known(dataset: Dataset, rows: Sequence[Row]) -> dict[bytes, UUID]:
    """The dataset's items that the rows may mean, by source digest."""
    digests = {digest for row in rows for digest, _ in _spellings(row)}
    items = Item.objects.filter(dataset=dataset, source_digest__in=list(digests))
    return {bytes(source): item for item, source in items.values_list("pk", "source_digest")}


def _digest(row: Row, known: Mapping[bytes, UUID]) -> tuple[bytes, bool]:
    """Of the row's id: the spelling that the dataset knows, else as it is written; empty where it is no id."""
    spellings = _spellings(row)
    return next((one for one in spellings if one[0] in known), spellings[0] if spellings else (b"", False))


def _same(now: _Listed, case: Case) -> bool:
    return (
        now.content_digest == case.content_digest
        and now.group_digest == group_digest(case.group)
        and now.case.description_digest == case.description_digest
    )


def _listed(draft: Draft | None, base: Version | None, items: Mapping[bytes, UUID]) -> dict[bytes, _Listed]:
    """By source digest what the draft lists now, of these items."""
    revisions: dict[UUID, UUID | None] = {}
    if base is not None:
        entries = VersionEntry.objects.filter(version=base, item__in=items.values())
        revisions.update(entries.values_list("item", "revision"))
    if draft is not None:
        changes = Change.objects.filter(draft=draft, item__in=items.values())
        revisions.update(changes.values_list("item", "revision"))
    wanted = [revision for revision in revisions.values() if revision is not None]
    rows = ItemRevision.objects.select_related("itemcontent").in_bulk(wanted)
    found = {}
    for source, item in items.items():
        revision = revisions.get(item)
        row = rows.get(revision) if revision is not None else None
        if row is not None:
            kept = row.itemcontent
            case = Case(
                source_id=kept.source_id or "-",
                body=kept.body or {},
                title=kept.title or "",
                language=kept.language,
                tags=kept.tags or [],
                metadata=kept.metadata or {},
                group=kept.group_name or "",
            )
            found[source] = _Listed(item, row.pk, case, bytes(row.content_digest), bytes(row.group_digest))
    return found


def _write(access: Access, draft: Draft, wanted: Sequence[_Wanted]) -> None:
    """Items, revisions and contents that are missing, and the draft's word on each of the cases."""
    at = timezone.now()
    digests = {one.digest: one for one in wanted}
    items = {
        bytes(source): item
        for item, source in Item.objects.filter(dataset=draft.dataset, source_digest__in=list(digests)).values_list(
            "pk", "source_digest"
        )
    }
    new_items = [(new_id(), draft.dataset_id, digest) for digest in digests if digest not in items]
    items |= {digest: item for item, _, digest in new_items}
    copy_rows(Item, ("id", "dataset", "source_digest"), new_items)
    known: dict[tuple[UUID, bytes, bytes, bytes], UUID] = {}
    highest: dict[UUID, int] = {}
    for item, revision, number, *said in ItemRevision.objects.filter(item__in=items.values()).values_list(
        "item", "pk", "number", "content_digest", "group_digest", "description_digest"
    ):
        known[item, *map(bytes, said)] = revision
        highest[item] = max(number, highest.get(item, 0))
    revisions, contents, listed = [], [], {}
    for digest, one in digests.items():
        item, case = items[digest], one.case
        says = case.content_digest, group_digest(case.group), case.description_digest
        revision = known.get((item, *says))
        if revision is None:
            revision = new_id()
            highest[item] = highest.get(item, 0) + 1
            revisions.append((revision, item, highest[item], *says, access.user.pk, at))
            contents.append(_content(revision, case, is_number=one.is_number))
        listed[item] = revision
    columns = ("id", "item", "number", "content_digest", "group_digest", "description_digest", "made_by", "made_at")
    copy_rows(ItemRevision, columns, revisions)
    copy_rows(
        ItemContent,
        (
            *("revision", "availability", "source_id", "source_is_number", "title"),
            *("language", "tags", "metadata", "body", "group_name"),
        ),
        contents,
    )
    in_base = dict(
        VersionEntry.objects.filter(version=draft.base_id, item__in=listed).values_list("item", "revision")
        if draft.base_id
        else ()
    )
    Change.objects.filter(draft=draft, item__in=listed).delete()
    Change.objects.bulk_create(
        Change(draft=draft, item_id=item, revision_id=revision, made_by=access.user)
        for item, revision in listed.items()
        if in_base.get(item) != revision
    )


def _content(revision: UUID, case: Case, *, is_number: bool) -> tuple[object, ...]:
    return (
        *(revision, Availability.AVAILABLE.value, case.source_id, is_number, case.title, case.language),
        *(list(case.tags), Jsonb(dict(case.metadata)), Jsonb(dict(case.body)), case.group or None),
    )
