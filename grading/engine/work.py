"""What is worked on here: judgments, and what validators find out beforehand."""

from __future__ import annotations

from typing import Final

from analysis.observations import Outcome
from grading.models import EnrichmentAttempt, JudgmentAttempt
from runs.engine.claims import TOTALS, Work
from runs.models import Call


def _work(table: str, calls: type[Call], owner: str, experiment: str) -> Work:
    return Work(
        table=table,
        calls=calls,
        owner=owner,
        column="outcome",
        waiting=Outcome.PENDING.value,
        running=Outcome.PENDING.value,
        indeterminate=Outcome.INDETERMINATE.value,
        interrupted=(("outcome", Outcome.GRADER_ERROR.value),),
        ended="settled_at",
        totals=TOTALS,
        experiment=experiment,
    )


OF_EXECUTION: Final = "SELECT x.experiment_id FROM {} j JOIN runs_execution x ON x.id = j.execution_id WHERE j.id = %s"
JUDGMENTS: Final = _work("grading_judgment", JudgmentAttempt, "judgment", OF_EXECUTION.format("grading_judgment"))
ENRICHMENTS: Final = _work(
    "grading_enrichment", EnrichmentAttempt, "enrichment", OF_EXECUTION.format("grading_enrichment")
)
