"""The case rows of a paired comparison: filter, order, search and page them; one row as shown and as exported.

All of it works on the kept columns; only the rows of one page touch the database.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

import numpy as np
from django.db.models import F, Func, Q, TextField, Value
from numpy.typing import NDArray

from analysis.observations import CostCoverage, Direction, FailureKind, Generation, Kind, Outcome
from analysis.results import Change, FilterCounts
from comparisons.evidence import Loaded
from comparisons.lenses.paired import Paired
from datasets.models import ItemContent, ItemRevision
from datasets.queries import preview
from teams.access import Access
from teams.permissions import Right
from teams.records import Availability
from teams.refusals import Refusal

Index = NDArray[np.int64]

FILTERS: Final[dict[str, str]] = {
    "regressions": "Regressions",
    "improvements": "Improvements",
    "changed_labels": "Changed labels",
    "flaky": "Flaky",
    "generation_errors": "Generation errors",
    "judge_errors": "Judge errors",
    "abstentions": "Abstentions",
}
SORTS: Final = ("difference", "candidate", "baseline", "latency", "cost")
LISTING: Final = ("filter", "only_regressions", "sort", "page", "q")
LONGEST_SEARCH = 200
PAGE = 25
BATCH = 1_000  # case rows read at a time by exports


@dataclass(frozen=True, slots=True)
class Listing:
    """What part of the case rows is asked for, in which order. Says nothing about the summary."""

    filter: str = ""
    sort: str = ""
    q: str = ""
    page: int = 1
    only_regressions: bool = False

    @classmethod
    def of(cls, access: Access, given: Mapping[str, Any]) -> Listing:
        """Read from an address; searching looks into content and needs the right to it."""
        chosen = str(given.get("filter", "") or "")
        if chosen and chosen not in FILTERS:
            raise Refusal("invalid_field", f"filter is one of {', '.join(FILTERS)}.", place="filter")
        sort = str(given.get("sort", "") or "")
        if sort and sort.removeprefix("-") not in SORTS:
            raise Refusal(
                "invalid_field", f"sort is one of {', '.join(SORTS)}, with a minus for descending.", place="sort"
            )
        q = str(given.get("q", "") or "").strip()[:LONGEST_SEARCH]
        if "\0" in q:
            raise Refusal("invalid_field", "A search holds no NUL character.", place="q")
        if q:
            access.require(Right.EVALUATION_CONTENT_READ)
        page = str(given.get("page", "") or "1")
        if not (page.isascii() and page.isdecimal() and 1 <= len(page) <= 9 and int(page) >= 1):
            raise Refusal("invalid_field", "page is a whole number from 1.", place="page")
        only = str(given.get("only_regressions", "") or "")
        if only not in ("", "0", "1"):
            raise Refusal("invalid_field", "only_regressions is 1 or 0.", place="only_regressions")
        return cls(chosen, sort, q, int(page), only == "1")

    @property
    def effective(self) -> str:
        """The filter that counts: the shortcut takes precedence."""
        return "regressions" if self.only_regressions else self.filter

    def parameters(self, *, page: bool = True) -> dict[str, str | int | None]:
        """Its part of an address, without what is the usual."""
        return {
            "filter": self.filter or None,
            "only_regressions": 1 if self.only_regressions else None,
            "sort": self.sort or None,
            "q": self.q or None,
            "page": self.page if page and self.page > 1 else None,
        }

    @property
    def noun(self) -> str:
        return FILTERS[self.effective].lower() if self.effective else "cases"


def counts(filters: FilterCounts) -> dict[str, int]:
    return {name: getattr(filters, name) for name in FILTERS}


# --- which cases, in which order -------------------------------------------------------------------


def ordered(paired: Paired, listing: Listing) -> Index:
    """Positions of the matching cases in the asked order; equal ones keep case-key order."""
    keep = np.flatnonzero(_mask(paired, listing.effective))
    if listing.q:
        keep = keep[np.isin(keep, _found(paired, listing.q))]
    return keep[_order(paired, listing.sort, keep)]


def _mask(paired: Paired, name: str) -> NDArray[np.bool_]:
    cases = paired.cases
    match name:
        case "regressions":
            return np.asarray(cases.change == Change.WORSE)
        case "improvements":
            return np.asarray(cases.change == Change.BETTER)
        case "changed_labels":
            return cases.changed_label
        case "flaky":
            return cases.flaky
        case "generation_errors":
            return cases.generation_error
        case "judge_errors":
            return cases.judge_error
        case "abstentions":
            return cases.abstention
    return np.ones(len(cases.change), dtype=bool)


def _order(paired: Paired, sort: str, keep: Index) -> Index:
    """Unknown values stand last in either direction."""
    cases = paired.cases
    columns = {
        "difference": cases.delta,
        "candidate": cases.candidate_mean,
        "baseline": cases.baseline_mean,
        "latency": cases.latency_delta_ms,
        "cost": cases.cost_delta_micros,
    }
    if not sort:
        return _worst_first(paired, keep)
    values = columns[sort.removeprefix("-")][keep]
    if sort.startswith("-"):
        values = -values
    return np.argsort(values, kind="stable")  # NaN sorts last


_RANK: Final = {Change.WORSE: 0, Change.CHANGED: 1, Change.SAME: 2, Change.BETTER: 3, Change.NOT_SCORED: 4}


def _worst_first(paired: Paired, keep: Index) -> Index:
    """Regressions first, the largest ahead; where no direction may be given, what changed most."""
    cases = paired.cases
    rank = np.array([_RANK[Change(code)] for code in range(len(Change))])[cases.change[keep]]
    gain = cases.delta[keep]
    if paired.result.metric.direction is Direction.LOWER_IS_BETTER:
        gain = -gain
    if not paired.result.directional:
        gain = -np.abs(cases.candidate_mean[keep] - cases.baseline_mean[keep])
    return np.lexsort((np.nan_to_num(gain, nan=np.inf), rank))


def _found(paired: Paired, q: str) -> Index:
    """Cases whose title, source id or tags hold the text on either side. The caller has judged the right."""
    rows = ItemContent.objects.annotate(
        words=Func(F("tags"), Value("\n"), function="array_to_string", output_field=TextField())
    ).filter(
        Q(source_id__icontains=q) | Q(title__icontains=q) | Q(words__icontains=q),
        revision__item__dataset_id=paired.resolved.candidate.experiment.version.dataset_id,
    )
    wanted = b"".join(pk.bytes for pk in rows.values_list("revision_id", flat=True))
    revisions = np.frombuffer(wanted, dtype="V16")
    candidate, baseline = paired.loaded
    cases = paired.cases
    hits = np.isin(_ids(candidate)[cases.candidate_case], revisions.view("S16"))
    hits |= np.isin(_ids(baseline)[cases.baseline_case], revisions.view("S16"))
    return np.flatnonzero(hits)


def _ids(loaded: Loaded) -> NDArray[np.bytes_]:
    """Revision ids as byte strings of one width, which numpy can look up."""
    return loaded.frozen.revisions.view("S16")


# --- rows ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Repetition:
    """One execution of a case on one side, with its judgment by the selected grader version."""

    repetition: int
    generation: Generation
    failure: FailureKind
    outcome: Outcome
    value: float | None
    category: str | None
    latency_ms: float | None
    cost_micros: int | None
    cost_coverage: CostCoverage

    @property
    def scored(self) -> float | None:
        """The value where the answer was completed and scored."""
        return self.value if self.generation is Generation.COMPLETED else None

    @property
    def state(self) -> str:
        """What became of it, in words, where it has no value."""
        if self.generation is not Generation.COMPLETED:
            kind = self.failure.name if self.failure else self.generation.name
            return kind.lower().replace("_", " ")
        if self.outcome is Outcome.NONE:
            return "not judged"
        return self.outcome.name.lower().replace("_", " ")


@dataclass(frozen=True, slots=True)
class CaseSide:
    revision: UUID
    mean: float | None
    low: float | None
    high: float | None
    repetitions: tuple[Repetition, ...]


@dataclass(frozen=True, slots=True)
class CaseText:
    """What names a case to a reader of content."""

    availability: str
    title: str | None
    source_id: str | None
    tags: tuple[str, ...]
    preview: str = ""
    """The first words of what was asked; read for pages only."""

    @property
    def name(self) -> str:
        return self.title or self.preview or self.source_id or ""


@dataclass(frozen=True, slots=True)
class CaseRow:
    """One paired case, unrounded. `text` is None for readers without the right to content."""

    item: UUID
    candidate: CaseSide
    baseline: CaseSide
    pairs: int
    delta: float | None
    change: Change
    changed_label: bool
    flaky: bool
    generation_error: bool
    judge_error: bool
    abstention: bool
    revision_unknown: bool
    latency_delta_ms: float | None
    cost_delta_micros: float | None
    text: CaseText | None


def rows(paired: Paired, positions: Iterable[int], access: Access, *, previews: bool = False) -> list[CaseRow]:
    """Rows of the given cases; one query, and content is asked for only with the right to it."""
    positions = [int(position) for position in positions]
    if not positions:
        return []
    cases = paired.cases
    candidate, baseline = paired.loaded
    mine = candidate.revisions(cases.candidate_case[positions])
    theirs = baseline.revisions(cases.baseline_case[positions])
    items, texts = names(mine, access, previews=previews)
    found = []
    for position, revision, other in zip(positions, mine, theirs, strict=True):
        found.append(
            CaseRow(
                item=items[revision],
                candidate=CaseSide(
                    revision,
                    _number(cases.candidate_mean[position]),
                    _number(cases.candidate_low[position]),
                    _number(cases.candidate_high[position]),
                    repetitions(candidate, cases.candidate_first[position], cases.candidate_count[position]),
                ),
                baseline=CaseSide(
                    other,
                    _number(cases.baseline_mean[position]),
                    _number(cases.baseline_low[position]),
                    _number(cases.baseline_high[position]),
                    repetitions(baseline, cases.baseline_first[position], cases.baseline_count[position]),
                ),
                pairs=int(cases.pairs[position]),
                delta=_number(cases.delta[position]),
                change=Change(int(cases.change[position])),
                changed_label=bool(cases.changed_label[position]),
                flaky=bool(cases.flaky[position]),
                generation_error=bool(cases.generation_error[position]),
                judge_error=bool(cases.judge_error[position]),
                abstention=bool(cases.abstention[position]),
                revision_unknown=bool(cases.revision_unknown[position]),
                latency_delta_ms=_number(cases.latency_delta_ms[position]),
                cost_delta_micros=_number(cases.cost_delta_micros[position]),
                text=texts.get(revision),
            )
        )
    return found


def every_row(paired: Paired, positions: Index, access: Access) -> Iterator[CaseRow]:
    """All rows of an export, read in batches."""
    for start in range(0, len(positions), BATCH):
        yield from rows(paired, positions[start : start + BATCH], access)


def names(
    revisions: Sequence[UUID], access: Access, *, previews: bool = False
) -> tuple[dict[UUID, UUID], dict[UUID, CaseText]]:
    """The items of revisions, and what names them where the reader may know; one query."""
    if not access.reads_content:
        return dict(ItemRevision.objects.filter(pk__in=revisions).values_list("pk", "item_id")), {}
    fields = ["availability", "title", "source_id", "tags", *(["body"] if previews else [])]
    found = ItemRevision.objects.filter(pk__in=revisions).select_related("itemcontent")
    items, texts = {}, {}
    for revision in found.only("item_id", *(f"itemcontent__{name}" for name in fields)):
        items[revision.pk] = revision.item_id
        content = getattr(revision, "itemcontent", None)
        if content is not None:
            texts[revision.pk] = text_of(content, previews=previews)
    return items, texts


def text_of(content: ItemContent, *, previews: bool = False) -> CaseText:
    if content.availability != Availability.AVAILABLE:
        return CaseText(content.availability, None, None, ())
    return CaseText(
        content.availability,
        content.title or None,
        content.source_id,
        tuple(content.tags or ()),
        preview(content.body) if previews and not content.title else "",
    )


def repetitions(loaded: Loaded, first: int, count: int) -> tuple[Repetition, ...]:
    arm, series = loaded.frozen.arm, loaded.series
    found = []
    for row in range(int(first), int(first) + int(count)):
        coverage = CostCoverage(int(arm.cost_coverage[row]))
        category = int(series.category[row])
        found.append(
            Repetition(
                repetition=int(arm.repetition[row]),
                generation=Generation(int(arm.generation[row])),
                failure=FailureKind(int(arm.failure[row])),
                outcome=Outcome(int(series.outcome[row])),
                value=_number(series.value[row]),
                category=series.categories[category] if category >= 0 else None,
                latency_ms=_number(arm.latency_ms[row]),
                cost_micros=None if coverage is CostCoverage.NONE else int(arm.cost_micros[row]),
                cost_coverage=coverage,
            )
        )
    return tuple(found)


def _number(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None


# --- as exported -------------------------------------------------------------------------------------


def plain_row(row: CaseRow) -> dict[str, Any]:
    """One row of the API and of the JSON export; without the right to content it has no content fields."""
    found: dict[str, Any] = {
        "item_id": str(row.item),
        **{side: _plain_side(getattr(row, side)) for side in ("candidate", "baseline")},
        "pairs": row.pairs,
        "delta": row.delta,
        "change": row.change.name.lower(),
        **{name: getattr(row, name) for name in _FLAGS},
        "latency_delta_ms": row.latency_delta_ms,
        "cost_delta_micros": row.cost_delta_micros,
    }
    if row.text is not None:
        found |= {
            "title": row.text.title,
            "source_id": row.text.source_id,
            "tags": list(row.text.tags),
            "content": row.text.availability,
        }
    return found


_FLAGS = ("changed_label", "flaky", "generation_error", "judge_error", "abstention", "revision_unknown")


def _plain_side(side: CaseSide) -> dict[str, Any]:
    return {
        "item_revision_id": str(side.revision),
        "mean": side.mean,
        "low": side.low,
        "high": side.high,
        "repetitions": [
            {
                "repetition": one.repetition,
                "generation": one.generation.name.lower(),
                "failure": one.failure.name.lower() if one.failure else None,
                "outcome": one.outcome.name.lower(),
                "value": one.value,
                "category": one.category,
                "latency_ms": one.latency_ms,
                "cost_micros": one.cost_micros,
                "cost_coverage": one.cost_coverage.name.lower(),
            }
            for one in side.repetitions
        ],
    }


# --- rows that do not pair ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class UnmatchedRow:
    side: str
    item: UUID
    revision: UUID
    repetition: int
    reason: str
    state: str
    text: CaseText | None


def unmatched_positions(paired: Paired, side: str, reason: str) -> Index:
    """Positions in the unmatched rows, narrowed to a side and a reason."""
    rows_ = paired.unmatched
    keep = np.ones(len(rows_.row), dtype=bool)
    if side:
        keep &= rows_.side == (0 if side == "candidate" else 1)
    if reason:
        keep &= rows_.reason == (rows_.reasons.index(reason) if reason in rows_.reasons else 255)
    return np.flatnonzero(keep)


def unmatched_rows(paired: Paired, positions: Iterable[int], access: Access) -> list[UnmatchedRow]:
    """The rows of one page of a list on screen; one query."""
    listed = paired.unmatched
    picked = []
    for position in positions:
        side = int(listed.side[position])
        loaded = paired.loaded[side]
        row = int(listed.row[position])
        picked.append((side, loaded, row, loaded.frozen.revision(int(loaded.frozen.arm.case[row])), int(position)))
    items, texts = names([revision for _, _, _, revision, _ in picked], access, previews=True)
    return [
        UnmatchedRow(
            side="baseline" if side else "candidate",
            item=items[revision],
            revision=revision,
            repetition=int(loaded.frozen.arm.repetition[row]),
            reason=listed.reasons[int(listed.reason[position])],
            state=repetitions(loaded, row, 1)[0].state,
            text=texts.get(revision),
        )
        for side, loaded, row, revision, position in picked
    ]


def is_categorical(paired: Paired) -> bool:
    return paired.result.metric.kind is Kind.CATEGORICAL
