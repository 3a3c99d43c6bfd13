"""Refusal codes of comparisons."""

from __future__ import annotations

from typing import Final

from teams.refusals import Code, register

CODES: Final[dict[str, Code]] = {
    "comparison_not_finished": Code(409, "Choose experiments and grading passes that are completed."),
    "comparison_archived": Code(409, "Choose an experiment that is not archived, or restore this one."),
    "comparison_other_dataset": Code(409, "Choose two experiments of the same dataset."),
    "comparison_same_side": Code(409, "Choose another experiment, or another grading pass of this one."),
    "comparison_ambiguous": Code(409, "Choose one of the listed values for the parameter named in `place`."),
    "comparison_no_shared_metric": Code(409, "Choose passes that measure the same metric on both sides."),
    "comparison_unavailable": Code(409, "Choose a measurement that the selected pass holds."),
    "comparison_invocation_limit": Code(
        422, "Choose a smaller slice, fewer arms, fewer repetitions or fewer graders that call; the limit stays."
    ),
    "comparison_primary_invalid": Code(422, "Choose a metric with an exact version that stands in the plan."),
    "template_archived": Code(409, "Restore the template first."),
    "template_revision_conflict": Code(409, "Refresh the template's versions, then save again."),
    "template_unavailable": Code(422, "Choose another version of the template, or none."),
    "stale_preflight": Code(409, "Check the readiness again, then start."),
}

register(CODES)
