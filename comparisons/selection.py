"""What is compared with what: one value, one canonical form, one fingerprint, one address.

What a caller leaves open resolves only where exactly one thing fits; everything else is refused with
the choices, never resolved silently.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from decimal import Decimal, InvalidOperation
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from analysis.observations import Kind
from comparisons import refusals  # noqa: F401  # its codes must be registered before one is raised
from grading.models import GraderVersion, GradingPass, Interpretation, SeriesColumn
from runs.models import Experiment, State
from teams.access import Access
from teams.refusals import Refusal

CANDIDATE, BASELINE = "candidate", "baseline"
SIDES = (CANDIDATE, BASELINE)
DEFAULT_TARGET = "0.05"
LARGEST_TARGET = 1_000_000
UNIQUE = "Unique series on selected pass"
RAW = "Raw categories"
_KINDS = [Kind.BOOLEAN, Kind.NUMERIC, Kind.CATEGORICAL]
_BLOBS = ("outcome", "value", "category")
ARM_BLOBS = tuple(
    f"armcolumns__{name}"
    for name in (
        *("source", "content", "revisions", "case", "repetition", "generation", "failure"),
        *("latency_ms", "cost_micros", "cost_coverage", "executions"),
    )
)


@dataclass(frozen=True, slots=True)
class Asked:
    """What an address or a form says; an empty text says nothing."""

    candidate: str = ""
    baseline: str = ""
    candidate_pass: str = ""
    baseline_pass: str = ""
    metric: str = ""
    candidate_grader: str = ""
    baseline_grader: str = ""
    candidate_interpretation: str = ""
    baseline_interpretation: str = ""
    target: str = ""
    margin: str = ""

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Asked:
        return cls(**{name: str(given.get(name, "") or "").strip() for name in PARAMETERS})

    @property
    def only_experiments(self) -> bool:
        return not any(getattr(self, name) for name in PARAMETERS if name not in (*SIDES, "target", "margin"))

    def side(self, side: str, what: str) -> str:
        return str(getattr(self, f"{side}_{what}"))

    def query(self) -> str:
        return _query(self)


PARAMETERS = tuple(field.name for field in fields(Asked))
"""Every parameter of a selection, in the order of its canonical address."""


@dataclass(frozen=True, slots=True)
class Selection:
    """A complete selection. Passes are named by their number in the experiment, versions by their id."""

    candidate: UUID
    baseline: UUID
    candidate_pass: int
    baseline_pass: int
    metric: str
    candidate_grader: UUID
    baseline_grader: UUID
    candidate_interpretation: UUID | None = None
    baseline_interpretation: UUID | None = None
    target: str = DEFAULT_TARGET
    margin: str | None = None
    """How much worse is still acceptable, as a share of the scale; None where nobody set one."""

    def plain(self) -> dict[str, Any]:
        return {name: str(value) if isinstance(value := getattr(self, name), UUID) else value for name in PARAMETERS}

    @property
    def fingerprint(self) -> str:
        said = {name: value for name, value in self.plain().items() if not (name == "margin" and value is None)}
        text = json.dumps(said, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(b"evenhand/selection/1\0" + text.encode()).hexdigest()

    def query(self, **more: str | int | None) -> str:
        """The canonical query string; the target is left out where it is the usual one."""
        return _query(self, **more)

    @property
    def swapped(self) -> Selection:
        other = {CANDIDATE: BASELINE, BASELINE: CANDIDATE}
        turned = {
            name: getattr(self, name.replace(side, other[side], 1))
            for name in PARAMETERS
            for side in SIDES
            if name.startswith(side)
        }
        return replace(self, **turned)


def _query(chosen: Asked | Selection, **more: str | int | None) -> str:
    pairs = [(name, getattr(chosen, name)) for name in PARAMETERS]
    pairs = [(name, value) for name, value in pairs if not (name == "target" and value == DEFAULT_TARGET)]
    return urlencode([(name, str(value)) for name, value in (*pairs, *more.items()) if value not in (None, "")])


@dataclass(frozen=True, slots=True)
class Chosen:
    """One side of a resolved selection, as rows."""

    experiment: Experiment
    grading_pass: GradingPass
    version: GraderVersion
    series: SeriesColumn
    """Without its columns; `evidence` loads them."""
    interpretation: Interpretation | None
    all_passes: tuple[GradingPass, ...]
    """Every pass of the experiment, finished or not: full-run spend counts them all."""

    @property
    def label(self) -> str:
        return self.experiment.subject.label


@dataclass(frozen=True, slots=True)
class Resolved:
    selection: Selection
    candidate: Chosen
    baseline: Chosen
    other_metrics: tuple[str, ...]
    """Names of further metrics that both experiments measure."""


@dataclass(frozen=True, slots=True)
class Choice:
    """An option of a select; `missing` ones stay selected and read *(unavailable)*."""

    value: str
    label: str
    chosen: bool = False
    missing: bool = False


@dataclass(frozen=True, slots=True)
class Offer:
    """What two experiments offer for comparison, and what was asked of them. `series` is newest first."""

    asked: Asked
    target: str
    margin: str | None
    experiments: dict[str, Experiment]
    passes: dict[str, tuple[GradingPass, ...]]
    series: dict[str, tuple[SeriesColumn, ...]]
    interpretations: tuple[Interpretation, ...]

    def shared_metrics(self) -> dict[str, str]:
        """Keys and names of the metrics that both sides measure: boolean ones first, then by key."""
        keys = {_key(series) for series in self.series[CANDIDATE]} & {_key(series) for series in self.series[BASELINE]}
        found: dict[str, str] = {}
        for series in sorted(
            self.series[CANDIDATE], key=lambda one: (_KINDS.index(Kind(_definition(one).kind)), _key(one))
        ):
            if _key(series) in keys:
                found.setdefault(_key(series), _definition(series).name)
        return found

    def preselected(self, metric: str = "") -> Selection | None:
        """The newest pair of passes of the first shared metric, where each pass holds one series of it.

        One grader version on both sides goes before newer passes with two: it can give a direction.
        """
        same_run = self.experiments[CANDIDATE].pk == self.experiments[BASELINE].pk
        for key in [metric] if metric else self.shared_metrics():
            mine = [series for series in self.series[CANDIDATE] if self._alone(CANDIDATE, series, key)]
            others = [series for series in self.series[BASELINE] if self._alone(BASELINE, series, key)]
            pairs = [
                (one, other)
                for one in mine
                for other in others
                if not same_run or one.grading_pass.number > other.grading_pass.number
            ]
            if pairs:
                one, other = min(
                    pairs,
                    key=lambda pair: (
                        pair[0].version.sha256 != pair[1].version.sha256,
                        -pair[0].grading_pass.number,
                        -pair[1].grading_pass.number,
                    ),
                )
                return self._selection(key, one, other, None, None)
        return None

    def _alone(self, side: str, series: SeriesColumn, key: str) -> bool:
        return (
            _key(series) == key
            and sum(
                _key(other) == key and other.grading_pass_id == series.grading_pass_id for other in self.series[side]
            )
            == 1
        )

    def resolve(self) -> Resolved:
        """The complete selection; refused with the choices where the asked one is not exactly one thing."""
        fitting = {side: self._fitting(side) for side in SIDES}
        keys = {_key(one) for one in fitting[CANDIDATE]} & {_key(one) for one in fitting[BASELINE]}
        if not keys:
            raise Refusal(
                "comparison_no_shared_metric",
                "The selected passes do not measure the same metric." if self.shared_metrics() else _NOTHING_SHARED,
                place="metric",
                choices=self._metric_choices(),
            )
        if len(keys) > 1:
            raise Refusal(
                "comparison_ambiguous",
                f"Both sides measure {len(keys)} metrics. Choose one.",
                place="metric",
                choices=[choice for choice in self._metric_choices() if choice["value"] in keys],
            )
        key = keys.pop()
        one, other = (self._only(side, [series for series in fitting[side] if _key(series) == key]) for side in SIDES)
        if one.pk == other.pk:
            raise Refusal("comparison_same_side", "Both sides are the same measurement of the same experiment.")
        mine = self._interpretation(CANDIDATE, one)
        theirs = self._interpretation(BASELINE, other)
        names = [name for shared, name in self.shared_metrics().items() if shared != key]
        return Resolved(
            self._selection(key, one, other, mine, theirs),
            self._chosen(CANDIDATE, one, mine),
            self._chosen(BASELINE, other, theirs),
            tuple(names),
        )

    def _selection(
        self,
        key: str,
        one: SeriesColumn,
        other: SeriesColumn,
        mine: Interpretation | None,
        theirs: Interpretation | None,
    ) -> Selection:
        return Selection(
            candidate=self.experiments[CANDIDATE].pk,
            baseline=self.experiments[BASELINE].pk,
            candidate_pass=one.grading_pass.number,
            baseline_pass=other.grading_pass.number,
            metric=key,
            candidate_grader=one.version_id,
            baseline_grader=other.version_id,
            candidate_interpretation=mine.pk if mine else None,
            baseline_interpretation=theirs.pk if theirs else None,
            target=self.target,
            margin=self.margin,
        )

    def _chosen(self, side: str, series: SeriesColumn, interpretation: Interpretation | None) -> Chosen:
        return Chosen(
            self.experiments[side],
            series.grading_pass,
            series.version,
            series,
            interpretation,
            self.passes[side],
        )

    def _fitting(self, side: str) -> list[SeriesColumn]:
        """The finished series of a side that match what was asked of it."""
        found = list(self.series[side])
        if number := self.asked.side(side, "pass"):
            grading_pass = next((one for one in self.passes[side] if number in (str(one.number), str(one.pk))), None)
            if grading_pass is None:
                raise Refusal("not_found")
            if grading_pass.state != State.COMPLETED:
                raise Refusal(
                    "comparison_not_finished",
                    f"Pass {grading_pass.number} of the {side} is not completed.",
                    place=f"{side}_pass",
                )
            found = [series for series in found if series.grading_pass_id == grading_pass.pk]
        if self.asked.metric:
            found = [series for series in found if _key(series) == self.asked.metric]
        if version := self.asked.side(side, "grader"):
            there = found
            found = [series for series in found if str(series.version_id) == version]
            if not found:
                self._refuse_grader(side, version, there)
        return found

    def _refuse_grader(self, side: str, version: str, there: list[SeriesColumn]) -> None:
        """An exact version that the pass does not hold is never switched to another one."""
        if self._known_version(version) is None:
            raise Refusal("not_found")
        raise Refusal(
            "comparison_unavailable",
            f"The selected pass of the {side} holds no such measurement by that grader version.",
            place=f"{side}_grader",
            choices=[{"value": str(one.version_id), "label": grader_label(one.version)} for one in there],
        )

    def _known_version(self, version: str) -> GraderVersion | None:
        pk = as_uuid(version)
        if pk is None:
            return None
        team = self.experiments[CANDIDATE].team_id
        rows = GraderVersion.objects.filter(pk=pk, grader__definition__team_id=team)
        return rows.select_related("grader").first()

    def _only(self, side: str, fitting: list[SeriesColumn]) -> SeriesColumn:
        if len(fitting) == 1:
            return fitting[0]
        passes = {series.grading_pass.number: series.grading_pass for series in fitting}
        if len(passes) > 1:
            raise Refusal(
                "comparison_ambiguous",
                f"{len(passes)} passes of the {side} measure this metric. Choose one.",
                place=f"{side}_pass",
                choices=[{"value": number, "label": pass_label(one)} for number, one in passes.items()],
            )
        raise Refusal(
            "comparison_ambiguous",
            f"{len(fitting)} graders on the selected pass of the {side} measure this metric. Choose one.",
            place=f"{side}_grader",
            choices=[{"value": str(one.version_id), "label": grader_label(one.version)} for one in fitting],
        )

    def _interpretation(self, side: str, series: SeriesColumn) -> Interpretation | None:
        asked = self.asked.side(side, "interpretation")
        if not asked:
            return None
        found = next((one for one in self.interpretations if str(one.pk) == asked), None)
        if found is None or (found.grading_pass_id, found.version_id) != (series.grading_pass_id, series.version_id):
            raise Refusal("not_found")
        return found

    def _metric_choices(self) -> list[dict[str, str]]:
        return [{"value": key, "label": name} for key, name in self.shared_metrics().items()]

    # what the form of the page offers

    def pass_choices(self, side: str) -> list[Choice]:
        asked = self.asked.side(side, "pass")
        found = [
            Choice(str(one.number), pass_label(one), asked in (str(one.number), str(one.pk)))
            for one in sorted(self.passes[side], key=lambda one: -one.number)
            if one.state == State.COMPLETED
        ]
        return _with_missing(found, asked, lambda: f"Pass {asked}" if asked.isdecimal() else "Pass")

    def metric_choices(self) -> list[Choice]:
        found = [Choice(key, name, key == self.asked.metric) for key, name in self.shared_metrics().items()]
        return _with_missing(found, self.asked.metric, lambda: self.asked.metric)

    def grader_choices(self, side: str) -> list[Choice]:
        """Exact versions on the selected pass, newest first; before them the choice of the only one there."""
        asked, number = self.asked.side(side, "grader"), self.asked.side(side, "pass")
        there = [
            one
            for one in self.series[side]
            if (not number or number in (str(one.grading_pass.number), str(one.grading_pass_id)))
            and (not self.asked.metric or _key(one) == self.asked.metric)
        ]
        versions = {str(one.version_id): one.version for one in there}
        unique = grader_label(next(iter(versions.values()))) if len(versions) == 1 else "needs exactly one"
        found = [Choice("", f"{UNIQUE} ({unique})", not asked)]
        found += [Choice(value, grader_label(version), value == asked) for value, version in versions.items()]

        def missing() -> str:
            known = self._known_version(asked)
            return grader_label(known) if known else "Grader version"

        return _with_missing(found, asked, missing)

    def interpretation_choices(self, side: str) -> list[Choice]:
        asked, numbers = self.asked.side(side, "interpretation"), self.asked.side(side, "pass")
        passes = {one.pk for one in self.passes[side] if not numbers or numbers in (str(one.number), str(one.pk))}
        grader = self.asked.side(side, "grader")
        found = [Choice("", RAW, not asked)]
        found += [
            Choice(str(one.pk), one.name, str(one.pk) == asked)
            for one in self.interpretations
            if one.grading_pass_id in passes and (not grader or str(one.version_id) == grader)
        ]
        return _with_missing(found, asked, lambda: "Interpretation")


_NOTHING_SHARED = "The two experiments have no finished measurement of the same metric."


def _with_missing(found: list[Choice], asked: str, label: Callable[[], str]) -> list[Choice]:
    if not asked or any(choice.chosen for choice in found):
        return found
    return [*found, Choice(asked, f"{label()} (unavailable)", chosen=True, missing=True)]


def offer(access: Access, asked: Asked) -> Offer:
    """What the two asked experiments offer. Four queries, whatever they hold."""
    experiments = _experiments(access, asked)
    ids = {experiment.pk for experiment in experiments.values()}
    passes = list(GradingPass.objects.filter(experiment_id__in=ids).order_by("number"))
    series = list(
        SeriesColumn.objects.filter(grading_pass__in=[one.pk for one in passes if one.state == State.COMPLETED])
        .select_related("version__grader__definition")
        .defer(*_BLOBS)
    )
    by_id = {one.pk: one for one in passes}
    for one in series:
        one.grading_pass = by_id[one.grading_pass_id]
    series.sort(key=lambda one: (-one.grading_pass.number, one.version.grader.name, -one.version.number))
    interpretations = tuple(
        Interpretation.objects.filter(grading_pass__experiment_id__in=ids).order_by("-made_at", "name")
    )
    return Offer(
        asked=asked,
        target=_share(asked.target, "target") or DEFAULT_TARGET,
        margin=_share(asked.margin, "margin"),
        experiments=experiments,
        passes={side: tuple(one for one in passes if one.experiment_id == experiments[side].pk) for side in SIDES},
        series={
            side: tuple(one for one in series if one.grading_pass.experiment_id == experiments[side].pk)
            for side in SIDES
        },
        interpretations=interpretations,
    )


def resolve(access: Access, asked: Asked) -> Resolved:
    return offer(access, asked).resolve()


def _experiments(access: Access, asked: Asked) -> dict[str, Experiment]:
    """Both experiments, of this team and of one dataset, completed and unarchived."""
    for side in SIDES:
        if not getattr(asked, side):
            raise Refusal("invalid_field", f"A comparison has two sides; name the {side} experiment too.", place=side)
    ids = {side: pk for side in SIDES if (pk := as_uuid(getattr(asked, side))) is not None}
    rows = {
        row.pk: row
        for row in Experiment.objects.filter(team=access.team, pk__in=set(ids.values()))
        .select_related("subject", "version__dataset", "armcolumns")
        .defer(*ARM_BLOBS)
    }
    found = {}
    for side in SIDES:
        experiment = rows.get(ids[side]) if side in ids else None
        if experiment is None:
            raise Refusal("not_found")
        found[side] = experiment
    for side, experiment in found.items():
        if experiment.state != State.COMPLETED:
            raise Refusal("comparison_not_finished", f"Experiment {experiment.number} is not completed.", place=side)
        if experiment.archived_at is not None:
            raise Refusal("comparison_archived", f"Experiment {experiment.number} is archived.", place=side)
    mine, other = found[CANDIDATE], found[BASELINE]
    if mine.version.dataset_id != other.version.dataset_id:
        raise Refusal(
            "comparison_other_dataset",
            f"Experiments {mine.number} and {other.number} evaluate two different datasets.",
            place=BASELINE,
        )
    return found


def _share(text: str, place: str) -> str | None:
    """A share of the scale above zero, as the shortest decimal; None where nothing was said."""
    if not text:
        return None
    try:
        value = Decimal(text) if text.isascii() and len(text) <= 12 else Decimal(0)
    except InvalidOperation:
        value = Decimal(0)
    if not value.is_finite() or not Decimal("0.000001") <= value <= LARGEST_TARGET:
        raise Refusal("invalid_field", f"The {place} is a number above 0, at most {LARGEST_TARGET:,}.", place=place)
    return f"{value.normalize():f}"


def as_uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def pass_label(grading_pass: GradingPass) -> str:
    name = f" \N{MIDDLE DOT} {grading_pass.name}" if grading_pass.name else ""
    return f"Pass {grading_pass.number}{name}"


def grader_label(version: GraderVersion) -> str:
    return f"{version.grader.name} v{version.number}"


def _definition(series: SeriesColumn) -> Any:
    return series.version.grader.definition


def _key(series: SeriesColumn) -> str:
    return str(series.version.grader.definition.key)
