"""What every kept thing goes through: renamed by who has seen it as it stands, put away, brought back.

A kept thing is a record with `name`, `archived_at` and `revision`, locked by its caller.
"""

from __future__ import annotations

from datetime import datetime
from typing import Protocol
from uuid import UUID

from django.db import IntegrityError, models, transaction
from django.utils import timezone

from teams import audit
from teams.access import Access
from teams.refusals import Refusal


class Kept(Protocol):
    pk: UUID
    name: str
    archived_at: datetime | None
    revision: int


def seen(current: int, given: int, what: str) -> None:
    """Refuse to overwrite an edit that the editor has not seen."""
    if current != given:
        raise Refusal("revision_stale", f"{what} is at revision {current}.", current=current)


def set_archived[Row: models.Model](access: Access, row: Row, event: str, *, archived: bool) -> Row:
    """Put away or bring back; what is so already stays as it is."""
    kept: Kept = row  # type: ignore[assignment]
    if (kept.archived_at is not None) != archived:
        kept.archived_at = timezone.now() if archived else None
        kept.revision += 1
        row.save(update_fields=["archived_at", "revision"])
        audit.by(f"{event}.{'archived' if archived else 'restored'}", access, row)
    return row


def rename[Row: models.Model](access: Access, row: Row, event: str, name: str, taken: str) -> Row:
    """Another name, if no other thing has it; `taken` is what is said otherwise."""
    kept: Kept = row  # type: ignore[assignment]
    if name == kept.name:
        return row
    before, kept.name = kept.name, name
    kept.revision += 1
    try:
        with transaction.atomic():
            row.save(update_fields=["name", "revision"])
    except IntegrityError:
        raise Refusal("name_taken", taken, place="name") from None
    audit.by(f"{event}.renamed", access, row, before=before, name=name)
    return row
