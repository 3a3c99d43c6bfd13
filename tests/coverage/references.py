"""Formulas that Evenhand does not offer, for comparison: each from a paired table or a share.

`tests/analysis/test_coverage.py` holds them to the reference vectors where there are any.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special, stats

from analysis.intervals import Z95, Limits, wilson


def wald(gain: int, loss: int, cases: int) -> Limits:
    """Normal limits around the observed difference."""
    return _around(gain / cases, loss / cases, cases)


def agresti_min(gain: int, loss: int, cases: int) -> Limits:
    """Wald with half a case added to each of the four cells. Agresti & Min (2005)."""
    return _around((gain + 0.5) / (cases + 2), (loss + 0.5) / (cases + 2), cases + 2)


def bonett_price(gain: int, loss: int, cases: int) -> Limits:
    """Wald with one case added to each discordant cell. Bonett & Price (2012)."""
    return _around((gain + 1) / (cases + 2), (loss + 1) / (cases + 2), cases + 2)


def _around(gain: float, loss: float, size: float) -> Limits:
    half = Z95 * math.sqrt(max(0.0, gain + loss - (gain - loss) ** 2) / size)
    return Limits(gain - loss - half, gain - loss + half)


def newcombe_paired(both: int, gain: int, loss: int, cases: int) -> Limits:
    """Wilson limits squared and added, with the correlation of the pairs. Newcombe (1998), method 10."""
    first, second = wilson(both + gain, cases), wilson(both + loss, cases)
    assert first is not None
    assert second is not None
    neither = cases - both - gain - loss
    product = (both + gain) * (loss + neither) * (both + loss) * (gain + neither)
    cross = both * neither - gain * loss
    if cross > cases / 2:
        cross = cross - cases / 2  # type: ignore[assignment]  # the continuity correction of the method
    elif cross >= 0:
        cross = 0
    phi = cross / math.sqrt(product) if product else 0.0
    share, other = (both + gain) / cases, (both + loss) / cases
    below, above = share - first.low, second.high - other
    up, down = first.high - share, other - second.low
    return Limits(
        share - other - math.sqrt(max(0.0, below**2 - 2 * phi * below * above + above**2)),
        share - other + math.sqrt(max(0.0, up**2 - 2 * phi * up * down + down**2)),
    )


def clopper_pearson(passes: int, cases: int) -> Limits:
    """The exact limits of one share."""
    low = float(special.betaincinv(passes, cases - passes + 1, 0.025)) if passes else 0.0
    high = float(special.betaincinv(passes + 1, cases - passes, 0.975)) if passes < cases else 1.0
    return Limits(low, high)


def bca(gain: int, loss: int, cases: int) -> Limits:
    """Bias-corrected and accelerated bootstrap of 2,000 resamples. Efron (1987)."""
    estimate = (gain - loss) / cases
    if gain + loss == 0 or cases in (gain, loss):
        return Limits(estimate, estimate)  # it has no answer where nothing varies
    rng = np.random.default_rng(gain * 1_000 + loss)
    same = cases - gain - loss
    drawn = rng.multinomial(cases, np.array([gain, loss, same]) / cases, 2_000)
    means = (drawn[:, 0] - drawn[:, 1]) / cases
    bias = float(special.ndtri(((means < estimate - 1e-12).mean() + (means <= estimate + 1e-12).mean()) / 2))
    # Leaving a case out moves the mean against the case: the jackknife in closed form.
    away = estimate - np.array([1.0, -1.0, 0.0])
    counts = np.array([gain, loss, same])
    acceleration = float((counts * away**3).sum()) * -1 / (6 * float((counts * away**2).sum()) ** 1.5)
    tails = []
    for z in (-Z95, Z95):
        moved = bias + (bias + z) / (1 - acceleration * (bias + z))
        tails.append(float(special.ndtr(moved)))
    low, high = np.quantile(means, tails)
    return Limits(float(low), float(high))


def bayesian_bootstrap(gain: int, loss: int, cases: int) -> Limits:
    """Dirichlet weights over the observed cases. Rubin (1981)."""
    rng = np.random.default_rng(gain * 1_000 + loss)
    weights = [
        rng.gamma(count, 1, 20_000) if count else np.zeros(20_000) for count in (gain, loss, cases - gain - loss)
    ]
    low, high = np.quantile((weights[0] - weights[1]) / sum(weights), [0.025, 0.975])
    return Limits(float(low), float(high))


def mcnemar_exact(gain: int, loss: int) -> float:
    """The exact binomial test of the discordant cases."""
    return float(stats.binomtest(gain, gain + loss).pvalue) if gain + loss else 1.0


def mcnemar_asymptotic(gain: int, loss: int) -> float:
    """The chi-square test of the discordant cases, no continuity correction."""
    return float(special.chdtrc(1, (gain - loss) ** 2 / (gain + loss))) if gain + loss else 1.0
