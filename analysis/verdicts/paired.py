"""The verdict on a paired comparison: which claims its evidence carries.

Facts come from the result and from what is known of each side alone: no query, no case content. What
nobody recorded is unknown; nothing is assumed. The verdict governs words and never hides a number.
Page, API, export and command line all say what stands here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from analysis import sentence
from analysis.adequacy import SMALLEST_SAMPLE
from analysis.comparability.conditions import CLAIMS, Kind, State
from analysis.comparability.extension import (
    Fact,
    Finding,
    Question,
    Scope,
    Verdict,
    all_equal,
    at_least,
    judge,
)
from analysis.comparability.policy import VERIFIED, Admissibility
from analysis.groups import SMALLEST_GROUPS
from analysis.observations import CostCoverage, Direction
from analysis.observations import Kind as MetricKind
from analysis.results import PairedCases, PairedResult, Segment, SideResult
from analysis.verdicts.words import Said, said

UNKNOWN = "Unknown"
"""The value of a configuration fact that nobody recorded."""
EXPECTED_FACTS = (
    "Model",
    "Provider",
    "Provider revision",
    "Runtime",
    "Prompt",
    "Tools",
    "Tool schemas",
    "Context binding",
)
"""Facts that a comparison asks of both sides; where nothing was recorded they are not known."""
PAIRED_SHARE = 0.8
MISSINGNESS = 0.05
GRADED_SHARE = 0.8
WATERMARK = "Exploratory"
SHORT = {
    "paired_difference": "difference",
    "paired_improvement": "better or worse",
    "non_inferiority": "not worse by a margin",
    "single_variable_comparison": "one changed thing",
    "score_comparison": "scores on one scale",
    "pass_rate_difference": "unpaired pass rates",
    "regression_free": "no regression",
    "reliability_comparison": "completion",
    "cost_comparison": "saving",
    "latency_comparison": "speed",
    "label_distribution_comparison": "labels",
    "causal": "cause",
}
"""Claims in the order in which a reader asks, by a word that fits into a line."""

_OF_THE_MODEL = {"model", "provider", "provider revision", "model revision"}
_REVISIONS = {"provider revision", "runtime", "source revision", "runtime revision", "model revision"}
_NOT_OF_THE_SUBJECT = {
    *("subject", "dataset version", "repetitions", "evidence"),
    *("grader", "grader configuration", "interpretation"),
}
_AUTH = ("auth mode", "authentication", "auth_mode")


class Tier(StrEnum):
    """How far a side's evidence is attested; set at intake, never raised by itself."""

    INSUFFICIENT = "insufficient"
    AGENT_CLAIMED = "agent_claimed"
    SOURCE_VERIFIER = "source_verifier"
    INDEPENDENT = "independent"


@dataclass(frozen=True, slots=True)
class Arm:
    """What is known of one side beyond its figures. `run` and `graded` are references to the evidence."""

    run: str
    graded: str
    dataset: str | None
    """None where nobody said which dataset was run."""
    manifest: str
    """Digest of the planned items and repetitions."""
    repetitions: int
    trust: str
    grader: str
    """Digest of the grader version."""
    interpretation: str = ""
    """Digest of how categories are read; empty for raw ones."""
    duplicates: int = 0
    taken_away: int = 0
    """Answers that were there and have expired, or were deleted or redacted."""


@dataclass(frozen=True, slots=True)
class Compared:
    """A comparison as it is judged: its figures, and its sides in the order candidate, baseline."""

    result: PairedResult
    cases: PairedCases
    arms: tuple[Arm, Arm]
    comparison: str
    also_measured: int


