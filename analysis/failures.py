"""Failure classes of a candidate against its baselines, case by case."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray


class FailureClass(IntEnum):
    """A case of the candidate beside the same case of the baselines. NOT_SCORED is none of the four."""

    NOT_SCORED = 0
    AGREE = 1
    IMPROVED = 2
    REGRESSED = 3
    BOTH_WRONG = 4


@dataclass(frozen=True, slots=True)
class FailureCounts:
    regressions: int
    improvements: int
    both_wrong: int
    agree: int
    not_scored: int

    @property
    def diverged(self) -> int:
        return self.regressions + self.improvements


def classify(candidate: NDArray[np.float64], baselines: NDArray[np.float64]) -> NDArray[np.uint8]:
    """The class of each case: `candidate` (n,) and `baselines` (k, n) hold 1 passed, 0 failed, NaN not scored.

    Improved: the candidate passed and some baseline did not. Regressed: it failed and some baseline
    passed. Both wrong: it and every baseline failed. Agree: all passed. A baseline that was not scored
    has no say; without a scored candidate or any scored baseline there is no class.
    """
    if baselines.ndim != 2 or baselines.shape[1:] != candidate.shape:
        raise ValueError("Every baseline has one entry per case of the candidate.")
    for values in (candidate, baselines):
        if not (np.isnan(values) | (values == 0) | (values == 1)).all():
            raise ValueError("A case passed (1), failed (0) or was not scored (NaN); shares are decided before.")
    some_passed, some_failed = (baselines == 1).any(axis=0), (baselines == 0).any(axis=0)
    found = np.full(len(candidate), FailureClass.NOT_SCORED, dtype=np.uint8)
    passed, failed = candidate == 1, candidate == 0
    found[passed & some_passed & ~some_failed] = FailureClass.AGREE
    found[passed & some_failed] = FailureClass.IMPROVED
    found[failed & some_passed] = FailureClass.REGRESSED
    found[failed & some_failed & ~some_passed] = FailureClass.BOTH_WRONG
    return found


def count(classes: NDArray[np.uint8]) -> FailureCounts:
    """How many cases are of each class."""
    counts = np.bincount(classes, minlength=len(FailureClass))
    return FailureCounts(
        regressions=int(counts[FailureClass.REGRESSED]),
        improvements=int(counts[FailureClass.IMPROVED]),
        both_wrong=int(counts[FailureClass.BOTH_WRONG]),
        agree=int(counts[FailureClass.AGREE]),
        not_scored=int(counts[FailureClass.NOT_SCORED]),
    )
