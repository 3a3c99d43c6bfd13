"""The draft of a dataset's next version: cases added, revised and removed, then made into a version.

Every edit is a new revision of its item at once, so that nothing is ever overwritten; the draft only says
which revision the next version lists. Discarding it forgets the choice and keeps the revisions.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from analysis.observations import group_digest, source_digest
from datasets.actions.cases import Stored, exact_version
from datasets.actions.datasets import evidence_lock, locked, not_archived
from datasets.bodies import Case, checked
from datasets.models import Change, Dataset, Draft, Item, ItemContent, ItemRevision, Version, VersionEntry
from teams import audit
from teams.access import Access
from teams.keeping import seen
from teams.permissions import Right
from teams.refusals import Code, Refusal, register

MOST_CHANGES = 20_000

register(
    {
        "draft_on_other_version": Code(409, "Make a version of the open draft, or discard it, then edit this one."),
        "draft_missing": Code(409, "Change a case first; that opens a draft."),
        "draft_empty": Code(409, "A version lists at least one case."),
        "draft_too_large": Code(409, f"A draft holds at most {MOST_CHANGES:,} changes; make a version of it."),
        "case_exists": Code(409, "Edit the case that has this id, or give another id."),
        "case_content_gone": Code(409, "Add the case again under another id; what it said was taken away."),
        "case_not_listed": Code(404, "Choose a case that the draft lists."),
    }
)

EDIT = (Right.EVALUATION_MANAGE, Right.EVALUATION_CONTENT_READ)
"""What editing cases needs: it shows what they say."""


@dataclass(frozen=True, slots=True)
class Edited:
    """A case's item in the draft, and the revision that the next version lists."""

    draft: Draft
    item: Item
    revision: ItemRevision


def opened(access: Access, dataset: Dataset, base: Version | None) -> Draft:
    """The dataset's draft, ours to change until the transaction ends; opened from `base` where there is none."""
    access.require(*EDIT)
    evidence_lock(access)
    kept = locked(access, dataset)
    not_archived(kept)
    draft = Draft.objects.select_for_update(of=("self",)).select_related("base").filter(dataset=kept).first()
    if draft is None:
        start = base or Version.objects.filter(dataset=kept).order_by("-number").first()
        draft = Draft.objects.create(dataset=kept, base=start, made_by=access.user)
        audit.by("draft.opened", access, kept, base=start.number if start else None)
    elif base is not None and draft.base_id != base.pk:
        number = draft.base.number if draft.base else "none"
        raise Refusal("draft_on_other_version", f"A draft is open that starts from version {number}.")
    return draft


def current(draft: Draft | None, item: UUID, *, base: Version | None = None) -> ItemRevision | None:
    """The revision of an item that the draft lists, or without a draft the version; None where it lists none."""
    if draft is not None:
        change = Change.objects.select_related("revision").filter(draft=draft, item=item).first()
        if change is not None:
            return change.revision
        base = draft.base
    if base is None:
        return None
    entry = VersionEntry.objects.select_related("revision").filter(version=base, item=item).first()
    return entry.revision if entry else None


@transaction.atomic
def add_case(*, access: Access, dataset: Dataset, case: Case, base: Version | None = None) -> Edited:
    """Another case at the end of the list. An id that was listed before and removed is the same item again."""
    case = checked(case)
    draft = opened(access, dataset, base)
    digest = source_digest(case.source_id)
    item = Item.objects.filter(dataset=draft.dataset, source_digest=digest).first()
    if item is not None and current(draft, item.pk) is not None:
        raise Refusal("case_exists", "The draft lists a case with this id already.", place="source_id")
    if item is None:
        item = Item.objects.create(dataset=draft.dataset, source_digest=digest)
    revision = _revision(access, item, case, is_number=False)
    _list(access, draft, item, revision)
    audit.by("case.added", access, draft.dataset, item=str(item.pk), revision=revision.number)
    return Edited(draft, item, revision)


@transaction.atomic
def revise_case(
    *, access: Access, dataset: Dataset, item: UUID, case: Case, seen_revision: UUID, base: Version | None = None
) -> Edited:
    """Another revision of a case; the id in its source stays. `seen_revision` is the one that the editor saw."""
    draft = opened(access, dataset, base)
    found, before = _listed(access, draft, item)
    if before.pk != seen_revision:
        raise Refusal("revision_stale", f"The case is at revision {before.number}.", current=str(before.pk))
    kept = ItemContent.objects.filter(revision=before).first()
    is_number = kept.source_is_number if kept else False
    if kept is not None and kept.source_id is not None:
        case = Case(kept.source_id, case.body, case.title, case.language, case.tags, case.metadata, case.group)
    case = checked(case)
    revision = _revision(access, found, case, is_number=is_number, like=before)
    if revision.pk != before.pk:
        _list(access, draft, found, revision)
        audit.by("case.revised", access, draft.dataset, item=str(found.pk), revision=revision.number)
    return Edited(draft, found, revision)


@transaction.atomic
def remove_case(*, access: Access, dataset: Dataset, item: UUID, base: Version | None = None) -> Draft:
    """The next version does not list the case. Earlier versions and what was run on them stay."""
    draft = opened(access, dataset, base)
    found, _ = _listed(access, draft, item)
    _list(access, draft, found, None)
    audit.by("case.removed", access, draft.dataset, item=str(found.pk))
    return draft


