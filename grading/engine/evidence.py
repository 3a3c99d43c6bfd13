"""What a grader sees of one execution, read at the moment of judging."""

from __future__ import annotations

from typing import Any

from analysis.observations import Kind
from datasets.models import ItemContent
from datasets.queries import excluded_points
from grading.judging import Evidence, Scale
from grading.models import EnrichmentOutput, GradingPass, MetricDefinition
from runs.models import Answer, Execution
from teams.records import Availability


def evidence_of(execution: Execution, grading_pass: GradingPass | None) -> Evidence:
    """The case's body with the points that count, the answer, and what the pass's validator found."""
    answer = Answer.objects.filter(execution=execution, availability=Availability.AVAILABLE).first()
    return Evidence(
        body=_body(execution),
        answer=answer.text if answer else None,
        structured=answer.structured if answer else None,
        enrichment=_found(execution, grading_pass),
    )


def _body(execution: Execution) -> dict[str, Any]:
    content = ItemContent.objects.filter(revision=execution.revision_id).first()
    body: dict[str, Any] = dict(content.body) if content and isinstance(content.body, dict) else {}
    excluded = excluded_points(execution.revision) if body.get("checklist") else frozenset()
    if excluded:
        body["checklist"] = [point for point in body["checklist"] if point["id"] not in excluded]
    return body


def _found(execution: Execution, grading_pass: GradingPass | None) -> Any:
    if grading_pass is None or grading_pass.enrichment_id is None:
        return None
    kept = EnrichmentOutput.objects.filter(
        enrichment__execution=execution, enrichment__version=grading_pass.enrichment_id
    ).first()
    return kept.body if kept else None


def scale_of(definition: MetricDefinition) -> Scale:
    return Scale(Kind(definition.kind), definition.low, definition.high, tuple(definition.categories))
