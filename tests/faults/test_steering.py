"""F35, F36: cancelled, or without rights, in every state: what has left settles with its cost, nothing new leaves."""

from __future__ import annotations

import pytest

from runs import actions
from runs.models import Experiment, State
from teams import actions as team_actions
from tests.faults.house import House
from tests.faults.servers import until

TALK = [{"turns": [{"role": "user", "content": f"turn {at} of {case}"} for at in range(2)]} for case in range(3)]
WHEN = ["planned", "claimed", "during the call", "between turns"]
ASKED = {"planned": 0, "claimed": 2, "during the call": 4, "between turns": 3}
"""Calls by then; none leaves afterwards."""


def cancel(house: House, experiment: Experiment) -> None:
    actions.cancel(access=house.access(), experiment=experiment)


def revoke(house: House, experiment: Experiment) -> None:
    viewer = team_actions.preset("Viewer")
    team_actions.set_role(access=None, team=house.team, user=house.omar, role=viewer, by=None)


def restore(house: House) -> None:
    analyst = team_actions.preset("Analyst")
    team_actions.set_role(access=None, team=house.team, user=house.omar, role=analyst, by=None)


def at_that_state(house: House, when: str, kind: str, act) -> Experiment:
    """Launch, and act while the second item is in the state."""
    if when == "planned":
        experiment = house.launch(TALK, by=house.omar)
        act(house, experiment)
        house.worker(kind)
        return experiment
    if when == "claimed":
        experiment = house.launch(TALK, by=house.omar)
        house.worker(kind, holds="after the claim", on=2)
        until(house.held.exists, "the second item is claimed", 30)
        act(house, experiment)
        house.held.unlink()
        return experiment
    house.provider.rule("turn 1 of 1" if when == "during the call" else "turn 0 of 1", "hold")
    experiment = house.launch(TALK, by=house.omar)
    house.worker(kind)
    house.provider.wait_held(1, 30)
    act(house, experiment)
    house.provider.release()
    return experiment


@pytest.mark.parametrize("kind", ["celery", "polling"])
@pytest.mark.parametrize("when", WHEN)
def test_F35_cancel(opened, when, kind):
    house: House = opened(broker=kind == "celery")
    experiment = at_that_state(house, when, kind, cancel)
    house.fault_is_over()
    house.ends(experiment)
    assert Experiment.objects.get(pk=experiment.pk).state == State.CANCELLED
    second = "completed" if when == "during the call" else "cancelled"
    first = "cancelled" if when == "planned" else "completed"
    assert house.states(experiment) == [first, second, "cancelled"]
    assert len(house.references) == ASKED[when]
    assert set(house.attempts(experiment)) <= {"settled"}
    house.settled()


@pytest.mark.parametrize("kind", ["celery", "polling"])
@pytest.mark.parametrize("when", WHEN)
def test_F36_rights_taken_away(opened, when, kind):
    """The item in the middle ends as far as it came; the rest waits, paused, until the rights are back."""
    house: House = opened(broker=kind == "celery")
    experiment = at_that_state(house, when, kind, revoke)

    def paused() -> bool:
        row = Experiment.objects.get(pk=experiment.pk)
        return row.pause_code == "starter_unauthorized" and "running" not in house.states(experiment)

    until(paused, "the experiment is paused")
    asked = len(house.references)
    assert asked == ASKED[when]
    second = {"during the call": "completed", "between turns": "failed"}.get(when, "planned")
    assert house.states(experiment)[1:] == [second, "planned"]
    restore(house)
    actions.resume(access=house.access(), experiment=Experiment.objects.get(pk=experiment.pk))
    house.fault_is_over()
    house.ends(experiment)
    failed = int(when == "between turns")
    assert sorted(house.states(experiment)) == ["completed"] * (3 - failed) + ["failed"] * failed
    assert len(house.references) == 6 - failed
    house.settled()
