"""Imports, their files, saved mappings, rejected rows."""

from __future__ import annotations

from typing import ClassVar

import pgtrigger
from django.db import models
from django.db.models import Q

from datasets.models import Dataset
from runs.models import Experiment, TrustTier
from teams.models import Team, User
from teams.records import Content, Immutable, Record, frozen, one_way


class ImportState(models.TextChoices):
    EXAMINING = "examining", "Looking at the files"
    NEEDS_MAPPING = "needs_mapping", "Needs a mapping"
    READY = "ready", "Ready to import"
    QUEUED = "queued", "Waiting for a worker"
    RUNNING = "running", "Importing"
    COMPLETED = "completed", "Imported"
    REFUSED = "refused", "Refused"
    CANCELLED = "cancelled", "Discarded"


class Mapping(Record):
    """A saved mapping of a table's columns, for reuse. Paths are metadata of a format, not content."""

    team = models.ForeignKey(Team, on_delete=models.PROTECT)
    name = models.CharField(max_length=80)
    body = models.JSONField()
    made_by = models.ForeignKey(User, on_delete=models.PROTECT)
    made_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "name"], name="mapping_once")]
        ordering = ["name"]


class Import(Record):
    """One upload of one or more files: examined first, written once.

    Work is claimed by conditional update with a lease and an epoch; a stale worker's epoch no longer
    matches and its transaction writes nothing.
    """

    team = models.ForeignKey(Team, on_delete=models.PROTECT)
    by = models.ForeignKey(User, on_delete=models.PROTECT)
    dataset = models.ForeignKey(Dataset, on_delete=models.PROTECT, null=True)
    dataset_name = models.CharField(max_length=120, blank=True)
    reader = models.CharField(max_length=40, blank=True)
    reader_version = models.CharField(max_length=40, blank=True)
    mapping = models.JSONField(null=True)
    mapping_sha256 = models.CharField(max_length=64, blank=True)
    accept_rejected = models.BooleanField(default=False)
    one_shot = models.BooleanField(default=False, help_text="Written as soon as it is examined, refused at any fault.")
    trust = models.CharField(max_length=20, choices=TrustTier, default=TrustTier.SOURCE_VERIFIER)
    state = models.CharField(max_length=14, choices=ImportState, default=ImportState.EXAMINING)
    summary = models.JSONField(
        null=True, help_text="What the dry run found: runs, counts, what is missing. No content."
    )
    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    refusal_code = models.CharField(max_length=60, blank=True)
    epoch = models.PositiveIntegerField(default=0)
    claimed_by = models.CharField(max_length=80, blank=True)
    lease_until = models.DateTimeField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-created_at"]
        indexes = [
            models.Index(
                fields=["state", "lease_until"],
                condition=Q(state__in=["examining", "queued", "running"]),
                name="import_waiting",
            )
        ]


class ImportText(models.Model):
    """What an import says about content: sentences that may quote names or values. Protected."""

    owner = models.OneToOneField(Import, on_delete=models.PROTECT, primary_key=True)
    notes = models.JSONField(default=list)
    preview = models.JSONField(default=list)
    refusal_message = models.TextField(blank=True)
    refusal_place = models.TextField(blank=True)


class ImportFile(Record):
    """One uploaded file. The bytes lie under `UPLOAD_DIR` by digest until retention takes them."""

    owner = models.ForeignKey(Import, on_delete=models.PROTECT)
    position = models.PositiveIntegerField()
    sha256 = models.CharField(max_length=64)
    size = models.BigIntegerField()
    kept = models.BooleanField(default=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "position"], name="import_file_position_once")]
        ordering = ["position"]


class ImportFileName(Content):
    """The name a person's file had; names of files are content."""

    file = models.OneToOneField(ImportFile, on_delete=models.PROTECT, primary_key=True)
    name = models.TextField(null=True)

    class Meta:
        triggers: ClassVar[list[pgtrigger.Trigger]] = [one_way("name")]


class ImportedRun(Immutable):
    """One run that was written, once per team: the same evidence under the same mapping is the same run."""

    team = models.ForeignKey(Team, on_delete=models.PROTECT)
    owner = models.ForeignKey(Import, on_delete=models.PROTECT)
    dataset = models.ForeignKey(Dataset, on_delete=models.PROTECT)
    files_sha256 = models.CharField(max_length=64)
    source_run_id = models.CharField(max_length=200)
    mapping_sha256 = models.CharField(max_length=64, blank=True)
    experiment = models.OneToOneField(Experiment, on_delete=models.PROTECT)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["team", "dataset", "files_sha256", "source_run_id", "mapping_sha256"], name="imported_run_once"
            )
        ]
        triggers: ClassVar[list[pgtrigger.Trigger]] = [frozen()]


class RejectedRow(Immutable):
    """A row left out of an import: code and place stay; the excerpt is content beside it."""

    owner = models.ForeignKey(Import, on_delete=models.PROTECT)
    experiment = models.ForeignKey(Experiment, on_delete=models.PROTECT, null=True)
    number = models.PositiveIntegerField()
    code = models.CharField(max_length=60)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "number"], name="rejected_row_once")]
        triggers: ClassVar[list[pgtrigger.Trigger]] = [frozen()]


class RejectedText(Content):
    """Where and why a row was left out, with an excerpt. Protected: places name keys and values."""

    row = models.OneToOneField(RejectedRow, on_delete=models.PROTECT, primary_key=True)
    place = models.TextField(null=True)
    message = models.TextField(null=True)
    excerpt = models.TextField(null=True)

    class Meta:
        triggers: ClassVar[list[pgtrigger.Trigger]] = [one_way("place", "message", "excerpt")]
