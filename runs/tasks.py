"""What the worker is woken for. No result, and nothing in a message but that there may be something to do."""

from __future__ import annotations

from celery import shared_task

from runs.engine import working


@shared_task(name="runs.tasks.work")
def work() -> None:
    working.stretch()


@shared_task(name="runs.tasks.tick")
def tick() -> None:
    working.tick()
