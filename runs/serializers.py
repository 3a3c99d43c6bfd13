"""Shapes of the API: experiments and executions. A cost that is not known is null, never zero."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from analysis.observations import CostCoverage, FailureKind, Generation, Spend
from runs.models import Execution, Experiment
from runs.queries import ExecutionRow, Tally


class NameAndId(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    label = serializers.CharField()  # type: ignore[assignment]  # a field of the shape, not of Field


class VersionRef(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    dataset = serializers.UUIDField(source="dataset_id")
    dataset_name = serializers.CharField(source="dataset.name")
    number = serializers.IntegerField()
    cases = serializers.IntegerField(source="count")


class CostFact(serializers.Serializer[Any]):
    known_micros = serializers.IntegerField(allow_null=True, help_text="Null where nothing is known.")
    coverage = serializers.ChoiceField(["none", "partial", "complete"])
    basis = serializers.CharField()
    currency = serializers.CharField()
    facts = serializers.IntegerField(required=False)
    priced = serializers.IntegerField(required=False)


class ExperimentRow(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    number = serializers.IntegerField()
    subject = NameAndId()
    version = VersionRef()
    repetitions = serializers.IntegerField()
    planned = serializers.IntegerField()
    state = serializers.CharField()
    origin = serializers.CharField()
    trust = serializers.CharField()
    duplicates = serializers.IntegerField()
    manifest_sha256 = serializers.CharField()
    created_at = serializers.DateTimeField()
    completed_at = serializers.DateTimeField(allow_null=True)
    archived_at = serializers.DateTimeField(allow_null=True)


class ExperimentCounted(ExperimentRow):
    outcomes = serializers.DictField(child=serializers.IntegerField(), help_text="Executions by generation state.")
    failures = serializers.DictField(child=serializers.IntegerField(), help_text="Failed ones by kind.")
    generation_cost = CostFact(many=True, help_text="One per currency.")


class ExecutionShape(serializers.Serializer[Any]):
    position = serializers.IntegerField()
    item = serializers.UUIDField()
    revision = serializers.UUIDField()
    repetition = serializers.IntegerField()
    state = serializers.CharField()
    failure_kind = serializers.CharField(allow_null=True)
    duration_ms = serializers.FloatField(allow_null=True)
    cost = CostFact()
    input_tokens = serializers.IntegerField(allow_null=True)
    output_tokens = serializers.IntegerField(allow_null=True)
    finish_reason = serializers.CharField(allow_null=True)
    trace = serializers.BooleanField()
    content = serializers.DictField(allow_null=True, help_text="source_id, title, answer, structured, error.")


def spend(folded: Spend) -> dict[str, Any]:
    nothing = folded.coverage == CostCoverage.NONE
    return {
        "known_micros": None if nothing else folded.known_micros,
        "coverage": folded.coverage.name.lower(),
        "basis": folded.basis,
        "currency": "" if nothing else folded.currency,
        "facts": folded.facts,
        "priced": folded.priced,
    }


def counted(experiment: Experiment, tally: Tally) -> dict[str, Any]:
    return {
        **ExperimentRow(experiment).data,
        "outcomes": {state.name.lower(): count for state, count in sorted(tally.states.items())},
        "failures": {kind.name.lower(): count for kind, count in sorted(tally.failures.items())},
        "generation_cost": [spend(folded) for folded in tally.spends],
    }


def _cost(execution: Execution) -> dict[str, Any]:
    nothing = execution.cost_coverage == CostCoverage.NONE
    return {
        "known_micros": None if nothing else execution.cost_micros,
        "coverage": CostCoverage(execution.cost_coverage).name.lower(),
        "basis": execution.cost_basis,
        "currency": execution.currency,
    }


def execution_shape(row: ExecutionRow) -> dict[str, Any]:
    execution = row.execution
    return {
        "position": execution.position,
        "item": str(row.item),
        "revision": str(execution.revision_id),
        "repetition": execution.repetition,
        "state": Generation(execution.state).name.lower(),
        "failure_kind": FailureKind(execution.failure_kind).name.lower() if execution.failure_kind else None,
        "duration_ms": execution.duration_ms,
        "cost": _cost(execution),
        "input_tokens": execution.input_tokens,
        "output_tokens": execution.output_tokens,
        "finish_reason": execution.finish_reason or None,
        "trace": execution.trace,
        "content": _content(row),
    }


def _content(row: ExecutionRow) -> dict[str, Any] | None:
    if row.content is None and row.answer is None:
        return None
    return {
        "availability": row.answer.availability if row.answer else None,
        "source_id": row.content.source_id if row.content else None,
        "title": row.content.title if row.content else None,
        "answer": row.answer.text if row.answer else None,
        "structured": row.answer.structured if row.answer else None,
        "error": row.answer.error if row.answer else None,
    }
