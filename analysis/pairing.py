"""Which executions pair. One function decides it; everything counts from its answer.

Inside one arm a source id is one case. Two arms' cases pair by source digest; two captured contents
that differ are revised and never pair; a content that was not captured on a side pairs, and is
flagged. Inside a paired case, repetitions pair by number. Nothing else pairs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.observations import Arm

MISSING, REVISED, REPETITION_COUNT = 0, 1, 2
REASONS = ("missing", "revised", "repetition_count")
"""Why a row has no partner: its case, its content or its repetition is not on the other side."""


@dataclass(frozen=True, slots=True)
class Unpaired:
    """Rows of one arm without a partner; `reason` indexes REASONS."""

    row: NDArray[np.int32]
    reason: NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Pairing:
    """`*_case` (m): the paired cases as indices into each arm's cases, in case-key order.

    `*_row` (p): the paired rows, in case then repetition order; `case_of_pair` (p) indexes the paired
    cases, ascending. A paired case may have no paired row.
    """

    candidate_case: NDArray[np.int32]
    baseline_case: NDArray[np.int32]
    revision_unknown: NDArray[np.bool_]
    candidate_row: NDArray[np.int32]
    baseline_row: NDArray[np.int32]
    case_of_pair: NDArray[np.int32]
    candidate_unpaired: Unpaired
    baseline_unpaired: Unpaired
    cases: int
    """Distinct cases over both arms, paired or not."""


def pair(candidate: Arm, baseline: Arm) -> Pairing:
    """Pair two arms; swapping them swaps the answer and changes nothing else."""
    found, place = _find(candidate.source, baseline.source)
    left, right = np.flatnonzero(found).astype(np.int32), place[found].astype(np.int32)
    words, other = _words(candidate.content)[left], _words(baseline.content)[right]
    unknown = ~words.any(axis=1) | ~other.any(axis=1)
    revised = ~unknown & (words != other).any(axis=1)

    kept = ~revised
    candidate_pair, baseline_pair = left[kept], right[kept]
    candidate_state = _state(len(candidate.source), left[revised], candidate_pair)
    baseline_state = _state(len(baseline.source), right[revised], baseline_pair)
    candidate_rows, candidate_keys = _keys(candidate, candidate_state)
    baseline_rows, baseline_keys = _keys(baseline, baseline_state)
    hit, position = _find_sorted(candidate_keys, baseline_keys)
    back = np.zeros(len(baseline_keys), dtype=bool)
    back[position[hit]] = True
    return Pairing(
        candidate_case=candidate_pair,
        baseline_case=baseline_pair,
        revision_unknown=unknown[kept],
        candidate_row=candidate_rows[hit],
        baseline_row=baseline_rows[position[hit]],
        case_of_pair=(candidate_keys[hit] >> 32).astype(np.int32),
        candidate_unpaired=_unpaired(candidate, candidate_state, candidate_rows[~hit]),
        baseline_unpaired=_unpaired(baseline, baseline_state, baseline_rows[~back]),
        cases=len(candidate.source) + len(baseline.source) - len(left),
    )


_ABSENT, _REVISED = -1, -2


def _state(cases: int, revised: NDArray[np.int32], paired: NDArray[np.int32]) -> NDArray[np.int64]:
    """Per case of an arm: the number of its paired case, or why it has none."""
    state = np.full(cases, _ABSENT, dtype=np.int64)
    state[revised] = _REVISED
    state[paired] = np.arange(len(paired))
    return state


def _keys(arm: Arm, state: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Rows of paired cases and their (paired case, repetition) as one ascending number."""
    of_row = state[arm.case]
    rows = np.flatnonzero(of_row >= 0).astype(np.int32)
    return rows, (of_row[rows] << 32) | arm.repetition[rows]


def _unpaired(arm: Arm, state: NDArray[np.int64], without_partner: NDArray[np.int32]) -> Unpaired:
    of_row = state[arm.case]
    reason = np.full(len(arm.case), 255, dtype=np.uint8)
    reason[of_row == _ABSENT] = MISSING
    reason[of_row == _REVISED] = REVISED
    reason[without_partner] = REPETITION_COUNT
    rows = np.flatnonzero(reason != 255).astype(np.int32)
    return Unpaired(rows, reason[rows])


def _find(needles: NDArray[np.bytes_], sources: NDArray[np.bytes_]) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Where each digest stands among `sources` (both strictly ascending), and whether it does."""
    words, others = _words(needles), _words(sources)
    prefix, other = words[:, 0], others[:, 0]
    if (prefix[1:] == prefix[:-1]).any() or (other[1:] == other[:-1]).any():
        # Two digests with the same first eight bytes: compare whole byte strings, slowly.
        position = np.searchsorted(sources, needles)
        inside = position < len(sources)
        found = np.zeros(len(needles), dtype=bool)
        found[inside] = sources[position[inside]] == needles[inside]
        return found, position
    found, position = _find_sorted(prefix, other)
    found[found] = (words[found] == others[position[found]]).all(axis=1)
    return found, position


def _find_sorted[Key: np.generic](
    needles: NDArray[Key], keys: NDArray[Key]
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    if np.array_equal(needles, keys):
        return np.ones(len(keys), dtype=bool), np.arange(len(keys))
    position = np.searchsorted(keys, needles)
    found = np.zeros(len(needles), dtype=bool)
    inside = position < len(keys)
    found[inside] = keys[position[inside]] == needles[inside]
    return found, position


def _words(digests: NDArray[np.bytes_]) -> NDArray[np.uint64]:
    """An 'S32' column as (n, 4) numbers whose order is the order of the bytes; all zero where empty."""
    flat = np.ascontiguousarray(digests, dtype="S32")
    return flat.view(">u8").reshape(len(flat), 4).astype(np.uint64)
