"""The frozen result of a paired comparison: what page, API, export and command line all render.

Numbers are unrounded; rounding is for the screen. Deltas are candidate minus baseline, in the
metric's own unit (a share for boolean metrics), whatever the metric's direction.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.observations import Direction, Kind, Metric, Spend


@dataclass(frozen=True, slots=True)
class Notice:
    """Something the reader must know: a stable code and a sentence."""

    code: str
    text: str


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of a sentence; `strong` pieces carry the figures."""

    text: str
    strong: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """What the evidence shows, in words.

    `kind`: better, worse, not_resolved, too_few, no_pairs, withheld or distribution.
    `why` is the line under the sentence.
    """

    kind: str
    segments: tuple[Segment, ...]
    why: str

    @property
    def text(self) -> str:
        return "".join(segment.text for segment in self.segments)


@dataclass(frozen=True, slots=True)
class Interval:
    """Two-sided interval of the mean paired difference. Descriptive ones lead no sentence."""

    method: str
    label: str
    level: float
    low: float
    high: float
    leads: bool
    descriptive: bool


@dataclass(frozen=True, slots=True)
class GenerationCount:
    """Completed executions over all planned ones; failures by kind stay visible."""

    planned: int
    completed: int
    failed: int
    blocked: int
    cancelled: int
    indeterminate: int
    running: int
    failures: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class PassCompletion:
    completed: int
    expected: int
    waiting: int


@dataclass(frozen=True, slots=True)
class GraderCoverage:
    """Scored over (eligible minus not applicable). `passed` counts whole passes of a boolean metric."""

    eligible: int
    not_applicable: int
    scored: int
    abstained: int
    grader_error: int
    pending: int
    cancelled: int
    missing: int
    passed: int | None
    scored_mean: float | None
    """Mean of all scored rows of this arm, whether paired or not."""


@dataclass(frozen=True, slots=True)
class ArmQuality:
    """One arm over the paired cases: equal-weight mean of case means, and its population SD."""

    mean: float | None
    spread: float | None
    passed: int | None
    """Passed cases where every paired case has one repetition and the metric is boolean, else None."""


@dataclass(frozen=True, slots=True)
class PairedQuality:
    cases: int
    """Distinct cases with at least one jointly scored repetition."""
    pairs: int
    """Jointly scored (case, repetition) pairs."""
    matched_pairs: int
    """Pairs present on both sides, scored or not."""
    candidate: ArmQuality
    baseline: ArmQuality
    delta: float | None
    delta_spread: float | None
    better: int
    worse: int
    same: int
    revision_unknown: int
    """Paired cases whose content was not captured on at least one side."""


@dataclass(frozen=True, slots=True)
class Bracket:
    """The same comparison if every unscored planned pair counted as the worst end of the scale.

    The worst end is the low one, for a lower_is_better metric the high one; without a known worst
    end there is no bracket. Pairs that a grader found not applicable stay out: that is an answer.
    """

    cases: int
    pairs: int
    candidate_mean: float
    baseline_mean: float
    delta: float
    candidate_unscored: int
    baseline_unscored: int


@dataclass(frozen=True, slots=True)
class Latency:
    """Equal-weight means of case means over paired completed repetitions with measured latency, ms."""

    cases: int
    candidate_ms: float | None
    baseline_ms: float | None


@dataclass(frozen=True, slots=True)
class Test:
    """A two-sided test shown in the details only."""

    method: str
    label: str
    p_value: float | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Adequacy:
    """Could this comparison have seen what matters? `q` is N over the cases needed for `target`.

    `mde` and `target` are in the metric's unit. `verdict`: insufficient (fewer than 20 cases, or no
    variation to judge by), adequate, limited, underpowered, or no_target (a numeric metric without
    bounds: a share of its scale has no meaning, so only the detectable difference is given).
    """

    verdict: str
    mde: float | None
    target: float | None
    q: float | None
    cases_needed: int | None


@dataclass(frozen=True, slots=True)
class NonInferiority:
    """Is the candidate at most `margin` worse? `passes` is None where no interval may lead.

    `limit` is the end of the leading interval on the worse side; both are in the metric's unit.
    """

    margin: float
    limit: float | None
    passes: bool | None


@dataclass(frozen=True, slots=True)
class Grouping:
    """Cases that share a source, where the evidence names groups: then groups are counted, not cases.

    `grouped_cases` of the paired cases share their group with another one. `design_effect` is how many
    times larger the variance of the mean difference is than if cases were independent, None where they
    do not vary; `standard_error` is the one used, in the metric's unit, None below two groups.
    """

    groups: int
    grouped_cases: int
    largest: int
    standard_error: float | None
    design_effect: float | None


@dataclass(frozen=True, slots=True)
class Variation:
    """Variance of single repetitions inside cases, and of case differences without it; for planning."""

    within_candidate: float
    within_baseline: float
    between: float
    repetitions: float


@dataclass(frozen=True, slots=True)
class LabelChange:
    """How often a category moved between the sides, for categorical metrics."""

    baseline: str
    candidate: str
    count: int


@dataclass(frozen=True, slots=True)
class LabelShare:
    label: str
    candidate: int
    baseline: int


@dataclass(frozen=True, slots=True)
class UnmatchedCount:
    """`reason`: missing, revised, repetition_count, duplicate, generation, not_judged, no_value, or a judgment outcome.

    A matched pair that is not jointly scored is listed on the side that caused it, on both if both did.
    """

    reason: str
    side: str
    rows: int
    cases: int
    text: str


