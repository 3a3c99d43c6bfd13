"""Experiments, executions, attempts, answers, cost facts."""

from __future__ import annotations

from typing import ClassVar

import pgtrigger
from django.db import models
from django.db.models import Q

from agents.models import Subject
from analysis.observations import CostCoverage, FailureKind, Generation
from datasets.models import ItemRevision, Version
from teams.models import Team, User
from teams.records import Content, Immutable, Record, frozen, nothing_late, one_way


class State(models.TextChoices):
    """Of experiments and passes."""

    SETUP = "setup", "Being set up"
    RUNNING = "running", "Running"
    COMPLETED = "completed", "Completed"
    FAILED = "failed", "Failed"
    CANCELLED = "cancelled", "Cancelled"


class Origin(models.TextChoices):
    IMPORT = "import", "Import"


class TrustTier(models.TextChoices):
    """How far the evidence is attested; set at intake, never raised by itself."""

    INSUFFICIENT = "insufficient", "Insufficient"
    AGENT_CLAIMED = "agent_claimed", "Agent-claimed"
    SOURCE_VERIFIER = "source_verifier", "Source-verifier-attested"
    INDEPENDENT = "independent", "Independently verified"


GENERATIONS = [(member.value, member.name.lower().replace("_", " ")) for member in Generation]
FAILURES = [(member.value, member.name.lower().replace("_", " ")) for member in FailureKind]
COVERAGES = [(member.value, member.name.lower()) for member in CostCoverage]
TERMINAL = (Generation.COMPLETED, Generation.FAILED, Generation.BLOCKED, Generation.CANCELLED, Generation.INDETERMINATE)


class Cost(models.Model):
    """A cost fact. Unknown is coverage none, and then the known part is zero of nothing, never a price."""

    cost_micros = models.BigIntegerField(default=0)
    cost_coverage = models.PositiveSmallIntegerField(choices=COVERAGES, default=CostCoverage.NONE)
    cost_basis = models.CharField(max_length=20, blank=True)
    currency = models.CharField(max_length=3, blank=True)

    class Meta:
        abstract = True


def known_cost(name: str) -> models.CheckConstraint:
    """Known micros, coverage and basis stand together; nothing known carries no amount."""
    nothing = Q(cost_coverage=CostCoverage.NONE, cost_micros=0, cost_basis="", currency="")
    something = Q(cost_coverage__gt=CostCoverage.NONE, cost_micros__gte=0) & ~Q(cost_basis="") & ~Q(currency="")
    return models.CheckConstraint(condition=nothing | something, name=name)


