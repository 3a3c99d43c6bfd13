"""Every mean, count and interval of generated evidence equals an independent computation: no silent cap anywhere."""

from __future__ import annotations

import json

import pytest
from django.urls import reverse

from intake import actions
from runs.models import Experiment
from tests.bench import truth, workload


@pytest.fixture
def measured(cast, api_client, tmp_path):
    """Import a generated workload, and what the API says of a metric of it."""

    def measure(cases: int, repetitions: int):
        access = cast.access(cast.omar)
        (baseline, base_file), (candidate, cand_file) = workload.write(tmp_path, cases, repetitions)
        for path in (base_file, cand_file):
            actions.import_now(access=access, files=[(path.name, path)], dataset_name="Bench", mapping=workload.MAPPING)
        first, second = Experiment.objects.order_by("number")
        client = api_client(cast.omar, cast.team)

        def said(metric: str, **more):
            asked = {"candidate": second.pk, "baseline": first.pk, "metric": metric, **more}
            response = client.get(reverse("api:paired_comparison"), asked)
            assert response.status_code == 200, response.content
            return json.loads(response.content)["result"]

        return baseline, candidate, said

    return measure


def check(measured, cases: int, repetitions: int) -> None:
    baseline, candidate, said = measured(cases, repetitions)
    for metric in ("correct", "score"):
        assert truth.faults(said(metric), candidate, baseline, metric) == []


def test_figures_are_those_of_an_independent_computation(measured):
    check(measured, 1_000, 3)


def test_figures_are_right_beyond_ten_thousand_cases(measured):
    """The sizes at which other tools cap what they read, and say nothing of it."""
    check(measured, 10_001, 3)
