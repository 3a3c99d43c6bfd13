"""Every formula we offer against numbers from other implementations (statsmodels, scipy, R)."""

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np
import pytest

from analysis import adequacy, agreement, failures, groups, hypothesis_tests, intervals, proportions, repetitions
from analysis.observations import Direction, Kind, Outcome
from analysis.paired import compare
from analysis.resampling import bootstrap_interval, percentile_limits, stream_seed
from analysis.scorecard import MetricValues, scorecard
from tests.analysis.reference import parameters, vectors
from tests.factories.arms import Mark, metric, side

Vector = dict[str, Any]

NOT_OFFERED = {
    "clopper_pearson_and_uniform_posterior": "Wilson serves; the exact and the Bayesian interval are references",
    "mde_power_prop_test": "the arcsine formula serves; R's is a reference",
    "fleiss_kappa": "Krippendorff's alpha serves",
    "zero_failures_upper_bound": "Wilson serves at zero failures",
}
"""Whole topics that are references only, with the reason."""

REFERENCES = {
    "two_proportion_z": {
        "diff": "an input of the rest",
        "z_unpooled": "the pooled variance is the null hypothesis's own",
        "p_unpooled": "the pooled variance is the null hypothesis's own",
    },
    "mde_unpaired": {
        "mde_worst_case_p50": "the observed rate serves",
        "cohen_h": "a step of the arcsine formula",
        "mde_arcsine_up": "a regression is the question",
    },
    "mde_edge": {
        "mde_normal_naive": "tested to be what is not shown",
        "rate_used": "a step of the arcsine formula",
        "mde_arcsine_up": "a regression is the question",
    },
    "mde_paired": {"mde_t": "the normal quantiles serve; t differs by 1 % at 100 cases"},
    "mde_paired_binary": {
        "psi": "a step",
        "mde_fixed_discordance": "real power 9 to 78 % where 80 % is claimed",
    },
    "mcnemar": {
        "diff": "an input of the rest",
        "p_exact": "mid-p serves",
        "p_asymptotic": "mid-p serves",
        "chi2": "mid-p serves",
        "p_continuity": "mid-p serves",
    },
    "paired_binary_intervals": {
        "newcombe10_95": "Tango serves",
        "bonett_price_95": "Tango serves",
        "agresti_min_95": "Tango serves; this one is 19 to 58 % wider with repetitions",
        "wald_95": "covers too little",
    },
    "paired_case_means": {
        "clustered_se": "the half-width of the t interval over its quantile",
        "t_p": "the sign-flip test serves",
    },
    "bootstrap_percentile": {
        "delta": "an input of the rest",
        "scipy_equals_plain_numpy": "says how the vector was made",
        "scipy_bca_low": "BCa covers less than the percentile interval on pass/fail",
        "scipy_bca_high": "BCa covers less than the percentile interval on pass/fail",
        "expanded_alpha": "the score interval serves few cases",
        "expanded_low": "the score interval serves few cases",
        "expanded_high": "the score interval serves few cases",
        "ideal_low": "the many resamples agree with it",
        "ideal_high": "the many resamples agree with it",
        "low": "zero, tested as such",
        "high": "zero, tested as such",
    },
    "sign_flip_exact": {
        "delta": "an input of the rest",
        "scipy_p": "the same test",
        "wilcoxon_exact_p": "not a test of the mean difference",
    },
    "multiplicity": {
        "bh": "Holm serves",
        "by": "Holm serves",
        "holm_reject": "read off the adjusted values",
        "bh_reject": "Holm serves",
    },
    "judge_human_agreement": {
        "kappa_linear": "alpha serves ordered scales",
        "kappa_quadratic": "alpha serves ordered scales",
    },
    "sample_size_two_proportions": {
        "n_per_arm": "R's formula is a reference; the arcsine formula serves",
        "n_ceil": "R's formula is a reference; the arcsine formula serves",
    },
    "sample_size_paired_miller": {"n": "whole cases are given"},
    "non_inferiority": {
        "lower_bound_90": "the margin is held against the 95 % interval",
        "non_inferior_at_05": "the margin is held against the 95 % interval",
    },
    "effective_score_interval": {"delta": "an input of the rest"},
    "cluster_robust_se": {"delta": "an input of the rest"},
}
"""Single outputs of offered topics that are references only, with the reason."""


