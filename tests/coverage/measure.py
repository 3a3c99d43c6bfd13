"""What the shipped functions really do on simulated evidence, cell by cell. Shares are fractions of one."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable
from functools import cache

import numpy as np
from scipy import special

from analysis import agreement, groups, hypothesis_tests, intervals, unpaired
from analysis.adequacy import chance_moves
from analysis.intervals import Limits
from analysis.resampling import bootstrap_interval
from tests.coverage import references, worlds

type Shares = dict[str, float]

tango = cache(intervals.tango)
midp = cache(hypothesis_tests.mcnemar_midp)
z_test = cache(hypothesis_tests.two_proportion_z)
wilson = cache(intervals.wilson)
newcombe = cache(intervals.newcombe)
e_value = cache(hypothesis_tests.e_value)
exact = cache(references.mcnemar_exact)
asymptotic = cache(references.mcnemar_asymptotic)
newcombe_paired = cache(references.newcombe_paired)

PAIRED_REFERENCES: dict[str, Callable[[int, int, int], Limits]] = {
    "Wald": cache(references.wald),
    "Bonett-Price": cache(references.bonett_price),
    "Agresti-Min": cache(references.agresti_min),
    "BCa": cache(references.bca),
    "Bayesian": cache(references.bayesian_bootstrap),
}


class Tally:
    """Counts of what happened, as shares of the data sets."""

    def __init__(self, datasets: int) -> None:
        self.datasets = datasets
        self.counts: Counter[str] = Counter()

    def interval(self, name: str, limits: tuple[float, float] | None, truth: float) -> None:
        """An interval that could not be given covers nothing, and is counted."""
        if limits is None:
            self.counts[f"{name} none"] += 1
            return
        low, high = limits
        # A limit that is the truth but for rounding has not missed it.
        self.counts[f"{name} above"] += low > truth + 1e-9
        self.counts[f"{name} below"] += high < truth - 1e-9
        self.counts[f"{name} covers"] += low <= truth + 1e-9 and truth - 1e-9 <= high
        self.counts[f"{name} excludes 0"] += low > 0 or high < 0
        self.counts[f"{name} no width"] += low == high

    def test(self, name: str, p: float | None) -> None:
        self.counts[f"{name} alarm"] += p is not None and p < 0.05

    def shares(self, **more: float) -> Shares:
        return {name: count / self.datasets for name, count in self.counts.items()} | more


def halved(datasets: int) -> int:
    """The case bootstrap costs most of the time; half of the data sets tell enough about it."""
    return -(-datasets // 2)


def seed(*name: object) -> bytes:
    return hashlib.sha256("/".join(map(str, name)).encode()).digest()


def paired_passes(
    cases: int, rate: float, repetitions: int, drop: float, pairing: str, datasets: int, resample: bool = True
) -> Shares:
    """The leading interval of pass/fail, the case bootstrap, the tests, and the references for single runs."""
    world = worlds.passes(datasets, cases, repetitions, rate, drop, pairing)
    tally, drawn_tally = Tally(datasets), Tally(halved(datasets))
    expected = moved = 0.0
    for number, (mine, other) in enumerate(zip(world.candidate, world.baseline, strict=True)):
        differences = mine - other
        gain, loss = int((differences > 1e-9).sum()), int((differences < -1e-9).sum())
        if repetitions == 1:
            lead = tango(gain, loss, cases)
            tally.test("mid-p", midp(gain, loss))
            found = z_test(int(mine.sum()), cases, int(other.sum()), cases)
            tally.test("z", None if found is None else found[1])
            tally.test("exact", exact(gain, loss))
            tally.test("asymptotic", asymptotic(gain, loss))
            if resample and pairing == "usual":
                both = int((mine + other == 2).sum())
                tally.interval("Newcombe 10", newcombe_paired(both, gain, loss, cases), world.truth)
                for name, formula in PAIRED_REFERENCES.items():
                    tally.interval(name, formula(gain, loss, cases), world.truth)
        else:
            lead = intervals.effective_score(mine, other, repetitions)
        tally.interval("lead", lead, world.truth)
        tally.interval("t", intervals.paired_t(differences), world.truth)
        if drop == 0 and pairing == "usual":
            flips = seed("flip", cases, rate, repetitions, pairing, number)
            tally.test("sign-flip", hypothesis_tests.sign_flip(differences, flips))
            passed = np.rint((mine + other) * repetitions).astype(np.int64)
            expected += chance_moves(passed, np.full(cases, repetitions))
            moved += loss
        if resample and pairing == "usual" and number < drawn_tally.datasets:
            drawn = bootstrap_interval(differences, seed(cases, rate, repetitions, drop, number), flipped=False)
            drawn_tally.interval("bootstrap", (drawn.low, drawn.high), world.truth)
            if lead is not None:
                sides = {(low > 0) - (high < 0) for low, high in (lead, (drawn.low, drawn.high))}
                drawn_tally.counts["disagree"] += len(sides) > 1
                drawn_tally.counts["resolved"] += len(sides) == 1 and sides != {0}
    return tally.shares(expected=expected / datasets, moved=moved / datasets) | drawn_tally.shares()


def paired_numbers(cases: int, kind: str, repetitions: int, moved: bool, datasets: int) -> Shares:
    """The leading interval of numbers, the case bootstrap and the sign-flip test."""
    world = worlds.numbers(datasets, cases, repetitions, kind, moved)
    tally, drawn_tally = Tally(datasets), Tally(halved(datasets))
    for number, differences in enumerate(world.candidate - world.baseline):
        differences[np.abs(differences) < 1e-12] = 0.0
        tally.interval("lead", intervals.paired_t(differences), world.truth)
        if number < drawn_tally.datasets:
            drawn = bootstrap_interval(differences, seed(cases, kind, repetitions, moved, number), flipped=False)
            drawn_tally.interval("bootstrap", (drawn.low, drawn.high), world.truth)
        if not moved:
            tally.test("sign-flip", hypothesis_tests.sign_flip(differences, seed("flip", cases, kind, number)))
    return tally.shares() | drawn_tally.shares()


def one_arm(cases: int, rate: float, repetitions: int, datasets: int) -> Shares:
    """Wilson's interval of one arm as shown, and what counting runs as cases would do."""
    world = worlds.passes(datasets, cases, repetitions, rate, 0.0, "usual")
    tally = Tally(datasets)
    for shares in world.baseline:
        tally.interval("Wilson", intervals.wilson_repeated(shares, repetitions), rate)
        runs = round(float(shares.sum()) * repetitions)
        tally.interval("pooled runs", wilson(runs, cases * repetitions), rate)
        if repetitions == 1:
            tally.interval("Clopper-Pearson", references.clopper_pearson(runs, cases), rate)
    return tally.shares()


