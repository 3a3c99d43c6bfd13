"""Datasets themselves: made, renamed, put away and brought back."""

from __future__ import annotations

import hashlib

from django.db import transaction
from django.utils.text import slugify

from datasets.models import Dataset
from teams import audit
from teams.access import Access
from teams.bulk import lock_soon
from teams.given import readable
from teams.keeping import rename, seen, set_archived
from teams.permissions import Right
from teams.refusals import Code, Refusal, register

LONGEST_NAME = 120

register(
    {
        "dataset_name_invalid": Code(422, "A dataset has a name of 1 to 120 characters."),
        "dataset_archived": Code(409, "Restore the dataset first, or choose another one."),
        "evidence_busy": Code(409, "An import is just being written; try again in a moment."),
    }
)


def dataset_by_name(access: Access, name: str) -> Dataset | None:
    """The team's dataset of this name, whatever the case of its letters."""
    return Dataset.objects.filter(team=access.team, name__iexact=name.strip()).order_by("created_at").first()


def dataset_named(*, access: Access, name: str) -> Dataset:
    """The team's dataset of this name, made where there is none. In a transaction with the evidence lock."""
    name = _name(name, "dataset")
    found = dataset_by_name(access, name)
    if found is not None:
        not_archived(found, "dataset")
        return found
    return _made(access, name)


@transaction.atomic
def create_dataset(*, access: Access, name: str) -> Dataset:
    """A new dataset without any version."""
    access.require(Right.EVALUATION_MANAGE)
    name = _name(name, "name")
    evidence_lock(access)
    _free(access, name)
    return _made(access, name)


@transaction.atomic
def rename_dataset(*, access: Access, dataset: Dataset, name: str, revision: int) -> Dataset:
    """Another name; its address and everything that points to it stay."""
    access.require(Right.EVALUATION_MANAGE)
    name = _name(name, "name")
    evidence_lock(access)
    kept = locked(access, dataset)
    seen(kept.revision, revision, "The dataset")
    if kept.name != name:
        if kept.name.casefold() != name.casefold():
            _free(access, name)
        rename(access, kept, "dataset", name, _taken(name))
    return kept


@transaction.atomic
def archive_dataset(*, access: Access, dataset: Dataset) -> Dataset:
    """Out of the lists; nothing is lost, and experiments on it stay as they are."""
    return _archived(access, dataset, archived=True)


@transaction.atomic
def restore_dataset(*, access: Access, dataset: Dataset) -> Dataset:
    return _archived(access, dataset, archived=False)


def _archived(access: Access, dataset: Dataset, *, archived: bool) -> Dataset:
    access.require(Right.EVALUATION_MANAGE)
    kept = locked(access, dataset)
    return set_archived(access, kept, "dataset", archived=archived)


def locked(access: Access, dataset: Dataset) -> Dataset:
    """The team's dataset, nobody else's to change until the transaction ends."""
    return access.find(Dataset.objects.select_for_update(no_key=True), pk=dataset.pk)


def not_archived(dataset: Dataset, place: str = "") -> None:
    if dataset.archived_at is not None:
        raise Refusal("dataset_archived", f"The dataset {dataset.name} is archived.", place=place)


def evidence_lock(access: Access) -> None:
    """One writer of a team's evidence at a time, imports included: numbers are dense, nothing is made twice."""
    if not lock_soon("evidence", access.team.pk):
        raise Refusal("evidence_busy")


def _name(name: str, place: str) -> str:
    name = " ".join(name.split())
    if not 1 <= len(name) <= LONGEST_NAME or not readable(name):
        raise Refusal("dataset_name_invalid", place=place)
    return name


def _free(access: Access, name: str) -> None:
    if dataset_by_name(access, name) is not None:
        raise Refusal("name_taken", _taken(name), place="name")


def _taken(name: str) -> str:
    return f"The team has a dataset {name} already."


def _made(access: Access, name: str) -> Dataset:
    dataset = Dataset.objects.create(team=access.team, slug=_free_slug(access, name), name=name)
    audit.record("dataset.created", team=access.team, by=access.user, object_type="dataset", object_id=dataset.pk)
    return dataset


def _free_slug(access: Access, name: str) -> str:
    """The name as an address; names of other scripts get a short hash, taken ones a number."""
    wanted = slugify(name)[:70].strip("-") or f"dataset-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
    taken = set(Dataset.objects.filter(team=access.team, slug__startswith=wanted).values_list("slug", flat=True))
    slug, number = wanted, 1
    while slug in taken:
        number += 1
        slug = f"{wanted}-{number}"
    return slug
