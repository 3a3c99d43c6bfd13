"""Slices: named parts of a dataset. Their filters are immutable versions, counted when they are made."""

from __future__ import annotations

from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Max

from datasets import filters
from datasets.actions.datasets import locked, not_archived
from datasets.models import Dataset, Slice, SliceContent, SliceVersion, Version
from teams import audit
from teams.access import Access
from teams.given import name as given_name
from teams.keeping import rename, seen, set_archived
from teams.permissions import Right
from teams.refusals import Refusal

EDIT = (Right.EVALUATION_MANAGE, Right.EVALUATION_CONTENT_READ)
MOST_SLICES = 500


@transaction.atomic
def create_slice(*, access: Access, dataset: Dataset, name: str, given: Any, version: Version) -> SliceVersion:
    """A new slice with its first version, counted on a version of the dataset."""
    access.require(*EDIT)
    chosen = filters.read(given)
    kept = locked(access, dataset)
    not_archived(kept)
    name = given_name(name, "the slice")
    if Slice.objects.filter(dataset=kept).count() >= MOST_SLICES:
        raise Refusal("invalid_field", f"A dataset has at most {MOST_SLICES} slices.", place="name")
    try:
        with transaction.atomic():
            made = Slice.objects.create(dataset=kept, name=name)
    except IntegrityError:
        raise Refusal("name_taken", _taken(name), place="name") from None
    return _version(access, made, chosen, version)


@transaction.atomic
def new_slice_version(*, access: Access, slice_: Slice, given: Any, version: Version, revision: int) -> SliceVersion:
    """Another filter under the same name; the earlier ones stay. `revision` is the one that the editor saw."""
    access.require(*EDIT)
    chosen = filters.read(given)
    kept = _own(access, slice_)
    seen(kept.revision, revision, "The slice")
    not_archived(kept.dataset)
    newest: SliceVersion | None = SliceVersion.objects.filter(slice=kept).order_by("-number").first()
    if newest is not None and newest.sha256 == chosen.sha256 and newest.counted_on_id == version.pk:
        return newest
    kept.revision += 1
    kept.save(update_fields=["revision"])
    return _version(access, kept, chosen, version)


@transaction.atomic
def rename_slice(*, access: Access, slice_: Slice, name: str, revision: int) -> Slice:
    access.require(Right.EVALUATION_MANAGE)
    kept = _own(access, slice_)
    seen(kept.revision, revision, "The slice")
    name = given_name(name, "the slice")
    return rename(access, kept, "slice", name, _taken(name))


@transaction.atomic
def archive_slice(*, access: Access, slice_: Slice) -> Slice:
    return _archived(access, slice_, archived=True)


@transaction.atomic
def restore_slice(*, access: Access, slice_: Slice) -> Slice:
    return _archived(access, slice_, archived=False)


def _archived(access: Access, slice_: Slice, *, archived: bool) -> Slice:
    access.require(Right.EVALUATION_MANAGE)
    kept = _own(access, slice_)
    return set_archived(access, kept, "slice", archived=archived)


def _own(access: Access, slice_: Slice) -> Slice:
    rows = Slice.objects.select_for_update(of=("self",), no_key=True).select_related("dataset")
    return access.find(rows, team="dataset__team", pk=slice_.pk)


def _taken(name: str) -> str:
    return f"The dataset has a slice {name} already."


def _version(access: Access, slice_: Slice, chosen: filters.Filter, version: Version) -> SliceVersion:
    if version.dataset_id != slice_.dataset_id:
        raise Refusal("not_found")
    last = SliceVersion.objects.filter(slice=slice_).aggregate(last=Max("number"))["last"] or 0
    made: SliceVersion = SliceVersion.objects.create(
        slice=slice_,
        number=last + 1,
        counted_on=version,
        count=filters.entries(version, chosen).count(),
        scope=version.count,
        sha256=chosen.sha256,
        made_by=access.user,
    )
    SliceContent.objects.create(slice_version=made, filter=chosen.plain(), words=chosen.words())
    audit.by("slice.version_made", access, slice_, number=made.number, cases=made.count, scope=made.scope)
    return made
