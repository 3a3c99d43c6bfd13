"""On demand, `--soak 30`: so many minutes of work with a fault every 20 seconds."""

from __future__ import annotations

import random
import time
from pathlib import Path

from analysis.observations import Generation
from runs.models import Execution, Experiment
from tests.faults.storm import Storm, ended, launched, rules


def test_soak(polled, soak):
    """Work all the time and a fault every 20 seconds: no memory that grows, no connection that stays."""
    chance = random.Random(soak)
    rules(polled, chance)
    watched = polled.worker("polling")
    storm = Storm(polled, "polling", soak)
    begun = time.monotonic()
    memory: list[int] = []
    while time.monotonic() - begun < soak * 60:
        fault_at = time.monotonic() + 20
        while time.monotonic() < fault_at:
            if Execution.objects.filter(state=Generation.PLANNED).count() < 40:
                launched(polled, chance, 12)
            time.sleep(0.5)
            storm.resume_all()
        storm.one()
        assert watched.process.poll() is None, polled.said()
        memory.append(resident(watched.process.pid))
    polled.fault_is_over()
    ended(polled, storm, 180)
    with polled.owner() as owner:
        row = owner.execute(
            "SELECT count(*), count(*) FILTER (WHERE state LIKE 'idle in transaction%'"
            " AND state_change < clock_timestamp() - interval '5 seconds')"
            " FROM pg_stat_activity WHERE usename = 'app'"
        ).fetchone()
    assert row is not None
    connections, idle = row
    warm = memory[len(memory) // 4]
    polled.figures["note"] = (
        f"{soak} minutes, {len(storm.done)} faults, {Experiment.objects.count()} experiments; memory of the worker "
        f"that lived through it {warm >> 20} MB after a quarter, {memory[-1] >> 20} MB at the end; "
        f"{connections} connections, {idle} of them idle in a transaction"
    )
    polled.settled()
    assert idle == 0 and connections <= 8
    assert memory[-1] < warm * 1.25


def resident(pid: int) -> int:
    """Bytes."""
    line = next(one for one in Path(f"/proc/{pid}/status").read_text().splitlines() if one.startswith("VmRSS"))
    return int(line.split()[1]) * 1024
