"""Passes and judgments on the pages of experiments: links point up, imports do not."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from django import template
from django.template import Context

from grading import queries
from runs.models import Execution, Experiment

register = template.Library()


@register.simple_tag
def pass_counts(experiments: Iterable[Experiment]) -> dict[UUID, int]:
    """Number of passes by experiment id."""
    return queries.pass_counts(experiments)


@register.simple_tag
def passes_of(experiment: Experiment) -> list[queries.PassFigures]:
    return queries.passes_of(experiment)


@register.simple_tag(takes_context=True)
def judgments_of(context: Context, execution: Execution) -> list[queries.JudgmentRow]:
    """Judgments of an execution; their reasoning only for readers of content."""
    return queries.judgments_of(execution, content=context["request"].access.reads_content)


@register.filter
def at_work(passes: list[queries.PassFigures]) -> bool:
    """Whether one of them may still change by itself."""
    return any(entry.working and entry.grading_pass.paused_at is None for entry in passes)
