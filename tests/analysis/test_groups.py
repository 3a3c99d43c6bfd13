"""Cases that share a source: the group is the unit."""

from __future__ import annotations

import numpy as np
import pytest

from analysis import groups, intervals
from analysis.adequacy import mde_paired
from analysis.hypothesis_tests import sign_flip
from analysis.resampling import bootstrap_interval

VALUES = np.random.default_rng(6).normal(0.1, 1, 60)
TWELVE = np.repeat(np.arange(12), 5)


def test_equal_groups_are_t_on_group_means() -> None:
    means = VALUES.reshape(12, 5).mean(axis=1)
    assert groups.clustered_t(VALUES, TWELVE) == pytest.approx(intervals.paired_t(means), abs=1e-12)
    assert groups.mde_grouped(VALUES, TWELVE) == pytest.approx(mde_paired(means), abs=1e-12)
    assert groups.clustered_sign_flip(VALUES, TWELVE, b"s") == pytest.approx(sign_flip(means, b"s"), abs=2**-13)


def test_groups_of_one_are_the_plain_methods() -> None:
    own = np.arange(len(VALUES))
    assert groups.clustered_t(VALUES, own) == pytest.approx(intervals.paired_t(VALUES), abs=1e-12)
    assert groups.clustered_sign_flip(VALUES, own, b"s") == sign_flip(VALUES, b"s")
    plain = bootstrap_interval(VALUES, b"s", flipped=False)
    assert groups.grouped_bootstrap(VALUES, own, b"s") == pytest.approx((plain.low, plain.high), abs=1e-12)


def test_the_estimate_stays_the_mean_over_cases() -> None:
    uneven = np.repeat(np.arange(11), [1, 1, 1, 1, 2, 2, 4, 8, 10, 10, 20])
    limits = groups.clustered_t(VALUES, uneven)
    assert limits is not None
    assert (limits.low + limits.high) / 2 == pytest.approx(VALUES.mean(), abs=1e-12)
    drawn = groups.grouped_bootstrap(VALUES, uneven, b"s")
    assert drawn is not None
    assert drawn.low < VALUES.mean() < drawn.high


def test_names_and_the_order_of_cases_have_no_part_in_t() -> None:
    order = np.random.default_rng(1).permutation(60)
    named = np.array([f"document {index}" for index in TWELVE])
    assert groups.clustered_t(VALUES[order], named[order]) == pytest.approx(
        groups.clustered_t(VALUES, TWELVE), abs=1e-12
    )


def test_degenerate_groups_have_a_stated_answer() -> None:
    none, one = np.empty(0), np.zeros(60)
    assert groups.grouped_error(none, none) is None
    assert groups.clustered_t(VALUES, one) is None
    assert groups.mde_grouped(VALUES, one) is None
    assert groups.clustered_t(np.full(60, 0.1), TWELVE) is None
    assert groups.grouped_bootstrap(none, none, b"s") is None
    assert groups.clustered_sign_flip(none, none, b"s") == 1
    assert groups.clustered_sign_flip(np.tile([0.1, 0.2, -0.3, 0.0, 0.0], 12), TWELVE, b"s") == 1
    cancelling = groups.grouped_error(np.tile([1.0, -1.0, 2.0, -2.0, 0.0], 12), TWELVE)
    assert cancelling is not None
    assert cancelling.corrected == 0


@pytest.mark.parametrize("keys", [np.zeros(59), np.zeros(0)])
def test_every_case_needs_a_key(keys: np.ndarray) -> None:
    with pytest.raises(ValueError, match="one group key"):
        groups.clustered_t(VALUES, keys)


def test_what_is_not_a_number_is_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        groups.grouped_bootstrap(np.array([np.nan, 1]), np.zeros(2), b"s")