@dataclass(frozen=True, slots=True)
class Judged:
    """One claim that a person might make, and whether this evidence carries it."""

    claim: str
    short: str
    asks: str
    verdict: Verdict

    @property
    def name(self) -> str:
        """The claim without its variable or margin."""
        return self.claim.partition("(")[0]

    @property
    def final(self) -> Admissibility:
        return self.verdict.final

    @property
    def weighing(self) -> tuple[Finding, ...]:
        """The conditions that stand against the claim, or that nobody can tell about."""
        return tuple(
            finding
            for finding in self.verdict.extension.findings
            if finding.kind is not Kind.NOTE and finding.state in (State.VIOLATED, State.UNKNOWN)
        )


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Everything that page, API and export say about what may be said."""

    claims: tuple[Judged, ...]
    headline: tuple[Segment, ...]
    """The sentence of the finding in the words that its claim allows; the figures are the same."""
    trust: tuple[str, str]
    """Tier of the candidate's and the baseline's evidence, as set at intake."""

    @property
    def headline_claim(self) -> Judged:
        return self.claims[0]

    @property
    def exploratory(self) -> bool:
        return self.headline_claim.final is not Admissibility.ADMISSIBLE

    @property
    def watermark(self) -> str:
        return WATERMARK if self.exploratory else ""

    @property
    def said(self) -> Said:
        return said(self.claims)

    def of(self, claim: str) -> Admissibility | None:
        return next((one.final for one in self.claims if one.claim == claim), None)

    def to_dict(self) -> dict[str, Any]:
        return {
            "exploratory": self.exploratory,
            "watermark": self.watermark,
            "headline": "".join(segment.text for segment in self.headline),
            "headline_claim": self.headline_claim.claim,
            "trust": {"candidate": self.trust[0], "baseline": self.trust[1]},
            "said": self.said.to_dict(),
            "claims": [
                {"claim": one.claim, "short": one.short, "asks": one.asks, **one.verdict.to_dict()}
                for one in self.claims
            ],
        }


def judged(
    result: PairedResult,
    cases: PairedCases,
    candidate: Arm,
    baseline: Arm,
    *,
    comparison: str,
    also_measured: int = 0,
) -> Verdicts:
    """The verdict on every claim a person might make about a comparison; the headline's claim first.

    `comparison` names the case of the base policy; `also_measured` counts further metrics of both sides.
    """
    return _judged(Compared(result, cases, (candidate, baseline), comparison, also_measured))


def _judged(paired: Compared) -> Verdicts:
    facts = {fact.condition: fact for fact in _facts(paired)}
    case, result = _case(paired), paired.result
    scope = Scope(
        arms=(result.candidate.label, result.baseline.label),
        items=result.all_cases,
        pairs=result.quality.pairs,
        repetitions=max(one.repetitions for one in paired.arms),
    )
    claims = []
    for question in _questions(paired):
        own = _facts_of_claim(question, paired)
        given = {**facts, **{fact.condition: fact for fact in own}}
        claims.append(
            Judged(
                str(question),
                SHORT[question.claim],
                CLAIMS[question.claim].asks,
                judge(case, question, given.values(), scope),
            )
        )
    allowed = claims[0].final in (Admissibility.ADMISSIBLE, Admissibility.PARTIAL)
    headline = result.finding.segments if allowed else sentence.as_observed(result.finding)
    mine, other = paired.arms
    return Verdicts(tuple(claims), headline, (str(mine.trust), str(other.trust)))


# --- what is asked ---------------------------------------------------------------------------------


def _questions(paired: Compared) -> list[Question]:
    result = paired.result
    metric = result.metric
    found = ["label_distribution_comparison"] if metric.kind is MetricKind.CATEGORICAL else ["paired_difference"]
    if metric.kind is not MetricKind.CATEGORICAL:
        found += ["paired_improvement", "non_inferiority"] if metric.direction is not Direction.UNORDERED else []
        found.append("score_comparison")
    if metric.kind is MetricKind.BOOLEAN:
        found += ["pass_rate_difference", "regression_free"]
    found += ["reliability_comparison", "cost_comparison", "latency_comparison", "causal"]
    margin = None if result.non_inferiority is None else result.non_inferiority.margin
    questions = [Question(claim, margin=margin if claim == "non_inferiority" else None) for claim in found]
    different = _dimensions(result, "different")
    if different and metric.kind is not MetricKind.CATEGORICAL:
        variable = "model" if "model" in different else different[0]
        questions.insert(1, Question("single_variable_comparison", variable=variable))
    return questions


def _dimensions(result: PairedResult, state: str) -> list[str]:
    """Configuration dimensions of the subjects in a state; what belongs to a model's route is one dimension."""
    found: dict[str, None] = {}
    for one in result.differences:
        name = one.name.lower()
        if one.state == state and name not in _NOT_OF_THE_SUBJECT:
            found["model" if state == "different" and name in _OF_THE_MODEL else name] = None
    if state == "unknown":
        recorded = {one.name.lower() for one in result.differences}
        found.update(dict.fromkeys(name.lower() for name in EXPECTED_FACTS if name.lower() not in recorded))
    return list(found)


