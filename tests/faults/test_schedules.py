"""On demand, `--schedules 20`: random schedules of several faults on top of each other."""

from __future__ import annotations

import random
import time

from tests.faults.house import BOUND, House
from tests.faults.storm import Storm, ended, launched, rules


def test_a_random_schedule(opened, schedule):
    chance = random.Random(schedule)
    kind = chance.choice(["celery", "polling"])
    house: House = opened(broker=kind == "celery")
    rules(house, chance)
    storm = Storm(house, kind, schedule)
    house.worker(kind)
    for _ in range(chance.randint(4, 8)):
        launched(house, chance, chance.randint(3, 8))
        time.sleep(chance.random() * 1.5)
        storm.one()
    house.fault_is_over()
    ended(house, storm, BOUND + 45)  # the bound holds for one fault; here a queue of work is left as well
    house.figures["ended"] = round(time.time() - house.over, 2)
    house.settled()
