"""Metric definitions, graders, passes, judgments, interpretations."""

from __future__ import annotations

from typing import ClassVar

import pgtrigger
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q

from analysis.observations import Direction, Kind, Outcome
from runs.models import Cost, Execution, Experiment, Origin, State, known_cost
from teams.models import Team, User
from teams.records import Content, Immutable, Record, frozen, nothing_late, one_way

OUTCOMES = [(member.value, member.name.lower().replace("_", " ")) for member in Outcome]


class MetricDefinition(Immutable):
    """What a value means: kind, direction, range, unit. One row per team, key and semantics."""

    team = models.ForeignKey(Team, on_delete=models.PROTECT)
    key = models.CharField(max_length=120)
    name = models.CharField(max_length=120)
    kind = models.CharField(max_length=12, choices=[(kind.value, kind.value) for kind in Kind])
    direction = models.CharField(max_length=20, choices=[(way.value, way.value) for way in Direction])
    low = models.FloatField(null=True)
    high = models.FloatField(null=True)
    unit = models.CharField(max_length=20, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["team", "key", "kind", "direction", "low", "high", "unit"],
                nulls_distinct=False,
                name="metric_definition_once",
            ),
            models.CheckConstraint(
                condition=Q(low__isnull=True) | Q(high__isnull=True) | Q(low__lt=F("high")), name="metric_range"
            ),
        ]
        ordering = ["key"]
        triggers: ClassVar[list[pgtrigger.Trigger]] = [frozen()]


class Grader(Immutable):
    """Something that measures one metric; what it is exactly stands in its versions."""

    definition = models.ForeignKey(MetricDefinition, on_delete=models.PROTECT)
    name = models.CharField(max_length=120)
    kind = models.CharField(max_length=20, choices=[("imported", "Imported")])

    class Meta:
        constraints = [models.UniqueConstraint(fields=["definition", "name"], name="grader_once")]
        triggers: ClassVar[list[pgtrigger.Trigger]] = [frozen()]


class GraderVersion(Immutable):
    """An exact, immutable measurement. `sha256` over the configuration is its identity across teams and files."""

    grader = models.ForeignKey(Grader, on_delete=models.PROTECT)
    number = models.PositiveIntegerField()
    sha256 = models.CharField(max_length=64)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["grader", "number"], name="grader_version_number_once"),
            models.UniqueConstraint(fields=["grader", "sha256"], name="grader_version_content_once"),
        ]
        ordering = ["-number"]
        triggers: ClassVar[list[pgtrigger.Trigger]] = [frozen()]


class GraderConfig(Content):
    """The protected configuration of a grader version (prompts, rubrics)."""

    version = models.OneToOneField(GraderVersion, on_delete=models.PROTECT, primary_key=True)
    body = models.JSONField(null=True)

    class Meta:
        triggers: ClassVar[list[pgtrigger.Trigger]] = [one_way("body")]


class GradingPass(Record):
    """One immutable layer of judgments over an experiment. Numbered within the experiment."""

    experiment = models.ForeignKey(Experiment, on_delete=models.PROTECT)
    number = models.PositiveIntegerField()
    origin = models.CharField(max_length=20, choices=Origin)
    name = models.CharField(max_length=120, blank=True)
    state = models.CharField(max_length=10, choices=State, default=State.SETUP)
    creator = models.ForeignKey(User, on_delete=models.PROTECT)
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["experiment", "number"], name="pass_number_once"),
            models.CheckConstraint(
                condition=~Q(state=State.COMPLETED) | Q(finished_at__isnull=False), name="pass_completed_at"
            ),
        ]
        ordering = ["number"]
        triggers: ClassVar[list[pgtrigger.Trigger]] = [
            pgtrigger.Protect(
                name="finished",
                operation=pgtrigger.Update | pgtrigger.Delete,
                condition=pgtrigger.Q(old__state__in=["completed", "failed", "cancelled"]),
            ),
        ]


class PassGrader(Immutable):
    """The pinned plan of a pass: which exact grader versions it holds."""

    grading_pass = models.ForeignKey(GradingPass, on_delete=models.PROTECT)
    version = models.ForeignKey(GraderVersion, on_delete=models.PROTECT)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["grading_pass", "version"], name="pass_grader_once")]
        triggers: ClassVar[list[pgtrigger.Trigger]] = [frozen()]


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


class Interpretation(Immutable):
    """A pinned mapping of categories to values for one grader version in one pass.

    Equivalent mappings have one `sha256`, whichever pass they are pinned to. A category mapped to
    null counts as abstained.
    """

    grading_pass = models.ForeignKey(GradingPass, on_delete=models.PROTECT)
    version = models.ForeignKey(GraderVersion, on_delete=models.PROTECT)
    name = models.CharField(max_length=120)
    mapping = models.JSONField()
    direction = models.CharField(max_length=20, choices=[(way.value, way.value) for way in Direction])
    sha256 = models.CharField(max_length=64)
    made_by = models.ForeignKey(User, on_delete=models.PROTECT)
    made_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["grading_pass", "version", "sha256"], name="interpretation_once")
        ]
        triggers: ClassVar[list[pgtrigger.Trigger]] = [frozen()]


class SeriesColumn(models.Model):
    """A finished pass's judgments of one grader version, aligned with the experiment's ArmColumns rows."""

    id = models.BigAutoField(primary_key=True)
    grading_pass = models.ForeignKey(GradingPass, on_delete=models.PROTECT)
    version = models.ForeignKey(GraderVersion, on_delete=models.PROTECT)
    layout = models.PositiveSmallIntegerField(default=1)
    rows = models.PositiveIntegerField()
    outcome = models.BinaryField()
    value = models.BinaryField()
    category = models.BinaryField()
    categories = ArrayField(models.TextField(), default=list)
    digest = models.CharField(max_length=64)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["grading_pass", "version"], name="series_column_once")]
        triggers: ClassVar[list[pgtrigger.Trigger]] = [frozen()]
