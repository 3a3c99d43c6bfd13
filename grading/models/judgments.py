"""Judgments: what one grader version said of one execution, and why."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import ClassVar

import pgtrigger
from django.db import models
from django.db.models import Q

from analysis.observations import Outcome
from grading.models.graders import GraderVersion
from grading.models.passes import GradingPass
from runs.models import Call, Cost, Execution, known_cost, machine_of_calls
from teams.records import Content, nothing_late, one_way

OUTCOMES = [(member.value, member.name.lower().replace("_", " ")) for member in Outcome]


OPEN = (Outcome.PENDING, Outcome.WAITING_FOR_EVIDENCE)


def settled(*fields: str, open_: Sequence[Outcome]) -> pgtrigger.Trigger:
    """What is settled stays as it is, in all of these fields. What it cost may become known later."""
    changed = reduce(or_, (pgtrigger.Q(**{f"old__{name}__df": pgtrigger.F(f"new__{name}")}) for name in fields))
    was_open = pgtrigger.Q(old__outcome__in=[one.value for one in open_])
    return pgtrigger.Protect(name="settled", operation=pgtrigger.Update, condition=~was_open & changed)


CLAIMED = ("outcome", "claimed_by", "epoch", "lease_until", "settled_at", "error_code")


class Claimed(models.Model):
    """Columns of rows that workers claim: who holds it until when, and how often it was claimed."""

    claimed_by = models.CharField(max_length=80, blank=True, db_default="")
    epoch = models.PositiveIntegerField(db_default=0)
    lease_until = models.DateTimeField(null=True)
    error_code = models.CharField(max_length=60, blank=True, db_default="")
    settled_at = models.DateTimeField(null=True)

    class Meta:
        abstract = True


class Judgment(Claimed, Cost):
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
        indexes = [
            models.Index(fields=["grading_pass", "version"], condition=Q(outcome__in=OPEN), name="judgment_open"),
            models.Index(
                fields=["lease_until"],
                condition=Q(outcome=Outcome.PENDING, lease_until__isnull=False),
                name="judgment_leases",
            ),
        ]
        triggers: ClassVar[list[pgtrigger.Trigger]] = [
            pgtrigger.Protect(name="kept", operation=pgtrigger.Delete),
            settled("grading_pass", "execution", "version", "value", "category", *CLAIMED, open_=OPEN),
            nothing_late("grading_gradingpass", "grading_pass_id"),
        ]


class JudgmentAttempt(Call):
    """One outside call of a judgment: to a judge's model, or to a validator."""

    judgment = models.ForeignKey(Judgment, on_delete=models.PROTECT)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["judgment", "number"], name="judgment_attempt_once"),
            known_cost("judgment_attempt_cost"),
        ]
        triggers: ClassVar[list[pgtrigger.Trigger]] = machine_of_calls()


class Enrichment(Claimed, Cost):
    """What one validator finds out about one execution, once, for every judge that looks at it.

    `outcome` is scored where it found something; there is no value.
    """

    id = models.BigAutoField(primary_key=True)
    execution = models.ForeignKey(Execution, on_delete=models.PROTECT)
    version = models.ForeignKey(GraderVersion, on_delete=models.PROTECT)
    outcome = models.PositiveSmallIntegerField(choices=OUTCOMES, default=Outcome.PENDING)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["execution", "version"], name="enrichment_once"),
            known_cost("enrichment_cost"),
        ]
        indexes = [models.Index(fields=["execution"], condition=Q(outcome=Outcome.PENDING), name="enrichment_open")]
        triggers: ClassVar[list[pgtrigger.Trigger]] = [
            pgtrigger.Protect(name="kept", operation=pgtrigger.Delete),
            settled("execution", "version", *CLAIMED, open_=[Outcome.PENDING]),
        ]


class EnrichmentOutput(Content):
    """What the validator found. Protected."""

    enrichment = models.OneToOneField(Enrichment, on_delete=models.PROTECT, primary_key=True)
    body = models.JSONField(null=True)

    class Meta:
        triggers: ClassVar[list[pgtrigger.Trigger]] = [one_way("body")]


class EnrichmentAttempt(Call):
    """One outside call of an enrichment."""

    enrichment = models.ForeignKey(Enrichment, on_delete=models.PROTECT)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["enrichment", "number"], name="enrichment_attempt_once"),
            known_cost("enrichment_attempt_cost"),
        ]
        triggers: ClassVar[list[pgtrigger.Trigger]] = machine_of_calls()


class Reasoning(Content):
    """Why a grader judged so, or what went wrong with it. Protected."""

    judgment = models.OneToOneField(Judgment, on_delete=models.PROTECT, primary_key=True)
    text = models.TextField(null=True)
    error = models.TextField(null=True)

    class Meta:
        triggers: ClassVar[list[pgtrigger.Trigger]] = [one_way("text", "error")]
