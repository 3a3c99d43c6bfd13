"""Metric definitions, graders, passes, judgments, interpretations."""

from grading.models.columns import SeriesColumn
from grading.models.graders import EvidenceKind, Grader, GraderConfig, GraderKind, GraderVersion, ValidatorHost
from grading.models.interpretations import Interpretation
from grading.models.judgments import OUTCOMES, Judgment, Reasoning
from grading.models.metrics import MetricDefinition
from grading.models.passes import GradingPass, PassGrader

__all__ = [
    "OUTCOMES",
    "EvidenceKind",
    "Grader",
    "GraderConfig",
    "GraderKind",
    "GraderVersion",
    "GradingPass",
    "Interpretation",
    "Judgment",
    "MetricDefinition",
    "PassGrader",
    "Reasoning",
    "SeriesColumn",
    "ValidatorHost",
]
