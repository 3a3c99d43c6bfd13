"""F32: whatever a provider does, each item ends with the right code, and calls and costs are told as they were."""

from __future__ import annotations

import pytest

from runs.models import Attempt, Execution
from tests.faults.house import House

FAULTS = {
    "reset": ("reset", "provider_cut_off", 1),
    "cut": ("cut", "provider_cut_off", 1),
    "garbage": ("garbage", "provider_answer_unreadable", 1),
    "too large": ("huge", "provider_answer_too_large", 1),
    "elsewhere": ("redirect:http://127.0.0.1:9/", "provider_redirected", 1),
    "silent": ("silent:8", "provider_timed_out", 1),
    "refuses": ("400", "provider_rejected", 1),
    "takes no key": ("401", "provider_unauthorized", 1),
    "falls over": ("500", "provider_server_error", 3),
}


@pytest.mark.parametrize("kind", ["celery", "polling"])
def test_F32_a_provider_that_fails_in_every_way_at_once(opened, kind):
    house: House = opened(broker=kind == "celery")
    for said, (behaviour, _, _) in FAULTS.items():
        house.provider.rule(said, behaviour)
    house.provider.rule("recovers", "429:1,500,ok")
    cases = [{"input": f"{said} canary-7f3a"} for said in (*FAULTS, "recovers", "answers")]
    experiment = house.launch(cases, timeout_seconds=2)
    house.worker(kind)
    house.fault_is_over()
    house.ends(experiment, within=60)
    rows = list(Execution.objects.filter(experiment=experiment).order_by("position"))
    assert [one.error_code for one in rows] == [*(code for _, code, _ in FAULTS.values()), "", ""]
    assert house.states(experiment) == ["failed"] * len(FAULTS) + ["completed"] * 2
    counted = [Attempt.objects.filter(execution=one).count() for one in rows]
    assert counted == [*(calls for _, _, calls in FAULTS.values()), 3, 1]
    assert len(house.references) == sum(counted)
    assert rows[-1].cost_coverage == 2 and rows[-1].cost_micros > 0
    told = {said: one.cost_micros for said, one in zip(FAULTS, rows, strict=False) if one.cost_coverage}
    assert told == {}
    assert rows[-2].cost_coverage == 1 and rows[-2].cost_micros == rows[-1].cost_micros  # two calls told nothing
    house.settled()


def test_F32_a_provider_that_is_not_there(polled):
    """Nothing left, so nothing is in the provider's book; the item fails by name and is not asked for ever."""
    experiment = polled.launch(1)
    polled.provider_process.terminate()
    polled.provider_process.wait(10)
    polled.worker("polling")
    polled.fault_is_over()
    polled.ends(experiment, within=40)
    row = Execution.objects.get(experiment=experiment)
    assert (row.error_code, Attempt.objects.filter(execution=row).count()) == ("provider_unreachable", 3)
    polled.settled()
