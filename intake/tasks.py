"""What the worker is woken for. Ids in, one call, no result; the rows are the truth."""

from __future__ import annotations

from uuid import UUID

from celery import shared_task

from intake import working


@shared_task(name="intake.tasks.advance_import")
def advance_import(import_id: str) -> None:
    with working.bounded_memory():
        working.advance(UUID(import_id))


@shared_task(name="intake.tasks.advance_imports")
def advance_imports() -> None:
    working.tick()


@shared_task(name="intake.tasks.expire_uploads")
def expire_uploads() -> None:
    working.expire()
