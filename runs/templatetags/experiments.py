"""Experiments on the pages of packages below: links point up, imports do not."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django import template
from django.template import Context

from agents.models import Subject
from analysis.observations import FailureKind, Generation
from datasets.models import Dataset, Version
from runs import queries
from runs.models import Experiment
from teams.access import Access
from teams.permissions import Right

register = template.Library()
LISTED = 100


def _access(context: Context) -> Access | None:
    """The reader's rights, if they reach to experiments."""
    access: Access = context["request"].access
    return access if access.allows(Right.EVALUATION_READ) else None


@register.simple_tag(takes_context=True)
def experiments_on(context: Context, datasets: Iterable[Dataset]) -> dict[UUID, int]:
    """Number of experiments by dataset id."""
    access = _access(context)
    return queries.counts_by_dataset(access, datasets) if access else {}


@register.simple_tag(takes_context=True)
def experiments_on_versions(context: Context, versions: Iterable[Version]) -> dict[UUID, int]:
    access = _access(context)
    return queries.counts_by_version(access, versions) if access else {}


@register.simple_tag(takes_context=True)
def experiments_by_subject(context: Context, subjects: Iterable[Subject]) -> dict[UUID, int]:
    access = _access(context)
    return queries.counts_by_subject(access, subjects) if access else {}


@register.simple_tag(takes_context=True)
def experiments_of(
    context: Context, *, subject: Subject | None = None, version: Version | None = None
) -> list[Experiment]:
    """The newest experiments of a subject or on a version."""
    access = _access(context)
    if access is None:
        return []
    rows = queries.filtered(
        queries.experiments_of(access.team),
        subject=str(subject.pk) if subject else "",
        version=str(version.pk) if version else "",
    )
    return list(rows[:LISTED])


@register.filter
def get(counts: dict[Any, Any], key: Any) -> Any:
    """What is kept under a key, zero where nothing is."""
    return counts.get(key, 0)


GENERATION_CHIPS = {Generation.COMPLETED: "good", Generation.FAILED: "bad", Generation.INDETERMINATE: "warn"}


@register.filter
def outcome(execution: Any) -> str:
    """What became of an execution, in words; a failure is named by its kind."""
    if execution.failure_kind:
        return FailureKind(execution.failure_kind).name.lower().replace("_", " ")
    return Generation(execution.state).name.lower()


@register.filter
def outcome_chip(execution: Any) -> str:
    return GENERATION_CHIPS.get(Generation(execution.state), "")


@register.filter
def is_open(execution: Any) -> bool:
    """Whether it has not ended, so that there is nothing yet to be known or unknown."""
    return execution.state in (Generation.PLANNED, Generation.RUNNING)


@register.filter
def coverage_word(execution: Any) -> str:
    """A cost coverage as the word that the money tag knows."""
    return str(execution.get_cost_coverage_display())


@register.filter
def words(name: str) -> str:
    return name.replace("_", " ")
