"""Faults in a random order, for schedules and soaks: each comes, goes, and leaves nothing broken behind."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable

from django.db import connections

from runs import actions
from runs.models import Execution, Experiment, State
from teams import actions as team_actions
from teams.refusals import Refusal
from tests.faults.house import LEASE, House
from tests.faults.ledger import CANARY
from tests.faults.servers import until

TALK = [{"role": "user", "content": f"one of two {CANARY}"}, {"role": "user", "content": "two of two"}]


class Storm:
    """Chooses and does faults. It has a worker of its own, the only one that it kills and stops."""

    def __init__(self, house: House, kind: str, seed: int) -> None:
        self.house, self.kind = house, kind
        self.random = random.Random(seed)
        self.victim = house.worker(kind)
        self.done: list[str] = []
        self.faults: list[Callable[[], None]] = [
            *(self.kill_worker, self.stop_worker, self.kill_postgres, self.restart_postgres, self.end_connections),
            *(self.take_rights_away, self.cancel_one),
        ]
        if kind == "celery":
            self.faults += [self.kill_broker, self.fill_broker]

    def one(self) -> None:
        fault = self.random.choice(self.faults)
        self.done.append(fault.__name__)
        fault()

    def kill_worker(self) -> None:
        for pid in reversed(self.victim.pids()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.victim.process.wait(10)
        self.victim = self.house.worker(self.kind)

    def stop_worker(self) -> None:
        pids = self.victim.pids()
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        time.sleep(LEASE * 1.5)
        for pid in pids:
            os.kill(pid, signal.SIGCONT)

    def kill_postgres(self) -> None:
        self._stop_postgres(signal.SIGKILL)

    def restart_postgres(self) -> None:
        self._stop_postgres(signal.SIGINT)

    def _stop_postgres(self, how: signal.Signals) -> None:
        connections["default"].close()
        self.house.servers.stop(self.house.servers.postgres, how)
        time.sleep(self.random.random())
        self.house.servers.start(self.house.servers.postgres)

    def end_connections(self) -> None:
        self.house.end_connections()

    def kill_broker(self) -> None:
        self.house.servers.stop(self.house.servers.valkey, signal.SIGKILL)
        time.sleep(self.random.random())
        self.house.servers.start(self.house.servers.valkey)

    def fill_broker(self) -> None:
        with self.house.broker() as broker:
            broker.config_set("maxmemory", 1)
            time.sleep(1)
            broker.config_set("maxmemory", 0)

    def take_rights_away(self) -> None:
        """What Omar started is paused by whoever wants to go on with it, and resumed afterwards."""
        self._give_omar("Viewer")
        time.sleep(self.random.random() * 2)
        self._give_omar("Analyst")

    def _give_omar(self, preset: str) -> None:
        role = team_actions.preset(preset)
        team_actions.set_role(access=None, team=self.house.team, user=self.house.omar, role=role, by=None)

    def cancel_one(self) -> None:
        running = list(Experiment.objects.filter(state=State.RUNNING, cancel_asked_at=None).order_by("number"))
        if len(running) > 1:
            with contextlib.suppress(Refusal):  # it has ended meanwhile
                actions.cancel(access=self.house.access(), experiment=self.random.choice(running))

    def resume_all(self) -> None:
        """What lost its starter's rights for a while goes on."""
        for experiment in Experiment.objects.filter(state=State.RUNNING).exclude(paused_at=None):
            with contextlib.suppress(Refusal):
                actions.resume(access=self.house.access(), experiment=experiment)


def launched(house: House, chance: random.Random, cases: int) -> Experiment:
    """Some of them talk in two turns; some are slow, some are refused at first, a few are not answered readably."""
    said = [{"turns": TALK} if chance.random() < 0.3 else {"input": f"question {at} {CANARY}"} for at in range(cases)]
    return house.launch(said, by=chance.choice([house.ana, house.omar]), name=f"Desk {len(house.acknowledged)}")


def rules(house: House, chance: random.Random) -> None:
    for at in range(12):
        behaviour = chance.choice(["ok", "ok", "ok", "slow:0.5", "slow:2.5", "500,ok", "429:0.2,ok", "cut", "garbage"])
        house.provider.rule(f"question {at}", behaviour)


def ended(house: House, storm: Storm, patience: float) -> None:
    """What was paused for a starter without rights is resumed until nothing is left."""

    def quiet() -> bool:
        storm.resume_all()
        return not Experiment.objects.filter(state=State.RUNNING).exists()

    try:
        until(quiet, f"the work ends after {storm.done}", patience)
    except AssertionError as left:
        rows = Execution.objects.filter(experiment__state=State.RUNNING).values_list("state", "error_code", "epoch")
        raise AssertionError(f"{left}; {Counter(rows)}; {house.said()}") from None
