"""What is to be judged: for every completed answer of a running pass one judgment of each pinned grader."""

from __future__ import annotations

from typing import Final

from django.db import connection

from analysis.observations import Generation, Outcome
from grading.models import EvidenceKind

COMPLETED: Final = f"x.state = {Generation.COMPLETED.value} AND NOT x.superseded"

EXPECTED: Final = f"""
    INSERT INTO grading_judgment
        (grading_pass_id, execution_id, version_id, outcome, cost_micros, cost_coverage, cost_basis, currency)
    SELECT p.id, x.id, g.version_id,
        CASE WHEN g.evidence = '{EvidenceKind.ENRICHMENT}' THEN {Outcome.WAITING_FOR_EVIDENCE.value}
             ELSE {Outcome.PENDING.value} END, 0, 0, '', ''
    FROM grading_gradingpass p
    JOIN grading_passgrader g ON g.grading_pass_id = p.id
    JOIN runs_execution x ON x.experiment_id = p.experiment_id AND {COMPLETED}
    WHERE p.state = 'running' AND p.origin <> 'import' AND NOT EXISTS (
        SELECT 1 FROM grading_judgment j
        WHERE j.grading_pass_id = p.id AND j.execution_id = x.id AND j.version_id = g.version_id)
    ON CONFLICT DO NOTHING
"""
ENRICHED: Final = f"""
    INSERT INTO grading_enrichment
        (execution_id, version_id, outcome, cost_micros, cost_coverage, cost_basis, currency)
    SELECT DISTINCT x.id, p.enrichment_id, {Outcome.PENDING.value}, 0, 0, '', ''
    FROM grading_gradingpass p
    JOIN runs_execution x ON x.experiment_id = p.experiment_id AND {COMPLETED}
    WHERE p.state = 'running' AND p.enrichment_id IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM grading_enrichment e WHERE e.execution_id = x.id AND e.version_id = p.enrichment_id)
    ON CONFLICT DO NOTHING
"""
ARRIVED: Final = f"""
    UPDATE grading_judgment j
    SET outcome = CASE WHEN e.outcome = {Outcome.SCORED.value} THEN {Outcome.PENDING.value}
                       ELSE {Outcome.GRADER_ERROR.value} END,
        error_code = CASE WHEN e.outcome = {Outcome.SCORED.value} THEN '' ELSE 'enrichment_failed' END,
        settled_at = CASE WHEN e.outcome = {Outcome.SCORED.value} THEN NULL ELSE clock_timestamp() END
    FROM grading_gradingpass p, grading_enrichment e
    WHERE j.outcome = {Outcome.WAITING_FOR_EVIDENCE.value} AND p.id = j.grading_pass_id AND p.state = 'running'
      AND e.execution_id = j.execution_id AND e.version_id = p.enrichment_id AND e.outcome <> {Outcome.PENDING.value}
"""


def expect() -> int:
    """Write down what is to be judged by now, and let go what waited for evidence. Returns how many rows."""
    total = 0
    with connection.cursor() as cursor:
        for statement in (EXPECTED, ENRICHED, ARRIVED):
            cursor.execute(statement)
            total += cursor.rowcount
    return total
