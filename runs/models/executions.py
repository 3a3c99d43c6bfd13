"""Executions: what was done of an experiment, item by item, with conversation, attempts and tool calls."""

from __future__ import annotations

from typing import ClassVar

import pgtrigger
from django.db import models
from django.db.models import Q

from agents.models import Connector, ModelRouteRevision
from analysis.observations import FailureKind, Generation
from datasets.models import ItemRevision
from runs.models.costs import Cost, known_cost
from runs.models.experiments import Experiment
from teams.records import Content, Record, frozen, nothing_late, one_way

GENERATIONS = [(member.value, member.name.lower().replace("_", " ")) for member in Generation]
FAILURES = [(member.value, member.name.lower().replace("_", " ")) for member in FailureKind]
TERMINAL = (Generation.COMPLETED, Generation.FAILED, Generation.BLOCKED, Generation.CANCELLED, Generation.INDETERMINATE)


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
    error_code = models.CharField(max_length=60, blank=True, db_default="")
    claimed_by = models.CharField(max_length=80, blank=True, db_default="")
    epoch = models.PositiveIntegerField(db_default=0)
    """Grows with every claim. Whoever comes with an older one writes nothing."""
    lease_until = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    retry_of = models.OneToOneField("self", on_delete=models.PROTECT, null=True, related_name="retried_by")
    superseded = models.BooleanField(db_default=False)
    """An explicit retry took its place; it stays as it ended, and counts no more."""

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["experiment", "revision", "repetition"], condition=Q(superseded=False), name="execution_once"
            ),
            models.UniqueConstraint(
                fields=["experiment", "position"], condition=Q(superseded=False), name="execution_position_once"
            ),
            models.CheckConstraint(
                condition=Q(superseded=False) | ~Q(state__in=[Generation.PLANNED, Generation.RUNNING]),
                name="execution_superseded_ended",
            ),
            models.CheckConstraint(
                condition=(Q(state=Generation.FAILED) & ~Q(failure_kind=FailureKind.NONE))
                | (~Q(state=Generation.FAILED) & Q(failure_kind=FailureKind.NONE)),
                name="execution_failure_has_kind",
            ),
            known_cost("execution_cost"),
        ]
        indexes = [
            models.Index(
                fields=["experiment", "position"], condition=Q(state=Generation.PLANNED), name="execution_waiting"
            ),
            models.Index(fields=["experiment"], condition=Q(state=Generation.RUNNING), name="execution_running"),
            models.Index(fields=["lease_until"], condition=Q(state=Generation.RUNNING), name="execution_leases"),
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
                    # a claim that came to nothing is given back; see `runs.engine.claims`
                    (str(Generation.RUNNING.value), str(Generation.PLANNED.value)),
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


class Turn(Content):
    """One exchange of an execution's conversation: what was asked and what was answered. Protected."""

    id = models.BigAutoField(primary_key=True)
    execution = models.ForeignKey(Execution, on_delete=models.PROTECT)
    index = models.PositiveIntegerField()
    asked = models.TextField(null=True)
    answered = models.TextField(null=True)
    structured = models.JSONField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["execution", "index"], name="turn_once")]
        triggers: ClassVar[list[pgtrigger.Trigger]] = [one_way("asked", "answered", "structured")]


class AttemptState(models.TextChoices):
    ADMITTED = "admitted", "Admitted"
    SETTLED = "settled", "Settled"
    SETTLED_LATE = "settled_late", "Settled late"
    FAILED = "failed", "Failed"
    BLOCKED = "blocked", "Blocked"
    INTERRUPTED = "interrupted", "Interrupted"
    INDETERMINATE = "indeterminate", "Indeterminate"


