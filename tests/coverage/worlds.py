"""Simulated evidence whose true difference is known exactly.

Every case has a difficulty that both arms share, and one that is an arm's own; cases are drawn anew
for every data set, so the truth is that of the population the cases come from.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

type Floats = NDArray[np.float64]

PAIRING = {"usual": (1.0, 0.25), "strong": (4.0, 0.1), "none": (0.0, 1.25)}
"""Variance of the difficulty that the arms share, and of what is an arm's own, on the probit scale."""

GRADED_POINTS = 8


@dataclass(frozen=True, slots=True)
class Paired:
    """Case means of both arms, one data set per row, and the true mean difference."""

    candidate: Floats
    baseline: Floats
    truth: float


def generator(*name: object) -> np.random.Generator:
    """Seeded by what is measured, so that cells may run in any order and in any process."""
    return np.random.default_rng(list(hashlib.sha256("/".join(map(str, name)).encode()).digest()))


def passes(datasets: int, cases: int, repetitions: int, rate: float, drop: float, pairing: str) -> Paired:
    """Pass or fail. A case passes with probability Phi(level + shared + own): the mean rates are exact."""
    shared, own = PAIRING[pairing]
    rng = generator("passes", datasets, cases, repetitions, rate, drop, pairing)
    common = rng.normal(0, math.sqrt(shared), (datasets, cases))

    def arm(mean: float) -> Floats:
        level = float(special.ndtri(mean)) * math.sqrt(1 + shared + own)
        chance = special.ndtr(level + common + rng.normal(0, math.sqrt(own), common.shape))
        return np.asarray(rng.binomial(repetitions, chance) / repetitions, dtype=np.float64)

    return Paired(arm(rate - drop), arm(rate), -drop)


def numbers(datasets: int, cases: int, repetitions: int, kind: str, moved: bool) -> Paired:
    """`rubric`: five levels from 0 to 1. `latency`: log-normal seconds, heavy to the right."""
    rng = generator("numbers", datasets, cases, repetitions, kind, moved)
    common = rng.normal(0, 1, (datasets, cases, 1))
    cuts = np.array([-1.5, -0.75, 0.0, 0.75])

    def arm(level: float) -> Floats:
        own = rng.normal(0, 0.5, (datasets, cases, 1))
        noise = rng.normal(0, 0.7, (datasets, cases, repetitions))
        latent = level + common + own + noise
        if kind == "rubric":
            values = np.searchsorted(cuts, latent.ravel()).reshape(latent.shape) / len(cuts)
        else:
            values = np.exp(0.5 * latent)
        return np.asarray(values.mean(axis=2), dtype=np.float64)

    def mean(level: float) -> float:
        variance = 1 + 0.5**2 + 0.7**2
        if kind == "rubric":
            return float(special.ndtr((level - cuts) / math.sqrt(variance)).mean())
        return math.exp(0.5 * level + 0.25 * variance / 2)

    start, step = (0.6, 0.3) if kind == "rubric" else (0.0, 0.2)
    after = start - step if moved else start
    return Paired(arm(after), arm(start), mean(after) - mean(start))


def grouped(datasets: int, sizes: tuple[int, ...], share: float) -> tuple[Paired, NDArray[np.int64]]:
    """Pass or fail, no difference; `share` of what is an arm's own is shared by the cases of a group."""
    rng = generator("grouped", datasets, *sizes, share)
    keys = np.repeat(np.arange(len(sizes)), sizes)
    common = rng.normal(0, 1, (datasets, len(keys)))

    def arm() -> Floats:
        of_group = rng.normal(0, math.sqrt(share), (datasets, len(sizes)))[:, keys]
        own = rng.normal(0, math.sqrt(1 - share), common.shape)
        level = float(special.ndtri(0.8)) * math.sqrt(3)
        return np.asarray(rng.random(common.shape) < special.ndtr(level + common + of_group + own), dtype=np.float64)

    return Paired(arm(), arm(), 0.0), keys


def graded(datasets: int, runs: int, moved: bool) -> Paired:
    """Independent runs of one case, each with a score out of eight points; nothing pairs."""
    rng = generator("graded", datasets, runs, moved)

    def arm(first: float) -> Floats:
        chance = rng.beta(first, 1.5, (datasets, runs))
        return np.asarray(rng.binomial(GRADED_POINTS, chance) / GRADED_POINTS, dtype=np.float64)

    candidate = 2.5 if moved else 4.0
    return Paired(arm(candidate), arm(4.0), candidate / (candidate + 1.5) - 4.0 / 5.5)
