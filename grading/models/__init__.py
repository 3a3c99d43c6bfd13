"""Metric definitions, graders, passes, judgments, interpretations."""

from grading.models.columns import SeriesColumn
from grading.models.graders import EvidenceKind, Grader, GraderConfig, GraderKind, GraderVersion, ValidatorHost
from grading.models.interpretations import Interpretation
from grading.models.judgments import (
    OPEN,
    OUTCOMES,
    Enrichment,
    EnrichmentAttempt,
    EnrichmentOutput,
    Judgment,
    JudgmentAttempt,
    Reasoning,
)
from grading.models.metrics import MetricDefinition
from grading.models.passes import GradingPass, PassGrader, PassOrigin

__all__ = [
    "OPEN",
    "OUTCOMES",
    "Enrichment",
    "EnrichmentAttempt",
    "EnrichmentOutput",
    "EvidenceKind",
    "Grader",
    "GraderConfig",
    "GraderKind",
    "GraderVersion",
    "GradingPass",
    "Interpretation",
    "Judgment",
    "JudgmentAttempt",
    "MetricDefinition",
    "PassGrader",
    "PassOrigin",
    "Reasoning",
    "SeriesColumn",
    "ValidatorHost",
]
