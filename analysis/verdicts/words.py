"""What may be said, in sentences: the same ones on the page, in the API, in exports and on the command line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from analysis.comparability.conditions import CLAIMS, CONDITIONS, State
from analysis.comparability.extension import NOTHING_EXISTS, Finding
from analysis.comparability.policy import Admissibility, identifier

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from analysis.verdicts.paired import Judged


@dataclass(frozen=True, slots=True)
class Against:
    """A condition that stands against some claim, with what would repair it."""

    id: str
    text: str
    figures: str
    state: State
    repair: str
    refs: tuple[str, ...]
    claims: str
    """The claims it weighs on, by their words."""

    @property
    def exists(self) -> bool:
        """Whether there is any evidence to be shown."""
        return NOTHING_EXISTS not in self.refs


@dataclass(frozen=True, slots=True)
class Said:
    """Sentences by what they are: allowed, forbidden, and questions that nobody can answer."""

    may: tuple[tuple[str, str, str], ...]
    """(claim in a word, sentence, what limits it)."""
    may_not: tuple[tuple[str, str], ...]
    """(claim in a word, sentence)."""
    untold: tuple[tuple[str, str], ...]
    """(claim in a word, question)."""
    against: tuple[Against, ...]

    def to_dict(self) -> dict[str, Any]:
        return {
            "may": [{"short": short, "text": text, "only": only} for short, text, only in self.may],
            "may_not": [{"short": short, "text": text} for short, text in self.may_not],
            "cannot_tell": [{"short": short, "text": text} for short, text in self.untold],
            "against": [
                {
                    "id": one.id,
                    "state": str(one.state),
                    "text": one.text,
                    "figures": one.figures,
                    "claims": one.claims,
                    "repair": one.repair,
                    "refs": list(one.refs),
                }
                for one in self.against
            ],
        }


def said(claims: Sequence[Judged]) -> Said:
    may = [one for one in claims if one.final in (Admissibility.ADMISSIBLE, Admissibility.PARTIAL)]
    may.sort(key=lambda one: one.final is Admissibility.PARTIAL)
    refused = [one for one in claims if one.final is Admissibility.INADMISSIBLE]
    forbidden: dict[str, str] = {CLAIMS[one.name].says: one.short for one in refused}
    for one in claims:
        if one in may:
            for text in CLAIMS[one.name].never:
                forbidden.setdefault(text, one.short)
    return Said(
        may=tuple((one.short, *_limited(text)) for one in may for text in one.verdict.extension.may_say),
        may_not=tuple((short, text) for text, short in forbidden.items()),
        untold=tuple((one.short, one.asks) for one in claims if one.final is Admissibility.INCONCLUSIVE),
        against=(*_of_the_base(claims), *_of_the_extension(claims)),
    )


def _limited(text: str) -> tuple[str, str]:
    """A sentence and the splits that it must not be said without."""
    sentence, _, limits = text.partition(", only ")
    return sentence, limits


_BASE = {
    "same_task_id": ("The sides were asked different work.", "Run both sides on the same items."),
    "same_model": (
        "The models differ, or one is not known.",
        "Ask for the paired difference, or run one model on both sides.",
    ),
    "single_variable_isolation": ("Model and harness both differ.", "Make a variant that changes one of them."),
    "trace_available": ("Evidence behind a score was taken away.", "Run the cases again whose answers are gone."),
    "zero_semantics_uniform": ("Zeros that were verified stand beside unresolved ones.", "Resolve the zeros."),
    "score_scale_consistent": ("The scores are not on one scale.", "Grade both sides on one scale."),
    "causal_attribution": (
        "Runs that were only observed show no cause, whatever else holds.",
        "Say which difference was seen.",
    ),
}
"""Conditions of the base policy, as sentences with what repairs them."""


def _of_the_base(claims: Sequence[Judged]) -> list[Against]:
    """What the base policy holds against the claims that it judges."""
    against: dict[str, list[Judged]] = {}
    for one in claims:
        if one.claim == "score_comparison":
            for name in one.verdict.cdr.violated_conditions:
                against.setdefault(identifier(name), []).append(one)
        elif one.claim == "causal":
            against.setdefault("causal_attribution", []).append(one)
    return [
        Against(
            id=name,
            text=_BASE[name][0],
            figures="",
            state=State.VIOLATED,
            repair=_BASE[name][1],
            refs=tuple(dict.fromkeys(ref for one in weighed for ref in one.verdict.cdr.evidence_refs)),
            claims=", ".join(one.short for one in weighed),
        )
        for name, weighed in against.items()
    ]


def _of_the_extension(claims: Sequence[Judged]) -> list[Against]:
    """Each condition once, with every claim it weighs on; the violated ones first."""
    against: dict[str, list[Judged]] = {}
    findings = {}
    for one in claims:
        for finding in one.weighing:
            key = f"{finding.id} {finding.state} {figures(finding.detail)}"
            against.setdefault(key, []).append(one)
            findings[key] = finding
    order = list(CONDITIONS)
    keys = sorted(against, key=lambda key: (findings[key].state is State.UNKNOWN, order.index(findings[key].id)))
    return [
        Against(
            id=findings[key].id,
            text=spoken(findings[key]),
            figures=figures(findings[key].detail),
            state=findings[key].state,
            repair=CONDITIONS[findings[key].id].repair,
            refs=findings[key].refs,
            claims=_weighs_on(against[key], claims),
        )
        for key in keys
    ]


def _weighs_on(weighed: Sequence[Judged], claims: Sequence[Judged]) -> str:
    others = [one.short for one in claims if one not in weighed]
    if len(others) <= 2 < len(weighed):
        return f"all but {' and '.join(others)}" if others else "all"
    return ", ".join(one.short for one in weighed)


def spoken(finding: Finding) -> str:
    """A finding as a sentence of the page."""
    condition = CONDITIONS[finding.id]
    if finding.state is State.UNKNOWN and finding.id != "ext.revisions_known":
        return f"Not known whether {condition.holds[:1].lower()}{condition.holds[1:]}"
    return condition.broken


def figures(detail: Mapping[str, Any]) -> str:
    """The figures of a finding in a line; keys are our own words, values are counts, names and digests."""
    if "note" in detail:
        return str(detail["note"])
    if "numerator" in detail and detail["numerator"] is not None and "denominator" in detail:
        floor = f", floor {detail['floor']:.0%}" if detail.get("floor") else ""
        return f"{detail['numerator']:,} of {detail['denominator']:,}{floor}"
    if "numerator" in detail and "floor" in detail:
        return f"{detail['numerator'] or 0:,}, at least {detail['floor']:,} are needed"
    parts = []
    for name, value in detail.items():
        shown = _value(value)
        if shown:
            parts.append(f"{name.replace('_', ' ')} {shown}")
    return ", ".join(parts)


def _value(value: Any) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, dict):
        return figures(value)
    if isinstance(value, list):
        return " and ".join(map(str, value))
    if isinstance(value, float):
        return f"{value:.1%}"
    return f"{value:,}" if isinstance(value, int) else str(value).replace("_", " ")
