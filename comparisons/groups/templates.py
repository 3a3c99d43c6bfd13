"""Templates: a setup that is saved under a name, version after version, and restored as it was."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from django.db import IntegrityError, models, transaction
from django.db.models.functions import Lower

from agents.models import ModelRoute, Snapshot
from analysis.strict_json import canonical
from comparisons.groups.intent import Intent
from comparisons.models import Template, TemplateBody, TemplateVersion
from datasets.models import SliceVersion, Version
from grading.models import GraderVersion
from teams import audit
from teams.access import Access
from teams.given import name as given_name
from teams.keeping import rename, seen, set_archived
from teams.permissions import Right
from teams.refusals import Refusal

READ: Final = (Right.EVALUATION_READ,)
READ_BODY: Final = (*READ, Right.EVALUATION_CONTENT_READ)
EDIT: Final = (*READ, Right.EVALUATION_MANAGE)
SAVE: Final = (*EDIT, Right.EVALUATION_CONTENT_READ, Right.AGENT_READ)
"""What saving needs: a template holds what its maker could see."""
MOST: Final = 1_000


@transaction.atomic
def create(*, access: Access, name: str, intent: Intent) -> TemplateVersion:
    """A new template, with what is meant as its first version."""
    access.require(*SAVE)
    name = given_name(name, "the template")
    _known(access, intent)
    if Template.objects.filter(team=access.team).count() >= MOST:
        raise Refusal("invalid_field", f"A team keeps at most {MOST:,} templates.", place="name")
    try:
        with transaction.atomic():
            template = Template.objects.create(team=access.team, name=name, head=1, made_by=access.user)
    except IntegrityError:
        raise Refusal("name_taken", _taken(name), place="name") from None
    version = _version(template, 1, access, intent)
    audit.by("template.created", access, template, name=name, sha256=version.sha256)
    return version


@transaction.atomic
def add_version(*, access: Access, template: Template, intent: Intent, expected_revision: int) -> TemplateVersion:
    """The next version. Whoever saves has seen the current revision; else nothing is saved."""
    access.require(*SAVE)
    kept = _own(access, template)
    if kept.archived_at is not None:
        raise Refusal("template_archived", f"The template {kept.name} is archived.")
    if kept.head != expected_revision:
        message = f"The template is at revision {kept.head}, and this was made from revision {expected_revision}."
        raise Refusal("template_revision_conflict", message, place="expected_revision", current=kept.head)
    _known(access, intent)
    kept.head += 1
    kept.save(update_fields=["head"])
    version = _version(kept, kept.head, access, intent)
    audit.by("template.version_made", access, kept, number=version.number, sha256=version.sha256)
    return version


@transaction.atomic
def rename_template(*, access: Access, template: Template, name: str, revision: int) -> Template:
    access.require(*EDIT)
    name = given_name(name, "the template")
    kept = _own(access, template)
    seen(kept.revision, revision, "The template")
    return rename(access, kept, "template", name, _taken(name))


@transaction.atomic
def set_template_archived(*, access: Access, template: Template, archived: bool) -> Template:
    """Out of the choice for new setups, or back in it. Groups that began from it keep what they say."""
    access.require(*EDIT)
    return set_archived(access, _own(access, template), "template", archived=archived)


# --- reads


def templates_of(access: Access, *, archived: bool | None = False) -> models.QuerySet[Template]:
    """The team's templates by name; with archived=None all of them."""
    rows = Template.objects.filter(team=access.team).select_related("made_by")
    if archived is not None:
        rows = rows.filter(archived_at__isnull=not archived)
    return rows.order_by(Lower("name"), "pk")


def versions_of(template: Template) -> models.QuerySet[TemplateVersion]:
    """Its versions, newest first."""
    return TemplateVersion.objects.filter(template=template).select_related("template", "made_by").order_by("-number")


def version_of(access: Access, pk: UUID) -> TemplateVersion:
    found: TemplateVersion = access.find(
        TemplateVersion.objects.select_related("template"), team="template__team", pk=pk
    )
    return found


def body_of(version: TemplateVersion) -> dict[str, Any] | None:
    """What a version says; None where it was taken away."""
    content = TemplateBody.objects.filter(version=version).first()
    return None if content is None else content.body


def says(version: TemplateVersion, intent: Intent) -> bool:
    """Whether the version says exactly this."""
    return version.sha256 == sha256(intent.reusable())


def sha256(body: Mapping[str, Any]) -> str:
    return hashlib.sha256(b"evenhand/template/1\0" + canonical(dict(body))).hexdigest()


def _version(template: Template, number: int, access: Access, intent: Intent) -> TemplateVersion:
    body = intent.reusable()
    made = TemplateVersion.objects.create(template=template, number=number, sha256=sha256(body), made_by=access.user)
    TemplateBody.objects.create(version=made, body=body)
    return made


def _own(access: Access, template: Template) -> Template:
    """The team's template, ours to change until the transaction ends."""
    return access.find(Template.objects.select_for_update(no_key=True), pk=template.pk)


def _taken(name: str) -> str:
    return f"There is a template named {name} already, archived or not."


def _known(access: Access, intent: Intent) -> None:
    """Refuse what names nothing of the team. A template may hold what is not ready; it holds nothing foreign."""
    snapshots = [("base", intent.base), *((f"arms[{at}]", arm.snapshot) for at, arm in enumerate(intent.arms))]
    graders = [*((f"graders[{at}]", pk) for at, (pk, _) in enumerate(intent.graders)), ("primary", intent.primary)]
    if intent.enrichment:
        graders.append(("enrichment", intent.enrichment))
    looks: list[tuple[str, UUID | None, type[models.Model], str]] = [
        *((place, pk, Snapshot, "agent__team") for place, pk in snapshots),
        *((place, pk, GraderVersion, "grader__definition__team") for place, pk in graders),
        ("version", intent.version, Version, "dataset__team"),
        ("slice", intent.slice, SliceVersion, "slice__dataset__team"),
    ]
    for place, pk, model, team in looks:
        if pk is not None and not model._default_manager.filter(**{"pk": pk, team: access.team}).exists():
            raise Refusal("invalid_field", "Choose something of the team that is there.", place=place)
    for at, arm in enumerate(intent.arms):
        if arm.snapshot is None and not ModelRoute.objects.filter(key=arm.route).exists():
            raise Refusal("invalid_field", "Choose one of the model routes.", place=f"arms[{at}].route")