@transaction.atomic
def undo_change(*, access: Access, dataset: Dataset, item: UUID) -> Draft:
    """The item stands in the draft as in the version that the draft starts from."""
    draft = _draft(access, dataset)
    gone, _ = Change.objects.filter(draft=draft, item=item).delete()
    if not gone:
        raise Refusal("not_found")
    _touched(draft)
    audit.by("case.undone", access, draft.dataset, item=str(item))
    return draft


@transaction.atomic
def discard_draft(*, access: Access, dataset: Dataset, revision: int | None = None) -> None:
    """Forget every change of the draft. The revisions that were written stay with their items."""
    draft = _draft(access, dataset)
    if revision is not None:
        seen(draft.revision, revision, "The draft")
    changes = Change.objects.filter(draft=draft).count()
    audit.by("draft.discarded", access, draft.dataset, changes=changes)
    draft.delete()


@transaction.atomic
def make_version(*, access: Access, dataset: Dataset, revision: int) -> Version:
    """The draft as the next version: the base in its order without what was removed, then what was added.

    A list that equals the newest version's is that version again.
    """
    draft = _draft(access, dataset)
    seen(draft.revision, revision, "The draft")
    changes = {
        change.item_id: change
        for change in Change.objects.filter(draft=draft).select_related("revision", "item").order_by("id")
    }
    listed: list[tuple[bytes, Stored]] = []
    entries = VersionEntry.objects.filter(version=draft.base).order_by("position") if draft.base_id else None
    if entries is not None:
        for entry in entries.select_related("revision", "item").iterator(chunk_size=5_000):
            change = changes.pop(entry.item_id, None)
            stays = entry.revision if change is None else change.revision
            if stays is not None:
                listed.append(_stored(entry.item, stays))
    listed += [_stored(change.item, change.revision) for change in changes.values() if change.revision is not None]
    if not listed:
        raise Refusal("draft_empty")
    version = exact_version(access=access, dataset=draft.dataset, cases=listed, at=timezone.now(), in_order=True)
    audit.by("version.made", access, draft.dataset, number=version.number, cases=version.count)
    draft.delete()
    return version


def _draft(access: Access, dataset: Dataset) -> Draft:
    access.require(*EDIT)
    evidence_lock(access)
    kept = locked(access, dataset)
    not_archived(kept)
    draft = Draft.objects.select_for_update(of=("self",)).select_related("base").filter(dataset=kept).first()
    if draft is None:
        raise Refusal("draft_missing", "The dataset has no open draft.")
    draft.dataset = kept
    return draft


def _listed(access: Access, draft: Draft, item: UUID) -> tuple[Item, ItemRevision]:
    found = access.find(Item.objects.filter(dataset=draft.dataset), team="dataset__team", pk=item)
    revision = current(draft, found.pk)
    if revision is None:
        raise Refusal("case_not_listed", "The draft does not list this case.")
    return found, revision


def _revision(
    access: Access, item: Item, case: Case, *, is_number: bool, like: ItemRevision | None = None
) -> ItemRevision:
    """The item's revision that says exactly this: the one at hand, an earlier one again, or a new one."""
    content, group, described = case.content_digest, group_digest(case.group), case.description_digest
    if like is not None and _says_the_same(like, case):
        return like
    known: ItemRevision | None = ItemRevision.objects.filter(
        item=item, content_digest=content, group_digest=group, description_digest=described
    ).first()
    if known is not None:
        return known
    last = ItemRevision.objects.filter(item=item).aggregate(last=Max("number"))["last"] or 0
    revision: ItemRevision = ItemRevision.objects.create(
        item=item,
        number=last + 1,
        content_digest=content,
        group_digest=group,
        description_digest=described,
        made_by=access.user,
    )
    ItemContent.objects.create(
        revision=revision,
        source_id=case.source_id,
        source_is_number=is_number,
        title=case.title,
        language=case.language,
        tags=list(case.tags),
        metadata=dict(case.metadata),
        body=dict(case.body),
        group_name=case.group or None,
    )
    return revision


def _says_the_same(revision: ItemRevision, case: Case) -> bool:
    """Whether saving changed nothing: an imported revision has no digest of its description to go by."""
    if bytes(revision.content_digest) != case.content_digest:
        return False
    if bytes(revision.group_digest) != group_digest(case.group):
        return False
    kept = ItemContent.objects.filter(revision=revision).first()
    if kept is None:
        return False
    was = Case(
        case.source_id, case.body, kept.title or "", kept.language, kept.tags or [], kept.metadata or {}, case.group
    )
    return was.description_digest == case.description_digest


def _list(access: Access, draft: Draft, item: Item, revision: ItemRevision | None) -> None:
    """What the draft says of an item; a change back to the base is none."""
    entry = VersionEntry.objects.filter(version=draft.base, item=item).first() if draft.base_id else None
    if (entry.revision_id if entry else None) == (revision.pk if revision else None):
        Change.objects.filter(draft=draft, item=item).delete()
    else:
        Change.objects.update_or_create(draft=draft, item=item, defaults={"revision": revision, "made_by": access.user})
        if Change.objects.filter(draft=draft).count() > MOST_CHANGES:
            raise Refusal("draft_too_large")
    _touched(draft)


def _touched(draft: Draft) -> None:
    draft.revision += 1
    draft.save(update_fields=["revision"])


def _stored(item: Item, revision: ItemRevision) -> tuple[bytes, Stored]:
    return bytes(item.source_digest), Stored(
        item.pk,
        revision.pk,
        bytes(revision.content_digest),
        bytes(revision.group_digest),
        bytes(revision.description_digest),
    )