def independent_arms(cases: int, rate: float, drop: float, datasets: int) -> Shares:
    """Newcombe's interval and the z-test where nothing pairs."""
    rng = worlds.generator("independent", cases, rate, drop, datasets)
    first, second = rng.binomial(cases, rate - drop, datasets), rng.binomial(cases, rate, datasets)
    tally = Tally(datasets)
    for mine, other in zip(first.tolist(), second.tolist(), strict=True):
        tally.interval("Newcombe", newcombe(mine, cases, other, cases), -drop)
        found = z_test(mine, cases, other, cases)
        tally.test("z", None if found is None else found[1])
    return tally.shares()


def independent_runs(runs: int, moved: bool, datasets: int) -> Shares:
    """Welch's interval and test and the bootstrap of both arms, for graded runs of one case."""
    world = worlds.graded(datasets, runs, moved)
    tally = Tally(datasets)
    for number, (mine, other) in enumerate(zip(world.candidate, world.baseline, strict=True)):
        tally.interval("Welch", intervals.welch_t(mine, other), world.truth)
        tally.test("Welch", unpaired.welch_p(mine, other))
        name = seed("runs", runs, moved, number)
        tally.interval("bootstrap", unpaired.unpaired_bootstrap(mine, other, name, flipped=False), world.truth)
    return tally.shares()


def grouped(sizes: tuple[int, ...], share: float, datasets: int) -> Shares:
    """The group methods beside those that take cases for independent."""
    world, keys = worlds.grouped(datasets, sizes, share)
    tally = Tally(datasets)
    for number, differences in enumerate(world.candidate - world.baseline):
        name = seed("groups", *sizes, share, number)
        gain, loss = int((differences > 0).sum()), int((differences < 0).sum())
        tally.interval("clustered t", groups.clustered_t(differences, keys), 0.0)
        tally.interval("group bootstrap", groups.grouped_bootstrap(differences, keys, name), 0.0)
        tally.interval("Tango on cases", tango(gain, loss, len(keys)), 0.0)
        tally.test("group sign-flip", groups.clustered_sign_flip(differences, keys, name))
        tally.test("mid-p on cases", midp(gain, loss))
    return tally.shares()


