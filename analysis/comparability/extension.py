"""The extension beside the decision record: findings in four states, a verdict of its own, and its words.

Everything is a pure function of plain values. Who loads the evidence says, per condition, in which
state it is and what shows it; a condition that nobody spoke of is unknown.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from analysis.comparability.conditions import (
    CLAIMS,
    CONDITIONS,
    EXTENSION_CLAIMS,
    EXTENSION_VERSION,
    MATRIX,
    SOFTENED,
    Kind,
    State,
)
from analysis.comparability.core import DecisionRecord, adjudicate
from analysis.comparability.policy import ALIASES, Admissibility
from analysis.strict_json import canonical

NOTHING_EXISTS: Final = "nothing exists"
"""The reference of a finding that has none: what would be pointed at is not there."""

SEVERITY: Final = (
    Admissibility.ADMISSIBLE,
    Admissibility.PARTIAL,
    Admissibility.INADMISSIBLE,
    Admissibility.INCONCLUSIVE,
)
REGISTRATION: Final = CLAIMS["descriptive_registration"].says
COUNTS_ONLY: Final = "paired counts, descriptive"
SAMPLE_SIZE: Final = "ext.sample_size"
STATUS_RESOLVED: Final = "ext.status_resolved"
_WITH_INTERVAL: Final = ("paired_difference", "paired_improvement", "non_inferiority")


@dataclass(frozen=True, slots=True)
class Question:
    """A claim that somebody might make. `variable` and `margin` belong to the claims that need them.

    Non-inferiority without a margin may be asked; nobody can answer it.
    """

    claim: str
    variable: str = ""
    margin: float | None = None

    def __post_init__(self) -> None:
        if (self.claim == "single_variable_comparison") != bool(self.variable):
            raise ValueError("single_variable_comparison needs the declared variable, and no other claim has one.")
        if self.margin is not None and self.claim != "non_inferiority":
            raise ValueError("Only non_inferiority has a margin.")

    @property
    def name(self) -> str:
        """The claim without an alias."""
        return ALIASES.get(self.claim, self.claim)

    def __str__(self) -> str:
        tail = self.variable or (f"{self.margin:g}" if self.margin is not None else "")
        return f"{self.claim}({tail})" if tail else self.claim


@dataclass(frozen=True, slots=True)
class Fact:
    """What the evidence says about one condition, and where that can be seen."""

    condition: str
    state: State
    detail: Mapping[str, Any] = field(default_factory=dict)
    refs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """A fact as it weighs on one claim. `kind` is what the condition is to the claim in this state."""

    id: str
    state: State
    kind: Kind
    detail: Mapping[str, Any]
    refs: tuple[str, ...]

    @property
    def weight(self) -> Admissibility:
        """How bad this finding alone makes the claim. Notes never count."""
        if self.kind is Kind.NOTE or self.state in (State.SATISFIED, State.NOT_APPLICABLE):
            return Admissibility.ADMISSIBLE
        if self.kind is Kind.SPLIT:
            return Admissibility.PARTIAL
        if self.kind is Kind.CONFLICT and self.state is State.VIOLATED:
            return Admissibility.INADMISSIBLE
        return Admissibility.INCONCLUSIVE

    def to_dict(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "state": str(self.state),
            "kind": str(self.kind),
            "detail": dict(self.detail),
            "refs": list(self.refs),
        }


@dataclass(frozen=True, slots=True)
class Scope:
    """What was compared, as values rather than a sentence."""

    arms: tuple[str, ...]
    items: int
    pairs: int
    repetitions: int


@dataclass(frozen=True, slots=True)
class Extension:
    claim: str
    admissibility: Admissibility
    findings: tuple[Finding, ...]
    may_say: tuple[str, ...]
    may_not_say: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The decision record, untouched, with the extension beside it."""

    cdr: DecisionRecord
    extension: Extension
    final: Admissibility
    scope: Scope
    inputs_sha256: str

    def to_dict(self) -> dict[str, Any]:
        return {
            "cdr": self.cdr.to_dict(),
            "extension": {
                "policy": EXTENSION_VERSION,
                "claim": self.extension.claim,
                "admissibility": str(self.extension.admissibility),
                "findings": [finding.to_dict() for finding in self.extension.findings],
                "may_say": list(self.extension.may_say),
                "may_not_say": list(self.extension.may_not_say),
            },
            "final": str(self.final),
            "scope": {
                "arms": list(self.scope.arms),
                "items": self.scope.items,
                "pairs": self.scope.pairs,
                "repetitions": self.scope.repetitions,
            },
            "inputs_sha256": self.inputs_sha256,
        }


def judge(case: Mapping[str, Any], question: Question, facts: Iterable[Fact], scope: Scope) -> Verdict:
    """The whole verdict on one claim; `InvalidCase` where the records are no case.

    The record of the base policy is exactly what it is without the extension. The order of facts does
    not matter.
    """
    given = sorted(facts, key=lambda fact: fact.condition)
    cdr = adjudicate(case, question.claim)
    findings = weigh(question.name, given)
    own = _own_verdict(question.name, findings, cdr.admissibility)
    final = _final(question.name, cdr.admissibility, own)
    extension = Extension(
        claim=str(question),
        admissibility=own,
        findings=findings,
        may_say=may_say(question.name, final, findings, per_status=cdr.admissibility is Admissibility.PARTIAL),
        may_not_say=may_not_say(question.name, final),
    )
    return Verdict(cdr, extension, final, scope, _digest(case, question, given, scope))


