"""Everything one case says on both sides, for a reader of content: what was asked, answered and judged.

Only the original pinned revisions and the selected pass and grader version are read, never the newest.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np

from analysis import word_diff
from analysis.word_diff import Piece
from comparisons import cases
from comparisons.cases import CaseText, Repetition
from comparisons.evidence import Loaded
from comparisons.lenses.paired import Paired
from datasets.models import Item, ItemContent, ItemRevision
from datasets.queries import Readable, content_of
from grading.models import Judgment, Reasoning
from runs.models import Answer, Execution
from teams.access import Access
from teams.permissions import Right
from teams.records import Availability
from teams.refusals import Refusal

SIDES = ("candidate", "baseline")


@dataclass(frozen=True, slots=True)
class CaseSideFile:
    """One side of one case and repetition. `gone` says why something that was there cannot be read."""

    side: str
    label: str
    experiment: UUID
    pass_number: int
    grader: str
    revision: UUID
    repetition: Repetition | None
    position: int | None
    text: str | None
    structured: str
    error: str | None
    gone: str
    reasoning: str | None
    reasoning_error: str | None
    reasoning_gone: str
    pieces: tuple[Piece, ...]
    diff_by: str

    @property
    def code_id(self) -> str:
        return f"raw-{self.side}"


@dataclass(frozen=True, slots=True)
class CaseFile:
    """A case of a comparison. A side is None where that experiment has no such case."""

    item: UUID
    position: int | None
    """Among the paired cases; None for a case that does not pair."""
    text: CaseText | None
    repetition: int
    repetitions: tuple[int, ...]
    asked: dict[str, Readable]
    revised: bool
    """The two sides were asked different contents."""
    candidate: CaseSideFile | None
    baseline: CaseSideFile | None

    @property
    def sides(self) -> tuple[CaseSideFile, ...]:
        return tuple(side for side in (self.candidate, self.baseline) if side is not None)


def open_case(paired: Paired, access: Access, item: str, repetition: str) -> CaseFile:
    """The case file of an item; refused as missing where neither experiment holds it."""
    access.require(Right.EVALUATION_CONTENT_READ)
    found = access.find(Item.objects.select_related("dataset"), team="dataset__team", pk=item)
    digest = bytes(found.source_digest)
    at = [_case_of(loaded, digest) for loaded in paired.loaded]
    if at == [None, None]:
        raise Refusal("not_found")
    per_side = [
        _repetitions(loaded, case) if case is not None else {} for loaded, case in zip(paired.loaded, at, strict=True)
    ]
    numbers = tuple(sorted(set(per_side[0]) | set(per_side[1])))
    chosen = _chosen_repetition(repetition, numbers, per_side)
    rows = [_row(loaded, case, chosen) for loaded, case in zip(paired.loaded, at, strict=True)]
    answers = _answers(paired.loaded, rows)
    texts = [answer.text if answer and answer.availability == Availability.AVAILABLE else None for answer in answers]
    mine, theirs = texts
    difference = word_diff.diff(theirs, mine) if mine is not None and theirs is not None else None
    reasons = _reasonings(paired.loaded, rows)
    made: list[CaseSideFile | None] = []
    asked: dict[str, Readable] = {}
    revisions: list[UUID | None] = []
    positions = _positions(paired.loaded, rows)
    for index, (side, loaded, case) in enumerate(zip(SIDES, paired.loaded, at, strict=True)):
        if case is None:
            made.append(None)
            revisions.append(None)
            continue
        revision = loaded.frozen.revision(case)
        revisions.append(revision)
        asked[side] = content_of(revision)
        pieces: tuple[Piece, ...] = ()
        if difference is not None:
            pieces = difference.after if side == "candidate" else difference.before
        made.append(
            _side_file(
                side,
                loaded,
                revision,
                per_side[index].get(chosen),
                positions[index],
                answers[index],
                reasons[index],
                pieces,
                difference.by if difference else "",
            )
        )
    revised = None not in revisions and revisions[0] != revisions[1]
    content = next((readable.content for readable in asked.values() if readable.content is not None), None)
    return CaseFile(
        item=found.pk,
        position=_paired_position(paired, at),
        text=cases.text_of(content, previews=True) if isinstance(content, ItemContent) else None,
        repetition=chosen,
        repetitions=numbers,
        asked=asked,
        revised=revised,
        candidate=made[0],
        baseline=made[1],
    )


def _case_of(loaded: Loaded, digest: bytes) -> int | None:
    source = loaded.frozen.arm.source
    place = int(np.searchsorted(source, np.bytes_(digest)))
    padded = digest.rstrip(b"\0")
    return place if place < len(source) and source[place] == padded else None


def _repetitions(loaded: Loaded, case: int) -> dict[int, Repetition]:
    of = loaded.frozen.arm.case
    first, end = np.searchsorted(of, [case, case + 1])
    return {one.repetition: one for one in cases.repetitions(loaded, int(first), int(end - first))}


def _chosen_repetition(asked: str, numbers: tuple[int, ...], per_side: list[dict[int, Repetition]]) -> int:
    """The asked one, else the first where the two sides differ, else the first."""
    if asked:
        if not (asked.isascii() and asked.isdecimal() and len(asked) <= 9 and int(asked) in numbers):
            raise Refusal("not_found")
        return int(asked)
    both = [number for number in numbers if all(number in side for side in per_side)]
    for number in both:
        one, other = (side[number] for side in per_side)
        if (one.scored, one.category, one.generation) != (other.scored, other.category, other.generation):
            return number
    return both[0] if both else numbers[0]


def _row(loaded: Loaded, case: int | None, repetition: int) -> int | None:
    if case is None:
        return None
    arm = loaded.frozen.arm
    first, end = (int(edge) for edge in np.searchsorted(arm.case, [case, case + 1]))
    place = first + int(np.searchsorted(arm.repetition[first:end], repetition))
    return place if place < end and arm.repetition[place] == repetition else None


def _executions(loaded: tuple[Loaded, Loaded], rows: list[int | None]) -> list[int | None]:
    return [None if row is None else int(side.frozen.executions[row]) for side, row in zip(loaded, rows, strict=True)]


def _answers(loaded: tuple[Loaded, Loaded], rows: list[int | None]) -> list[Answer | None]:
    ids = _executions(loaded, rows)
    found = Answer.objects.in_bulk([one for one in ids if one is not None])
    return [None if one is None else found.get(one) for one in ids]


def _positions(loaded: tuple[Loaded, Loaded], rows: list[int | None]) -> list[int | None]:
    ids = _executions(loaded, rows)
    found = dict(Execution.objects.filter(pk__in=[one for one in ids if one is not None]).values_list("pk", "position"))
    return [None if one is None else found.get(one) for one in ids]


def _reasonings(loaded: tuple[Loaded, Loaded], rows: list[int | None]) -> list[Reasoning | None]:
    """The selected grader's reasoning on each side, by exact pass and version."""
    ids = _executions(loaded, rows)
    judgments = Judgment.objects.filter(
        execution_id__in=[one for one in ids if one is not None],
        grading_pass_id__in=[side.chosen.grading_pass.pk for side in loaded],
        version_id__in=[side.chosen.version.pk for side in loaded],
    ).select_related("reasoning")
    by_key = {(one.execution_id, one.grading_pass_id, one.version_id): one for one in judgments}
    found: list[Reasoning | None] = []
    for side, execution in zip(loaded, ids, strict=True):
        judgment = by_key.get((execution or 0, side.chosen.grading_pass.pk, side.chosen.version.pk))
        found.append(getattr(judgment, "reasoning", None) if judgment else None)
    return found


