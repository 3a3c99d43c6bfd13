"""What the comparison page shows: the result object in words, cards, chips and pictures. Rounding happens here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis import sentence
from analysis.comparability.policy import Admissibility
from analysis.observations import CostCoverage, Kind, Spend
from analysis.results import Change, GraderCoverage, Notice, PairedResult, SideResult
from analysis.verdicts.paired import Judged, Verdicts
from analysis.verdicts.words import Against, Said
from comparisons import charts
from comparisons.cases import CaseRow, CaseSide
from comparisons.lenses.paired import Paired
from comparisons.pictures import better
from teams import figures

LOUD = ("small_sample", "few_groups", "margin_without_effect", "methods_disagree", "generation_gap", "no_variation")
"""Notices that stand open on the page; the others wait under one line."""
MODEL_FACTS = {"model", "subject", "snapshot", "definition hash"}
"""What is compared, and identities that change with it: that they differ is the question, not a caution."""


@dataclass(frozen=True, slots=True)
class Chip:
    text: str
    kind: str = ""
    href: str = ""


@dataclass(frozen=True, slots=True)
class Card:
    """Both arms under their own denominators; `exact` holds the unrounded figures for the titles."""

    title: str
    candidate: str
    baseline: str
    cause: str
    href: str
    candidate_exact: str = ""
    baseline_exact: str = ""
    note: str = ""


# --- chips, notices ------------------------------------------------------------------------------


_FINDINGS = {
    "better": ("Resolved: better", "good"),
    "worse": ("Resolved: worse", "bad"),
    "not_resolved": ("Not resolved", "warn"),
    "too_few": ("Too few cases", "warn"),
    "no_pairs": ("Nothing pairs", "warn"),
    "withheld": ("Direction withheld", "warn"),
    "distribution": ("Distribution", ""),
}


def chips(result: PairedResult, said: Verdicts, tab: dict[str, str]) -> list[Chip]:
    found = [_finding_chip(result, said, tab["details"])]
    adequacy = result.adequacy
    if adequacy is not None and adequacy.mde is not None and adequacy.verdict != "insufficient":
        size = sentence.amount(result.metric, adequacy.mde)
        if adequacy.verdict == "adequate" or adequacy.target is None:
            found.append(Chip(f"Could detect {size}", "", tab["details"]))
        else:
            target = sentence.amount(result.metric, adequacy.target)
            found.append(Chip(f"Detects {size} or more, not {target}", "warn", tab["details"]))
    differing, unknown, model = changed(result)
    parts = []
    if differing:
        beyond = " beyond the model" if model else ""
        parts.append(f"{_things(differing)} differ{'s' if differing == 1 else ''}{beyond}")
    if unknown:
        parts.append(f"{unknown} unknown" if parts else f"{unknown} fact{'s' if unknown > 1 else ''} unknown")
    if parts:
        found.append(Chip(", ".join(parts), "warn" if differing else "", tab["changed"]))
    return found


def _finding_chip(result: PairedResult, said: Verdicts, href: str) -> Chip:
    """The label of the finding. Where its claim is limited or refused it is the watermark, and nothing is resolved."""
    text, kind = _FINDINGS[result.finding.kind]
    if result.finding.kind == "too_few" and not result.small_sample:
        text = "Too few groups"
    if not said.watermark:
        return Chip(text, kind, href)
    refused = said.headline_claim.final is not Admissibility.PARTIAL
    seen = text.replace("Resolved: ", "observed " if refused else "").lower()
    return Chip(f"{said.watermark}: {seen}", "warn", "#may-say")


def _things(count: int) -> str:
    return "1 thing" if count == 1 else f"{count} things"


def changed(result: PairedResult) -> tuple[int, int, bool]:
    """Facts beyond the model that differ, facts that are unknown on a side, and whether the model differs."""
    different = [one.name.lower() for one in result.differences if one.state == "different"]
    unknown = sum(1 for one in result.differences if one.state == "unknown")
    return sum(1 for name in different if name not in MODEL_FACTS), unknown, bool(MODEL_FACTS & set(different))


def loud_notices(result: PairedResult) -> list[Notice]:
    return [notice for notice in result.notices if notice.code in LOUD]


def quiet_notices(result: PairedResult) -> list[Notice]:
    return [notice for notice in result.notices if notice.code not in LOUD]


# --- what may be said ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ShownVerdict:
    """The panel "What may be said"."""

    chips: list[Chip]
    said: Said
    conditions: list[tuple[Against, str]]
    """Each with the address of its evidence, empty where nothing exists that could be shown."""
    policy: str


def shown_verdict(verdicts: Verdicts, tab: dict[str, str]) -> ShownVerdict:
    by = {final: [one for one in verdicts.claims if one.final is final] for final in Admissibility}
    chips_ = [
        Chip(_claims(by[Admissibility.ADMISSIBLE], "holds", "hold"), "good"),
        Chip(_claims(by[Admissibility.PARTIAL], "holds only with limits", "hold only with limits")),
        Chip(_claims(by[Admissibility.INADMISSIBLE], "may not be made", "may not be made"), "bad"),
        Chip(_claims(by[Admissibility.INCONCLUSIVE], "cannot be told", "cannot be told"), "warn"),
    ]
    said = verdicts.said
    return ShownVerdict(
        chips=[chip for chip in chips_ if chip.text],
        said=said,
        conditions=[(one, tab[_TAB_OF.get(one.id, "details")] if one.exists else "") for one in said.against],
        policy=verdicts.headline_claim.verdict.cdr.policy_version,
    )


def _claims(claims: list[Judged], one: str, several: str) -> str:
    """How many, and which, as far as they fit into the line."""
    if not claims:
        return ""
    named = f": {', '.join(claim.short for claim in claims)}" if len(claims) <= 2 else ""
    return f"{len(claims)} {one if len(claims) == 1 else several}{named}"


_TABS = {
    "unmatched": ("ext.item_revisions_identical", "ext.manifest_matched", "ext.paired_share", "ext.repetitions_equal"),
    "coverage": (
        *("ext.cells_present", "ext.work_terminal", "ext.status_resolved", "ext.missingness_balanced"),
        *("ext.grading_complete", "ext.cost_coverage_complete", "ext.cost_basis_equal", "ext.latency_measured"),
    ),
    "changed": (
        *("same_model", "single_variable_isolation", "score_scale_consistent", "causal_attribution"),
        *("ext.trust_tier_sufficient", "ext.trust_tiers_uniform", "ext.series_identical"),
        *("ext.interpretation_equivalent", "ext.declared_change_only", "ext.revisions_known", "ext.auth_mode_equal"),
    ),
}
_TAB_OF = {condition: tab for tab, conditions in _TABS.items() for condition in conditions}
"""The tab of the page where the evidence for a condition is listed; all others are under the details."""


# --- the six cards -----------------------------------------------------------------------------------


def cards(result: PairedResult, tab: dict[str, str], filters: dict[str, str]) -> list[Card]:
    mine, other = result.candidate, result.baseline
    return [
        Card(
            "Generation reliability",
            _part(mine.generation.completed, mine.generation.planned),
            _part(other.generation.completed, other.generation.planned),
            _both(_lost(mine), _lost(other), "all completed"),
            filters["generation_errors"] if result.filters.generation_errors else tab["coverage"],
            note="Completed generation repetitions / all planned repetitions",
        ),
        Card(
            "Selected-pass completion",
            _part(mine.completion.completed, mine.completion.expected),
            _part(other.completion.completed, other.completion.expected),
            _both(_outstanding(mine), _outstanding(other), "nothing outstanding"),
            tab["coverage"],
            note="Completed judgments / expected judgments on completed answers",
        ),
        Card(
            "Per-grader coverage",
            _covered(mine.coverage),
            _covered(other.coverage),
            _both(_unscored(mine.coverage), _unscored(other.coverage), "all scored"),
            tab["coverage"],
            note="Scored / (eligible \N{MINUS SIGN} not applicable)",
        ),
        _quality_card(result, tab),
        Card(
            "Full-run spend",
            money(mine.spend),
            money(other.spend),
            _priced(mine.spend, other.spend),
            tab["coverage"],
            note="Generation and every grading pass",
            candidate_exact=_micros(mine.spend),
            baseline_exact=_micros(other.spend),
        ),
        Card(
            "Paired latency",
            figures.duration(result.latency.candidate_ms),
            figures.duration(result.latency.baseline_ms),
            f"mean of {result.latency.cases:,} case means" if result.latency.cases else "not measured on both sides",
            tab["ranges"],
            note="Equal-weight case means of paired completed repetitions",
            candidate_exact=_exact(result.latency.candidate_ms, "ms"),
            baseline_exact=_exact(result.latency.baseline_ms, "ms"),
        ),
    ]


def _quality_card(result: PairedResult, tab: dict[str, str]) -> Card:
    quality = result.quality
    cases = f"{quality.cases:,} case{'' if quality.cases == 1 else 's'}"
    pairs = f", {quality.pairs:,} pairs" if quality.pairs != quality.cases else ""
    if result.metric.kind is Kind.CATEGORICAL:
        moved = quality.cases - quality.same
        return Card(
            "Paired quality",
            f"{moved:,} changed",
            f"{quality.same:,} same",
            f"{cases}{pairs}; labels have no mean",
            tab["ranges"],
        )
    return Card(
        "Paired quality",
        level(result, candidate=True),
        level(result, candidate=False),
        f"{cases}{pairs}" if quality.cases else "no case scored on both sides",
        tab["ranges"],
        note="Mean of case means over jointly scored repetitions",
        candidate_exact=_exact(quality.candidate.mean, result.metric.unit),
        baseline_exact=_exact(quality.baseline.mean, result.metric.unit),
    )


def level(result: PairedResult, *, candidate: bool) -> str:
    """Passed cases where each has one result, a percentage where repetitions are averaged, else the mean."""
    arm = result.quality.candidate if candidate else result.quality.baseline
    if arm.mean is None:
        return figures.UNKNOWN if result.withheld else "None"
    if arm.passed is not None:
        return f"{arm.passed:,}/{result.quality.cases:,} \N{MIDDLE DOT} {figures.share(arm.mean)}"
    if result.metric.kind is Kind.BOOLEAN:
        return figures.share(arm.mean)
    return f"{figures.number(arm.mean)} {result.metric.unit}".rstrip()


def _part(done: int, planned: int) -> str:
    return f"{done:,}/{planned:,}"


def _both(mine: str, other: str, neither: str) -> str:
    if mine == other:
        return f"{mine} on each side" if mine else neither
    return "; ".join(
        part for part in (f"candidate {mine}" if mine else "", f"baseline {other}" if other else "") if part
    )


def _lost(side: SideResult) -> str:
    generation = side.generation
    if generation.completed == generation.planned:
        return ""
    kinds = [_counted(count, name.replace("_", " ")) for name, count in generation.failures[:2]]
    others = (
        ("blocked", generation.blocked),
        ("cancelled", generation.cancelled),
        ("indeterminate", generation.indeterminate),
        ("running", generation.running),
    )
    kinds += [f"{count:,} {name}" for name, count in others if count]
    return ", ".join(kinds[:3]) or f"{generation.planned - generation.completed:,} not completed"


def _outstanding(side: SideResult) -> str:
    left = side.completion.expected - side.completion.completed
    if not left:
        return ""
    waiting = f", {side.completion.waiting:,} wait for evidence" if side.completion.waiting else ""
    return f"{left:,} outstanding{waiting}"


def _covered(coverage: GraderCoverage) -> str:
    return _part(coverage.scored, coverage.eligible - coverage.not_applicable)


def _unscored(coverage: GraderCoverage) -> str:
    parts = (
        ("abstained", coverage.abstained),
        ("grader error", coverage.grader_error),
        ("pending", coverage.pending),
        ("cancelled", coverage.cancelled),
        ("not judged", coverage.missing),
    )
    return ", ".join(_counted(count, name) for name, count in parts if count)


def _counted(count: int, name: str) -> str:
    """Two errors, but two timed out."""
    plural = "s" if count != 1 and name.endswith(("error", "failure")) else ""
    return f"{count:,} {name}{plural}"


def money(spend: Spend) -> str:
    return figures.money(spend.known_micros, spend.coverage.name.lower(), spend.currency or "USD")


def _micros(spend: Spend) -> str:
    if spend.coverage is CostCoverage.NONE:
        return f"0 of {spend.facts:,} cost facts known"
    known = f"{spend.known_micros:,} micros {spend.currency}"
    return f"{known}, {spend.priced:,} of {spend.facts:,} cost facts complete, {spend.basis}"


def _priced(mine: Spend, other: Spend) -> str:
    if mine.coverage is CostCoverage.NONE and other.coverage is CostCoverage.NONE:
        return "no cost was recorded"
    shares = [
        "" if one.coverage is CostCoverage.COMPLETE else f"{one.priced:,} of {one.facts:,} priced"
        for one in (mine, other)
    ]
    return _both(shares[0], shares[1], "all priced")


def _exact(value: float | None, unit_: str) -> str:
    return "" if value is None else f"{value!r} {unit_}".strip()


# --- case rows -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ShownSide:
    """Marks of a boolean or numeric side; labels of a categorical one."""

    marks: charts.Marks | None
    labels: tuple[tuple[str, int], ...] = ()
    unscored: int = 0


@dataclass(frozen=True, slots=True)
class ShownCase:
    row: CaseRow
    href: str
    candidate: ShownSide
    baseline: ShownSide
    css: str
    word: str


def shown_cases(paired: Paired, rows: Sequence[CaseRow], hrefs: Sequence[str]) -> list[ShownCase]:
    low, high = _value_range(paired)
    result = paired.result
    sign = better(result) or 1
    return [
        ShownCase(
            row,
            href,
            _shown_side(result, row.candidate, low, high, sign),
            _shown_side(result, row.baseline, low, high, sign),
            _CHANGE_CSS.get(row.change, ""),
            _CHANGE_WORD[row.change],
        )
        for row, href in zip(rows, hrefs, strict=True)
    ]


_CHANGE_CSS = {Change.BETTER: "better", Change.WORSE: "worse"}
_CHANGE_WORD = {
    Change.BETTER: "better",
    Change.WORSE: "worse",
    Change.SAME: "same",
    Change.CHANGED: "changed",
    Change.NOT_SCORED: "not scored on both sides",
}


def _shown_side(result: PairedResult, side: CaseSide, low: float, high: float, sign: int) -> ShownSide:
    if result.metric.kind is Kind.CATEGORICAL:
        labels: dict[str, int] = {}
        for one in side.repetitions:
            if one.category is not None:
                labels[one.category] = labels.get(one.category, 0) + 1
        unscored = sum(1 for one in side.repetitions if one.category is None)
        return ShownSide(None, tuple(sorted(labels.items(), key=lambda entry: (-entry[1], entry[0]))), unscored)
    values = [one.scored for one in side.repetitions]
    if result.metric.kind is Kind.BOOLEAN:
        return ShownSide(charts.marks(values, better=sign))
    return ShownSide(charts.bars(values, low=low, high=high))


def _value_range(paired: Paired) -> tuple[float, float]:
    metric = paired.result.metric
    if metric.low is not None and metric.high is not None:
        return metric.low, metric.high
    columns = (paired.cases.candidate_low, paired.cases.baseline_low, paired.cases.candidate_high)
    values = np.concatenate((*columns, paired.cases.baseline_high))
    values = values[np.isfinite(values)]
    return (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
