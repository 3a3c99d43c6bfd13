"""What the worker is woken for: somebody may have to be told something."""

from __future__ import annotations

from celery import shared_task

from webhooks import working


@shared_task(name="webhooks.tasks.work")
def work() -> None:
    working.stretch()


@shared_task(name="webhooks.tasks.tick")
def tick() -> None:
    working.tick()


@shared_task(name="webhooks.tasks.expire")
def expire() -> None:
    working.expire()