def close(vector: Vector, name: str) -> Any:
    return pytest.approx(vector["outputs"][name], abs=max(vector["tolerance"], 1e-12))


def test_every_number_is_tested_or_is_a_reference_with_a_reason() -> None:
    """Every output of every vector is named in its topic's test or in the lists above, and never in both."""
    for vector in vectors():
        topic = vector["topic"]
        test = vars(TestVectors).get(f"test_{topic}")
        if topic in NOT_OFFERED:
            assert test is None, topic
            continue
        assert test is not None, topic
        source = inspect.getsource(test)
        for name in vector["outputs"]:
            assert (f'"{name}"' in source) != (name in REFERENCES.get(topic, {})), (topic, name)


def test_no_reference_is_named_that_does_not_exist() -> None:
    found = {(vector["topic"], name) for vector in vectors() for name in vector["outputs"]}
    if not found:
        pytest.skip("no reference vectors beside this checkout")
    assert {(topic, name) for topic, names in REFERENCES.items() for name in names} <= found
    assert set(NOT_OFFERED) <= {topic for topic, _ in found}


class TestVectors:
    @pytest.mark.parametrize("vector", parameters("wilson_interval"))
    def test_wilson_interval(self, vector: Vector) -> None:
        limits = intervals.wilson(vector["inputs"]["successes"], vector["inputs"]["n"])
        assert limits is not None
        assert limits.low == close(vector, "low")
        assert limits.high == close(vector, "high")

    @pytest.mark.parametrize("vector", parameters("two_proportion_z"))
    def test_two_proportion_z(self, vector: Vector) -> None:
        given = vector["inputs"]
        numbers = [given[key] for key in ("count_candidate", "n_candidate", "count_baseline", "n_baseline")]
        found = hypothesis_tests.two_proportion_z(*numbers)
        shares = [np.repeat([1.0, 0.0], [numbers[at], numbers[at + 1] - numbers[at]]) for at in (0, 2)]
        shown = proportions.significance(*shares)
        assert shown.significant is vector["outputs"]["significant_pooled_05"]
        if vector["outputs"]["z_pooled"] is None:
            assert found is None
            assert (shown.p_value, shown.reason) == (None, "no variation: all passed or none did")
            return
        assert found is not None
        assert found[0] == close(vector, "z_pooled")
        assert found[1] == close(vector, "p_pooled")
        limits = intervals.newcombe(*numbers)
        assert limits is not None
        assert limits.low == close(vector, "newcombe_unpaired_low")
        assert limits.high == close(vector, "newcombe_unpaired_high")

    @pytest.mark.parametrize("vector", parameters("mcnemar"))
    def test_mcnemar(self, vector: Vector) -> None:
        given = vector["inputs"]
        p = hypothesis_tests.mcnemar_midp(given["candidate_only"], given["baseline_only"])
        assert p == close(vector, "p_midp")

    @pytest.mark.parametrize("vector", parameters("paired_binary_intervals"))
    def test_paired_binary_intervals(self, vector: Vector) -> None:
        given = vector["inputs"]
        table = given["candidate_only"], given["baseline_only"], sum(given.values())
        assert intervals.tango(*table) == close(vector, "tango95")
        assert intervals.tango(*table, z=1.6448536269514722) == close(vector, "tango90")

    @pytest.mark.parametrize("vector", parameters("effective_score_interval"))
    def test_effective_score_interval(self, vector: Vector) -> None:
        given = vector["inputs"]
        repetitions = given["repetitions"]
        shares = (
            np.array(given["candidate_passes"]) / repetitions,
            np.array(given["baseline_passes"]) / repetitions,
        )
        sample = intervals.effective_sample(*shares, repetitions)
        assert sample.factor == close(vector, "variance_factor")
        assert sample.cases == close(vector, "effective_cases")
        assert sample.candidate_only / sample.factor == close(vector, "expected_candidate_only")
        assert sample.baseline_only / sample.factor == close(vector, "expected_baseline_only")
        limits = intervals.effective_score(*shares, repetitions)
        assert limits is not None
        assert limits.low == close(vector, "low")
        assert limits.high == close(vector, "high")

    @pytest.mark.parametrize("vector", parameters("paired_case_means"))
    def test_paired_case_means(self, vector: Vector) -> None:
        """Through `compare`, as numeric and as boolean values; unscored repetitions stay out."""
        from_rows = {name: _marks(vector["inputs"][name]) for name in ("candidate", "baseline")}
        for kind in (Kind.NUMERIC, Kind.BOOLEAN):
            measured = metric(kind)
            comparison = compare(
                side(from_rows["candidate"], measured=measured), side(from_rows["baseline"], measured=measured)
            )
            quality, expected = comparison.result.quality, vector["outputs"]
            assert quality.pairs == expected["paired_repetitions"]
            assert quality.cases == expected["paired_cases"]
            assert quality.candidate.mean == close(vector, "candidate_mean")
            assert quality.baseline.mean == close(vector, "baseline_mean")
            assert quality.delta == close(vector, "delta")
            assert quality.candidate.spread == close(vector, "run_spread_candidate")
            assert quality.baseline.spread == close(vector, "run_spread_baseline")
            assert quality.delta_spread == close(vector, "delta_spread")
            assert (comparison.result.interval95 is None) == (expected["interval95"] is None)
            deltas = comparison.cases.delta[np.isfinite(comparison.cases.delta)]
            assert sorted(deltas) == pytest.approx(sorted(expected["case_deltas"].values()), abs=1e-12)
            if kind is Kind.NUMERIC:
                (first, *_) = comparison.result.intervals
                assert (first.low, first.high) == (close(vector, "t_low"), close(vector, "t_high"))

    @pytest.mark.parametrize("vector", parameters("bootstrap_percentile"))
    def test_bootstrap_percentile(self, vector: Vector) -> None:
        """Same quantiles from the vector's own resamples; ours within Monte-Carlo error of many."""
        expected = vector["outputs"]
        differences = np.array(vector["inputs"]["case_deltas"])
        found = bootstrap_interval(differences, stream_seed("correct", "a", "b"), flipped=False)
        if expected.get("zero_width"):
            assert found.low == found.high == 0
            return
        drawn = np.random.default_rng(vector["inputs"]["seed"]).integers(0, len(differences), (2000, len(differences)))
        low, high = percentile_limits(differences[drawn].mean(axis=1))
        assert low == close(vector, "pcg64_seeded_low")
        assert high == close(vector, "pcg64_seeded_high")
        allowed = vector["outputs"].get("tolerance_mc", vector.get("tolerance_mc"))
        assert abs(found.low - expected["many_resamples_low"]) <= allowed
        assert abs(found.high - expected["many_resamples_high"]) <= allowed

    @pytest.mark.parametrize("vector", parameters("sign_flip_exact"))
    def test_sign_flip_exact(self, vector: Vector) -> None:
        p = hypothesis_tests.sign_flip(np.array(vector["inputs"]["case_deltas"]), b"any")
        assert p == close(vector, "p_two_sided")

    @pytest.mark.parametrize("vector", parameters("multiplicity"))
    def test_multiplicity(self, vector: Vector) -> None:
        assert hypothesis_tests.holm(vector["inputs"]["p_values"]) == close(vector, "holm")

    @pytest.mark.parametrize("vector", parameters("sequential_e_value"))
    def test_sequential_e_value(self, vector: Vector) -> None:
        given = vector["inputs"]
        found = hypothesis_tests.e_value(given["candidate_only"], given["baseline_only"])
        assert found == close(vector, "e_value")
        assert (found >= 20) == vector["outputs"]["always_valid_reject_05"]

    @pytest.mark.parametrize("vector", parameters("mde_unpaired"))
    def test_mde_unpaired(self, vector: Vector) -> None:
        given = vector["inputs"]
        assert adequacy.mde_arcsine(given["successes"], given["n"]) == close(vector, "mde_arcsine_down")
        assert adequacy.mde_normal(given["successes"], given["n"]) == close(vector, "mde_normal")
        assert close(vector, "z_sum") == adequacy.Z_SUM

    @pytest.mark.parametrize("vector", parameters("mde_edge"))
    def test_mde_edge(self, vector: Vector) -> None:
        given = vector["inputs"]
        assert adequacy.mde_arcsine(given["successes"], given["n"]) == close(vector, "mde_arcsine_down")
        assert adequacy.mde_normal(given["successes"], given["n"]) == 0

    @pytest.mark.parametrize("vector", parameters("mde_paired"))
    def test_mde_paired(self, vector: Vector) -> None:
        cases, spread = vector["inputs"]["n_cases"], vector["inputs"]["sd_of_case_differences_ddof1"]
        differences = np.resize([1.0, -1.0], cases)
        differences *= spread / differences.std(ddof=1)
        assert adequacy.mde_paired(differences) == close(vector, "mde_normal")

    @pytest.mark.parametrize("vector", parameters("mde_paired_binary"))
    def test_mde_paired_binary(self, vector: Vector) -> None:
        given = vector["inputs"]
        found = adequacy.mde_paired_passes(given["candidate_only"], given["baseline_only"], given["n"])
        assert found == close(vector, "mde_paired")

    @pytest.mark.parametrize("vector", parameters("sample_size_two_proportions"))
    def test_sample_size_two_proportions(self, vector: Vector) -> None:
        """Cases needed for a drop from p1 to p2, by Cohen's h. A gain is the same drop seen from the other end."""
        p1, p2 = (vector["inputs"][key] for key in ("p1", "p2"))
        start = p1 if p1 > p2 else 1 - p1
        found = adequacy.adequacy_of_arm(1000 * start, 1000, target=abs(p1 - p2))
        assert found.cases_needed == math.ceil(vector["outputs"]["n_cohen_h"])

    @pytest.mark.parametrize("vector", parameters("sample_size_paired_miller"))
    def test_sample_size_paired_miller(self, vector: Vector) -> None:
        given = vector["inputs"]
        assert given["K_A"] == given["K_B"]
        split = adequacy.Split(given["sigma2_A"], given["sigma2_B"], given["omega2"], given["K_A"])
        assert adequacy.planned_cases(split, given["K_A"], given["delta"]) == vector["outputs"]["n_ceil"]

    @pytest.mark.parametrize("vector", parameters("non_inferiority"))
    def test_non_inferiority(self, vector: Vector) -> None:
        given = vector["inputs"]
        pattern = (
            ("both_pass", 1, 1),
            ("candidate_only", 1, 0),
            ("baseline_only", 0, 1),
            ("both_fail", 0, 0),
        )
        candidate: dict[str, list[Mark]] = {}
        baseline: dict[str, list[Mark]] = {}
        for name, first, second in pattern:
            for index in range(given[name]):
                candidate[f"{name}-{index}"], baseline[f"{name}-{index}"] = [first], [second]
        found = compare(side(candidate), side(baseline), margin=given["margin"]).result.non_inferiority
        assert found is not None
        assert found.limit == close(vector, "lower_bound")
        assert found.passes == vector["outputs"]["non_inferior"]
        # Where lower is better the same table, with the sides exchanged, has the mirrored answer.
        lower = metric(direction=Direction.LOWER_IS_BETTER)
        mirrored = compare(
            side(baseline, measured=lower), side(candidate, measured=lower), margin=given["margin"]
        ).result.non_inferiority
        assert mirrored is not None
        assert found.limit is not None
        assert mirrored.limit == -found.limit
        assert mirrored.passes == found.passes

    @pytest.mark.parametrize("vector", parameters("cluster_robust_se"))
    def test_cluster_robust_se(self, vector: Vector) -> None:
        differences, keys = np.array(vector["inputs"]["case_deltas"]), np.array(vector["inputs"]["group"])
        found = groups.grouped_error(differences, keys)
        assert found is not None
        assert found.plain == close(vector, "naive_se")
        assert found.clustered == close(vector, "cr0_se")
        assert found.corrected == close(vector, "cr1_se")
        assert found.design_effect == close(vector, "design_effect_cr1")

    @pytest.mark.parametrize("vector", parameters("judge_human_agreement"))
    def test_judge_human_agreement(self, vector: Vector) -> None:
        human, judge = (np.array(vector["inputs"][name], dtype=float) for name in ("human", "judge"))
        expected = vector["outputs"]
        found = agreement.calibrate(human, judge, level="nominal", pass_or_fail=set(human) <= {0, 1})
        assert found.pairs == expected["n"]
        assert found.agreement.value == close(vector, "percent_agreement")
        assert found.kappa is not None
        assert found.kappa.value == close(vector, "cohen_kappa")
        assert found.kappa.error == close(vector, "kappa_se")
        assert found.kappa.limits is not None
        assert found.kappa.limits.low == close(vector, "kappa_low")
        assert found.kappa.limits.high == pytest.approx(min(1, expected["kappa_upp"]), abs=vector["tolerance"])
        assert found.ac1 == close(vector, "gwet_ac1")
        assert found.alpha == close(vector, "krippendorff_nominal")
        if "krippendorff_ordinal" in expected:
            both = np.stack((human, judge))
            assert agreement.krippendorff_alpha(both, "ordinal") == close(vector, "krippendorff_ordinal")
            assert agreement.krippendorff_alpha(both, "interval") == close(vector, "krippendorff_interval")

    @pytest.mark.parametrize("vector", parameters("krippendorff_missing"))
    def test_krippendorff_missing(self, vector: Vector) -> None:
        ratings = np.array(vector["inputs"]["raters_by_item"], dtype=float)  # null becomes NaN
        for level in ("nominal", "ordinal", "interval"):
            assert agreement.krippendorff_alpha(ratings, level) == close(vector, level)

    @pytest.mark.parametrize("vector", parameters("judge_bias_correction"))
    def test_judge_bias_correction(self, vector: Vector) -> None:
        given = vector["inputs"]
        errors = given["sensitivity"], given["specificity"]
        assert agreement.corrected_rate(given["judge_pass_rate"], *errors) == close(vector, "corrected")
        assert agreement.attenuation(*errors) == close(vector, "attenuation")

    @pytest.mark.parametrize("vector", parameters("pass_at_k_and_pass_hat_k"))
    def test_pass_at_k_and_pass_hat_k(self, vector: Vector) -> None:
        tasks = vector["inputs"]["tasks"]
        passed, runs = (np.array([task[name] for task in tasks]) for name in ("passed", "runs"))
        for name, formula in (("pass_at_k", repetitions.pass_at_k), ("pass_hat_k", repetitions.pass_hat_k)):
            for k, expected in vector["outputs"][name].items():
                assert formula(passed, runs, int(k)) == pytest.approx(expected, abs=vector["tolerance"])

    @pytest.mark.parametrize("vector", parameters("lower_median"))
    def test_lower_median(self, vector: Vector) -> None:
        values = np.array(vector["inputs"]["values"], dtype=float)
        assert repetitions.lower_median(values) == vector["outputs"]["lower_median"]

    @pytest.mark.parametrize("vector", parameters("failure_classes"))
    def test_failure_classes(self, vector: Vector) -> None:
        candidate = np.array(vector["inputs"]["candidate"], dtype=float)
        classes = failures.classify(candidate, np.array(vector["inputs"]["baselines"], dtype=float))
        expected = vector["outputs"]
        assert [failures.FailureClass(code).name.lower() for code in classes] == expected["per_case"]
        counts = failures.count(classes)
        assert counts.regressions == expected["regressions"]
        assert counts.improvements == expected["improvements"]
        assert counts.both_wrong == expected["both_wrong"]
        assert counts.agree == expected["agree"]

    @pytest.mark.parametrize("vector", parameters("winner_ties"))
    def test_winner_ties(self, vector: Vector) -> None:
        given = vector["inputs"]
        direction = Direction.HIGHER_IS_BETTER if given["higher_is_better"] else Direction.LOWER_IS_BETTER
        found = scorecard([MetricValues(given["metric"], direction, tuple(given["values"]))])
        (row,) = found.rows
        assert list(row.is_winner) == vector["outputs"]["is_winner"]
        assert row.casts_vote == vector["outputs"]["casts_vote"]
        assert found.overall is None


def _marks(rows: list[list[Any]]) -> dict[str, list[Mark]]:
    """[case, repetition, value] rows as marks by repetition; null is a judgment that was not scored."""
    cases: dict[str, list[Mark]] = {}
    for case, repetition, value in rows:
        marks = cases.setdefault(case, [])
        marks.extend([None] * (repetition - len(marks)))
        marks[repetition - 1] = Outcome.ABSTAINED if value is None else float(value)
    return cases
