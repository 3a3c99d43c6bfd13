"""Agent Test: a saved draft tried on one input, outside of every experiment."""

from __future__ import annotations

from typing import ClassVar

import pgtrigger
from django.db import models

from agents.models import Agent, ModelRouteRevision
from analysis.observations import FailureKind, Generation
from runs.models.costs import Cost, known_cost
from runs.models.executions import FAILURES, GENERATIONS, TERMINAL, Call, machine_of_calls
from teams.models import Team, User
from teams.records import Content, Record, one_way


class DraftTest(Cost, Record):
    """One try of a draft as it was saved. It is no evidence: it belongs to no dataset and enters no comparison."""

    team = models.ForeignKey(Team, on_delete=models.PROTECT)
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT)
    draft_revision = models.PositiveIntegerField()
    draft_sha256 = models.CharField(max_length=64)
    route_revision = models.ForeignKey(ModelRouteRevision, on_delete=models.PROTECT)
    by = models.ForeignKey(User, on_delete=models.PROTECT)
    made_at = models.DateTimeField(auto_now_add=True)
    state = models.PositiveSmallIntegerField(choices=GENERATIONS, default=Generation.PLANNED)
    failure_kind = models.PositiveSmallIntegerField(choices=FAILURES, default=FailureKind.NONE)
    error_code = models.CharField(max_length=60, blank=True)
    duration_ms = models.FloatField(null=True)
    input_tokens = models.BigIntegerField(null=True)
    output_tokens = models.BigIntegerField(null=True)
    finish_reason = models.CharField(max_length=60, blank=True)
    claimed_by = models.CharField(max_length=80, blank=True)
    epoch = models.PositiveIntegerField(default=0)
    lease_until = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [known_cost("draft_test_cost")]
        indexes = [models.Index(fields=["agent", "-made_at"], name="draft_test_of_agent")]
        ordering = ["-made_at"]
        triggers: ClassVar[list[pgtrigger.Trigger]] = [
            pgtrigger.Protect(name="kept", operation=pgtrigger.Delete),
            pgtrigger.FSM(
                name="machine",
                field="state",
                transitions=[
                    ("0", "1"),
                    ("1", "0"),
                    ("0", str(Generation.BLOCKED.value)),
                    ("0", str(Generation.CANCELLED.value)),
                    *[("1", str(end.value)) for end in TERMINAL],
                ],
            ),
        ]


class DraftTestContent(Content):
    """The protected side: what the draft said then, what was asked, what came back."""

    draft_test = models.OneToOneField(DraftTest, on_delete=models.PROTECT, primary_key=True)
    definition = models.JSONField(null=True)
    asked = models.TextField(null=True)

    class Meta:
        triggers: ClassVar[list[pgtrigger.Trigger]] = [one_way("definition", "asked")]


class DraftTestAnswer(Content):
    """What came back, once something did."""

    draft_test = models.OneToOneField(DraftTest, on_delete=models.PROTECT, primary_key=True)
    text = models.TextField(null=True)
    structured = models.JSONField(null=True)
    tool_calls = models.JSONField(null=True)

    class Meta:
        triggers: ClassVar[list[pgtrigger.Trigger]] = [one_way("text", "structured", "tool_calls")]


class DraftTestAttempt(Call):
    """One outside call of an Agent Test."""

    draft_test = models.ForeignKey(DraftTest, on_delete=models.PROTECT)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["draft_test", "number"], name="draft_test_attempt_once"),
            known_cost("draft_test_attempt_cost"),
        ]
        triggers: ClassVar[list[pgtrigger.Trigger]] = machine_of_calls()