# --- facts ---------------------------------------------------------------------------------------


def _both(mine: Any, other: Any) -> dict[str, Any]:
    return {"candidate": mine, "baseline": other}


def _state(holds: bool) -> State:
    return State.SATISFIED if holds else State.VIOLATED


def _facts(paired: Compared) -> Iterator[Fact]:
    """What the evidence says to every condition that it is the same for whatever the claim."""
    mine, other = paired.arms
    runs = tuple(dict.fromkeys(one.run for one in (mine, other)))
    passes = tuple(dict.fromkeys(one.graded for one in (mine, other)))
    yield Fact("ext.cells_distinct", _state(mine.run != other.run), {}, runs)
    yield from _work(paired.result, runs)
    yield _readable(mine, other, runs)
    yield from _trust(mine, other, runs)
    yield from _pairing(paired, runs)
    yield from _measure(paired, passes)
    yield from _configuration(paired.result, runs)
    yield from _spend(paired.result, runs)
    given = paired.result.non_inferiority is not None
    when = "it is not recorded when the margin was fixed" if given else "no margin was given"
    yield Fact("ext.margin_fixed_before_launch", State.UNKNOWN, {"note": when})
    yield Fact("ext.primary_fixed_before_launch", State.UNKNOWN, {"note": "no primary metric was recorded"})
    yield Fact(
        "ext.multiplicity_handled",
        State.SATISFIED,
        {"pairs": 1, "series": 1, "also_measured": paired.also_measured},
        passes,
    )


def _work(result: PairedResult, runs: tuple[str, ...]) -> Iterator[Fact]:
    sides = (result.candidate, result.baseline)
    open_ = [_unfinished(side) for side in sides]
    yield Fact("ext.work_terminal", _state(not any(open_)), _both(*open_), runs)
    odd = [side.generation.indeterminate for side in sides]
    yield Fact("ext.status_resolved", _state(not any(odd)), {"indeterminate": _both(*odd)}, runs)


def _readable(mine: Arm, other: Arm, runs: tuple[str, ...]) -> Fact:
    """Evidence that was taken away is missing; traces that were never captured are not known."""
    if mine.taken_away or other.taken_away:
        return Fact(
            "ext.evidence_readable", State.VIOLATED, {"taken_away": _both(mine.taken_away, other.taken_away)}, runs
        )
    return Fact("ext.evidence_readable", State.UNKNOWN, {"note": "traces of how answers came about were not kept"})


def _unfinished(side: SideResult) -> int:
    """Executions and judgments that have not ended, or were cut off."""
    made = side.generation
    ended = made.completed + made.failed + made.indeterminate
    return (made.planned - ended) + side.coverage.pending + side.coverage.cancelled


def _trust(mine: Arm, other: Arm, runs: tuple[str, ...]) -> Iterator[Fact]:
    tiers = [Tier(one.trust) for one in (mine, other)]
    state = State.SATISFIED
    if Tier.AGENT_CLAIMED in tiers:
        state = State.VIOLATED
    elif Tier.INSUFFICIENT in tiers:
        state = State.UNKNOWN
    detail = _both(*(tier.value for tier in tiers))
    yield Fact("ext.trust_tier_sufficient", state, detail, runs)
    yield Fact("ext.trust_tiers_uniform", _state(tiers[0] == tiers[1]), detail, runs)


