"""The sign-flip test against its own description, read word by word, and against brute force."""

from __future__ import annotations

import itertools
import math
import time

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from analysis.hypothesis_tests import sign_flip
from analysis.resampling import bootstrap_interval, stream_seed

SEED = stream_seed("correct", "a" * 64, "b" * 64)


def described(differences: NDArray[np.float64], seed: bytes) -> float:
    """As docs/statistics.md has it, in plain integers: a code per case, a pattern per number below 2^14."""
    moved = [value for value in differences.tolist() if value != 0]
    words = np.random.SFC64(int.from_bytes(seed, "big")).random_raw((len(moved) + 3) // 4)
    codes = [(int(words[index // 4]) >> 16 * (index % 4)) % 2**14 for index in range(len(moved))]
    observed = abs(math.fsum(moved)) - 1e-12 * math.fsum(map(abs, moved))
    hits = 0
    for pattern in range(2**14):
        flipped = [
            -value if (code & pattern).bit_count() % 2 else value for code, value in zip(codes, moved, strict=True)
        ]
        hits += abs(math.fsum(flipped)) >= observed
    return hits / 2**14


@pytest.mark.parametrize("cases", [17, 30])
def test_the_description_gives_the_same_digits(cases: int) -> None:
    values = np.round(np.random.default_rng(cases).normal(0.3, 1, cases), 3)
    values[3] = 0
    values = np.append(values, 0.25)
    assert sign_flip(values, SEED) == described(values, SEED)


def test_the_digits_are_pinned() -> None:
    """A change here needs a new METHOD_VERSION."""
    position = np.arange(1_000)
    values = ((position * position * 31 + position * 17) % 1009 % 7 - 3) / 3
    assert sign_flip(values, SEED) == 9512 / 2**14
    assert sign_flip(values[:101], SEED) == 6175 / 2**14


@pytest.mark.parametrize("cases", [1, 5, 12])
def test_few_cases_are_enumerated(cases: int) -> None:
    values = np.random.default_rng(cases).normal(0.4, 1, cases)
    signs = itertools.product((1, -1), repeat=cases)
    sums = [abs(float((np.array(sign) * values).sum())) for sign in signs]
    expected = np.mean([total >= abs(values.sum()) - 1e-12 for total in sums])
    assert sign_flip(values, SEED) == expected


@pytest.mark.parametrize("cases", [16, 17, 400])
def test_zeros_and_the_side_called_candidate_have_no_part(cases: int) -> None:
    values = np.random.default_rng(2).normal(0.1, 1, cases)
    with_zeros = np.insert(values, [0, 5, cases], 0.0)
    assert sign_flip(with_zeros, SEED) == sign_flip(values, SEED) == sign_flip(-values, SEED)


@pytest.mark.parametrize(("gain", "loss"), [(20, 10), (40, 38), (30, 5)])
def test_on_single_runs_it_is_the_exact_mcnemar_test(gain: int, loss: int) -> None:
    """Averaged over seeds; one seed stays within its Monte-Carlo error."""
    values = np.repeat([1.0, -1.0, 0.0], [gain, loss, 20])
    exact = float(stats.binomtest(gain, gain + loss).pvalue)
    found = [sign_flip(values, bytes([index])) for index in range(40)]
    error = math.sqrt(exact * (1 - exact) / 2**14)
    assert abs(np.mean(found) - exact) < 4 * error / math.sqrt(40) + 2**-14
    assert np.std(found) < 1.6 * error + 2**-14  # no worse than patterns drawn one by one


def test_never_zero_and_never_above_one() -> None:
    assert sign_flip(np.ones(500), SEED) == 2**-14
    assert sign_flip(np.array([1.0, -1.0] * 50), SEED) == 1.0


def test_ten_thousand_numeric_cases_cost_a_fraction_of_the_bootstrap() -> None:
    """All methods of a metric take less than 1.5 times the bootstrap alone; this is the other expensive one."""
    values = np.random.default_rng(1).normal(0.01, 1, 10_000)

    def seconds(call: object) -> float:
        assert callable(call)
        taken = []
        for _ in range(3):
            start = time.process_time()
            call()
            taken.append(time.process_time() - start)
        return min(taken)

    alone = seconds(lambda: bootstrap_interval(values, SEED, flipped=False))
    assert seconds(lambda: sign_flip(values, SEED)) < 0.2 * alone
