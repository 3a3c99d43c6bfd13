"""The policy as data: conditions, claims and the decision table of cmp/0.4.0.

A test pins `table_digest()` to the version: whoever changes what stands here must change
`POLICY_VERSION` too, and every stored decision is then made again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

POLICY_VERSION: Final = "cmp/0.4.0"


class Admissibility(StrEnum):
    ADMISSIBLE = "ADMISSIBLE"
    """The conclusion that was asked for can be drawn."""
    PARTIAL = "PARTIAL"
    """It can be drawn in parts that stay apart, never merged."""
    INADMISSIBLE = "INADMISSIBLE"
    """Something conflicts: it cannot be drawn, perhaps a weaker one can."""
    INCONCLUSIVE = "INCONCLUSIVE"
    """There is not enough evidence to judge. Nothing is thrown away."""


class Condition(StrEnum):
    """What is asked of a group of records, in the order in which it is asked and listed."""

    SAME_TASK = "same_task_id"
    SAME_MODEL = "same_model"
    ONE_VARIABLE = "single_variable_isolation"
    TRACE = "trace_available"
    ZEROS = "zero_semantics_uniform(verified_zero != unresolved_zero)"
    SCALE = "score_scale_consistent"


LISTED_WHEN_HELD: Final = (Condition.SAME_TASK, Condition.SAME_MODEL, Condition.ONE_VARIABLE)
"""The other three are silent when they hold; the scale speaks through `continuous_score_preserved`."""

SCALE_PRESERVED: Final = "continuous_score_preserved"
FIELDS_IGNORED: Final = "ignored_fields"
REWARD_WITHOUT_TRACE: Final = "source_reward_retained_but_unverifiable_by_us"
CLAIM_UNKNOWN: Final = "unrecognized_claim_type"

VERIFIED: Final = "verified"
UNRESOLVED_ZERO: Final = "unresolved_zero"

DEFAULT_SCALE: Final = {"range": "0..1", "unit": "fraction", "verifier": "source"}
"""Stands for the scale of a record that declares none, while its reward lies in [0, 1]."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Applies when any of `broken` is violated, or always when `broken` is empty."""

    broken: tuple[Condition, ...]
    admissibility: Admissibility
    supported: tuple[str, ...]
    unsupported: tuple[str, ...]


TABLE: Final[dict[str, tuple[Rule, ...]]] = {
    "causal": (
        Rule(
            (Condition.ONE_VARIABLE, Condition.TRACE),
            Admissibility.INADMISSIBLE,
            (),
            ("causal_attribution(a single run without repetition)",),
        ),
        Rule(
            (),
            Admissibility.INADMISSIBLE,
            ("descriptive_side_by_side(downgraded wording)",),
            ("causal_attribution(a single run without repetition)",),
        ),
    ),
    "score_comparison": (
        Rule(
            (Condition.TRACE,),
            Admissibility.INCONCLUSIVE,
            ("score_transcription(source_verifier_attested)",),
            ("success_rate(includes records without evidence)",),
        ),
        Rule(
            (Condition.SAME_TASK, Condition.SAME_MODEL, Condition.ONE_VARIABLE, Condition.SCALE),
            Admissibility.INADMISSIBLE,
            (),
            ("score_comparison(task, model or scale conflict)",),
        ),
        Rule(
            (Condition.ZEROS,),
            Admissibility.PARTIAL,
            ("per_status_stratified_rate(verified and unresolved zeros apart)",),
            ("pooled_fail_rate(zeros with different meanings)",),
        ),
        Rule((), Admissibility.ADMISSIBLE, ("continuous_score_side_by_side(one scale)",), ()),
    ),
    "descriptive_registration": (
        Rule((), Admissibility.ADMISSIBLE, ("descriptive_registration(all conditions and raw scores)",), ()),
    ),
}
"""Per claim the rules in their order; the first that applies decides. No rule: unknown claim."""

UNKNOWN_CLAIM: Final = Rule((), Admissibility.INCONCLUSIVE, (), ())

ALIASES: Final = {"score_compare": "score_comparison", "record": "descriptive_registration"}
"""The only other spellings of claims; they are the ones of the older frozen cases."""

LIMITATION: Final = (
    "Equal digests show only that copies were not changed apart from each other; "
    "they are no protection against tampering, because one writer owns both sides."
)


def rule_for(claim: str, violated: Collection[Condition]) -> Rule:
    """The rule that decides a claim, or `UNKNOWN_CLAIM`. Names are exact; a near one is not guessed."""
    for rule in TABLE.get(ALIASES.get(claim, claim), ()):
        if not rule.broken or any(condition in violated for condition in rule.broken):
            return rule
    return UNKNOWN_CLAIM


def table_digest() -> str:
    """SHA-256 of everything that decides a verdict or its wording."""
    table: dict[str, Any] = {
        "conditions": list(Condition),
        "listed_when_held": list(LISTED_WHEN_HELD),
        "notes": [SCALE_PRESERVED, FIELDS_IGNORED, REWARD_WITHOUT_TRACE, CLAIM_UNKNOWN],
        "statuses": [VERIFIED, UNRESOLVED_ZERO],
        "default_scale": DEFAULT_SCALE,
        "rules": {
            claim: [[list(rule.broken), rule.admissibility, rule.supported, rule.unsupported] for rule in rules]
            for claim, rules in TABLE.items()
        },
        "aliases": ALIASES,
        "limitation": LIMITATION,
    }
    text = json.dumps(table, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def identifier(entry: str) -> str:
    """What stands before the explanatory tail. Pages look their sentences up by it."""
    return entry.partition("(")[0].partition(":")[0]