def calibration(cases: int, rate: float, datasets: int, judged: int = 300) -> Shares:
    """Kappa's limits, and the limits of a corrected rate: `cases` rated by people and judge, `judged` by the judge."""
    sensitivity, specificity = 0.9, 0.85
    rng = worlds.generator("calibration", cases, rate, datasets)
    says = rate * sensitivity + (1 - rate) * (1 - specificity)
    by_chance = rate * says + (1 - rate) * (1 - says)
    agreed = rate * sensitivity + (1 - rate) * specificity
    kappa = (agreed - by_chance) / (1 - by_chance)
    tally = Tally(datasets)
    for _ in range(datasets):
        human = (rng.random(cases) < rate).astype(np.float64)
        says_pass = np.where(human == 1, sensitivity, 1 - specificity)
        judge = (rng.random(cases) < says_pass).astype(np.float64)
        found = agreement.cohen_kappa(human, judge)
        tally.interval("kappa", None if found is None or found.limits is None else found.limits, kappa)
        errors = agreement.judge_errors(human, judge)
        for name, share, true in (
            ("sensitivity", errors.sensitivity, sensitivity),
            ("specificity", errors.specificity, specificity),
        ):
            tally.interval(name, None if share.low is None or share.high is None else (share.low, share.high), true)
        limits = agreement.corrected_limits(
            int(rng.binomial(judged, says)),
            judged,
            (errors.sensitivity.hits, errors.sensitivity.of),
            (errors.specificity.hits, errors.specificity.of),
        )
        tally.interval("corrected", limits, rate)
    return tally.shares()


def many_tests(cases: int, rate: float, datasets: int, tests: int = 12) -> Shares:
    """Twelve comparisons of identical arms: the chance of any alarm, with and without Holm."""
    world = worlds.passes(datasets * tests, cases, 1, rate, 0.0, "usual")
    differences = (world.candidate - world.baseline).reshape(datasets, tests, cases)
    tally = Tally(datasets)
    for gains, losses in zip((differences > 0).sum(axis=2), (differences < 0).sum(axis=2), strict=True):
        found = [midp(gain, loss) for gain, loss in zip(gains.tolist(), losses.tolist(), strict=True)]
        tally.test("unadjusted", min(found))
        tally.test("Holm", min(hypothesis_tests.holm(found)))
    return tally.shares()


def peeking(cases: int, rate: float, datasets: int) -> Shares:
    """Identical arms watched while they run: the e-value after every case, mid-p after every 20."""
    world = worlds.passes(datasets, cases, 1, rate, 0.0, "usual")
    differences = world.candidate - world.baseline
    gains, losses = (np.cumsum(sign * differences > 0, axis=1) for sign in (1, -1))
    tally = Tally(datasets)
    for gain, loss in zip(gains.tolist(), losses.tolist(), strict=True):
        looks = set(zip(gain, loss, strict=True))
        tally.counts["e-value alarm"] += max(e_value(*look) for look in looks) >= 20
        stops = range(19, cases, 20)
        tally.test("mid-p at every look", min(midp(gain[stop], loss[stop]) for stop in stops))
        tally.test("mid-p at the end", midp(gain[-1], loss[-1]))
    return tally.shares()


def identical_arms(cases: int, rate: float, datasets: int, arms: int = 5) -> Shares:
    """How often raw rates name one winner among identical arms."""
    rng = worlds.generator("identical", cases, rate, datasets)
    ease = rng.normal(0, 1, (datasets, cases, 1)) + rng.normal(0, 0.5, (datasets, cases, arms))
    level = float(special.ndtri(rate)) * math.sqrt(2.25)
    passed = (rng.random(ease.shape) < special.ndtr(level + ease)).sum(axis=1)
    best = passed.max(axis=1, keepdims=True)
    return {"one winner": float(((passed == best).sum(axis=1) == 1).mean())}
