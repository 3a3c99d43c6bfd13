"""`adjudicate`: which conditions the records meet, and what the decision table says to the claim."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

from analysis.comparability import policy
from analysis.comparability.policy import Admissibility, Condition
from analysis.comparability.records import SCALE_TEXTS, Case, Record, plain_text, read_case


@dataclass(frozen=True, slots=True)
class DecisionRecord:
    """The verdict on one claim over one group of records: twelve fields, in the order of the schema."""

    case_id: str
    requested_claim: str
    comparison_scope: str
    admissibility: Admissibility
    satisfied_conditions: tuple[str, ...]
    violated_conditions: tuple[str, ...]
    unknown_conditions: tuple[str, ...]
    supported_claims: tuple[str, ...]
    unsupported_claims: tuple[str, ...]
    evidence_refs: tuple[str, ...]
    policy_version: str
    limitations: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The same as values of JSON; the lists are the caller's own."""
        found: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            found[field.name] = list(value) if isinstance(value, tuple) else str(value)
        return found


_TEXT_KEYS: Final = frozenset(SCALE_TEXTS)


def adjudicate(case: Mapping[str, Any], requested_claim: str) -> DecisionRecord:
    """The decision on a claim, or `InvalidCase` with every problem of the input.

    Pure: the case is not changed, and neither the order nor a repeated record changes the verdict.
    A claim that is not known word for word is INCONCLUSIVE.
    """
    if not isinstance(requested_claim, str):
        raise TypeError(f"requested_claim must be a str, not {type(requested_claim).__name__}")
    claim = plain_text(requested_claim)
    read = read_case(case)
    scale = _common_scale(read)
    violated = _violated(read, scale)
    rule = policy.rule_for(claim, violated)
    return DecisionRecord(
        case_id=read.case_id,
        requested_claim=claim,
        comparison_scope=_scope(read),
        admissibility=rule.admissibility,
        satisfied_conditions=_satisfied(violated, scale),
        violated_conditions=tuple(str(condition) for condition in violated),
        unknown_conditions=_unknown(read, violated, rule),
        supported_claims=rule.supported,
        unsupported_claims=rule.unsupported,
        evidence_refs=tuple(f"rec:{record.task_id}/{record.model}/{record.harness}" for record in read.records),
        policy_version=policy.POLICY_VERSION,
        limitations=(policy.LIMITATION,),
    )


def is_current(stored: Mapping[str, Any]) -> bool:
    """Whether a stored decision was made under this policy. Any other must be made again, not trusted in part."""
    return stored.get("policy_version") == policy.POLICY_VERSION


def _violated(case: Case, scale: str | None) -> tuple[Condition, ...]:
    tasks = {record.task_id for record in case.records}
    models = {record.model for record in case.records}
    harnesses = {record.harness for record in case.records}
    statuses = {record.reward_status for record in case.records}
    broken = {
        Condition.SAME_TASK: len(tasks) > 1,
        Condition.SAME_MODEL: len(models) > 1,
        Condition.ONE_VARIABLE: len(models) > 1 and len(harnesses) > 1,
        Condition.TRACE: any(record.trace_missing for record in case.records),
        Condition.ZEROS: {policy.VERIFIED, policy.UNRESOLVED_ZERO} <= statuses,
        Condition.SCALE: scale is None,
    }
    return tuple(condition for condition in Condition if broken[condition])


def _satisfied(violated: tuple[Condition, ...], scale: str | None) -> tuple[str, ...]:
    held = [str(condition) for condition in policy.LISTED_WHEN_HELD if condition not in violated]
    if scale is not None:
        held.append(f"{policy.SCALE_PRESERVED}({scale})")
    return tuple(held)


def _unknown(case: Case, violated: tuple[Condition, ...], rule: policy.Rule) -> tuple[str, ...]:
    notes: list[str] = []
    if case.ignored_fields:
        notes.append(f"{policy.FIELDS_IGNORED}:{list(case.ignored_fields)!r}")
    if Condition.TRACE in violated:
        notes.append(policy.REWARD_WITHOUT_TRACE)
    if rule is policy.UNKNOWN_CLAIM:
        notes.append(policy.CLAIM_UNKNOWN)
    return tuple(notes)


def _common_scale(case: Case) -> str | None:
    """The one scale of all records, written out, or None where a record has none or two differ.

    Equal scales may be written in two ways where a key of the caller's own holds 1 and 1.0; the
    first in the order of texts is taken, so that the order of records does not show.
    """
    common: dict[str, Any] | None = None
    written = ""
    for record in case.records:
        scale = _effective_scale(record)
        if scale is None or (common is not None and scale != common):
            return None
        if common is None:
            common, written = scale, repr(scale)
        elif not scale.keys() <= _TEXT_KEYS:
            written = min(written, repr(scale))
    return written


def _effective_scale(record: Record) -> dict[str, Any] | None:
    if record.scale is not None:
        return record.scale
    return policy.DEFAULT_SCALE if 0 <= record.reward <= 1 else None


def _scope(case: Case) -> str:
    models = sorted({record.model for record in case.records})
    harnesses = sorted({record.harness for record in case.records})
    return f"{len(case.records)} records; models={models!r}; harnesses={harnesses!r}"