class Call(Cost, Record):
    """One outside call: admitted before it leaves, settled with what came back. Its id goes along as its reference."""

    number = models.PositiveIntegerField()
    epoch = models.PositiveIntegerField(db_default=0)
    turn = models.PositiveIntegerField(db_default=0)
    state = models.CharField(max_length=16, choices=AttemptState)
    admitted_at = models.DateTimeField(null=True)
    settled_at = models.DateTimeField(null=True)
    failure_code = models.CharField(max_length=60, blank=True)
    duration_ms = models.FloatField(null=True)
    input_tokens = models.BigIntegerField(null=True)
    cached_input_tokens = models.BigIntegerField(null=True)
    output_tokens = models.BigIntegerField(null=True)
    finish_reason = models.CharField(max_length=60, blank=True, db_default="")
    provider_revision = models.CharField(max_length=120, blank=True, db_default="")
    provider_request_id = models.CharField(max_length=120, blank=True, db_default="")
    price_revision = models.ForeignKey(ModelRouteRevision, on_delete=models.PROTECT, null=True)

    class Meta:
        abstract = True

    @property
    def of_tool(self) -> bool:
        """Whether it went to a tool, which has no tokens, and not to a model."""
        return False


def machine_of_calls() -> list[pgtrigger.Trigger]:
    """The triggers of a table of calls: states move along the machine, and what is settled stays."""
    settled = ["settled", "settled_late", "failed", "blocked", "interrupted"]
    return [
        pgtrigger.Protect(name="kept", operation=pgtrigger.Delete),
        pgtrigger.Protect(name="settled", operation=pgtrigger.Update, condition=pgtrigger.Q(old__state__in=settled)),
        pgtrigger.FSM(
            name="machine",
            field="state",
            transitions=[
                *(("admitted", end) for end in ("settled", "failed", "blocked", "interrupted", "indeterminate")),
                ("indeterminate", "settled_late"),
            ],
        ),
    ]


class Attempt(Call):
    """One outside call of an execution, or what the evidence of another tool tells of one.

    A call of a tool names the span in which the model asked for it, and whether its connector could write.
    """

    execution = models.ForeignKey(Execution, on_delete=models.PROTECT)
    called = models.ForeignKey("Span", on_delete=models.PROTECT, null=True, related_name="attempts")
    writes = models.BooleanField(db_default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["execution", "number"], name="attempt_once"),
            known_cost("attempt_cost"),
            models.CheckConstraint(condition=Q(writes=False) | Q(called__isnull=False), name="attempt_writes_by_tool"),
        ]
        indexes = [models.Index(fields=["admitted_at"], name="attempt_admitted")]
        triggers: ClassVar[list[pgtrigger.Trigger]] = machine_of_calls()

    @property
    def of_tool(self) -> bool:
        return self.called_id is not None


class SpanKind(models.TextChoices):
    TOOL_CALL = "tool_call", "Tool call"
    TOOL_RESULT = "tool_result", "Tool result"


class Span(Record):
    """What stands between a question and its answer. Names, arguments and results stand beside.

    A call is what a model asked for in one of its replies. A result is what the model was told of it, a tool's answer
    or an error of ours; it stands with the same reply and names its call.
    """

    attempt = models.ForeignKey(Attempt, on_delete=models.PROTECT)
    position = models.PositiveIntegerField()
    kind = models.CharField(max_length=12, choices=SpanKind)
    connector = models.ForeignKey(Connector, on_delete=models.PROTECT, null=True)
    answers = models.OneToOneField("self", on_delete=models.PROTECT, null=True, related_name="result")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["attempt", "position"], name="span_once"),
            models.CheckConstraint(
                condition=Q(kind=SpanKind.TOOL_CALL, answers=None)
                | Q(kind=SpanKind.TOOL_RESULT, answers__isnull=False),
                name="span_result_answers_call",
            ),
        ]
        triggers: ClassVar[list[pgtrigger.Trigger]] = [frozen()]


class SpanContent(Content):
    """The protected side of a span."""

    span = models.OneToOneField(Span, on_delete=models.PROTECT, primary_key=True)
    body = models.JSONField(null=True)

    class Meta:
        triggers: ClassVar[list[pgtrigger.Trigger]] = [one_way("body")]
