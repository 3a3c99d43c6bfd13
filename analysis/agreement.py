"""How far a grader agrees with people, and what its errors do to a rate. For calibration.

Two raters judge the same cases; a case that either of them left out is missing, never a category.
No single coefficient serves: at a prevalence of 94 %, kappa falls to 0.23 where 90 % agree, so the
share of agreement, kappa, AC1 and alpha stand side by side.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from analysis.intervals import Z95, Limits, wilson

ROUNDING = 1e-7  # the square root of what rounding leaves of a variance that is zero

type Ratings = NDArray[np.float64]
type Level = Literal["nominal", "ordinal", "interval"]


@dataclass(frozen=True, slots=True)
class Kappa:
    """Cohen's kappa with its large-sample standard error and 95 % limits, held inside -1 and 1.

    No limits where the error is zero (all agree): a width of zero would claim a certainty that no
    sample gives. Below 100 cases they are too narrow (`docs/coverage.md`).
    """

    value: float
    error: float
    limits: Limits | None


@dataclass(frozen=True, slots=True)
class Share:
    """`hits` of `of` cases with its Wilson limits; `value` is None where there is no case to count."""

    hits: int
    of: int
    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Errors:
    """How a pass/fail judge errs against people: shares of the people's passes and fails that it confirms.

    `attenuation` is the factor by which a true difference of two arms shrinks under this judge; None
    where people passed everything or nothing.
    """

    sensitivity: Share
    specificity: Share
    attenuation: float | None


@dataclass(frozen=True, slots=True)
class Calibration:
    """A grader against people on the cases that both rated.

    `pairs` were rated by both, `unpaired` by one of them only. Every coefficient is None where it is
    undefined: no pair, or (kappa, alpha) a single category in use.
    """

    pairs: int
    unpaired: int
    agreement: Share
    kappa: Kappa | None
    ac1: float | None
    alpha: float | None
    alpha_level: Level
    errors: Errors | None
    """Only for pass or fail."""


def calibrate(human: Ratings, judge: Ratings, *, level: Level, pass_or_fail: bool) -> Calibration:
    """Everything that two columns of ratings (n,) say about each other; NaN where a rater gave none."""
    first, second = paired_ratings(human, judge)
    given = ~(np.isnan(human) & np.isnan(judge))
    return Calibration(
        pairs=len(first),
        unpaired=int(given.sum()) - len(first),
        agreement=share(int((first == second).sum()), len(first)),
        kappa=cohen_kappa(first, second),
        ac1=gwet_ac1(first, second),
        alpha=krippendorff_alpha(np.stack((human, judge)), level),
        alpha_level=level,
        errors=judge_errors(first, second) if pass_or_fail else None,
    )


def paired_ratings(first: Ratings, second: Ratings) -> tuple[Ratings, Ratings]:
    """The cases that both have rated, in their order."""
    if len(first) != len(second):
        raise ValueError("Both raters have one entry per case.")
    if np.isinf(first).any() or np.isinf(second).any():
        raise ValueError("A rating is a finite number, or NaN where there is none.")
    both = ~(np.isnan(first) | np.isnan(second))
    return first[both], second[both]


def share(hits: int, of: int) -> Share:
    """A share with its Wilson limits."""
    limits = wilson(hits, of)
    if limits is None:
        return Share(hits, of, None, None, None)
    return Share(hits, of, hits / of, limits.low, limits.high)


def cohen_kappa(first: Ratings, second: Ratings) -> Kappa | None:
    """Agreement beyond the chance that both raters' own habits would give; None where that chance is 1.

    Cohen (1960), Educational and Psychological Measurement 20, 37-46; large-sample variance of
    Fleiss, Cohen & Everitt (1969), Psychological Bulletin 72, 323-327.
    """
    first, second = paired_ratings(first, second)
    table = _table(first, second)
    if not table.size:
        return None
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    by_chance = float(rows @ columns)
    if by_chance >= 1:
        return None
    same = np.diag(table)
    kappa = (float(same.sum()) - by_chance) / (1 - by_chance)
    # Row and column shares that meet in a cell, crosswise as the variance has them.
    crossed = columns[:, None] + rows[None, :]
    agreed = float((same * (1 - np.diag(crossed) * (1 - kappa)) ** 2).sum())
    differed = (1 - kappa) ** 2 * float((table * crossed**2).sum() - (same * np.diag(crossed) ** 2).sum())
    excess = (kappa - by_chance * (1 - kappa)) ** 2
    error = math.sqrt(max(0.0, agreed + differed - excess) / len(first)) / (1 - by_chance)
    if error < ROUNDING:
        return Kappa(kappa, 0.0, None)
    return Kappa(kappa, error, Limits(max(-1.0, kappa - Z95 * error), min(1.0, kappa + Z95 * error)))


def gwet_ac1(first: Ratings, second: Ratings, categories: int | None = None) -> float | None:
    """Agreement beyond chance that keeps its meaning where nearly all cases are of one category.

    `categories` is how many the scale has; without it those in use count, two at least. None without
    a pair. Gwet (2008), British Journal of Mathematical and Statistical Psychology 61, 29-48.
    """
    first, second = paired_ratings(first, second)
    table = _table(first, second)
    if not table.size:
        return None
    size = max(2, len(table), categories or 0)
    usual = (table.sum(axis=1) + table.sum(axis=0)) / 2
    by_chance = float((usual * (1 - usual)).sum()) / (size - 1)
    return (float(np.trace(table)) - by_chance) / (1 - by_chance)


def krippendorff_alpha(ratings: Ratings, level: Level) -> float | None:
    """Agreement of any number of raters (rows) over the same cases (columns); NaN where one did not rate.

    Cases with fewer than two ratings do not count. None where all ratings that count are equal: then
    no disagreement was possible. Krippendorff (2019), Content Analysis, 4th edition, chapter 12.
    """
    if np.isinf(ratings).any():
        raise ValueError("A rating is a finite number, or NaN where there is none.")
    counted = ratings[:, (~np.isnan(ratings)).sum(axis=0) >= 2]
    values = np.unique(counted[~np.isnan(counted)])
    if len(values) < 2:
        return None
    # counts[c, u]: how many raters gave case u the value c
    counts = np.stack([(counted == value).sum(axis=0) for value in values]).astype(np.float64)
    per_case = counts.sum(axis=0)
    coincidence = (counts / (per_case - 1)) @ counts.T - np.diag((counts / (per_case - 1)).sum(axis=1))
    usual = coincidence.sum(axis=1)
    distance = _squared_distance(values, usual, level)
    observed = float((coincidence * distance).sum())
    expected = float((np.outer(usual, usual) * distance).sum()) / (float(usual.sum()) - 1)
    return 1 - observed / expected


def _squared_distance(values: Ratings, usual: Ratings, level: Level) -> NDArray[np.float64]:
    if level == "nominal":
        return 1.0 - np.eye(len(values))
    if level == "interval":
        return (values[:, None] - values[None, :]) ** 2
    # Ordinal: how many ratings lie between the two values, half of each end's own.
    middle = np.cumsum(usual) - usual / 2
    return (middle[:, None] - middle[None, :]) ** 2


def _table(first: Ratings, second: Ratings) -> NDArray[np.float64]:
    """Shares of each pair of categories; empty without a pair."""
    values, place = np.unique(np.concatenate((first, second)), return_inverse=True)
    size, pairs = len(values), len(first)
    if not pairs:
        return np.empty((0, 0))
    cells = np.bincount(place[:pairs] * size + place[pairs:], minlength=size * size)
    return cells.reshape(size, size) / pairs


def judge_errors(human: Ratings, judge: Ratings) -> Errors:
    """Sensitivity and specificity of a pass/fail judge, with people's ratings (0 or 1) as the truth."""
    human, judge = paired_ratings(human, judge)
    if not (np.isin(human, (0, 1)).all() and np.isin(judge, (0, 1)).all()):
        raise ValueError("Sensitivity needs ratings that are 0 or 1.")
    passed, failed = human == 1, human == 0
    sensitivity = share(int((judge[passed] == 1).sum()), int(passed.sum()))
    specificity = share(int((judge[failed] == 0).sum()), int(failed.sum()))
    known = sensitivity.value is not None and specificity.value is not None
    return Errors(
        sensitivity,
        specificity,
        attenuation(sensitivity.value or 0.0, specificity.value or 0.0) if known else None,
    )


