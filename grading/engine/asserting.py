"""Assertions: judged here, many at once, without a call of anything."""

from __future__ import annotations

from typing import Any, Final

from django.db import transaction

from analysis.observations import CostCoverage, Outcome
from grading import assertions
from grading.engine import claiming
from grading.engine.evidence import evidence_of
from grading.engine.judging import words_of
from grading.engine.work import JUDGMENTS
from grading.judging import Judged, grader_error
from grading.models import GraderConfig, GraderKind, GradingPass, Judgment, Reasoning
from teams.bulk import database_now

AT_ONCE: Final = 50
FREE: Final = {"cost_coverage": CostCoverage.COMPLETE.value, "cost_basis": "no call", "currency": "USD"}
"""An assertion calls nothing, so that it costs nothing is known."""


def judge_some() -> int:
    """Judge the next few of the pass that waited longest. Returns how many; they stand or fall together."""
    with transaction.atomic():
        grading_pass = claiming.next_pass(JUDGMENTS, [GraderKind.ASSERTION.value])
        if grading_pass is None:
            return 0
        if code := claiming.hindrance(grading_pass):
            claiming.pause(grading_pass, code)
            return 0
        rows = list(
            Judgment.objects.select_for_update(of=("self",), skip_locked=True)
            .select_related("execution__revision")
            .filter(
                grading_pass=grading_pass,
                outcome=Outcome.PENDING,
                lease_until=None,
                version__grader__kind=GraderKind.ASSERTION,
            )
            .order_by("pk")[:AT_ONCE]
        )
        versions = {one.version_id for one in rows}
        configs = dict(GraderConfig.objects.filter(version__in=versions).values_list("version", "body"))
        _write([(one, _judged(one, configs.get(one.version_id), grading_pass)) for one in rows])
    return len(rows)


def _judged(row: Judgment, config: Any, grading_pass: GradingPass) -> Judged:
    if config is None:
        return grader_error("The configuration of the grader was taken away.")
    return assertions.judge(config, evidence_of(row.execution, grading_pass))


def _write(judged: list[tuple[Judgment, Judged]]) -> None:
    now = database_now()
    for row, said in judged:
        row.outcome, row.value, row.category, row.settled_at = said.outcome, said.value, said.category, now
        for name, value in FREE.items():
            setattr(row, name, value)
    Judgment.objects.bulk_update([row for row, _ in judged], ["outcome", "value", "category", "settled_at", *FREE])
    Reasoning.objects.bulk_create(Reasoning(judgment=row, **words_of(said)) for row, said in judged if said.reason)