def _side_file(
    side: str,
    loaded: Loaded,
    revision: UUID,
    repetition: Repetition | None,
    position: int | None,
    answer: Answer | None,
    reasoning: Reasoning | None,
    pieces: tuple[Piece, ...],
    diff_by: str,
) -> CaseSideFile:
    chosen = loaded.chosen
    readable = answer is not None and answer.availability == Availability.AVAILABLE
    explained = reasoning is not None and reasoning.availability == Availability.AVAILABLE
    return CaseSideFile(
        side=side,
        label=chosen.label,
        experiment=chosen.experiment.pk,
        pass_number=chosen.grading_pass.number,
        grader=f"{chosen.version.grader.name} v{chosen.version.number}",
        revision=revision,
        repetition=repetition,
        position=position,
        text=answer.text if answer is not None and readable else None,
        structured=_json(answer) if answer is not None and readable else "",
        error=answer.error if answer is not None and readable else None,
        gone="" if answer is None or readable else answer.availability,
        reasoning=reasoning.text if reasoning is not None and explained else None,
        reasoning_error=reasoning.error if reasoning is not None and explained else None,
        reasoning_gone="" if reasoning is None or explained else reasoning.availability,
        pieces=pieces,
        diff_by=diff_by,
    )


def _json(answer: Answer) -> str:
    """The answer as it is held, structured fields and empty text included."""
    held: dict[str, Any] = {"text": answer.text, "structured": answer.structured, "error": answer.error}
    return json.dumps(held, indent=2, ensure_ascii=False)


def _paired_position(paired: Paired, at: list[int | None]) -> int | None:
    if None in at:
        return None
    places: cases.Index = np.flatnonzero((paired.cases.candidate_case == at[0]) & (paired.cases.baseline_case == at[1]))
    return int(places[0]) if len(places) else None


def neighbours(paired: Paired, file: CaseFile, listing: cases.Listing) -> tuple[UUID | None, UUID | None, int, int]:
    """The items before and after in the listed order, the place and the number of cases there."""
    order = cases.ordered(paired, listing)
    places = np.flatnonzero(order == (-1 if file.position is None else file.position))
    if not len(places):
        return None, None, 0, len(order)
    place = int(places[0])
    around = [order[index] if 0 <= index < len(order) else None for index in (place - 1, place + 1)]
    candidate = paired.loaded[0]
    revisions = [
        None if position is None else candidate.frozen.revision(int(paired.cases.candidate_case[position]))
        for position in around
    ]
    items = dict(
        ItemRevision.objects.filter(pk__in=[one for one in revisions if one is not None]).values_list("pk", "item_id")
    )
    before, after = (None if one is None else items.get(one) for one in revisions)
    return before, after, place + 1, len(order)