def _pairing(paired: Compared, runs: tuple[str, ...]) -> Iterator[Fact]:
    result, cases = paired.result, paired.cases
    mine, other = paired.arms
    quality = result.quality
    datasets = _both(*(one.dataset for one in (mine, other)))
    yield all_equal("ext.same_dataset", datasets, runs)
    uncaptured = quality.revision_unknown
    yield Fact(
        "ext.item_revisions_identical",
        State.UNKNOWN if uncaptured else State.SATISFIED,
        {"numerator": uncaptured, "denominator": quality.cases} if uncaptured else {},
        runs,
    )
    unpaired = dict.fromkeys(("candidate", "baseline"), 0)
    for one in result.unmatched:
        if one.reason in ("missing", "revised", "repetition_count"):
            unpaired[one.side] += one.rows
    yield Fact("ext.manifest_matched", _state(not any(unpaired.values())), unpaired, runs)
    yield at_least("ext.paired_share", quality.cases or None, result.all_cases, PAIRED_SHARE, runs)
    shares = [_missing(side) for side in (result.candidate, result.baseline)]
    if None in shares:
        yield Fact("ext.missingness_balanced", State.UNKNOWN, {"bound": MISSINGNESS}, runs)
    else:
        gap = abs(float(shares[0] or 0) - float(shares[1] or 0))
        detail = {**_both(*shares), "bound": MISSINGNESS}
        yield Fact("ext.missingness_balanced", _state(gap <= MISSINGNESS), detail, runs)
    uneven = int((cases.candidate_count != cases.baseline_count).sum())
    yield Fact("ext.repetitions_equal", _state(not uneven), {"cases_that_differ": uneven}, runs)
    aside = _both(mine.duplicates, other.duplicates)
    yield Fact("ext.observations_unique", State.SATISFIED, {"set_aside": aside}, runs)


def _missing(side: SideResult) -> float | None:
    """Share of planned repetitions without a usable value; those a grader found not applicable stay out."""
    of = side.generation.planned - side.coverage.not_applicable
    return (of - side.coverage.scored) / of if of > 0 else None


def _measure(paired: Compared, passes: tuple[str, ...]) -> Iterator[Fact]:
    result = paired.result
    mine, other = paired.arms
    sides = (result.candidate, result.baseline)
    odd = {notice.code for notice in result.withheld}
    same = mine.grader == other.grader and not odd - {"different_interpretation", "different_direction"}
    identities = _both(*(side.grader_identity[:12] for side in sides))
    yield Fact("ext.series_identical", _state(same), identities, passes)
    read = [mine.interpretation, other.interpretation]
    yield all_equal("ext.interpretation_equivalent", _both(*(one[:12] for one in read)), passes)
    metric = result.metric
    directed = metric.direction is not Direction.UNORDERED and "different_direction" not in odd
    yield Fact("ext.direction_agreed", _state(directed), {"direction": metric.direction.value}, passes)
    ordered = metric.kind is not MetricKind.CATEGORICAL
    yield Fact("ext.metric_ordered", _state(ordered), {"kind": metric.kind.value}, passes)
    yield _well_formed(paired, passes)
    yield _graded(sides, passes)
    yield Fact("ext.coverage_points_equal", State.NOT_APPLICABLE, {"note": "no checklist is graded"})


def _well_formed(paired: Compared, passes: tuple[str, ...]) -> Fact:
    metric, cases = paired.result.metric, paired.cases
    if metric.kind is MetricKind.CATEGORICAL:
        return Fact("ext.reward_well_formed", State.NOT_APPLICABLE)
    ends = np.concatenate((cases.candidate_low, cases.candidate_high, cases.baseline_low, cases.baseline_high))
    ends = ends[~np.isnan(ends)]
    low = -np.inf if metric.low is None else metric.low
    high = np.inf if metric.high is None else metric.high
    outside = int((~np.isfinite(ends) | (ends < low) | (ends > high)).sum())
    return Fact("ext.reward_well_formed", _state(not outside), {"low": metric.low, "high": metric.high}, passes)