def attenuation(sensitivity: float, specificity: float) -> float:
    """What is left of a true difference of two arms under one judge: sensitivity + specificity - 1.

    Zero or less says that the judge does not tell passes from fails.
    """
    for name, value in (("sensitivity", sensitivity), ("specificity", specificity)):
        if not 0 <= value <= 1:
            raise ValueError(f"The {name} lies between 0 and 1.")
    return sensitivity + specificity - 1


def corrected_rate(judge_rate: float, sensitivity: float, specificity: float) -> float | None:
    """The pass rate behind a judge's pass rate, held inside 0 and 1; None if the judge does not discriminate.

    Rogan & Gladen (1978), American Journal of Epidemiology 107, 71-76.
    """
    if not 0 <= judge_rate <= 1:
        raise ValueError("A rate lies between 0 and 1.")
    left = attenuation(sensitivity, specificity)
    if left <= 0:
        return None
    return min(1.0, max(0.0, (judge_rate + specificity - 1) / left))


def corrected_limits(
    judge_passes: float, cases: float, sensitivity: tuple[int, int], specificity: tuple[int, int], z: float = Z95
) -> Limits | None:
    """Limits of the corrected rate that carry the uncertainty of sensitivity and specificity as well.

    These are given as (hits, of) from the calibration set, which must not share cases with the
    `cases` judged. None without cases on any side, or if the judge does not discriminate.
    Lang & Reiczigel (2014), Preventive Veterinary Medicine 113, 13-22.
    """
    for hits, of in ((judge_passes, cases), sensitivity, specificity):
        if not 0 <= hits <= of:
            raise ValueError("Passes lie between 0 and the number of cases.")
    if not (cases and sensitivity[1] and specificity[1]):
        return None
    size, passes, fails = cases + z * z, sensitivity[1] + 2, specificity[1] + 2
    rate = (judge_passes + z * z / 2) / size
    sure, strict = (sensitivity[0] + 1) / passes, (specificity[0] + 1) / fails
    left = sure + strict - 1
    if left <= 0:
        return None
    corrected = (rate + strict - 1) / left
    of_passes, of_fails = sure * (1 - sure) / passes, strict * (1 - strict) / fails
    centre = corrected + 2 * z * z * (corrected * of_passes - (1 - corrected) * of_fails)
    variance = rate * (1 - rate) / size + corrected**2 * of_passes + (1 - corrected) ** 2 * of_fails
    half = z * math.sqrt(variance) / left
    return Limits(min(1.0, max(0.0, centre - half)), max(0.0, min(1.0, centre + half)))
