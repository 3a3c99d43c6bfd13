"""A paired comparison as files: the same result object and the same rows as the screen, in its order.

Without the right to content there are no content columns; file names are made of numbers either way.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from django.http import HttpResponseBase, StreamingHttpResponse

from analysis.observations import CostCoverage
from analysis.results import plain
from analysis.verdicts.paired import Verdicts
from comparisons.cases import CaseRow, CaseSide, Listing, Repetition, every_row, ordered, plain_row
from comparisons.lenses import verdict
from comparisons.lenses.paired import Paired
from teams import csv_export
from teams.access import Access

FORMATS = ("json", "csv")
_FLAGS = ("changed_label", "flaky", "generation_error", "judge_error", "abstention", "revision_unknown")
_SIDE_COLUMNS = (
    *("item_revision_id", "mean", "low", "high", "scored", "repetitions", "outcomes"),
    *("generation_cost_micros", "generation_cost_coverage"),
)
_VERDICT_COLUMNS = ("claim", "claim_verdict", "watermark")
"""The same in every row, so that a row that is copied elsewhere still says what it may be used for."""
_CONTENT_COLUMNS = ("title", "source_id", "tags", "content")


def name_of(paired: Paired) -> str:
    """A neutral file name: experiment numbers and the selection's fingerprint."""
    mine, other = paired.resolved.candidate.experiment, paired.resolved.baseline.experiment
    return f"comparison-{mine.number}-{other.number}-{paired.selection.fingerprint[:8]}"


def head(paired: Paired) -> dict[str, Any]:
    """What API and JSON export both begin with."""
    selection = paired.selection
    return {
        "selection": {**selection.plain(), "fingerprint": selection.fingerprint},
        "result": plain(paired.result),
        "verdict": verdict.verdicts(paired).to_dict(),
    }


def as_json(paired: Paired, listing: Listing, access: Access) -> HttpResponseBase:
    answer = StreamingHttpResponse(_json_pieces(paired, listing, access), content_type="application/json")
    answer["Content-Disposition"] = f'attachment; filename="{name_of(paired)}.json"'
    return answer


def _json_pieces(paired: Paired, listing: Listing, access: Access) -> Iterator[str]:
    order = ordered(paired, listing)
    start = {
        **head(paired),
        "listing": {**{k: v for k, v in listing.parameters(page=False).items() if v is not None}, "count": len(order)},
    }
    text = json.dumps(start, ensure_ascii=False, allow_nan=False)
    yield text[:-1] + ', "cases": ['
    first = True
    for row in every_row(paired, order, access):
        yield ("" if first else ",\n") + json.dumps(plain_row(row), ensure_ascii=False, allow_nan=False)
        first = False
    yield "]}"


def as_csv(paired: Paired, listing: Listing, access: Access) -> HttpResponseBase:
    columns = [
        "item_id",
        *(_CONTENT_COLUMNS if access.reads_content else ()),
        *(f"{side}_{column}" for side in ("candidate", "baseline") for column in _SIDE_COLUMNS),
        *("pairs", "delta", "change", *_FLAGS, "latency_delta_ms", "generation_cost_delta_micros"),
        *_VERDICT_COLUMNS,
    ]
    said = verdict.verdicts(paired)
    rows = (
        _csv_row(row, said, content=access.reads_content) for row in every_row(paired, ordered(paired, listing), access)
    )
    return csv_export.response(name_of(paired), columns, rows)


def _csv_row(row: CaseRow, said: Verdicts, *, content: bool) -> Iterator[Any]:
    yield row.item
    if content:
        text = row.text
        yield from (
            (text.title, text.source_id, ", ".join(text.tags), text.availability) if text else (None, None, None, None)
        )
    for side in (row.candidate, row.baseline):
        yield from _csv_side(side)
    yield row.pairs
    yield row.delta
    yield row.change.name.lower()
    for flag in _FLAGS:
        yield getattr(row, flag)
    yield row.latency_delta_ms
    yield row.cost_delta_micros
    yield said.headline_claim.claim
    yield str(said.headline_claim.final)
    yield said.watermark


def _said(one: Repetition) -> str:
    if one.category is not None:
        return one.category
    return one.state if one.scored is None else repr(one.scored)


def _csv_side(side: CaseSide) -> Iterator[Any]:
    repetitions = side.repetitions
    yield side.revision
    yield side.mean
    yield side.low
    yield side.high
    yield sum(1 for one in repetitions if one.scored is not None or one.category is not None)
    yield len(repetitions)
    yield "; ".join(f"{one.repetition}: {_said(one)}" for one in repetitions)
    known = [one.cost_micros for one in repetitions if one.cost_micros is not None]
    complete = all(one.cost_coverage is CostCoverage.COMPLETE for one in repetitions)
    yield sum(known) if known else None
    yield "complete" if complete and known else "partial" if known else "none"