@dataclass(frozen=True, slots=True)
class SideResult:
    label: str
    grader_name: str
    grader_version: int
    grader_identity: str
    interpretation: str
    series_digest: str
    generation: GenerationCount
    completion: PassCompletion
    coverage: GraderCoverage
    spend: Spend
    facts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """One configuration fact of both sides. `state`: same, different or unknown."""

    name: str
    candidate: str
    baseline: str
    state: str


@dataclass(frozen=True, slots=True)
class FilterCounts:
    """How many paired case rows each outcome filter keeps."""

    all: int
    regressions: int
    improvements: int
    changed_labels: int
    flaky: int
    generation_errors: int
    judge_errors: int
    abstentions: int


@dataclass(frozen=True, slots=True)
class PairedResult:
    method_version: str
    metric: Metric
    candidate: SideResult
    baseline: SideResult
    finding: Finding
    quality: PairedQuality
    intervals: tuple[Interval, ...]
    interval95: tuple[float, float] | None
    """The seed's percentile case-cluster bootstrap; None below 20 paired scored cases."""
    interval95_method: str
    small_sample: bool
    tests: tuple[Test, ...]
    adequacy: Adequacy | None
    chance_flips_per_side: float | None
    """How many cases per side would flip between two single runs if nothing had changed."""
    chance_moves_per_side: float | None
    """How many cases per side would move by chance alone, with the repetitions that were run.

    The figure to read beside `better` and `worse`; with one repetition it equals the flips.
    """
    bracket: Bracket | None
    latency: Latency
    labels: tuple[LabelShare, ...]
    label_changes: tuple[LabelChange, ...]
    unmatched: tuple[UnmatchedCount, ...]
    differences: tuple[Difference, ...]
    withheld: tuple[Notice, ...]
    """Why no directional result is given; empty when one is."""
    notices: tuple[Notice, ...]
    filters: FilterCounts
    all_cases: int
    """Distinct cases over both sides, paired or not."""
    variation: Variation | None
    """None unless some cases have two or more jointly scored repetitions."""
    non_inferiority: NonInferiority | None
    """None unless a margin was given and the metric has a direction and a scale to take a share of."""
    grouping: Grouping | None
    """None unless some paired cases share a group."""

    @property
    def directional(self) -> bool:
        return (
            not self.withheld
            and self.metric.kind is not Kind.CATEGORICAL
            and self.metric.direction is not Direction.UNORDERED
        )


class Change(IntEnum):
    """What happened to a paired case, in the metric's own direction."""

    SAME = 0
    BETTER = 1
    WORSE = 2
    NOT_SCORED = 3
    CHANGED = 4
    """Scored on both sides and different, where no direction may be given."""


@dataclass(frozen=True, slots=True)
class PairedCases:
    """Per-case columns behind the table, in case-key order; one entry per case found on both sides.

    `candidate_case` and `baseline_case` index the arms' own case columns. `*_first` and `*_count`
    are the row ranges of the case in each arm, so that a page can show each repetition's mark.
    Means are over jointly scored repetitions, NaN where there are none; ranges likewise.
    """

    candidate_case: NDArray[np.int32]
    baseline_case: NDArray[np.int32]
    candidate_first: NDArray[np.int32]
    candidate_count: NDArray[np.int32]
    baseline_first: NDArray[np.int32]
    baseline_count: NDArray[np.int32]
    pairs: NDArray[np.int32]
    candidate_mean: NDArray[np.float64]
    candidate_low: NDArray[np.float64]
    candidate_high: NDArray[np.float64]
    baseline_mean: NDArray[np.float64]
    baseline_low: NDArray[np.float64]
    baseline_high: NDArray[np.float64]
    delta: NDArray[np.float64]
    change: NDArray[np.uint8]
    changed_label: NDArray[np.bool_]
    flaky: NDArray[np.bool_]
    generation_error: NDArray[np.bool_]
    judge_error: NDArray[np.bool_]
    abstention: NDArray[np.bool_]
    revision_unknown: NDArray[np.bool_]
    latency_delta_ms: NDArray[np.float64]
    cost_delta_micros: NDArray[np.float64]
    """Mean over the paired repetitions.

    NaN unless every paired generation completed with complete cost on both sides.
    """


@dataclass(frozen=True, slots=True)
class UnmatchedRows:
    """Rows that do not enter paired quality: indices into an arm's rows, with the reason per row.

    `side` is 0 for the candidate, 1 for the baseline; `reason` indexes `reasons`.
    """

    side: NDArray[np.uint8]
    row: NDArray[np.int32]
    reason: NDArray[np.uint8]
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PairedComparison:
    """The result with its per-case columns."""

    result: PairedResult
    cases: PairedCases
    unmatched: UnmatchedRows


def plain(value: Any) -> Any:
    """A result as JSON-ready values: same content, same text, whatever process rendered it.

    Enum members become their lower-case names (IntEnum) or values; a number that is not finite
    becomes None, so that no reader meets NaN.
    """
    if isinstance(value, IntEnum):
        return value.name.lower()
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, np.integer):
        return int(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
        if isinstance(value, Finding):
            fields["text"] = value.text
        return fields
    if isinstance(value, tuple | list):
        return [plain(entry) for entry in value]
    return value
