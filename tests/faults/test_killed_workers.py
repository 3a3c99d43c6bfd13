"""S4: a worker that dies at any of seven points repeats no call, loses none, and says of which nobody knows."""

from __future__ import annotations

import os
import random
import signal
import time

import pytest

from runs.models import Experiment, State
from tests.faults.house import LEASE, House
from tests.faults.servers import until
from tests.faults.worker import POINTS

CASES = 6
INDETERMINATE = ("after admission", "after the answer", "in the middle of settling")


@pytest.mark.parametrize("kind", ["celery", "polling"])
@pytest.mark.parametrize("point", POINTS)
def test_kill_9(opened, kind, point, seed):
    house: House = opened(broker=kind == "celery")
    experiment = house.launch(CASES)
    worker = house.worker(kind, dies=point, on=random.Random(f"{point}{seed}").randint(1, 3))
    until(worker.died.exists, "the worker dies")
    died = worker.died.stat().st_mtime
    if kind == "polling":
        assert worker.process.wait(10) == -signal.SIGKILL
        house.worker(kind)
    house.fault_is_over()
    house.ends(experiment)
    house.recovered(died)
    unsure = int(point in INDETERMINATE)
    assert sorted(house.states(experiment)) == ["completed"] * (CASES - unsure) + ["indeterminate"] * unsure
    assert len(house.references) == CASES - (point == "after admission")
    house.settled(dead=unsure)


@pytest.mark.parametrize("whole", [False, True], ids=["its child", "all of it"])
def test_kill_9_of_celery_during_the_call(house, whole):
    house.provider.rule("question 2", "hold")
    experiment = house.launch(CASES)
    worker = house.worker()
    house.provider.wait_held(1, 30)
    for pid in worker.pids() if whole else [worker.hands()]:
        os.kill(pid, signal.SIGKILL)
    died = time.time()
    if whole:
        worker.process.wait(10)
        house.worker()
    house.fault_is_over()
    house.ends(experiment)
    house.recovered(died)
    assert house.states(experiment)[2] == "indeterminate"
    assert len(house.references) == CASES
    house.settled(dead=1)


def test_kill_9_of_a_polling_worker_during_the_call(polled):
    polled.provider.rule("question 2", "hold")
    experiment = polled.launch(CASES)
    worker = polled.worker("polling")
    polled.provider.wait_held(1, 30)
    worker.process.kill()
    worker.process.wait()
    died = time.time()
    polled.worker("polling")
    polled.fault_is_over()
    polled.ends(experiment)
    polled.recovered(died)
    assert polled.states(experiment) == ["completed"] * 2 + ["indeterminate"] + ["completed"] * 3
    polled.settled(dead=1)


@pytest.mark.parametrize("kind", ["celery", "polling"])
def test_SIGTERM_drains_an_item_longer_than_its_lease(opened, kind):
    """S3: three turns are asked to their end, the lease is renewed, nobody else claims the item, nothing new begins."""
    house: House = opened(broker=kind == "celery")
    talk = [{"turns": [{"role": "user", "content": f"turn {at} of {case}"} for at in range(3)]} for case in range(3)]
    house.provider.rule("turn", "slow:1.5")
    experiment = house.launch(talk)
    first = house.worker(kind)
    house.provider.wait_calls(1, 30)
    first.process.send_signal(signal.SIGTERM)
    assert first.process.wait(30) == 0
    assert house.states(experiment) == ["completed", "planned", "planned"]
    with house.owner() as owner:
        row = owner.execute(
            "SELECT epoch, finished_at - started_at > make_interval(secs => %s) FROM runs_execution WHERE position = 0",
            [LEASE],
        ).fetchone()
    assert row == (1, True)
    house.worker(kind)
    house.fault_is_over()
    until(lambda: Experiment.objects.get(pk=experiment.pk).state == State.COMPLETED, "the rest is done", 60)
    assert len(house.references) == 9
    house.settled()


def test_SIGSTOP_for_longer_than_the_lease(polled):
    """F10: the item is judged while its worker stands still; what the worker brings back late stays with its call."""
    polled.provider.rule("question 1", "hold")
    experiment = polled.launch(4)
    stopped = polled.worker("polling")
    polled.provider.wait_held(1, 30)
    os.kill(stopped.process.pid, signal.SIGSTOP)
    at = time.time()
    polled.worker("polling")
    polled.fault_is_over()
    polled.ends(experiment)
    polled.recovered(at)
    assert polled.states(experiment) == ["completed", "indeterminate", "completed", "completed"]
    os.kill(stopped.process.pid, signal.SIGCONT)
    polled.provider.release()
    until(lambda: "settled_late" in polled.attempts(experiment), "the late answer is kept")
    assert polled.states(experiment)[1] == "indeterminate"
    assert len(polled.references) == 4
    polled.settled(dead=1)
