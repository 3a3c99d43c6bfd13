"""Harnesses: operators write revisions, and say which one counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from django.db import transaction
from django.db.models import Max

from agents.definitions import digest
from agents.models import AuthMode, Harness, HarnessRevision
from teams import audit
from teams.given import line
from teams.models import User
from teams.refusals import Refusal

LONGEST_RUN: Final = 24 * 3600


@dataclass(frozen=True, slots=True)
class HarnessFields:
    """What a revision of a harness says. The command is a list of arguments; no shell reads it."""

    version: str
    command: Sequence[str]
    families: Sequence[str] = field(default_factory=list)
    auth_mode: str = AuthMode.API_KEY
    timeout_seconds: int = 3600


def checked_harness(fields: HarnessFields) -> HarnessFields:
    """The fields tidied, or a refusal with the place of the fault."""
    version = line(fields.version, "version", 80)
    if not version:
        raise Refusal("invalid_field", "Say which release of the harness it is.", place="version")
    command = [one for one in fields.command if one]
    if not command or any(len(one) > 500 or not one.isprintable() for one in command):
        raise Refusal("invalid_field", "The program and its arguments, one in a line.", place="command")
    families = list(dict.fromkeys(line(one, "families", 80) for one in fields.families))
    if any(not one for one in families):
        raise Refusal("invalid_field", "Model families have names.", place="families")
    if not 1 <= fields.timeout_seconds <= LONGEST_RUN:
        raise Refusal("invalid_field", f"From 1 to {LONGEST_RUN:,} seconds.", place="timeout_seconds")
    return HarnessFields(version, command, families, AuthMode(fields.auth_mode), fields.timeout_seconds)


@transaction.atomic
def add_harness_revision(*, harness: Harness, fields: HarnessFields, by: User | None) -> HarnessRevision:
    """Another revision of a harness. It counts once it is activated."""
    said = checked_harness(fields)
    kept = Harness.objects.select_for_update(no_key=True).get(pk=harness.pk)
    last = HarnessRevision.objects.filter(harness=kept).aggregate(last=Max("number"))["last"] or 0
    given = {name: getattr(said, name) for name in HarnessFields.__slots__}
    revision: HarnessRevision = HarnessRevision.objects.create(
        harness=kept,
        number=last + 1,
        made_by=by,
        sha256=digest("harness", {"key": kept.key, **given, "auth_mode": str(said.auth_mode)}),
        **given,
    )
    _audit("harness.revision_made", revision, by)
    return revision


@transaction.atomic
def activate_harness(*, revision: HarnessRevision, by: User | None) -> Harness:
    """From now on new runs use this revision."""
    harness = Harness.objects.select_for_update(no_key=True).get(pk=revision.harness_id)
    if harness.active_id != revision.pk:
        harness.active = revision
        harness.save(update_fields=["active"])
        _audit("harness.activated", revision, by)
    return harness


def _audit(action: str, revision: HarnessRevision, by: User | None) -> None:
    audit.record(
        action, team=None, by=by, object_type="harness", object_id=revision.harness_id, revision=revision.number
    )
