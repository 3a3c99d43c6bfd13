"""Reads of metrics, graders, passes and judgments."""

from grading.queries.graders import (
    Config,
    config_of,
    grader_versions,
    graders_of,
    metrics_of,
    usable_versions,
    validator_hosts,
)
from grading.queries.passes import (
    GraderFigures,
    JudgmentRow,
    PassFigures,
    judgments_of,
    pass_counts,
    passes_of,
)

__all__ = [
    "Config",
    "GraderFigures",
    "JudgmentRow",
    "PassFigures",
    "config_of",
    "grader_versions",
    "graders_of",
    "judgments_of",
    "metrics_of",
    "pass_counts",
    "passes_of",
    "usable_versions",
    "validator_hosts",
]
