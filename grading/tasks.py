"""What the worker is woken for: there may be something to judge."""

from __future__ import annotations

from celery import shared_task

from grading.engine import working


@shared_task(name="grading.tasks.work")
def work() -> None:
    working.stretch()


@shared_task(name="grading.tasks.tick")
def tick() -> None:
    working.tick()
