"""What a worker does for passes when it is woken, and the tick that needs no message to have arrived."""

from __future__ import annotations

import logging
from typing import Final

from django.db import InterfaceError, OperationalError

from grading.engine import asserting, claiming, expecting, finishing, judging
from grading.engine.work import ENRICHMENTS, JUDGMENTS
from runs.engine import wakes
from runs.engine.finishing import sweep
from teams.bulk import held_lock

log = logging.getLogger(__name__)

TASK: Final = "grading.tasks.work"


def step() -> bool:
    """Do the next piece of work: assertions, which cost nothing, then whatever takes a call."""
    if asserting.judge_some():
        return True
    taken = claiming.claim_next()
    if taken is None:
        return False
    try:
        judging.work_on(taken)
    except (OperationalError, InterfaceError):
        raise
    except Exception:  # a fault of ours ends one judgment, not the worker: its lease runs out
        log.exception("%s %s failed", taken.work.owner, taken.id)
    return True


def stretch() -> None:
    """Work for a while, then leave the rest to another wake-up."""
    wakes.stretch(step, TASK)


def tick() -> int:
    """Judge what lost workers left, write down what is to be judged, end what is done, wake workers for the rest."""
    with held_lock("grading tick") as held:
        if not held:
            return 0
        sweep(JUDGMENTS, ENRICHMENTS)
        expecting.expect()
        finishing.finish_all()
        waiting = min(claiming.waiting(), wakes.MOST)
    wakes.send(waiting, TASK)
    return waiting
