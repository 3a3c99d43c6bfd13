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


WORKING = (ImportState.EXAMINING, ImportState.QUEUED, ImportState.RUNNING)
"""States in which a worker has, or is waited for to take up, the import."""
WAITING_FOR_PERSON = (ImportState.NEEDS_MAPPING, ImportState.READY)
DISCARDABLE = (*WORKING, *WAITING_FOR_PERSON, ImportState.REFUSED)
"""States in which nothing is written; the import can be discarded."""
ENDED = (ImportState.COMPLETED, ImportState.REFUSED, ImportState.CANCELLED)


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

    def __str__(self) -> str:
        return self.name


class Import(Record):
    """One upload of one or more files: examined first, written once.

    Work is claimed by conditional update with a lease and an epoch; a stale worker's epoch no longer
    matches and its transaction writes nothing. What names or quotes content lies in `ImportText`.
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
    rejected = models.PositiveIntegerField(default=0)
    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    refusal_code = models.CharField(max_length=60, blank=True)
    epoch = models.PositiveIntegerField(default=0)
    attempts = models.PositiveSmallIntegerField(
        default=0, help_text="Claims of this step that did not end by themselves."
    )
    claimed_by = models.CharField(max_length=80, blank=True)
    lease_until = models.DateTimeField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(trust__in=["insufficient", "agent_claimed", "source_verifier"]), name="import_trust"
            ),
            models.CheckConstraint(condition=~Q(state="refused") | ~Q(refusal_code=""), name="import_refused_has_code"),
        ]
        indexes = [
            models.Index(fields=["team", "-id"], name="import_of_team"),
            models.Index(
                fields=["state", "lease_until"],
                condition=Q(state__in=["examining", "queued", "running"]),
                name="import_waiting",
            ),
        ]
        triggers: ClassVar[list[pgtrigger.Trigger]] = [
            pgtrigger.Protect(name="kept", operation=pgtrigger.Delete),
            pgtrigger.Protect(
                name="ended",
                operation=pgtrigger.Update,
                condition=pgtrigger.Q(old__state__in=["completed", "cancelled"])
                | (pgtrigger.Q(old__state="refused") & ~pgtrigger.Q(new__state="cancelled")),
            ),
        ]


class ImportText(models.Model):
    """What an import says about content: names of arms, sentences that may quote values. Protected.

    `runs` stands beside the runs of the import's summary, in the same order. `cases` holds 64 bytes
    per distinct case: the digests of its source id and of its content.
    """

    owner = models.OneToOneField(Import, on_delete=models.PROTECT, primary_key=True)
    runs = models.JSONField(default=list)
    notes = models.JSONField(default=list)
    suggestion = models.JSONField(null=True)
    labels = models.JSONField(default=dict, help_text="As asked for: arm to label. What was taken stands in `runs`.")
    cases = models.BinaryField(default=b"")
    refusal_message = models.TextField(blank=True)
    refusal_place = models.TextField(blank=True)


class ImportFile(Record):
    """One uploaded file. The bytes lie under `UPLOAD_DIR` by digest until retention takes them."""

    owner = models.ForeignKey(Import, on_delete=models.PROTECT)
    position = models.PositiveIntegerField()
    sha256 = models.CharField(max_length=64, db_index=True)
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
    position = models.PositiveIntegerField()
    dataset = models.ForeignKey(Dataset, on_delete=models.PROTECT)
    files_sha256 = models.CharField(max_length=64)
    source_run_id = models.CharField(max_length=200)
    mapping_sha256 = models.CharField(max_length=64, blank=True)
    experiment = models.OneToOneField(Experiment, on_delete=models.PROTECT)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["team", "dataset", "files_sha256", "source_run_id", "mapping_sha256"], name="imported_run_once"
            ),
            models.UniqueConstraint(fields=["owner", "position"], name="imported_run_position_once"),
        ]
        triggers: ClassVar[list[pgtrigger.Trigger]] = [frozen()]


def kept_once_written(owner: str) -> pgtrigger.Trigger:
    """Rows of a dry run may go with it; once their import is written they stay as they are."""
    return pgtrigger.Trigger(
        name="kept_once_written",
        when=pgtrigger.Before,
        operation=pgtrigger.Delete,
        func=f"""
            IF EXISTS (SELECT 1 FROM intake_import i WHERE i.id = {owner} AND i.state = 'completed') THEN
                RAISE EXCEPTION 'rows of a written import stay: %', TG_TABLE_NAME;
            END IF;
            RETURN OLD;
        """,
    )


class RejectedRow(models.Model):
    """A row left out of an import: code and place stay; the excerpt is content beside it.

    `run` is the position of its run in the import. A new look at the files replaces the rows of the
    last one, so they may go until the import is written.
    """

    id = models.BigAutoField(primary_key=True)
    owner = models.ForeignKey(Import, on_delete=models.PROTECT)
    run = models.PositiveIntegerField()
    number = models.PositiveIntegerField()
    code = models.CharField(max_length=60)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "number"], name="rejected_row_once")]
        ordering = ["number"]
        triggers: ClassVar[list[pgtrigger.Trigger]] = [
            pgtrigger.Protect(name="unchanged", operation=pgtrigger.Update),
            kept_once_written("OLD.owner_id"),
        ]


class RejectedText(models.Model):
    """Where and why a row was left out, with an excerpt. Protected: places name keys and values."""

    row = models.OneToOneField(RejectedRow, on_delete=models.CASCADE, primary_key=True)
    place = models.TextField(null=True)
    message = models.TextField(null=True)
    excerpt = models.TextField(null=True)
