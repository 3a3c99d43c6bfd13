"""S4 for passes: a worker that dies while it judges asks no judge twice, and says of which nobody knows."""

from __future__ import annotations

import json
import os
import random
import signal

import pytest

from grading import actions
from grading.actions import GradingPlan, Planned
from grading.models import GradingPass, Judgment
from runs.engine import working
from runs.models import State
from tests.faults.house import House
from tests.faults.servers import until
from tests.faults.worker import JUDGING

CASES = 5
INDETERMINATE = ("after admission", "after the answer", "in the middle of settling")
YES = json.dumps({"reasoning": "", "abstain": False, "value": True})


def regraded(house: House) -> GradingPass:
    """A pass of one judge over answers that are all there; nobody works on it yet."""
    experiment = house.launch(CASES)
    while working.step():
        pass
    working.tick()
    experiment.refresh_from_db()
    assert experiment.state == State.COMPLETED
    access = house.access()
    correct = actions.create_metric(
        access=access, key="correct", name="Correct", kind="boolean", direction="higher_is_better"
    )
    config = {"route": house.route.key, "prompt": "{{input}} / {{answer}}", "rubric": ""}
    judge = actions.create_grader(access=access, metric=correct, kind="judge", name="Judge", config=config)
    house.provider.rule("/ echo: ", f"structured:{YES}")
    made = actions.regrade(access=access, experiment=experiment, plan=GradingPlan([Planned(judge)]))
    house.freeze()
    return made


@pytest.mark.parametrize("point", JUDGING)
def test_kill_9_of_a_judging_worker(polled, point, seed):
    made = regraded(polled)
    last = point == "at the end of the pass"
    on = 1 if last else random.Random(f"{point}{seed}").randint(1, 3)
    worker = polled.worker("polling", dies=f"{point}, judging", on=on)
    until(worker.died.exists, "the worker dies")
    assert worker.process.wait(10) == -signal.SIGKILL
    polled.worker("polling")
    polled.fault_is_over()
    polled.judged(made)
    unsure = int(point in INDETERMINATE)
    assert sorted(polled.outcomes(made)) == ["indeterminate"] * unsure + ["scored"] * (CASES - unsure)
    assert len(polled.references) == 2 * CASES - (point == "after admission")
    polled.settled(dead=unsure)


@pytest.mark.parametrize("kind", ["celery", "polling"])
def test_kill_9_during_the_call_of_a_judge(opened, kind):
    house: House = opened(broker=kind == "celery")
    made = regraded(house)
    house.provider.rule("question 2 canary-7f3a / echo", "hold")
    worker = house.worker(kind)
    house.provider.wait_held(1, 30)
    holder = Judgment.objects.get(grading_pass=made, lease_until__isnull=False).claimed_by
    os.kill(int(holder.rpartition(":")[2]), signal.SIGKILL)
    if kind == "polling":
        worker.process.wait(10)
        house.worker(kind)
    house.fault_is_over()
    house.judged(made)
    assert house.outcomes(made) == ["scored"] * 2 + ["indeterminate"] + ["scored"] * 2
    assert len(house.references) == 2 * CASES
    house.settled(dead=1)


def test_a_pass_that_is_cancelled_during_the_call_of_a_judge_keeps_what_it_cost(polled):
    made = regraded(polled)
    polled.provider.rule("question 2 canary-7f3a / echo", "hold")
    polled.worker("polling")
    polled.provider.wait_held(1, 30)
    actions.cancel_pass(access=polled.access(), grading_pass=made)
    polled.provider.release()

    def late() -> bool:
        row = Judgment.objects.get(grading_pass=made, execution__position=2)
        return row.cost_micros > 0

    until(late, "the late cost is counted")
    polled.fault_is_over()
    polled.judged(made)
    assert polled.outcomes(made) == ["scored"] * 2 + ["cancelled"] * 3
    assert len(polled.references) == CASES + 3
    polled.settled()