def _graded(sides: tuple[SideResult, SideResult], passes: tuple[str, ...]) -> Fact:
    """All scored, some not, or too few to know."""
    counts = [(side.coverage.scored, side.coverage.eligible - side.coverage.not_applicable) for side in sides]
    shares = [scored / of if of else 0.0 for scored, of in counts]
    state = State.SATISFIED
    if min(shares) < GRADED_SHARE:
        state = State.UNKNOWN
    elif min(shares) < 1:
        state = State.VIOLATED
    return Fact(
        "ext.grading_complete",
        state,
        {
            **_both(*({"numerator": scored, "denominator": of} for scored, of in counts)),
            "floor": GRADED_SHARE,
        },
        passes,
    )


def _configuration(result: PairedResult, runs: tuple[str, ...]) -> Iterator[Fact]:
    expected = {name.lower() for name in EXPECTED_FACTS} & _REVISIONS
    recorded = {one.name.lower(): one for one in result.differences if one.name.lower() in _REVISIONS}
    unknown = sorted(
        name for name in expected | set(recorded) if name not in recorded or recorded[name].state == "unknown"
    )
    yield Fact(
        "ext.revisions_known",
        State.UNKNOWN if unknown else State.SATISFIED,
        {"unknown": unknown} if unknown else {},
        () if unknown else runs,
    )
    note = {"note": "an imported run is declared once; nothing was recorded of its single executions"}
    yield Fact("ext.arm_internally_stable", State.NOT_APPLICABLE, note)
    yield Fact("ext.run_window_overlap", State.UNKNOWN, {"note": "start and end of the runs were not recorded"})
    yield Fact("ext.load_conditions_equal", State.UNKNOWN, {"note": "concurrency, region and warmth were not recorded"})


def _spend(result: PairedResult, runs: tuple[str, ...]) -> Iterator[Fact]:
    sides = (result.candidate, result.baseline)
    modes = [_fact(side, _AUTH) for side in sides]
    refs = runs if all(modes) else ()
    yield all_equal("ext.auth_mode_equal", _both(*modes), refs)
    complete = all(side.spend.coverage is CostCoverage.COMPLETE for side in sides)
    counts = _both(*({"numerator": side.spend.priced, "denominator": side.spend.facts} for side in sides))
    yield Fact("ext.cost_coverage_complete", _state(complete), counts, runs)
    bases = [
        None if side.spend.coverage is CostCoverage.NONE else f"{side.spend.currency}, {side.spend.basis}"
        for side in sides
    ]
    yield all_equal("ext.cost_basis_equal", _both(*bases), runs if all(bases) else ())
    yield Fact("ext.cost_population_stated", State.SATISFIED, {"population": "generation and every grading pass"}, runs)


def _fact(side: SideResult, names: tuple[str, ...]) -> str | None:
    found = next((value for name, value in side.facts if name.lower() in names), UNKNOWN)
    return None if found == UNKNOWN else found


def _facts_of_claim(question: Question, paired: Compared) -> Iterator[Fact]:
    """What depends on the claim: the observations it is about, how many are enough, and the declared change."""
    result = paired.result
    mine, other = result.candidate, result.baseline
    runs = tuple(one.run for one in paired.arms)
    match question.claim:
        case "reliability_comparison":
            seen = (mine.generation.planned, other.generation.planned)
        case "cost_comparison":
            seen = (mine.spend.facts, other.spend.facts)
        case "latency_comparison":
            seen = (result.latency.cases, result.latency.cases)
        case _:
            seen = (mine.coverage.scored, other.coverage.scored)
    yield Fact("ext.cells_present", _state(min(seen) > 0), _both(*seen), runs)
    apart = ("reliability_comparison", "cost_comparison", "latency_comparison", "pass_rate_difference")
    enough = min(seen) if question.claim in apart else result.quality.cases
    size: dict[str, Any] = {"numerator": enough, "floor": SMALLEST_SAMPLE}
    large_enough = enough >= SMALLEST_SAMPLE
    if result.grouping is not None and question.claim not in apart:
        size |= {"groups": result.grouping.groups, "floor_of_groups": SMALLEST_GROUPS}
        large_enough = large_enough and result.grouping.groups >= SMALLEST_GROUPS
    yield Fact("ext.sample_size", _state(large_enough), size, runs)
    yield _latency(paired, runs)
    if question.claim == "single_variable_comparison":
        yield _declared(question.variable, result, runs)


