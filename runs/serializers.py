"""Shapes of the API: experiments and executions. A cost that is not known is null, never zero."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from analysis.observations import CostCoverage, FailureKind, Generation, Spend
from runs.models import Attempt, Cost, DraftTest, Experiment, ToolPolicy
from runs.queries import ExecutionRow, Tally, ToolCalled
from teams.api import StrictSerializer


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
    paused_at = serializers.DateTimeField(allow_null=True)
    pause_code = serializers.CharField(help_text="Empty where a person paused it.")
    tool_policy = serializers.CharField(help_text="Empty for imported experiments.")
    archived_at = serializers.DateTimeField(allow_null=True)


class ExperimentCounted(ExperimentRow):
    outcomes = serializers.DictField(child=serializers.IntegerField(), help_text="Executions by generation state.")
    failures = serializers.DictField(child=serializers.IntegerField(), help_text="Failed ones by kind.")
    generation_cost = CostFact(many=True, help_text="One per currency.")


RUN_STEPS = ["pause", "resume", "cancel"]


class EvaluationPlan(StrictSerializer):
    version = serializers.CharField(max_length=36, help_text="Id of a dataset version.")
    slice = serializers.CharField(
        max_length=36,
        required=False,
        default="",
        allow_blank=True,
        help_text="Id of a slice version; empty for every case.",
    )
    repetitions = serializers.IntegerField(min_value=1, max_value=5, required=False, default=1)
    tool_policy = serializers.ChoiceField(ToolPolicy.values, required=False, default=ToolPolicy.NONE.value)


class NewExperiment(EvaluationPlan):
    snapshot = serializers.CharField(max_length=36)


class NewEvaluation(EvaluationPlan):
    draft_revision = serializers.IntegerField(min_value=1, help_text="The draft's revision that was read.")


class NewStep(StrictSerializer):
    step = serializers.ChoiceField(RUN_STEPS)


class NewRetry(StrictSerializer):
    """Nothing to say: the address names the execution."""


class NewDraftTest(StrictSerializer):
    draft_revision = serializers.IntegerField(min_value=1, help_text="The draft's revision that was read.")
    asked = serializers.CharField(max_length=100_000, trim_whitespace=False)


class AttemptShape(serializers.Serializer[Any]):
    id = serializers.UUIDField(help_text="Sent to the provider as X-Request-Id.")
    number = serializers.IntegerField()
    turn = serializers.IntegerField()
    to = serializers.ChoiceField(["model", "tool"], help_text="What was called.")
    writes = serializers.BooleanField(help_text="Whether it went over a connector that writes.")
    state = serializers.CharField()
    failure_code = serializers.CharField(allow_null=True)
    duration_ms = serializers.FloatField(allow_null=True)
    cost = CostFact()
    input_tokens = serializers.IntegerField(allow_null=True)
    cached_input_tokens = serializers.IntegerField(allow_null=True)
    output_tokens = serializers.IntegerField(allow_null=True)
    finish_reason = serializers.CharField(allow_null=True)
    provider_revision = serializers.CharField(allow_null=True)
    provider_request_id = serializers.CharField(allow_null=True)
    admitted_at = serializers.DateTimeField(allow_null=True)
    settled_at = serializers.DateTimeField(allow_null=True)


class ToolCallShape(serializers.Serializer[Any]):
    attempt = serializers.UUIDField(help_text="Of the reply in which the model asked for it.")
    turn = serializers.IntegerField()
    name = serializers.CharField(allow_null=True)
    arguments = serializers.JSONField(allow_null=True)
    result = serializers.JSONField(allow_null=True, help_text="What the tool returned; null where it was not run.")
    error = serializers.CharField(allow_null=True, help_text="The code that the model was told instead.")
    removed = serializers.CharField(allow_null=True, help_text="Why the content is gone.")
    withheld = serializers.BooleanField(help_text="It came through a connector that you may not read.")


class DraftTestShape(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    draft_revision = serializers.IntegerField()
    draft_sha256 = serializers.CharField()
    model_id = serializers.CharField()
    state = serializers.CharField()
    failure_kind = serializers.CharField(allow_null=True)
    error_code = serializers.CharField(allow_null=True)
    duration_ms = serializers.FloatField(allow_null=True)
    cost = CostFact()
    asked = serializers.CharField(allow_null=True)
    answer = serializers.CharField(allow_null=True)
    structured = serializers.JSONField(allow_null=True)
    tool_calls = serializers.JSONField(allow_null=True)
    made_at = serializers.DateTimeField()


class ExecutionShape(serializers.Serializer[Any]):
    position = serializers.IntegerField()
    item = serializers.UUIDField()
    revision = serializers.UUIDField()
    repetition = serializers.IntegerField()
    state = serializers.CharField()
    failure_kind = serializers.CharField(allow_null=True)
    error_code = serializers.CharField(allow_null=True)
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


def _cost(execution: Cost) -> dict[str, Any]:
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
        "error_code": execution.error_code or None,
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


def attempt_shape(attempt: Attempt) -> dict[str, Any]:
    return {
        "id": str(attempt.pk),
        "cost": _cost(attempt),
        "to": "tool" if attempt.of_tool else "model",
        "writes": attempt.writes,
        **{name: getattr(attempt, name) for name in ("number", "turn", "state", "duration_ms")},
        **{name: getattr(attempt, name) for name in ("input_tokens", "cached_input_tokens", "output_tokens")},
        **{
            name: getattr(attempt, name) or None
            for name in ("failure_code", "finish_reason", "provider_revision", "provider_request_id")
        },
        **{name: getattr(attempt, name) for name in ("admitted_at", "settled_at")},
    }


def tool_call_shape(call: ToolCalled) -> dict[str, Any]:
    return {
        "attempt": str(call.attempt),
        "turn": call.turn,
        "name": call.name or None,
        "arguments": call.arguments,
        "result": call.result,
        "error": call.error or None,
        "removed": call.removed or None,
        "withheld": call.withheld,
    }


def draft_test_shape(row: DraftTest) -> dict[str, Any]:
    answer = getattr(row, "drafttestanswer", None)
    return {
        "id": str(row.pk),
        "draft_revision": row.draft_revision,
        "draft_sha256": row.draft_sha256,
        "model_id": row.route_revision.model_id,
        "state": Generation(row.state).name.lower(),
        "failure_kind": FailureKind(row.failure_kind).name.lower() if row.failure_kind else None,
        "error_code": row.error_code or None,
        "duration_ms": row.duration_ms,
        "cost": _cost(row),
        "asked": row.drafttestcontent.asked,
        "answer": answer.text if answer else None,
        "structured": answer.structured if answer else None,
        "tool_calls": answer.tool_calls if answer else None,
        "made_at": row.made_at,
    }
