"""Agreement, corrected rates and their edges. The numbers of other implementations are in the vectors."""

from __future__ import annotations

import numpy as np
import pytest

from analysis import agreement

NAN = float("nan")
NONE = np.empty(0)


def test_no_pair_has_no_coefficient() -> None:
    found = agreement.calibrate(np.array([1, NAN]), np.array([NAN, NAN]), level="nominal", pass_or_fail=True)
    assert (found.pairs, found.unpaired) == (0, 1)
    assert (found.agreement.value, found.kappa, found.ac1, found.alpha) == (None, None, None, None)
    assert found.errors is not None
    assert (found.errors.sensitivity.value, found.errors.attenuation) == (None, None)


def test_one_category_in_use_is_agreement_without_kappa() -> None:
    """Kappa and alpha divide by the chance to disagree, of which nothing was seen."""
    same = np.ones(30)
    found = agreement.calibrate(same, same, level="nominal", pass_or_fail=True)
    assert (found.agreement.value, found.kappa, found.alpha) == (1, None, None)
    assert found.ac1 == 1
    assert found.agreement.low is not None
    assert found.agreement.low < 1
    assert found.errors is not None
    assert (found.errors.sensitivity.value, found.errors.specificity.value) == (1, None)
    assert found.errors.attenuation is None


def test_an_abstention_is_missing_and_never_a_category() -> None:
    human = np.array([1, 1, 0, 0, 1, NAN, NAN, 0])
    judge = np.array([1, 0, 0, 0, NAN, 1, NAN, 0])
    found = agreement.calibrate(human, judge, level="nominal", pass_or_fail=True)
    assert (found.pairs, found.unpaired) == (5, 2)
    assert found.agreement.value == 0.8
    complete = agreement.calibrate(human[[0, 1, 2, 3, 7]], judge[[0, 1, 2, 3, 7]], level="nominal", pass_or_fail=True)
    assert (found.kappa, found.ac1, found.alpha) == (complete.kappa, complete.ac1, complete.alpha)
    assert found.errors is not None
    assert (found.errors.sensitivity.hits, found.errors.sensitivity.of) == (1, 2)
    assert (found.errors.specificity.hits, found.errors.specificity.of) == (3, 3)
    assert found.errors.attenuation == 0.5


def test_alpha_by_hand() -> None:
    """Two raters, four cases, one disagreement: D_o = 2/8, D_e = 2 * 3 * 5 / (8 * 7); alpha = 1 - 14/30."""
    first, second = np.array([1, 1, 0, 0]), np.array([1, 1, 0, 1])
    found = agreement.krippendorff_alpha(np.stack((first, second)).astype(float), "nominal")
    assert found == pytest.approx(1 - 14 / 30, abs=1e-12)


def test_alpha_does_not_mind_how_values_are_spelt_but_interval_minds_distances() -> None:
    rng = np.random.default_rng(3)
    ratings = rng.integers(1, 6, (3, 40)).astype(float)
    ratings[rng.random(ratings.shape) < 0.2] = NAN
    stretched = np.where(ratings == 5, 100, ratings)
    levels: tuple[agreement.Level, ...] = ("nominal", "ordinal")
    for level in levels:
        plain = agreement.krippendorff_alpha(ratings, level)
        assert agreement.krippendorff_alpha(stretched, level) == pytest.approx(plain, abs=1e-12)
    assert agreement.krippendorff_alpha(stretched, "interval") != agreement.krippendorff_alpha(ratings, "interval")


def test_kappa_is_symmetric_and_inside_its_scale() -> None:
    rng = np.random.default_rng(4)
    first, second = rng.integers(0, 3, 25).astype(float), rng.integers(0, 3, 25).astype(float)
    there, back = agreement.cohen_kappa(first, second), agreement.cohen_kappa(second, first)
    assert there is not None
    assert back is not None
    assert there.value == pytest.approx(back.value, abs=1e-12)
    assert there.error == pytest.approx(back.error, abs=1e-12)
    opposite = agreement.cohen_kappa(np.array([0.0, 1, 0, 1]), np.array([1.0, 0, 1, 0]))
    assert opposite is not None
    assert (opposite.value, opposite.limits) == (-1, None)
    whole = agreement.cohen_kappa(np.array([0.0, 1, 0, 1]), np.array([0.0, 1, 0, 1]))
    assert whole is not None
    assert (whole.value, whole.limits) == (1, None)


@pytest.mark.parametrize(("rate", "errors", "corrected"), [(0.05, (0.9, 0.9), 0.0), (1, (0.9, 0.9), 1.0)])
def test_a_corrected_rate_stays_a_rate(rate: float, errors: tuple[float, float], corrected: float) -> None:
    assert agreement.corrected_rate(rate, *errors) == corrected


def test_a_judge_that_does_not_discriminate_corrects_nothing() -> None:
    assert agreement.attenuation(0.5, 0.5) == 0
    assert agreement.corrected_rate(0.7, 0.5, 0.5) is None
    assert agreement.corrected_limits(70, 100, (5, 10), (5, 10)) is None
    assert agreement.corrected_limits(70, 100, (0, 0), (5, 10)) is None
    assert agreement.corrected_limits(0, 0, (5, 5), (5, 5)) is None


def test_limits_of_a_corrected_rate_hold_it_and_narrow_with_calibration() -> None:
    few = agreement.corrected_limits(800, 1_000, (18, 20), (17, 20))
    many = agreement.corrected_limits(800, 1_000, (1_800, 2_000), (1_700, 2_000))
    assert few is not None
    assert many is not None
    assert few.low < many.low < 0.8666 < many.high < few.high <= 1
    sure = agreement.corrected_limits(800, 1_000, (10**7, 10**7), (10**7, 10**7))
    assert sure == pytest.approx((0.7741, 0.8237), abs=5e-4)  # a judge without errors: nearly Wilson's


@pytest.mark.parametrize(
    "call",
    [
        lambda: agreement.share(3, 2),
        lambda: agreement.paired_ratings(np.ones(2), np.ones(3)),
        lambda: agreement.cohen_kappa(np.array([np.inf]), np.ones(1)),
        lambda: agreement.krippendorff_alpha(np.array([[np.inf], [1.0]]), "nominal"),
        lambda: agreement.judge_errors(np.array([2.0]), np.array([1.0])),
        lambda: agreement.corrected_rate(NAN, 0.9, 0.9),
        lambda: agreement.corrected_rate(0.5, 1.1, 0.9),
        lambda: agreement.corrected_limits(5, 4, (1, 2), (1, 2)),
    ],
)
def test_what_is_not_a_rating_is_refused(call: object) -> None:
    assert callable(call)
    with pytest.raises(ValueError, match=r"\w"):
        call()