def weigh(claim: str, facts: Iterable[Fact]) -> tuple[Finding, ...]:
    """Every condition as a finding for a claim, in the order of `CONDITIONS`."""
    spoken: dict[str, Fact] = {}
    for fact in facts:
        if fact.condition not in CONDITIONS:
            raise ValueError(f"There is no condition {fact.condition!r}.")
        if fact.condition in spoken:
            raise ValueError(f"Two facts speak of {fact.condition}; one must say it for all arms.")
        spoken[fact.condition] = fact
    kinds = MATRIX.get(claim, {})
    return tuple(
        _finding(kinds.get(condition, Kind.NOTE), spoken.get(condition, Fact(condition, State.UNKNOWN)))
        for condition in CONDITIONS
    )


def worst(verdicts: Iterable[Admissibility]) -> Admissibility:
    """The most severe of several; ADMISSIBLE of none."""
    return max(verdicts, key=SEVERITY.index, default=Admissibility.ADMISSIBLE)


def may_say(
    claim: str, verdict: Admissibility, findings: Sequence[Finding] = (), *, per_status: bool = False
) -> tuple[str, ...]:
    """What a reader may say. A partial claim names every split; a refused one falls back to what is weaker.

    `per_status`: the base policy splits the claim, by the meaning of its zeros.
    """
    words = CLAIMS.get(claim)
    if words is None or claim == "causal":
        return (REGISTRATION,)
    if verdict is Admissibility.ADMISSIBLE:
        return (words.says,)
    if verdict is Admissibility.PARTIAL:
        splits = [_split_words(finding) for finding in findings if finding.weight is Admissibility.PARTIAL]
        if per_status:
            splits.append(CONDITIONS[STATUS_RESOLVED].split)
        return (f"{words.says}, only {'; '.join(dict.fromkeys(splits))}",)
    if claim in _WITH_INTERVAL and _only_too_small(findings):
        return (COUNTS_ONLY,)
    return (REGISTRATION,)


def may_not_say(claim: str, verdict: Admissibility) -> tuple[str, ...]:
    """What no reader may say on the strength of this claim, and the claim itself where it is refused."""
    words = CLAIMS.get(claim)
    if words is None:
        return (f"Anything that would be called {claim!r}",)
    if verdict is Admissibility.PARTIAL:
        return (f"{words.says}, without naming the split", *words.never)
    if verdict is Admissibility.ADMISSIBLE:
        return words.never
    return tuple(dict.fromkeys((words.says, *words.never)))


# --- facts from figures


def at_least(
    condition: str, numerator: float | None, denominator: float | None, floor: float, refs: Iterable[str] = ()
) -> Fact:
    """A share against its floor. A share of nothing, or of what is not known, is unknown."""
    detail = {"numerator": numerator, "denominator": denominator, "floor": floor}
    if numerator is None or not denominator:
        return Fact(condition, State.UNKNOWN, detail, tuple(refs))
    state = State.SATISFIED if numerator >= floor * denominator else State.VIOLATED
    return Fact(condition, state, detail, tuple(refs))


def all_equal(condition: str, values: Mapping[str, Any], refs: Iterable[str] = ()) -> Fact:
    """One value on all arms. None is unknown: two unknown values are not equal, and a known difference is one."""
    known = {canonical(value) for value in values.values() if value is not None}
    state = State.SATISFIED
    if len(known) > 1:
        state = State.VIOLATED
    elif not values or any(value is None for value in values.values()):
        state = State.UNKNOWN
    return Fact(condition, state, {"values": dict(values)}, tuple(refs))


# --- inside


def _finding(kind: Kind, fact: Fact) -> Finding:
    if kind is not Kind.NOTE:
        kind = SOFTENED.get((fact.condition, fact.state), kind)
    refs = tuple(sorted(set(fact.refs)))
    if not refs and fact.state in (State.VIOLATED, State.UNKNOWN):
        refs = (NOTHING_EXISTS,)
    return Finding(fact.condition, fact.state, kind, fact.detail, refs)


def _own_verdict(claim: str, findings: Sequence[Finding], base: Admissibility) -> Admissibility:
    """The extension's verdict. Claims without a column keep the base verdict; findings are only shown."""
    if claim not in MATRIX:
        return base
    return worst(finding.weight for finding in findings)


def _final(claim: str, base: Admissibility, own: Admissibility) -> Admissibility:
    """The base policy refuses claims of the extension, which it does not know; those are the extension's alone."""
    return own if claim in EXTENSION_CLAIMS else worst((base, own))


def _split_words(finding: Finding) -> str:
    words = CONDITIONS[finding.id].split
    numerator, denominator = finding.detail.get("numerator"), finding.detail.get("denominator")
    counted = isinstance(numerator, int) and isinstance(denominator, int)
    return f"{words} ({numerator:,} of {denominator:,})" if counted else words


def _only_too_small(findings: Sequence[Finding]) -> bool:
    worse = [
        finding.id for finding in findings if SEVERITY.index(finding.weight) > SEVERITY.index(Admissibility.PARTIAL)
    ]
    return worse == [SAMPLE_SIZE]


def _digest(case: Mapping[str, Any], question: Question, facts: Sequence[Fact], scope: Scope) -> str:
    """SHA-256 of all that was judged, so that a verdict cannot be attached to other records of the same names."""
    judged = {
        "case": {"id": case["id"], "records": sorted((dict(record) for record in case["records"]), key=canonical)},
        "question": str(question),
        "facts": [[fact.condition, str(fact.state), dict(fact.detail), sorted(set(fact.refs))] for fact in facts],
        "scope": [sorted(scope.arms), scope.items, scope.pairs, scope.repetitions],
    }
    return hashlib.sha256(b"evenhand/verdict/1\0" + canonical(judged)).hexdigest()
