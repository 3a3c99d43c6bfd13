"""Hosts that tool validators may reach, as operators list them."""

from __future__ import annotations

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from agents.outbound import checked_url, is_loopback
from grading.models import ValidatorHost
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
def list_host(*, host: str, note: str, by: User | None) -> ValidatorHost:
    """Validators may reach the host from now on."""
    row: ValidatorHost
    row, made = ValidatorHost.objects.get_or_create(host=checked_host(host), defaults={"note": line(note, "note", 200)})
    if made:
        _audit("validator_host.listed", row, by)
    return set_host_listed(row=row, listed=True, by=by)


@transaction.atomic
def note_host(*, row: ValidatorHost, note: str, by: User | None) -> ValidatorHost:
    """Another note beside the host; whether validators may reach it stays as it is."""
    row.note = line(note, "note", 200)
    row.save(update_fields=["note"])
    _audit("validator_host.noted", row, by)
    return row


@transaction.atomic
def set_host_listed(*, row: ValidatorHost, listed: bool, by: User | None) -> ValidatorHost:
    """Whether new versions of validators may name the host. Versions that exist keep it; calls ask again."""
    kept = ValidatorHost.objects.select_for_update(no_key=True).get(pk=row.pk)
    if (kept.archived_at is None) != listed:
        kept.archived_at = None if listed else timezone.now()
        kept.save(update_fields=["archived_at"])
        _audit("validator_host.listed" if listed else "validator_host.archived", kept, by)
    return kept


def _audit(action: str, row: ValidatorHost, by: User | None) -> None:
    audit.record(action, team=None, by=by, object_type="validatorhost", object_id=row.pk, host=row.host)
