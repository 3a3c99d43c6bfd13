"""Setups: the four steps of one person, kept on the server so that nothing is lost on the way."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from django.db import models, transaction
from django.utils import timezone

from comparisons.groups import starting, templates
from comparisons.groups.intent import Intent
from comparisons.models import Group, Setup, Template, TemplateVersion
from runs.models import ToolPolicy
from teams import receipts
from teams.access import Access
from teams.permissions import LAUNCH_RIGHTS
from teams.refusals import Refusal

Fields = dict[str, list[str]]
LONGEST_VALUE: Final = 200
MOST_VALUES: Final = 60
USUAL: Final[Fields] = {"repetitions": ["1"], "tool_policy": [ToolPolicy.NONE.value]}
"""What the fields say that nobody has seen yet."""


def own(access: Access, pk: Any) -> Setup:
    """A setup of this person in this team; another's looks like none."""
    rows = Setup.objects.select_related("template", "template_version__template", "group")
    return access.find(rows.filter(made_by=access.user), pk=pk)


def unstarted(access: Access) -> models.QuerySet[Setup]:
    """What this person began to set up and has not started, the last one first."""
    return Setup.objects.filter(team=access.team, made_by=access.user, group=None).order_by("-changed_at", "-pk")


@transaction.atomic
def begin(*, access: Access, pk: UUID, fields: Mapping[str, Sequence[str]]) -> Setup:
    """A new setup under an id that its page made; sent again it is the same setup, as it says now."""
    access.require(*LAUNCH_RIGHTS)
    row, made = Setup.objects.get_or_create(
        pk=pk,
        defaults={
            "team": access.team,
            "made_by": access.user,
            "fields": {**USUAL, **_kept(fields)},
            "key": _key(),
        },
    )
    return own(access, pk) if made else keep(access=access, setup=row, fields=fields)


@transaction.atomic
def keep(*, access: Access, setup: Setup, fields: Mapping[str, Sequence[str]]) -> Setup:
    """Keep what these fields say, checked or not; the others stay. An edit makes a new request key."""
    row = _locked(access, setup)
    return _replace(row, {**row.fields, **_kept(fields)})


@transaction.atomic
def restore(*, access: Access, setup: Setup, version: TemplateVersion, fields_of: Callable[[Any], Fields]) -> Setup:
    """Every field as a version says it, unavailable things too. What stood there before can be brought back."""
    access.require(*LAUNCH_RIGHTS)
    body = templates.body_of(version)
    if body is None:
        raise Refusal("template_unavailable", f"What {version} says was taken away.", place="template_version")
    row = _locked(access, setup)
    same = row.template_id == version.template_id
    row.before = _standing(row)
    row.template, row.template_version = version.template, version
    # an older version is no older revision, and a newer one was seen
    row.head = max(row.head or 0, version.number) if same else version.template.head
    return _replace(row, fields_of(body))


@transaction.atomic
def undo(*, access: Access, setup: Setup) -> Setup:
    """Bring back what the last restore replaced: the fields, and the template that they belonged to."""
    row = _locked(access, setup)
    if row.before is None:
        return row
    said, row.before = row.before, _standing(row)
    row.template_id, row.template_version_id, row.head = said["template"], said["template_version"], said["head"]
    return _replace(row, said["fields"])


def _standing(row: Setup) -> dict[str, Any]:
    return {
        "fields": row.fields,
        "template": str(row.template_id) if row.template_id else None,
        "template_version": str(row.template_version_id) if row.template_version_id else None,
        "head": row.head,
    }


@transaction.atomic
def refresh(*, access: Access, setup: Setup) -> Setup:
    """Read the template's current revision again. Fields stay as they are, saved or not."""
    row = _locked(access, setup)
    if row.template_id is not None:
        row.head = Template.objects.values_list("head", flat=True).get(pk=row.template_id)
        row.save(update_fields=["head"])
    return row


@transaction.atomic
def drop(*, access: Access, setup: Setup) -> bool:
    """Throw a setup away that never started. A started one stays with its group. Returns whether it went."""
    row = _locked(access, setup)
    if row.group_id is None:
        row.delete()
        return True
    return False


