"""Base classes of stored records: ids, immutability, and content kept beside the row that names it."""

from __future__ import annotations

from typing import Any, Never

import pgtrigger
import uuid_utils.compat
from django.db import models


def new_id() -> Any:
    """A UUIDv7: sortable by time, never reused."""
    return uuid_utils.compat.uuid7()


class Record(models.Model):
    id = models.UUIDField(primary_key=True, default=new_id, editable=False)

    class Meta:
        abstract = True


class ImmutableError(TypeError):
    """Somebody tried to change what is written once."""


class ImmutableQuerySet(models.QuerySet[Any]):
    def update(self, **kwargs: Any) -> Never:
        raise ImmutableError(self.model._meta.label)

    def delete(self) -> Never:
        raise ImmutableError(self.model._meta.label)

    def bulk_update(self, *args: Any, **kwargs: Any) -> Never:
        raise ImmutableError(self.model._meta.label)


class Immutable(Record):
    """Written once. The Python refusal is the friendly one; the database trigger is the guarantee."""

    objects = ImmutableQuerySet.as_manager()

    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        if not self._state.adding:
            raise ImmutableError(self._meta.label)
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> Never:
        raise ImmutableError(self._meta.label)


def frozen() -> pgtrigger.Trigger:
    """The trigger of an immutable table: no UPDATE, no DELETE, by whatever road."""
    return pgtrigger.Protect(name="frozen", operation=pgtrigger.Update | pgtrigger.Delete)


class Availability(models.TextChoices):
    AVAILABLE = "available", "Available"
    EXPIRED = "expired", "Expired"
    DELETED = "deleted", "Deleted"
    REDACTED = "redacted", "Redacted"


class Content(models.Model):
    """Protected content beside the row that names it: readable only with `evaluation.content.read`.

    Its availability moves one way; when it leaves `available` the body goes with it.
    """

    availability = models.CharField(max_length=10, choices=Availability, default=Availability.AVAILABLE)

    class Meta:
        abstract = True


def one_way(*body: str) -> pgtrigger.Trigger:
    """The trigger of a content table: rows stay, the body may only be taken away, never come back or change."""
    kept = " OR ".join(f"(NEW.{column} IS DISTINCT FROM OLD.{column} AND NEW.{column} IS NOT NULL)" for column in body)
    return pgtrigger.Trigger(
        name="one_way",
        when=pgtrigger.Before,
        operation=pgtrigger.Update | pgtrigger.Delete,
        func=f"""
            IF TG_OP = 'DELETE' THEN
                RAISE EXCEPTION 'content rows are not deleted: %', TG_TABLE_NAME;
            END IF;
            IF OLD.availability <> 'available' OR NEW.availability = 'available' OR {kept} THEN
                RAISE EXCEPTION 'content moves one way: %', TG_TABLE_NAME;
            END IF;
            RETURN NEW;
        """,
    )


def nothing_late(parent: str, column: str) -> pgtrigger.Trigger:
    """The trigger of a part: no row joins a finished whole. One check per statement, so COPY stays fast."""
    return pgtrigger.Trigger(
        name="nothing_late",
        level=pgtrigger.Statement,
        when=pgtrigger.After,
        operation=pgtrigger.Insert,
        referencing=pgtrigger.Referencing(new="arrived"),  # type: ignore[no-untyped-call]
        func=f"""
            IF EXISTS (
                SELECT 1 FROM {parent} whole
                WHERE whole.id IN (SELECT DISTINCT {column} FROM arrived)
                AND whole.state IN ('completed', 'failed', 'cancelled')
            ) THEN
                RAISE EXCEPTION 'nothing joins a finished {parent}';
            END IF;
            RETURN NULL;
        """,
    )