class Experiment(Record):
    """One subject on one dataset version, times repetitions. The manifest hash fixes its membership."""

    team = models.ForeignKey(Team, on_delete=models.PROTECT)
    number = models.PositiveIntegerField()
    version = models.ForeignKey(Version, on_delete=models.PROTECT)
    subject = models.ForeignKey(Subject, on_delete=models.PROTECT)
    repetitions = models.PositiveIntegerField()
    origin = models.CharField(max_length=20, choices=Origin)
    trust = models.CharField(max_length=20, choices=TrustTier, default=TrustTier.SOURCE_VERIFIER)
    state = models.CharField(max_length=10, choices=State, default=State.SETUP)
    planned = models.PositiveIntegerField(default=0)
    duplicates = models.PositiveIntegerField(default=0)
    manifest_sha256 = models.CharField(max_length=64, blank=True)
    starter = models.ForeignKey(User, on_delete=models.PROTECT)
    facts = models.JSONField(default=list)
    provenance = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)
    completed_at = models.DateTimeField(null=True)
    archived_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["team", "number"], name="experiment_number_once"),
            models.CheckConstraint(
                condition=~Q(state=State.COMPLETED) | (~Q(manifest_sha256="") & Q(completed_at__isnull=False)),
                name="experiment_completed_has_manifest",
            ),
            models.CheckConstraint(condition=Q(repetitions__gte=1), name="experiment_repetitions"),
        ]
        ordering = ["-number"]
        triggers: ClassVar[list[pgtrigger.Trigger]] = [
            pgtrigger.Protect(name="kept", operation=pgtrigger.Delete),
            pgtrigger.Protect(
                name="finished",
                operation=pgtrigger.Update,
                condition=pgtrigger.Q(old__state__in=["completed", "failed", "cancelled"])
                & (
                    ~pgtrigger.Q(old__state=pgtrigger.F("new__state"))
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


class Execution(Cost):
    """One (item revision, repetition) of an experiment. Ids are dense per table, never shown."""

    id = models.BigAutoField(primary_key=True)
    experiment = models.ForeignKey(Experiment, on_delete=models.PROTECT)
    position = models.PositiveIntegerField()
    revision = models.ForeignKey(ItemRevision, on_delete=models.PROTECT)
    repetition = models.PositiveIntegerField()
    state = models.PositiveSmallIntegerField(choices=GENERATIONS, default=Generation.PLANNED)
    failure_kind = models.PositiveSmallIntegerField(choices=FAILURES, default=FailureKind.NONE)
    duration_ms = models.FloatField(null=True)
    input_tokens = models.BigIntegerField(null=True)
    output_tokens = models.BigIntegerField(null=True)
    finish_reason = models.CharField(max_length=60, blank=True)
    trace = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["experiment", "revision", "repetition"], name="execution_once"),
            models.UniqueConstraint(fields=["experiment", "position"], name="execution_position_once"),
            models.CheckConstraint(
                condition=(Q(state=Generation.FAILED) & ~Q(failure_kind=FailureKind.NONE))
                | (~Q(state=Generation.FAILED) & Q(failure_kind=FailureKind.NONE)),
                name="execution_failure_has_kind",
            ),
            known_cost("execution_cost"),
        ]
        triggers: ClassVar[list[pgtrigger.Trigger]] = [
            pgtrigger.Protect(name="kept", operation=pgtrigger.Delete),
            pgtrigger.FSM(
                name="machine",
                field="state",
                transitions=[
                    (str(Generation.PLANNED.value), str(Generation.RUNNING.value)),
                    (str(Generation.PLANNED.value), str(Generation.BLOCKED.value)),
                    (str(Generation.PLANNED.value), str(Generation.CANCELLED.value)),
                    *[(str(Generation.RUNNING.value), str(end.value)) for end in TERMINAL],
                ],
            ),
            nothing_late("runs_experiment", "experiment_id"),
        ]


class Answer(Content):
    """What an execution produced, and the error text where it failed. Protected."""

    execution = models.OneToOneField(Execution, on_delete=models.PROTECT, primary_key=True)
    text = models.TextField(null=True)
    structured = models.JSONField(null=True)
    error = models.TextField(null=True)

    class Meta:
        triggers: ClassVar[list[pgtrigger.Trigger]] = [one_way("text", "structured", "error")]
        indexes = [
            # the few that were taken away, which every verdict counts
            models.Index(fields=["execution"], name="answer_taken_away", condition=~models.Q(availability="available"))
        ]


class Attempt(Cost, Immutable):
    """One outside call of an execution, where the evidence tells of it."""

    execution = models.ForeignKey(Execution, on_delete=models.PROTECT)
    number = models.PositiveIntegerField()
    state = models.CharField(
        max_length=16,
        choices=[
            (name, name.replace("_", " "))
            for name in ("admitted", "settled", "settled_late", "failed", "blocked", "interrupted", "indeterminate")
        ],
    )
    failure_code = models.CharField(max_length=60, blank=True)
    duration_ms = models.FloatField(null=True)
    input_tokens = models.BigIntegerField(null=True)
    output_tokens = models.BigIntegerField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["execution", "number"], name="attempt_once"),
            known_cost("attempt_cost"),
        ]
        triggers: ClassVar[list[pgtrigger.Trigger]] = [frozen()]


class ArmColumns(models.Model):
    """A finished experiment's executions frozen into compact columns (see `analysis.observations.Arm`).

    Derived from the rows and equal to them; every comparison reads this one row instead of tens of thousands.
    `groups` holds 32 bytes per case, or nothing where no case has a group.
    `revisions` holds the 16 id bytes of each case's revision, `executions` each row's execution id.
    """

    experiment = models.OneToOneField(Experiment, on_delete=models.PROTECT, primary_key=True)
    layout = models.PositiveSmallIntegerField(default=1)
    cases = models.PositiveIntegerField()
    rows = models.PositiveIntegerField()
    source = models.BinaryField()
    content = models.BinaryField()
    revisions = models.BinaryField()
    case = models.BinaryField()
    repetition = models.BinaryField()
    generation = models.BinaryField()
    failure = models.BinaryField()
    latency_ms = models.BinaryField()
    cost_micros = models.BinaryField()
    cost_coverage = models.BinaryField()
    groups = models.BinaryField(default=b"")
    executions = models.BinaryField()
    sha256 = models.CharField(max_length=64)

    class Meta:
        triggers: ClassVar[list[pgtrigger.Trigger]] = [frozen()]
