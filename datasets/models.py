"""Datasets, items, item revisions, dataset versions."""

from __future__ import annotations

from typing import ClassVar

import pgtrigger
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models

from teams.models import Team, User
from teams.records import Content, Immutable, Record, frozen, one_way


class Dataset(Record):
    """A named collection of cases. The name is metadata; what the cases say is content."""

    team = models.ForeignKey(Team, on_delete=models.PROTECT)
    slug = models.SlugField(max_length=80)
    name = models.CharField(max_length=120)
    created_at = models.DateTimeField(auto_now_add=True)
    archived_at = models.DateTimeField(null=True, blank=True)
    revision = models.PositiveIntegerField(default=1)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "slug"], name="dataset_once")]
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class Item(Immutable):
    """The stable identity of a case. `source_digest` is SHA-256 over the source id, which is content."""

    dataset = models.ForeignKey(Dataset, on_delete=models.PROTECT)
    source_digest = models.BinaryField(max_length=32)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["dataset", "source_digest"], name="item_once")]
        triggers: ClassVar[list[pgtrigger.Trigger]] = [frozen()]


class ItemRevision(Immutable):
    """What a case said at one time. `content_digest` is empty where the content was never captured.

    `group_digest` tells which cases share a source (a document, a template), and is empty where none do.
    `description_digest` is that of title, language, tags and metadata as a person edited them, and empty
    as long as nobody did. Pairing looks at the content alone, so that a group named later or a corrected
    tag does not part what pairs.
    """

    item = models.ForeignKey(Item, on_delete=models.PROTECT)
    number = models.PositiveIntegerField()
    content_digest = models.BinaryField(max_length=32)
    group_digest = models.BinaryField(max_length=32, default=b"")
    description_digest = models.BinaryField(max_length=32, default=b"")
    made_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True)
    made_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["item", "number"], name="item_revision_number_once"),
            models.UniqueConstraint(
                fields=["item", "content_digest", "group_digest", "description_digest"],
                name="item_revision_content_once",
            ),
        ]
        triggers: ClassVar[list[pgtrigger.Trigger]] = [frozen()]


class ItemContent(Content):
    """The protected side of a revision. `body` is what was hashed; title, tags and metadata describe it."""

    revision = models.OneToOneField(ItemRevision, on_delete=models.PROTECT, primary_key=True)
    source_id = models.TextField(null=True)
    source_is_number = models.BooleanField(default=False)
    title = models.TextField(null=True)
    language = models.CharField(max_length=35, blank=True)
    tags = ArrayField(models.TextField(), null=True)
    metadata = models.JSONField(null=True)
    body = models.JSONField(null=True)
    group_name = models.TextField(null=True)

    class Meta:
        indexes = [GinIndex(fields=["tags"], name="item_content_tags")]
        triggers: ClassVar[list[pgtrigger.Trigger]] = [
            one_way("source_id", "title", "tags", "metadata", "body", "group_name")
        ]


class Erratum(Immutable):
    """That points of a revision do not count, with the reason. It stands beside the revision, which stays."""

    revision = models.ForeignKey(ItemRevision, on_delete=models.PROTECT)
    number = models.PositiveIntegerField()
    made_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True)
    made_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["revision", "number"], name="erratum_number_once")]
        ordering = ["number"]
        triggers: ClassVar[list[pgtrigger.Trigger]] = [frozen()]


class ErratumContent(Content):
    """The protected side of an erratum: ids of points, and why they do not count."""

    erratum = models.OneToOneField(Erratum, on_delete=models.PROTECT, primary_key=True)
    excluded = ArrayField(models.TextField(), null=True)
    reason = models.TextField(null=True)

    class Meta:
        triggers: ClassVar[list[pgtrigger.Trigger]] = [one_way("excluded", "reason")]


class Version(Immutable):
    """An immutable, numbered list of item revisions; `sha256` over (position, revision identity)."""

    dataset = models.ForeignKey(Dataset, on_delete=models.PROTECT)
    number = models.PositiveIntegerField()
    count = models.PositiveIntegerField()
    sha256 = models.CharField(max_length=64)
    made_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True)
    made_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["dataset", "number"], name="version_number_once"),
        ]
        indexes = [models.Index(fields=["dataset", "sha256"], name="version_by_content")]
        ordering = ["-number"]
        triggers: ClassVar[list[pgtrigger.Trigger]] = [frozen()]

    def __str__(self) -> str:
        return f"{self.dataset.name} version {self.number}"


class VersionEntry(models.Model):
    """One revision at one position of a version."""

    id = models.BigAutoField(primary_key=True)
    version = models.ForeignKey(Version, on_delete=models.PROTECT)
    position = models.PositiveIntegerField()
    item = models.ForeignKey(Item, on_delete=models.PROTECT)
    revision = models.ForeignKey(ItemRevision, on_delete=models.PROTECT)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["version", "position"], name="version_entry_position_once"),
            models.UniqueConstraint(fields=["version", "item"], name="version_entry_item_once"),
        ]
        triggers: ClassVar[list[pgtrigger.Trigger]] = [frozen()]


class Draft(Record):
    """The next version of a dataset while it is being made: a version to start from, and changes to it."""

    dataset = models.OneToOneField(Dataset, on_delete=models.CASCADE)
    base = models.ForeignKey(Version, on_delete=models.PROTECT, null=True)
    """None where the dataset has no version yet."""
    revision = models.PositiveIntegerField(default=1)
    made_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True)
    made_at = models.DateTimeField(auto_now_add=True)


class Change(models.Model):
    """What becomes of one item in the draft: another revision of it, or, with none, no place in the list."""

    id = models.BigAutoField(primary_key=True)
    draft = models.ForeignKey(Draft, on_delete=models.CASCADE)
    item = models.ForeignKey(Item, on_delete=models.PROTECT)
    revision = models.ForeignKey(ItemRevision, on_delete=models.PROTECT, null=True)
    made_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True)
    made_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["draft", "item"], name="draft_change_once")]


class Slice(Record):
    """A named part of a dataset. What it takes is content and stands in its versions."""

    dataset = models.ForeignKey(Dataset, on_delete=models.PROTECT)
    name = models.CharField(max_length=120)
    created_at = models.DateTimeField(auto_now_add=True)
    archived_at = models.DateTimeField(null=True, blank=True)
    revision = models.PositiveIntegerField(default=1)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["dataset", "name"], name="slice_once")]
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class SliceVersion(Immutable):
    """An immutable filter. `count` of the `scope` cases of `counted_on` met it when it was made."""

    slice = models.ForeignKey(Slice, on_delete=models.PROTECT)
    number = models.PositiveIntegerField()
    counted_on = models.ForeignKey(Version, on_delete=models.PROTECT)
    count = models.PositiveIntegerField()
    scope = models.PositiveIntegerField()
    sha256 = models.CharField(max_length=64)
    made_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True)
    made_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["slice", "number"], name="slice_version_once")]
        ordering = ["-number"]
        triggers: ClassVar[list[pgtrigger.Trigger]] = [frozen()]


class SliceContent(Content):
    """The protected side of a slice version: the filter itself, and the same in words."""

    slice_version = models.OneToOneField(SliceVersion, on_delete=models.PROTECT, primary_key=True)
    filter = models.JSONField(null=True)
    words = models.TextField(null=True)

    class Meta:
        triggers: ClassVar[list[pgtrigger.Trigger]] = [one_way("filter", "words")]
