"""Memory stays flat and time grows with the rows alone."""

from __future__ import annotations

import tracemalloc

import pytest

from analysis.observations import Outcome
from grading.models import Judgment
from runs.models import Execution
from tests.intake.conftest import LONG, experiments, rows

pytestmark = pytest.mark.django_db


def test_six_thousand_rows_in_bounded_memory(bring, put):
    """Peak of Python's own memory: what is kept per row is a manifest entry, never the row."""
    text = "an answer of some length " * 40
    peaks = []
    for cases in (500, 2000):
        file = put(f"{cases}.jsonl", rows(f"m{cases}", cases=cases, repetitions=3, answer=text))
        tracemalloc.start()
        row = bring(file, mapping=LONG, dataset=f"Cases {cases}")
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        [one] = experiments(row)
        assert Execution.objects.filter(experiment=one).count() == cases * 3
        assert Judgment.objects.filter(grading_pass__experiment=one, outcome=Outcome.SCORED).count() == cases * 6
    assert peaks[1] < 24_000_000
    assert (peaks[1] - peaks[0]) / 4500 < 2_000  # bytes for one more row; its answer alone has 1,000
