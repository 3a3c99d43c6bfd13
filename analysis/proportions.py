"""Pass rates of independent cohorts: confidence of each, and the unpaired test between two.

The unpaired figures are what a scorecard is asked for. Where the cohorts share cases, the paired
comparison leads: on paired data this test is safe but blind (`docs/coverage.md`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis import adequacy
from analysis.hypothesis_tests import two_proportion_z
from analysis.intervals import newcombe, wilson_repeated
from analysis.results import Adequacy

ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class CohortConfidence:
    """One cohort's pass rate. `rate` and the limits are None without a scored case.

    `adequacy` holds the verdict and the detectable drop (80 % power, alpha 0.05); `mde_normal` is the
    textbook figure for comparison, too small above a rate of 0.8 and 0 at none or all passed.
    """

    cases: int
    rate: float | None
    low: float | None
    high: float | None
    adequacy: Adequacy
    mde_normal: float | None


@dataclass(frozen=True, slots=True)
class Significance:
    """Pooled two-proportion z-test of a baseline's pass rate against the candidate's, unpaired.

    `p_value` is None until both sides have an outcome, and where nothing varies; `reason` says which.
    The limits are Newcombe's, of the candidate's rate minus the baseline's.
    """

    p_value: float | None
    significant: bool
    reason: str
    low: float | None
    high: float | None


def confidence(case_shares: NDArray[np.float64], repetitions: float, *, target: float = 0.05) -> CohortConfidence:
    """From the pass share of each scored case (n,), each over `repetitions` runs; `target` is a share."""
    cases, passes = len(case_shares), float(case_shares.sum())
    limits = wilson_repeated(case_shares, repetitions)
    return CohortConfidence(
        cases=cases,
        rate=passes / cases if cases else None,
        low=None if limits is None else limits.low,
        high=None if limits is None else limits.high,
        adequacy=adequacy.adequacy_of_arm(passes, cases, target=target),
        mde_normal=adequacy.mde_normal(passes, cases),
    )


def significance(candidate_shares: NDArray[np.float64], baseline_shares: NDArray[np.float64]) -> Significance:
    """From the pass shares of each side's scored cases; a case counts once, however often it was run."""
    passes, cases = float(candidate_shares.sum()), len(candidate_shares)
    other_passes, other_cases = float(baseline_shares.sum()), len(baseline_shares)
    limits = newcombe(passes, cases, other_passes, other_cases)
    if limits is None:
        return Significance(None, False, "a side has no outcome yet", None, None)
    found = two_proportion_z(passes, cases, other_passes, other_cases)
    if found is None:
        return Significance(None, False, "no variation: all passed or none did", limits.low, limits.high)
    return Significance(found[1], found[1] < ALPHA, "", limits.low, limits.high)
