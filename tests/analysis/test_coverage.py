"""A short form of `make coverage-check`: the claim that intervals and tests hold is tested on every run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.analysis.reference import parameters
from tests.coverage import measure, references, report, worlds

DOCUMENT = Path(__file__).parents[2] / "docs" / "coverage.md"

Vector = dict[str, Any]
NUMBER = re.compile(r"\d+(\.\d+)?")


@pytest.mark.parametrize(
    ("cases", "rate", "repetitions", "drop"), [(20, 0.95, 1, 0.05), (20, 0.8, 5, 0.0), (50, 0.8, 3, 0.05)]
)
def test_the_leading_interval_of_pass_or_fail_covers(cases: int, rate: float, repetitions: int, drop: float) -> None:
    """600 data sets: a true 95 % stays above 92 in all but one of 2,000 seeds, and the seed is fixed."""
    found = measure.paired_passes(cases, rate, repetitions, drop, "usual", datasets=600, resample=False)
    assert report.LOWEST <= found["lead covers"] <= 1
    assert found.get("lead none", 0) == found.get("lead no width", 0) == 0
    if drop == 0:
        assert found["sign-flip alarm"] < 0.08
        assert found["moved"] == pytest.approx(found["expected"], rel=0.1)


def test_the_leading_interval_of_numbers_covers() -> None:
    found = measure.paired_numbers(20, "latency", 1, moved=False, datasets=400)
    assert report.LOWEST <= found["lead covers"] <= 1
    assert found["sign-flip alarm"] < 0.08


def test_groups_arms_and_calibration_cover() -> None:
    grouped = measure.grouped((15,) * 20, 0.6, datasets=200)
    assert grouped["clustered t covers"] > report.LOWEST
    assert grouped["clustered t covers"] > grouped["Tango on cases covers"] + 0.05
    assert grouped["group sign-flip alarm"] < 0.09
    assert measure.one_arm(100, 0.8, 3, datasets=400)["Wilson covers"] > report.LOWEST
    assert measure.independent_arms(20, 0.8, 0.05, datasets=1_000)["Newcombe covers"] > report.LOWEST
    assert measure.independent_runs(5, moved=True, datasets=300)["Welch covers"] > report.LOWEST
    assert measure.calibration(100, 0.8, datasets=300)["corrected covers"] > report.LOWEST


def test_many_looks_and_many_tests_stay_safe() -> None:
    watched = measure.peeking(400, 0.8, datasets=400)
    assert watched.get("e-value alarm", 0) < 0.05 < watched["mid-p at every look alarm"]
    tested = measure.many_tests(100, 0.8, datasets=300)
    assert tested["Holm alarm"] < 0.08 < tested["unadjusted alarm"]


def test_the_truth_of_a_simulated_world_is_its_mean() -> None:
    for world in (
        worlds.passes(400, 300, 2, 0.8, 0.05, "strong"),
        worlds.numbers(400, 300, 1, "rubric", True),
        worlds.numbers(400, 300, 1, "latency", True),
        worlds.graded(2_000, 50, True),
    ):
        differences = (world.candidate - world.baseline).mean(axis=1)
        error = differences.std() / len(differences) ** 0.5
        assert abs(differences.mean() - world.truth) < 4 * error


def test_cells_do_not_depend_on_each_other() -> None:
    cell = report.Cell("independent_arms", (20, 0.8, 0.05), 50)
    assert cell.run() == cell.run()
    listed = [(cell.kind, *cell.arguments) for cell in report.cells(1)]
    assert len(listed) == len(set(listed))


def test_the_document_is_written_from_results_and_was_inside_the_bounds() -> None:
    text = DOCUMENT.read_text()
    assert "all inside" in text
    results = report.Results({(cell.kind, *cell.arguments): {"lead covers": 0.95} for cell in report.cells(1)})
    drawn = report.document(results, 2_000)
    assert [NUMBER.sub("", line) for line in drawn.splitlines()] == [NUMBER.sub("", line) for line in text.splitlines()]
    assert results.outside() == []
    (first, *_) = results.found
    results.found[first] = {"lead covers": 0.9}
    assert results.outside() == [(first, 0.9)]
    assert "**outside**" in report.document(results, 2_000)


class TestReferences:
    """Formulas that only the document uses, against the vectors that the product does not need."""

    @pytest.mark.parametrize("vector", parameters("paired_binary_intervals"))
    def test_paired_intervals(self, vector: Vector) -> None:
        given, expected = vector["inputs"], vector["outputs"]
        table = given["candidate_only"], given["baseline_only"], sum(given.values())
        for name, found in (
            ("newcombe10_95", references.newcombe_paired(given["both_pass"], *table)),
            ("bonett_price_95", references.bonett_price(*table)),
            ("agresti_min_95", references.agresti_min(*table)),
            ("wald_95", references.wald(*table)),
        ):
            assert tuple(found) == pytest.approx(expected[name], abs=vector["tolerance"]), name

    @pytest.mark.parametrize("vector", parameters("mcnemar"))
    def test_mcnemar(self, vector: Vector) -> None:
        given, expected = vector["inputs"], vector["outputs"]
        table = given["candidate_only"], given["baseline_only"]
        assert references.mcnemar_exact(*table) == pytest.approx(expected["p_exact"], abs=vector["tolerance"])
        if expected["p_asymptotic"] is not None:
            found = references.mcnemar_asymptotic(*table)
            assert found == pytest.approx(expected["p_asymptotic"], abs=vector["tolerance"])

    @pytest.mark.parametrize("vector", parameters("clopper_pearson_and_uniform_posterior"))
    def test_clopper_pearson(self, vector: Vector) -> None:
        found = references.clopper_pearson(vector["inputs"]["successes"], vector["inputs"]["n"])
        assert found.low == pytest.approx(vector["outputs"]["cp_low"], abs=vector["tolerance"])
        assert found.high == pytest.approx(vector["outputs"]["cp_high"], abs=vector["tolerance"])
