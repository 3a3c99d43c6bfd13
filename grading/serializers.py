"""Shapes of the API: an experiment's passes and what their graders said."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from grading.queries import GraderFigures, PassFigures
from runs.serializers import ExperimentCounted


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
