"""The bootstrap: pinned digits, exact negation, agreement with other implementations, bounded memory."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from analysis import resampling
from analysis.resampling import binomial, bootstrap_interval, percentile_limits, stream, stream_seed, uses_counts

SCRIPT = Path(__file__).parents[2] / "docs" / "recompute_interval.py"
SEED = stream_seed("correct", "a" * 64, "b" * 64)


def differences(cases: int, repetitions: int | None, seed: int = 5) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    if repetitions is None:
        return rng.normal(0.02, 0.3, cases)
    return (rng.binomial(repetitions, 0.8, cases) - rng.binomial(repetitions, 0.75, cases)) / repetitions


def plain_differences(cases: int, levels: int) -> NDArray[np.float64]:
    """Made of whole numbers, so that the pinned digits rest on no other generator."""
    position = np.arange(cases)
    return ((position * position * 31 + position * 17) % 1009 % levels - levels // 2) / (levels // 2)


@pytest.mark.parametrize(
    ("cases", "levels", "sampler", "pinned"),
    [
        pytest.param(50, 3, "index", (-0.18, 0.32), id="few pass/fail cases"),
        pytest.param(1_000, 7, "counts", (-0.054675000000000015, 0.03000833333333333), id="many pass/fail cases"),
        pytest.param(
            101, 1009, "index", (-0.15846151579443654, 0.07742417098852745), id="an odd number of numeric cases"
        ),
    ],
)
def test_the_digits_are_pinned(cases: int, levels: int, sampler: str, pinned: tuple[float, float]) -> None:
    """A change here needs a new METHOD_VERSION."""
    found = bootstrap_interval(plain_differences(cases, levels), SEED, flipped=False)
    assert resampling.METHOD_VERSION == "evenhand/paired/1"
    assert found.sampler == sampler
    assert (found.low, found.high) == pinned


SHAPES = [(21, 1), (50, 3), (200, 1), (450, 3), (101, None), (400, None)]


@pytest.mark.parametrize(
    ("cases", "repetitions", "first_is_candidate"), [(*shape, index % 2 == 0) for index, shape in enumerate(SHAPES)]
)
def test_the_documented_stream_reproduces_the_interval(
    cases: int, repetitions: int | None, first_is_candidate: bool
) -> None:
    given, found = recomputation(cases, repetitions, first_is_candidate=first_is_candidate)
    assert runpy.run_path(str(SCRIPT))["interval"](**given) == found


def test_the_script_needs_nothing_of_ours() -> None:
    given, found = recomputation(101, None, first_is_candidate=False)
    run = subprocess.run(
        [sys.executable, "-I", str(SCRIPT)], input=json.dumps(given), capture_output=True, text=True, check=True
    )
    assert run.stdout == json.dumps(found) + "\n"


def recomputation(
    cases: int, repetitions: int | None, *, first_is_candidate: bool
) -> tuple[dict[str, object], list[float]]:
    """What the script is given, and the interval that it must find."""
    values = differences(cases, repetitions)
    candidate, baseline = ("1" * 64, "2" * 64) if first_is_candidate else ("2" * 64, "1" * 64)
    found = bootstrap_interval(values, stream_seed("correct", candidate, baseline), flipped=candidate > baseline)
    given = {
        "method_version": resampling.METHOD_VERSION,
        "metric_key": "correct",
        "candidate_digest": candidate,
        "baseline_digest": baseline,
        "differences": values.tolist(),
    }
    return given, [found.low, found.high]


@pytest.mark.parametrize(("cases", "repetitions"), [(30, 1), (3_000, 3), (300, None)])
def test_exchanging_the_sides_negates_the_interval_exactly(cases: int, repetitions: int | None) -> None:
    values = differences(cases, repetitions)
    there = bootstrap_interval(values, SEED, flipped=False)
    back = bootstrap_interval(-values, SEED, flipped=True)
    assert (back.low, back.high) == (-there.high, -there.low)


def test_the_seed_ignores_which_side_is_called_the_candidate() -> None:
    assert stream_seed("m", "a", "b") == stream_seed("m", "b", "a")
    assert stream_seed("m", "a", "b") != stream_seed("n", "a", "b")
    assert stream_seed("m", "a", "b") != stream_seed("m", "a", "c")


@pytest.mark.parametrize(("cases", "repetitions"), [(100, 1), (100, None), (2_000, 1), (2_000, 3)])
def test_agrees_with_scipy_within_monte_carlo_error(cases: int, repetitions: int | None) -> None:
    """Endpoint jitter of 2,000 resamples: standard error sqrt(q (1 - q) / B) / density, about 0.06 standard errors."""
    values = differences(cases, repetitions)
    other = stats.bootstrap(
        (values,), np.mean, n_resamples=8_000, batch=500, method="percentile", rng=np.random.default_rng(3)
    ).confidence_interval
    found = bootstrap_interval(values, SEED, flipped=False)
    step = 0.0 if repetitions is None else 1 / repetitions / cases
    allowed = 5 * 0.07 * values.std() / cases**0.5 + step
    assert abs(found.low - other.low) < allowed
    assert abs(found.high - other.high) < allowed


def test_both_samplers_draw_from_one_distribution(monkeypatch: pytest.MonkeyPatch) -> None:
    values = differences(2_000, 3)
    assert uses_counts(len(values), len(np.unique(values)))
    by_counts = bootstrap_interval(values, SEED, flipped=False, resamples=20_000)
    monkeypatch.setattr(resampling, "uses_counts", lambda cases, distinct: False)
    by_index = bootstrap_interval(values, SEED, flipped=False, resamples=20_000)
    assert (by_counts.sampler, by_index.sampler) == ("counts", "index")
    error = values.std() / len(values) ** 0.5
    assert abs(by_counts.low - by_index.low) < 0.15 * error
    assert abs(by_counts.high - by_index.high) < 0.15 * error


@pytest.mark.parametrize(
    ("trials", "numerator", "denominator"),
    [(1, 1, 3), (63, 1, 2), (64, 1, 2), (65, 3, 4), (1_000, 1, 1_000), (777, 776, 777), (5, 5, 5), (9, 0, 4)],
)
def test_the_binomial_is_exact(trials: int, numerator: int, denominator: int) -> None:
    """A chi-square test of 50,000 draws against scipy's probabilities, cells below five expected draws pooled."""
    draws = 50_000
    drawn = binomial(np.full(draws, trials, dtype=np.int64), numerator, denominator, stream(SEED))
    probability = numerator / denominator
    assert drawn.min() >= 0
    assert drawn.max() <= trials
    if probability in (0.0, 1.0):
        assert (drawn == trials * probability).all()
        return
    expected = stats.binom.pmf(np.arange(trials + 1), trials, probability) * draws
    observed = np.bincount(drawn, minlength=trials + 1)
    usual = expected >= 5
    seen, due = observed[usual], expected[usual]
    statistic = float(((seen - due) ** 2 / due).sum())
    rare, rare_due = float(observed[~usual].sum()), float(expected[~usual].sum())
    if rare_due > 5:
        statistic += (rare - rare_due) ** 2 / rare_due
    assert stats.chi2.sf(statistic, usual.sum()) > 1e-4