def start(*, access: Access, setup: Setup, intent: Intent, readiness_sha256: str, key: str) -> Group:
    """Start the group. `key` is the setup's as the page showed it; an older page starts nothing."""
    if key != setup.key:
        raise Refusal("stale_preflight", "The setup was edited since readiness was checked.", place="key")
    group, _ = starting.once(access=access, intent=intent, readiness_sha256=readiness_sha256, key=key)
    Setup.objects.filter(pk=setup.pk).update(group=group)
    return group


# --- saving templates


def save(*, access: Access, setup: Setup, intent: Intent, name: str | None) -> TemplateVersion:
    """Save as a new template of that name, or, where `name` is None, as the next version of the setup's template.

    A save whose answer was lost is found again: until an answer is known, the same fields go out with the request
    key and the expected revision that they went out with first.
    """
    access.require(*templates.SAVE)
    version = setup.template_version
    if name is None and version is not None and templates.says(version, intent) and _is_last(setup, version):
        return version  # a save that came through, asked for once more
    sent = _sending(access, setup, intent, name)
    body = {"name": name, "intent": intent.reusable(), "expected_revision": sent["expected"]}
    try:
        made, _ = receipts.once(
            access,
            "template.save",
            sent["key"],
            {**body, "template": str(setup.template_id) if name is None else None},
            TemplateVersion,
            lambda: _save(access, setup, intent, name, sent["expected"]),
        )
    except Refusal:
        Setup.objects.filter(pk=setup.pk).update(saving=None)
        raise
    _point(setup, made)
    return made


def _is_last(setup: Setup, version: TemplateVersion) -> bool:
    return setup.head == version.number


def _sending(access: Access, setup: Setup, intent: Intent, name: str | None) -> dict[str, Any]:
    """The key and the revision of a save, written down before it goes out."""
    mark = receipts.fingerprint([name, intent.reusable(), str(setup.template_id) if name is None else None])
    with transaction.atomic():
        row = _locked(access, setup)
        if row.saving is None or row.saving["mark"] != mark:
            row.saving = {"mark": mark, "key": _key(), "expected": row.head if name is None else None}
            row.save(update_fields=["saving"])
        found: dict[str, Any] = row.saving
    return found


def _save(access: Access, setup: Setup, intent: Intent, name: str | None, expected: int | None) -> TemplateVersion:
    if name is not None:
        made = templates.create(access=access, name=name, intent=intent)
    elif setup.template is None or expected is None:
        raise Refusal("invalid_field", "Choose a template first, or save as a new one.", place="template")
    else:
        made = templates.add_version(access=access, template=setup.template, intent=intent, expected_revision=expected)
    _point(setup, made)
    return made


def _point(setup: Setup, made: TemplateVersion) -> None:
    """Select what was saved, in the transaction that saved it. A later save of somebody else moves no head here."""
    setup.template, setup.template_version, setup.head, setup.saving = made.template, made, made.number, None
    setup.save(update_fields=["template", "template_version", "head", "saving"])


# --- fields


def _locked(access: Access, setup: Setup) -> Setup:
    rows = Setup.objects.select_for_update(of=("self",)).select_related("template", "template_version__template")
    row: Setup = access.find(rows.filter(made_by=access.user), pk=setup.pk)
    return row


def _replace(row: Setup, fields: Fields) -> Setup:
    if fields != row.fields:
        row.fields, row.key = fields, _key()
    row.changed_at = timezone.now()
    row.save()
    return row


def _kept(fields: Mapping[str, Sequence[str]]) -> Fields:
    """Texts of a bounded length; what is longer than any field takes is no choice of the form's."""
    for name, values in fields.items():
        if len(values) > MOST_VALUES or any(len(one) > LONGEST_VALUE or "\0" in one for one in values):
            raise Refusal("invalid_field", f"At most {LONGEST_VALUE} characters, without NUL.", place=name[:60])
    return {name: list(values) for name, values in fields.items()}


def _key() -> str:
    return str(uuid.uuid4())
