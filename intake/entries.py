"""A run's entries as they can be stored: settled by the readers, and within the bounds of our columns."""

from __future__ import annotations

import math
from collections.abc import Iterator

from analysis.observations import Kind, Outcome
from analysis.refusals import Refused
from intake.readers import Execution, Rejected, Run, RunFacts, Scorer, settled

LARGEST_NUMBER = 2**63 - 1
NAME = 120
LABEL = 200
CATEGORY = 200
UNIT = 20


def entries(run: Run) -> Iterator[Execution | Rejected]:
    """What `settled` gives, with what no column could hold set aside under a code of its own."""
    scorers = {scorer.key: scorer for scorer in run.facts.scorers}
    check_facts(run.facts)
    for entry in settled(run):
        if isinstance(entry, Rejected):
            yield entry
            continue
        fault = _fault(entry, scorers)
        if fault is None:
            yield entry
        else:
            yield Rejected(fault[0], entry.place, fault[1])


def check_facts(facts: RunFacts) -> None:
    for scorer in facts.scorers:
        if max(len(scorer.key), len(scorer.name)) > NAME or len(scorer.unit) > UNIT:
            raise Refused(
                "import_value_too_long",
                f"The name of a metric may have {NAME} characters, its unit {UNIT}.",
                scorer.key[:NAME],
            )


def _fault(entry: Execution, scorers: dict[str, Scorer]) -> tuple[str, str] | None:
    for amount in (entry.cost_micros, entry.input_tokens, entry.output_tokens):
        if amount is not None and not 0 <= amount <= LARGEST_NUMBER:
            return "import_measure_invalid", "Costs and token counts are whole numbers from 0 to 2^63 − 1."
    if entry.duration_ms is not None and not (math.isfinite(entry.duration_ms) and entry.duration_ms >= 0):
        return "import_measure_invalid", "A duration is a finite number that is not negative."
    for key, score in entry.scores.items():
        if score.category is not None and len(score.category) > CATEGORY:
            return "import_score_unknown", f"A category may have {CATEGORY} characters."
        if score.cost_micros is not None and not 0 <= score.cost_micros <= LARGEST_NUMBER:
            return "import_measure_invalid", "Costs are whole numbers from 0 to 2^63 − 1 millionths."
        if score.outcome is not Outcome.SCORED:
            continue
        by_category = scorers[key].kind is Kind.CATEGORICAL
        if by_category and score.category is None:
            return "import_score_unknown", f"{key} is a category, and none is given."
        if not by_category and (score.value is None or not math.isfinite(score.value)):
            return "import_score_unknown", f"{key} is a number, and none is given."
    return None