def test_binomials_do_not_depend_on_how_the_stream_is_chunked(monkeypatch: pytest.MonkeyPatch) -> None:
    trials = np.array([1, 64, 65, 5_000, 0, 129, 100_000], dtype=np.int64)
    whole = binomial(trials, 5, 17, stream(SEED))
    for words in (1, 2, 7):
        monkeypatch.setattr(resampling, "CHUNK_WORDS", words)
        assert binomial(trials, 5, 17, stream(SEED)).tolist() == whole.tolist()


def test_percentiles_are_numpy_type_seven() -> None:
    means = np.random.default_rng(1).normal(size=2_000)
    assert percentile_limits(means) == pytest.approx(tuple(np.percentile(means, [2.5, 97.5])), abs=1e-14)


@pytest.mark.parametrize(("cases", "repetitions"), [(20_000, None), (300_000, None), (300_000, 3)])
def test_memory_stays_below_16_mib_whatever_the_size(cases: int, repetitions: int | None) -> None:
    """Beyond copies of the column itself: no matrix of resamples by cases."""
    values = differences(cases, repetitions)
    tracemalloc.start()
    bootstrap_interval(values, SEED, flipped=False, resamples=40)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 16 * 2**20 + 3 * values.nbytes


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_a_number_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        bootstrap_interval(np.array([0.1, bad]), SEED, flipped=False)


def test_no_case_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one case"):
        bootstrap_interval(np.empty(0), SEED, flipped=False)


def test_it_is_at_least_as_fast_as_scipy() -> None:
    """Numbers, 10,000 cases, the same resamples, processor time of this process."""
    values = differences(10_000, None)

    def ours() -> object:
        return bootstrap_interval(values, SEED, flipped=False, resamples=150)

    def theirs() -> object:
        return stats.bootstrap((values,), np.mean, n_resamples=150, method="percentile", rng=np.random.default_rng(3))

    taken: dict[str, float] = {}
    for name, call in (("ours", ours), ("theirs", theirs)):
        for _ in range(3):
            start = time.process_time()
            call()
            taken[name] = min(taken.get(name, 60.0), time.process_time() - start)
    assert taken["ours"] < taken["theirs"]