def _latency(paired: Compared, runs: tuple[str, ...]) -> Fact:
    ended = ~paired.cases.generation_error
    measured = np.isfinite(paired.cases.latency_delta_ms)
    return at_least("ext.latency_measured", int((measured & ended).sum()), int(ended.sum()), 1.0, runs)


def _declared(variable: str, result: PairedResult, runs: tuple[str, ...]) -> Fact:
    """Only the declared dimension differs; where others were not recorded nobody can tell."""
    others = [name for name in _dimensions(result, "different") if name != variable]
    unknown = [
        name
        for name in _dimensions(result, "unknown")
        if name not in _REVISIONS and not (variable == "model" and name in _OF_THE_MODEL)
    ]
    detail = {"declared": variable, "also_differ": others, "unknown": unknown}
    state = State.VIOLATED if others else State.UNKNOWN if unknown else State.SATISFIED
    return Fact("ext.declared_change_only", state, detail, runs)


# --- records of the base policy ------------------------------------------------------------------


def _case(paired: Compared) -> dict[str, Any]:
    """The jointly scored set as one record per side; without a mean, the completed share of the planned work."""
    result, cases = paired.result, paired.cases
    digest = hashlib.sha256(b"evenhand/manifest/1\0")
    for part in sorted(one.manifest for one in paired.arms):
        digest.update(part.encode())
    for array in sorted(
        np.ascontiguousarray(column).tobytes() for column in (cases.candidate_case, cases.baseline_case)
    ):
        digest.update(array)
    digest.update(np.ascontiguousarray(cases.pairs).tobytes())
    task = f"manifest:{digest.hexdigest()}"
    return {
        "id": paired.comparison,
        "records": [
            _record(paired, task, "candidate", paired.arms[0], result.candidate),
            _record(paired, task, "baseline", paired.arms[1], result.baseline),
        ],
    }


def _record(paired: Compared, task: str, name: str, chosen: Arm, side: SideResult) -> dict[str, Any]:
    result = paired.result
    arm = result.quality.candidate if name == "candidate" else result.quality.baseline
    model = _fact(side, ("model",)) or f"unknown ({name})"  # two unknown models are not one
    others = sorted(
        (fact.lower(), value) for fact, value in side.facts if fact.lower() not in _NOT_OF_THE_SUBJECT | _OF_THE_MODEL
    )
    record: dict[str, Any] = {
        "task_id": task,
        "model": model,
        "harness": f"harness:{hashlib.sha256(repr(others).encode()).hexdigest()[:12]}",
        "reward_status": VERIFIED if chosen.trust in _VERIFIED_TIERS else chosen.trust,
        "repetition_count": chosen.repetitions,
    }
    if chosen.taken_away:
        record["trajectory_available"] = False
    if arm.mean is None:
        made = side.generation
        share = made.completed / made.planned if made.planned else 0.0
        scale = {"range": "0..1", "unit": "completed share", "verifier": "executions"}
        return {**record, "reward": share, "score_scale": scale}
    metric = result.metric
    ends = (_end(metric.low), _end(metric.high))
    read = f"/{chosen.interpretation[:12]}" if chosen.interpretation else ""
    scale = {
        "range": f"{ends[0]}..{ends[1]}",
        "unit": metric.unit or "fraction",
        "verifier": f"{metric.key}/{chosen.grader[:12]}/imported{read}",
    }
    return {**record, "reward": arm.mean, "score_scale": scale}


_VERIFIED_TIERS = (Tier.SOURCE_VERIFIER, Tier.INDEPENDENT)


def _end(value: float | None) -> str:
    return "" if value is None else f"{value:g}"
