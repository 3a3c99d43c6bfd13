"""What an item costs beside its call: with one worker and with several, with few waiting and with many."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Any

from tests.bench.installation import ROOT, Installation
from tests.bench.measuring import Row, Section

ITEMS = 400
WORKERS = (1, 2, 4)
MANY = 10_000

WORKER = """
import sys, time, django
django.setup()
from runs.engine import wakes, working
wakes.send = lambda *given, **more: None
print("ready", flush=True)
sys.stdin.readline()
until = time.monotonic() + float(sys.argv[1])
done = 0
while time.monotonic() < until and working.step():
    done += 1
print(done, flush=True)
"""
PLAIN = """
import sys, time, django
django.setup()
from celery import Celery, shared_task
from django.db import transaction
from runs.executors import executor_for
from runs.executors.contract import Ask, Message, Target
from teams import audit

app = Celery("plain")
app.conf.update(task_always_eager=False, task_ignore_result=True)

@app.task(name="plain.call")
def call(text):
    ask = Ask(Target("fixture", "fixture", "fixture:echo"), "", (Message("user", text),))
    reply = executor_for("fixture").call(ask, lambda: None)
    with transaction.atomic():
        audit.record("bench.answered", team=None, by=None, length=len(reply.text))

print("ready", flush=True)
sys.stdin.readline()
until = time.monotonic() + float(sys.argv[1])
done = 0
while time.monotonic() < until and done < int(sys.argv[2]):
    call.apply((f"question {done}",))
    done += 1
print(done, flush=True)
"""


def run(installation: Installation, seconds: float = 6.0) -> Section:
    section = Section(
        "Scheduling",
        "Items per second over a provider without latency: rights asked anew three times; claim, admission and "
        "settlement each committed by themselves. Peer: a Celery task that makes the same call and writes one row, "
        "run in its worker's process without a broker; it claims nothing, admits nothing, and forgets what a crash "
        "interrupts.",
    )
    plain = _rate(PLAIN, 1, seconds, "1000000")
    found = {}
    for workers in WORKERS:
        _launch(installation, MANY // 4)
        found[workers] = _rate(WORKER, workers, seconds)
        _empty(installation)
        row = Row(
            f"{workers} worker{'s' if workers > 1 else ''}, against the plain task in one",
            f"{found[workers]:,.0f}/s",
            f"{plain:,.0f}/s",
            found[workers] / plain,
            shown=f"1/{plain / found[workers]:.1f}",
        )
        section.rows.append(row)
    _launch(installation, ITEMS)
    few = _rate(WORKER, 1, min(seconds, 4.0))
    _empty(installation)
    _launch(installation, MANY)
    many = _rate(WORKER, 1, min(seconds, 4.0))
    _empty(installation)
    what = f"time per item, {MANY:,} waiting against {ITEMS}"
    section.rows.append(Row(what, f"{1000 / many:.1f} ms", f"{1000 / few:.1f} ms", few / many, 1.5))
    return section


def _rate(program: str, workers: int, seconds: float, *more: str) -> float:
    """Items per second of so many processes that begin together."""
    started = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(seconds), *more],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(workers)
    ]
    for one in started:
        assert one.stdout is not None and one.stdout.readline() == "ready\n"
    began = time.perf_counter()
    for one in started:
        assert one.stdin is not None
        one.stdin.write("\n")
        one.stdin.flush()
    done = sum(int(one.communicate()[0]) for one in started)
    return done / (time.perf_counter() - began)


def _launch(installation: Installation, items: int) -> Any:
    from runs import actions
    from runs.engine import wakes
    from tests.factories import agents as factory

    wakes.send = lambda *given, **more: None  # type: ignore[assignment]
    access = installation.access
    name = f"Bench {items} {time.monotonic_ns()}"
    snapshot = factory.snapshot(access, factory.route(), name)
    version = factory.version(access, items, name)
    batch = actions.launch(access=access, snapshot=snapshot, plan=actions.Plan(version)).batch
    assert batch is not None
    batch.parallel = max(WORKERS)
    batch.save()
    return batch


def _empty(installation: Installation) -> None:
    """Cancel what is left, so that the next round starts alone."""
    from runs import actions
    from runs.models import Experiment, State

    for experiment in Experiment.objects.filter(team=installation.team, state=State.RUNNING):
        actions.cancel(access=installation.access, experiment=experiment)
