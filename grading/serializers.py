"""Shapes of the API: an experiment's passes and what their graders said; metrics and graders."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from analysis.observations import Direction, Kind
from grading.models import EvidenceKind, GraderKind
from grading.queries import GraderFigures, PassFigures
from runs.serializers import RUN_STEPS, ExperimentCounted
from teams.api import StrictSerializer


class MetricShape(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    key = serializers.CharField()
    name = serializers.CharField()
    kind = serializers.CharField()
    direction = serializers.CharField()
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)
    unit = serializers.CharField()


class GraderShape(serializers.Serializer[Any]):
    version = serializers.UUIDField()
    name = serializers.CharField()
    number = serializers.IntegerField()
    sha256 = serializers.CharField()
    metric = MetricShape()
    outcomes = serializers.DictField(child=serializers.IntegerField())
    scored = serializers.IntegerField()
    mean = serializers.FloatField(allow_null=True, help_text="Of the scored executions; null where nothing is scored.")
    categories = serializers.DictField(child=serializers.IntegerField())


class PassShape(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    number = serializers.IntegerField()
    name = serializers.CharField()
    origin = serializers.CharField()
    state = serializers.CharField()
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)
    graders = GraderShape(many=True)


class PlannedGrader(StrictSerializer):
    version = serializers.UUIDField(help_text="Id of a grader's version.")
    evidence = serializers.ChoiceField(EvidenceKind.values, required=False, default=EvidenceKind.GENERATION.value)


class NewPass(StrictSerializer):
    graders = PlannedGrader(many=True)
    enrichment = serializers.UUIDField(
        required=False, allow_null=True, default=None, help_text="A validator's version."
    )
    name = serializers.CharField(max_length=120, required=False, allow_blank=True, default="")


class NewPassStep(StrictSerializer):
    step = serializers.ChoiceField(RUN_STEPS)


class ExperimentDetail(ExperimentCounted):
    facts = serializers.ListField(child=serializers.ListField(), help_text="Pairs of name and value.")
    passes = PassShape(many=True)


def grader_shape(grader: GraderFigures) -> dict[str, Any]:
    return {
        "version": str(grader.version),
        "name": grader.name,
        "number": grader.number,
        "sha256": grader.sha256,
        "metric": MetricShape(grader.definition).data,
        "outcomes": {outcome.name.lower(): count for outcome, count in sorted(grader.outcomes.items())},
        "scored": grader.scored,
        "mean": grader.mean,
        "categories": grader.categories,
    }


def pass_shape(figures: PassFigures) -> dict[str, Any]:
    row = figures.grading_pass
    return {
        "id": str(row.pk),
        "number": row.number,
        "name": row.name,
        "origin": row.origin,
        "state": row.state,
        "created_at": row.created_at,
        "finished_at": row.finished_at,
        "graders": [grader_shape(grader) for grader in figures.graders],
    }


# --- metrics and graders ---------------------------------------------------------------------------


class MetricRow(MetricShape):
    categories = serializers.ListField(child=serializers.CharField(), help_text="Empty: any word, or no category.")
    ordered = serializers.BooleanField(help_text="The categories stand from the lowest to the highest.")
    created_at = serializers.DateTimeField()


class NewMetric(StrictSerializer):
    key = serializers.CharField(max_length=120)
    name = serializers.CharField(max_length=120)
    kind = serializers.CharField(max_length=20, help_text=", ".join(Kind))
    direction = serializers.CharField(max_length=20, help_text=", ".join(Direction))
    low = serializers.FloatField(required=False, allow_null=True)
    high = serializers.FloatField(required=False, allow_null=True)
    unit = serializers.CharField(required=False, allow_blank=True, max_length=20)
    categories = serializers.ListField(child=serializers.CharField(max_length=200), required=False, max_length=50)
    ordered = serializers.BooleanField(required=False)


class GraderRow(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    name = serializers.CharField()
    kind = serializers.CharField(help_text=", ".join(GraderKind.values))
    metric = serializers.UUIDField(source="definition_id")
    metric_key = serializers.CharField(source="definition.key")
    versions = serializers.IntegerField()
    sha256 = serializers.CharField(help_text="Of the newest version.")
    archived_at = serializers.DateTimeField(allow_null=True)
    revision = serializers.IntegerField()


class VersionInput(StrictSerializer):
    """What a version says. `fee_micros` is a validator's fee per call: null is unknown, zero is free."""

    config = serializers.DictField(help_text="What the kind needs; docs/graders.md says what that is.")
    evidence = serializers.ListField(
        child=serializers.CharField(max_length=20),
        required=False,
        max_length=5,
        help_text=f"{', '.join(EvidenceKind.values)}; generation unless given.",
    )
    fee_micros = serializers.IntegerField(required=False, allow_null=True, min_value=0)
    fee_currency = serializers.CharField(required=False, allow_blank=True, max_length=3)


class NewGrader(VersionInput):
    metric = serializers.UUIDField()
    kind = serializers.CharField(max_length=20, help_text="assertion, judge, validator")
    name = serializers.CharField(max_length=120)


class GraderEdit(StrictSerializer):
    """One of them, or both."""

    name = serializers.CharField(max_length=120, required=False)
    archived = serializers.BooleanField(required=False)


class NewGraderVersion(VersionInput):
    grader_revision = serializers.IntegerField(min_value=1, help_text="The grader's revision that was read.")


class GraderVersionRow(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    grader = serializers.UUIDField(source="grader_id")
    kind = serializers.CharField(source="grader.kind")
    number = serializers.IntegerField()
    sha256 = serializers.CharField()
    evidence = serializers.ListField(child=serializers.CharField(), help_text="Empty in imported versions.")
    route = serializers.SerializerMethodField(help_text="Of a judge: the key of its model route.")
    route_revision = serializers.SerializerMethodField(help_text="Of a judge: the revision that it pins.")
    fee_micros = serializers.IntegerField(allow_null=True, help_text="Of a validator; null is unknown, 0 is free.")
    fee_currency = serializers.CharField()
    created_at = serializers.DateTimeField()

    @extend_schema_field(serializers.CharField(allow_null=True))
    def get_route(self, row: Any) -> str | None:
        return row.route_revision.route.key if row.route_revision else None

    @extend_schema_field(serializers.IntegerField(allow_null=True))
    def get_route_revision(self, row: Any) -> int | None:
        return row.route_revision.number if row.route_revision else None


class GraderVersionDetail(GraderVersionRow):
    availability = serializers.CharField(help_text="available, expired, deleted, redacted or never captured.")
    config = serializers.JSONField(allow_null=True, help_text="Null without the right evaluation.content.read.")
