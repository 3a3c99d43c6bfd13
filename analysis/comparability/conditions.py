"""Conditions × claims of the extension, as data: what is asked of the evidence, and what each claim needs.

A cell says what a condition is to a claim: evidence it needs, a conflict it does not survive, a split
that must be named, or a note that never counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

EXTENSION_VERSION: Final = "ext/1"


class State(StrEnum):
    SATISFIED = "satisfied"
    VIOLATED = "violated"
    UNKNOWN = "unknown"
    """Nobody can tell. This is never counted as satisfied."""
    NOT_APPLICABLE = "not_applicable"


class Kind(StrEnum):
    EVIDENCE = "evidence"
    CONFLICT = "conflict"
    SPLIT = "split"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Condition:
    """`holds` and `broken` are sentences for a page; `split` follows "only" in what may be said."""

    code: str
    id: str
    holds: str
    broken: str
    repair: str
    split: str = ""


_CONDITIONS: Final = (
    Condition(
        "P1",
        "ext.cells_present",
        "At least two arms hold a live observation.",
        "Fewer than two arms hold a live observation.",
        "Add an arm, or run the one that is empty.",
    ),
    Condition(
        "P2",
        "ext.cells_distinct",
        "No two arms are the same runs.",
        "Two arms resolve to the same runs, which would count twice.",
        "Replace one of the two arms.",
    ),
    Condition(
        "P3",
        "ext.work_terminal",
        "All planned executions and judgments have ended.",
        "Planned work has not ended, or was cut off by a budget or a cancellation.",
        "Let the work end, or start again what was cut off.",
    ),
    Condition(
        "P4",
        "ext.evidence_readable",
        "Every observation has its recorded trace.",
        "A recorded trace is absent, deleted, expired or not what its digest says.",
        "Restore the trace, or run the case again.",
        "with the runs named whose traces were not kept",
    ),
    Condition(
        "P5",
        "ext.trust_tier_sufficient",
        "No score rests on an agent's own statement.",
        "A score rests on what an agent says about itself.",
        "Grade the answers by an assertion, a judge or a review.",
    ),
    Condition(
        "P8",
        "ext.trust_tiers_uniform",
        "One series holds one tier of trust.",
        "One series mixes tiers of trust.",
        "Grade all answers the same way.",
        "per tier of trust",
    ),
    Condition(
        "P6",
        "ext.status_resolved",
        "Every score has a resolved status, and no arm has only unresolved zeros.",
        "A status is of no known kind, or an arm has only zeros that nobody resolved.",
        "Resolve the zeros: look at the runs that failed, timed out or were refused.",
        "per status, with unresolved zeros apart",
    ),
    Condition(
        "P7",
        "ext.reward_well_formed",
        "Every value is a finite number on its metric's scale.",
        "A value is no finite number or lies outside its metric's scale.",
        "Correct the grader or the metric's range, and grade again.",
    ),
    Condition(
        "L1",
        "ext.same_dataset",
        "All arms ran on one dataset.",
        "The arms ran on different datasets.",
        "Run the arms on one dataset.",
    ),
    Condition(
        "L2",
        "ext.item_revisions_identical",
        "Paired observations carry the same item revision.",
        "Some items were changed between the runs.",
        "Run the changed items again on both sides.",
        "with the items marked whose content was not captured, or has changed",
    ),
    Condition(
        "L3",
        "ext.manifest_matched",
        "Both sides planned the same items and repetitions.",
        "The sides planned different items or repetitions.",
        "Run what is missing on the other side.",
        "on what both sides have",
    ),
    Condition(
        "L4",
        "ext.paired_share",
        "Enough cases are scored on both sides.",
        "Too few cases are scored on both sides.",
        "Run or grade the cases that only one side has.",
        "on the cases scored on both sides",
    ),
    Condition(
        "L5",
        "ext.missingness_balanced",
        "The sides miss about the same share of values.",
        "One side misses many more values than the other.",
        "Retry what failed on the side that misses more.",
        "beside how many values each side misses, and why",
    ),
    Condition(
        "L6",
        "ext.repetitions_equal",
        "Every paired case has as many repetitions on both sides.",
        "Repetitions differ between the sides.",
        "Run the missing repetitions.",
        "on case means of unequal repetitions",
    ),
    Condition(
        "L7",
        "ext.observations_unique",
        "Each repetition was observed once.",
        "A repetition was observed more than once.",
        "Set the doubled observations aside.",
    ),
    Condition(
        "Q1",
        "ext.series_identical",
        "Metric, grader, grader version and source are the same on all sides.",
        "The sides were graded by different graders, versions or sources.",
        "Grade all sides with one grader version.",
    ),
    Condition(
        "Q2",
        "ext.interpretation_equivalent",
        "Categories are read the same way on all sides.",
        "Categories are read differently on the sides.",
        "Choose interpretations of equal content.",
    ),
    Condition(
        "Q3",
        "ext.direction_agreed",
        "The metric's direction is declared and the same.",
        "The metric's direction is not declared, or differs.",
        "Declare the metric's direction.",
    ),
    Condition(
        "Q4",
        "ext.metric_ordered",
        "The metric has an order.",
        "The metric is an unordered category and has no mean.",
        "Ask for the distribution of labels instead.",
    ),
    Condition(
        "Q5",
        "ext.grading_complete",
        "Every eligible answer was scored.",
        "Some eligible answers were not scored.",
        "Retry the abstentions and grader errors.",
        "on the answers that were scored",
    ),
    Condition(
        "Q6",
        "ext.coverage_points_equal",
        "The same checklist points are covered automatically on all sides.",
        "Different checklist points are covered automatically.",
        "Cover the same points on all sides.",
        "per covered checklist point",
    ),
    Condition(
        "I1",
        "ext.declared_change_only",
        "Only the declared dimension differs.",
        "More than the declared dimension differs.",
        "Make a variant that changes one dimension, or compare the arms as bundles.",
    ),
    Condition(
        "I2",
        "ext.revisions_known",
        "Source, runtime and provider revisions are known on both sides.",
        "Revisions of source, runtime or provider are not known.",
        "Record the revisions and run again.",
        "with the unknown revisions named",
    ),
    Condition(
        "I3",
        "ext.arm_internally_stable",
        "Each arm ran as it was declared, the same way throughout.",
        "An arm's runs differ among themselves or from its declaration.",
        "Leave out, or run again, the runs that differ.",
    ),
    Condition(
        "I4",
        "ext.run_window_overlap",
        "The arms ran in the same time.",
        "The arms ran at different times; a provider's drift cannot be told apart.",
        "Launch the arms together.",
        "with the different times of the runs named",
    ),
    Condition(
        "G1",
        "ext.auth_mode_equal",
        "All runs paid in the same way.",
        "Some runs were paid by key and some by subscription.",
        "Run all arms with one way of paying.",
    ),
    Condition(
        "G2",
        "ext.cost_coverage_complete",
        "The cost of every counted run is known.",
        "The cost of some counted runs is not known.",
        "Enter the missing prices.",
    ),
    Condition(
        "G3",
        "ext.cost_basis_equal",
        "Cost basis, currency and prices are the same.",
        "Cost basis, currency or prices differ.",
        "Price all runs by one table.",
    ),
    Condition(
        "G4",
        "ext.cost_population_stated",
        "The same work is counted on all sides.",
        "Different work is counted on the sides.",
        "Choose one population for all sides.",
    ),
    Condition(
        "G5",
        "ext.latency_measured",
        "The duration of every paired repetition was measured.",
        "Some durations were not measured.",
        "Run again what was not measured.",
        "on the repetitions that were measured",
    ),
    Condition(
        "G6",
        "ext.load_conditions_equal",
        "Concurrency, region and warmth are known and the same.",
        "Concurrency, region or warmth differ.",
        "Run the arms under one load.",
        "with the load of each side named",
    ),
    Condition(
        "N1",
        "ext.sample_size",
        "There are enough cases for an interval.",
        "There are too few cases for an interval.",
        "Add cases.",
        "as descriptive counts without an interval",
    ),
    Condition(
        "N2",
        "ext.margin_fixed_before_launch",
        "The margin was fixed before the launch.",
        "No margin was fixed before the launch.",
        "Fix the margin in the template and launch again.",
    ),
    Condition(
        "N3",
        "ext.primary_fixed_before_launch",
        "This is the primary metric that was fixed before the launch.",
        "This is not the primary metric that was fixed before the launch.",
        "Fix this metric as the primary one and launch again.",
        "as an exploratory reading",
    ),
    Condition(
        "N4",
        "ext.multiplicity_handled",
        "One comparison is made, or an adjustment for several is named.",
        "Several comparisons are made without an adjustment.",
        "Name an adjustment, or choose one comparison beforehand.",
        "as one of several comparisons, without an adjustment",
    ),
)
CONDITIONS: Final = {condition.id: condition for condition in _CONDITIONS}
"""All conditions in the order in which findings are listed."""

_KINDS: Final = {"E": Kind.EVIDENCE, "C": Kind.CONFLICT, "S": Kind.SPLIT, ".": Kind.NOTE}
_COLUMNS: Final = (
    "score_comparison",
    "single_variable_comparison",
    "paired_difference",
    "paired_improvement",
    "non_inferiority",
    "regression_free",
    "pass_rate_difference",
    "reliability_comparison",
    "cost_comparison",
    "latency_comparison",
    "label_distribution_comparison",
)
_ROWS: Final = {
    # one letter per claim, in the order of the columns
    "P1": "EEEEEEEEEEE",
    "P2": "CCCCCCCCCCC",
    "P3": "EEEEEEEEEEE",
    "P4": "EEEEEEES.SE",
    "P5": "CCCCCCC...C",
    "P8": "SSSSSSS...S",
    "P6": "SSSSSSS...S",
    "P7": "CCCCCCC....",
    "L1": "CCCCCCCCCCC",
    "L2": "CCCCCC..SS.",
    "L3": "SSSSSESSSSS",
    "L4": "EEEEEE..EE.",
    "L5": "SSSSEES.SSS",
    "L6": "SSSSSSSSSSS",
    "L7": "CCCCCCCCCCC",
    "Q1": "CCCCCCC...C",
    "Q2": "CCCCCCC...C",
    "Q3": "...CCCC....",
    "Q4": "CCCCCCC....",
    "Q5": "SSSSSES...S",
    "Q6": "SSSSSSS....",
    "I1": ".C.........",
    "I2": ".S......S..",
    "I3": "CCCCCCCCCCC",
    "I4": ".S......SS.",
    "G1": "........C..",
    "G2": "........E..",
    "G3": "........C..",
    "G4": "........C..",
    "G5": ".........S.",
    "G6": ".........S.",
    "N1": ".SEEE.SSSS.",
    "N2": "....C......",
    "N3": "..SSS.S....",
    "N4": "..SSS.SSSS.",
}
MATRIX: Final[dict[str, dict[str, Kind]]] = {
    claim: {condition.id: _KINDS[_ROWS[condition.code][column]] for condition in _CONDITIONS}
    for column, claim in enumerate(_COLUMNS)
}
"""Per claim what each condition is to it. The base claims that are not here keep their verdict: all is a note."""

SOFTENED: Final = {
    ("ext.evidence_readable", State.UNKNOWN): Kind.SPLIT,  # never captured, as usual for imported evidence
    ("ext.paired_share", State.VIOLATED): Kind.SPLIT,  # below the floor: true of the cases scored on both sides
    ("ext.item_revisions_identical", State.UNKNOWN): Kind.SPLIT,  # paired by source id alone, and marked so
}
"""Where this state of a condition only splits a claim that its kind would refuse."""


@dataclass(frozen=True, slots=True)
class Claim:
    """`says` may be said when the claim is admissible; `never` may not be said on the strength of it."""

    name: str
    asks: str
    says: str
    never: tuple[str, ...]


CLAIMS: Final = {
    claim.name: claim
    for claim in (
        Claim(
            "score_comparison",
            "Do the scores of arms that differ in the harness at most stand on one scale?",
            "The scores stand side by side on one scale",
            ("Which component made the difference",),
        ),
        Claim(
            "descriptive_registration",
            "What was run, and what came out?",
            "Conditions and raw scores, registered",
            ("Any comparison of the scores",),
        ),
        Claim(
            "causal",
            "Did one variable cause the difference?",
            "One variable caused the difference",
            ("One variable caused the difference",),
        ),
        Claim(
            "single_variable_comparison",
            "Is there a difference that goes with one declared dimension?",
            "The difference goes with the declared dimension; all other captured settings are equal",
            ("A cause beyond the captured settings", "Anything about revisions that are not known"),
        ),
        Claim(
            "paired_difference",
            "How do two configurations differ, as bundles, on the same item revisions?",
            "The mean paired difference, candidate minus baseline, with its interval",
            ("That one dimension made the difference, where several differ",),
        ),
        Claim(
            "paired_improvement",
            "Does the interval of the primary metric lie on the better side?",
            "The interval lies on the better side, does not, or it is not shown",
            ("That the candidate is better on any other metric", "That the candidate should be chosen"),
        ),
        Claim(
            "non_inferiority",
            "Is the candidate at most the margin worse?",
            "The bound lies within the margin, beyond it, or it is not shown",
            ("That the two are equal", "That the candidate is better"),
        ),
        Claim(
            "regression_free",
            "Does the candidate fail no case that the baseline passes?",
            "None of the fully paired cases regressed, or which did",
            ("Anything about cases that are not paired",),
        ),
        Claim(
            "pass_rate_difference",
            "How do two unpaired pass rates differ?",
            "Both pass rates with their intervals, the unpaired test and the detectable effect",
            (
                "A cause",
                "A paired difference",
                "Significance, where the primary metric was not fixed before the launch",
            ),
        ),
        Claim(
            "reliability_comparison",
            "What share of the planned repetitions completed?",
            "The completion rates with the kinds of failure",
            ("Anything about quality",),
        ),
        Claim(
            "cost_comparison",
            "What did the stated work cost?",
            "The cost of the stated work on each side",
            ("A saving, where any cost is partly known or unknown",),
        ),
        Claim(
            "latency_comparison",
            "How long did paired, completed repetitions take?",
            "The means of case means of measured durations, cases weighing the same",
            ("A mean that mixes in the time of failed work",),
        ),
        Claim(
            "label_distribution_comparison",
            "How are unordered categories distributed?",
            "The distributions, and the labels that changed",
            ("A mean of categories", "A ranking"),
        ),
    )
}
EXTENSION_CLAIMS: Final = _COLUMNS[1:]
