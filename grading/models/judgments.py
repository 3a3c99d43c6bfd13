"""Judgments: what one grader version said of one execution, and why."""

from __future__ import annotations

from typing import ClassVar

import pgtrigger
from django.db import models
from django.db.models import Q

from analysis.observations import Outcome
from grading.models.graders import GraderVersion
from grading.models.passes import GradingPass
from runs.models import Cost, Execution, known_cost
from teams.records import Content, nothing_late, one_way

OUTCOMES = [(member.value, member.name.lower().replace("_", " ")) for member in Outcome]


class Judgment(Cost):
    """One grader version's judgment of one execution in one pass. No sentinel value: unscored rows hold none."""

    id = models.BigAutoField(primary_key=True)
    grading_pass = models.ForeignKey(GradingPass, on_delete=models.PROTECT)
    execution = models.ForeignKey(Execution, on_delete=models.PROTECT)
    version = models.ForeignKey(GraderVersion, on_delete=models.PROTECT)
    outcome = models.PositiveSmallIntegerField(choices=OUTCOMES, default=Outcome.PENDING)
    value = models.FloatField(null=True)
    category = models.CharField(max_length=200, null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["grading_pass", "execution", "version"], name="judgment_once"),
            models.CheckConstraint(
                condition=(
                    Q(outcome=Outcome.SCORED)
                    & (Q(value__isnull=False, category__isnull=True) | Q(value__isnull=True, category__isnull=False))
                )
                | (~Q(outcome=Outcome.SCORED) & Q(value__isnull=True, category__isnull=True)),
                name="judgment_value_only_when_scored",
            ),
            known_cost("judgment_cost"),
        ]
        triggers: ClassVar[list[pgtrigger.Trigger]] = [
            pgtrigger.Protect(name="kept", operation=pgtrigger.Delete),
            pgtrigger.Protect(
                name="settled",
                operation=pgtrigger.Update,
                condition=~pgtrigger.Q(old__outcome__in=[Outcome.PENDING.value, Outcome.WAITING_FOR_EVIDENCE.value]),
            ),
            nothing_late("grading_gradingpass", "grading_pass_id"),
        ]


class Reasoning(Content):
    """Why a grader judged so, or what went wrong with it. Protected."""

    judgment = models.OneToOneField(Judgment, on_delete=models.PROTECT, primary_key=True)
    text = models.TextField(null=True)
    error = models.TextField(null=True)

    class Meta:
        triggers: ClassVar[list[pgtrigger.Trigger]] = [one_way("text", "error")]
