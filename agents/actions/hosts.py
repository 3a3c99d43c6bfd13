"""Hosts that operators list: the same three acts for every list of them."""

from __future__ import annotations

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from agents.models.hosts import ListedHost
from agents.outbound import checked_url, is_loopback
from teams import audit
from teams.given import line
from teams.models import User
from teams.refusals import Refusal


def checked_host(text: str) -> str:
    """The host's name as it is kept, or a refusal: public, or in embedded mode this machine."""
    host = text.strip().lower().rstrip(".")
    if settings.EMBEDDED and is_loopback(host):
        return host
    if not host or any(sign in host for sign in "/:@?#[]"):
        raise Refusal("invalid_field", "The name of a host alone, such as checks.example.org.", place="host")
    checked_url(f"https://{host}", place="host", loopback=False)
    return host


@transaction.atomic
def list_host[Row: ListedHost](model: type[Row], *, host: str, note: str, by: User | None) -> Row:
    """The host may be reached from now on."""
    row, made = model._default_manager.get_or_create(
        host=checked_host(host), defaults={"note": line(note, "note", 200)}
    )
    if made:
        _audit("listed", row, by)
    return set_host_listed(row=row, listed=True, by=by)


@transaction.atomic
def note_host[Row: ListedHost](*, row: Row, note: str, by: User | None) -> Row:
    """Another note beside the host; whether it may be reached stays as it is."""
    row.note = line(note, "note", 200)
    row.save(update_fields=["note"])
    _audit("noted", row, by)
    return row


@transaction.atomic
def set_host_listed[Row: ListedHost](*, row: Row, listed: bool, by: User | None) -> Row:
    """Whether the host may be reached. What names it keeps it; calls ask again."""
    kept: Row = type(row)._default_manager.select_for_update(no_key=True).get(pk=row.pk)
    if (kept.archived_at is None) != listed:
        kept.archived_at = None if listed else timezone.now()
        kept.save(update_fields=["archived_at"])
        _audit("listed" if listed else "archived", kept, by)
    return kept


def _audit(what: str, row: ListedHost, by: User | None) -> None:
    name = row._meta.model_name or ""
    action = f"{name.removesuffix('host')}_host.{what}"
    audit.record(action, team=None, by=by, object_type=name, object_id=row.pk, host=row.host)
