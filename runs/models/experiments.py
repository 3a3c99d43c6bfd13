"""Experiments, and the batches in which they take turns."""

from __future__ import annotations

from typing import ClassVar

import pgtrigger
from django.db import models
from django.db.models import F, Q

from agents.models import ModelRouteRevision, Subject
from datasets.models import SliceVersion, Version
from teams.models import Team, User
from teams.records import Record


class State(models.TextChoices):
    """Of experiments and passes."""

    SETUP = "setup", "Being set up"
    RUNNING = "running", "Running"
    COMPLETED = "completed", "Completed"
    FAILED = "failed", "Failed"
    CANCELLED = "cancelled", "Cancelled"


class Origin(models.TextChoices):
    IMPORT = "import", "Import"
    STANDALONE = "standalone", "Run by itself"
    GROUP = "group", "Comparison group"


class TrustTier(models.TextChoices):
    """How far the evidence is attested; set at intake, never raised by itself."""

    INSUFFICIENT = "insufficient", "Insufficient"
    AGENT_CLAIMED = "agent_claimed", "Agent-claimed"
    SOURCE_VERIFIER = "source_verifier", "Source-verifier-attested"
    INDEPENDENT = "independent", "Independently verified"


class ToolPolicy(models.TextChoices):
    """What becomes of an agent's tools while it is evaluated."""

    NONE = "none", "Without tools"
    RECORD = "record", "Offered; a call is recorded and ends the turn"
    READ = "read", "Tools of connectors that only read are run"
    ALL = "all", "All tools are run"


class BatchMode(models.TextChoices):
    ROTATE = "rotate", "One item, next arm"
    SEQUENTIAL = "sequential", "One arm after another"


class Batch(Record):
    """Experiments that share a starter and take turns. A standalone experiment has a batch to itself.

    `pointer` is the arm that was served last, `served_at` when: batches are served in the order of it, so that
    one with little work never waits behind one with much. At most `parallel` of its items are under way.
    """

    team = models.ForeignKey(Team, on_delete=models.PROTECT)
    starter = models.ForeignKey(User, on_delete=models.PROTECT)
    mode = models.CharField(max_length=12, choices=BatchMode, default=BatchMode.ROTATE)
    parallel = models.PositiveSmallIntegerField(default=4)
    pointer = models.SmallIntegerField(default=-1)
    served_at = models.DateTimeField(null=True)
    state = models.CharField(max_length=10, choices=State, default=State.RUNNING)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(parallel__gte=1, parallel__lte=64), name="batch_parallel"),
        ]
        indexes = [
            models.Index(
                F("served_at").asc(nulls_first=True), "id", condition=Q(state=State.RUNNING), name="batch_next"
            )
        ]


class Experiment(Record):
    """One subject on one dataset version, times repetitions. The manifest hash fixes its membership."""

    team = models.ForeignKey(Team, on_delete=models.PROTECT)
    number = models.PositiveIntegerField()
    version = models.ForeignKey(Version, on_delete=models.PROTECT)
    subject = models.ForeignKey(Subject, on_delete=models.PROTECT)
    repetitions = models.PositiveIntegerField()
    origin = models.CharField(max_length=20, choices=Origin)
    trust = models.CharField(max_length=20, choices=TrustTier, default=TrustTier.SOURCE_VERIFIER)
    batch = models.ForeignKey(Batch, on_delete=models.PROTECT, null=True)
    arm = models.PositiveSmallIntegerField(default=0)
    slice_version = models.ForeignKey(SliceVersion, on_delete=models.PROTECT, null=True)
    route_revision = models.ForeignKey(ModelRouteRevision, on_delete=models.PROTECT, null=True)
    tool_policy = models.CharField(max_length=10, choices=ToolPolicy, blank=True)
    state = models.CharField(max_length=10, choices=State, default=State.SETUP)
    planned = models.PositiveIntegerField(default=0)
    duplicates = models.PositiveIntegerField(default=0)
    manifest_sha256 = models.CharField(max_length=64, blank=True)
    starter = models.ForeignKey(User, on_delete=models.PROTECT)
    facts = models.JSONField(default=list)
    provenance = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)
    completed_at = models.DateTimeField(null=True)
    paused_at = models.DateTimeField(null=True)
    pause_code = models.CharField(max_length=60, blank=True)
    """Why nothing new begins: empty where a person paused it, else the code of what has to be put right."""
    cancel_asked_at = models.DateTimeField(null=True)
    archived_at = models.DateTimeField(null=True)
    late_costs = models.PositiveIntegerField(db_default=0)
    """How often a cost became known after its item had ended; with each, kept sums are counted anew."""

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["team", "number"], name="experiment_number_once"),
            models.CheckConstraint(
                condition=~Q(state=State.COMPLETED) | (~Q(manifest_sha256="") & Q(completed_at__isnull=False)),
                name="experiment_completed_has_manifest",
            ),
            models.CheckConstraint(condition=Q(repetitions__gte=1), name="experiment_repetitions"),
            models.UniqueConstraint(fields=["batch", "arm"], name="experiment_arm_once"),
            models.CheckConstraint(
                condition=(Q(origin=Origin.IMPORT, batch=None, route_revision=None, tool_policy=""))
                | (
                    ~Q(origin=Origin.IMPORT) & Q(batch__isnull=False, route_revision__isnull=False) & ~Q(tool_policy="")
                ),
                name="experiment_launched_in_a_batch",
            ),
        ]
        ordering = ["-number"]
        triggers: ClassVar[list[pgtrigger.Trigger]] = [
            pgtrigger.Protect(name="kept", operation=pgtrigger.Delete),
            pgtrigger.Protect(
                name="finished",
                operation=pgtrigger.Update,
                condition=pgtrigger.Q(old__state__in=["completed", "failed", "cancelled"])
                & (
                    # a completed one is opened again for an explicit retry, and then completed anew
                    ~(
                        pgtrigger.Q(old__state=pgtrigger.F("new__state"))
                        | (
                            pgtrigger.Q(old__state="completed", new__state="running")
                            & ~pgtrigger.Q(old__origin="import")
                        )
                    )
                    | ~pgtrigger.Q(old__manifest_sha256=pgtrigger.F("new__manifest_sha256"))
                    | ~pgtrigger.Q(old__planned=pgtrigger.F("new__planned"))
                    | ~pgtrigger.Q(old__version=pgtrigger.F("new__version"))
                    | ~pgtrigger.Q(old__subject=pgtrigger.F("new__subject"))
                    | ~pgtrigger.Q(old__number=pgtrigger.F("new__number"))
                    | ~pgtrigger.Q(old__repetitions=pgtrigger.F("new__repetitions"))
                    | ~pgtrigger.Q(old__team=pgtrigger.F("new__team"))
                ),
            ),
        ]

    def __str__(self) -> str:
        return f"experiment {self.number}"


class Deployment(Record):
    """What an arm's executor keeps ready between items: the judged route, its key, open connections.

    It is provisioned once, by whichever worker serves the arm first, and lives until the arm ends.
    """

    experiment = models.OneToOneField(Experiment, on_delete=models.PROTECT)
    provisioned_at = models.DateTimeField()
    provisioned_by = models.CharField(max_length=80)
    ended_at = models.DateTimeField(null=True)
