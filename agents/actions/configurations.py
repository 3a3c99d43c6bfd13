"""Configurations: saved by revision, deleted, and judged for whether they can be launched."""

from __future__ import annotations

import hashlib
from typing import Any, Final

from django.db import IntegrityError, transaction
from django.db.models import Max
from django.utils import timezone
from django.utils.text import slugify

from agents import capability_sets, definitions
from agents.actions.agents import EDIT, EDIT_CONTENT
from agents.models import (
    Agent,
    AgentDraft,
    Configuration,
    ConfigurationContent,
    ConfigurationRevision,
    ImportedAgent,
    ModelRoute,
)
from teams import audit
from teams.access import Access
from teams.bulk import lock
from teams.given import name as given_name
from teams.keeping import seen
from teams.models import User
from teams.refusals import Code, Refusal, register

register(
    {
        "configuration_built_in": Code(409, "Save a configuration of the team's own; built-in ones stay as they are."),
        "configuration_deleted": Code(409, "Save a configuration anew; a deleted one is not launched or changed."),
    }
)

MOST_CONFIGURATIONS: Final = 500


@transaction.atomic
def create_configuration(*, access: Access, name: str, body: Any) -> ConfigurationRevision:
    """A new configuration of the team with its first revision."""
    access.require(*EDIT_CONTENT)
    said = capability_sets.checked(body)
    name = given_name(name, "the configuration")
    if Configuration.objects.filter(team=access.team).count() >= MOST_CONFIGURATIONS:
        raise Refusal("invalid_field", f"A team has at most {MOST_CONFIGURATIONS} configurations.", place="name")
    key = _key(name)
    try:
        with transaction.atomic():
            made = Configuration.objects.create(team=access.team, key=key, name=name)
    except IntegrityError:
        raise Refusal("name_taken", f"The team has a configuration {key} already.", place="name") from None
    revision = _saved(access, made, said, access.user)
    audit.by("configuration.created", access, made, name=name, sha256=revision.sha256)
    return revision


@transaction.atomic
def save_built_in_configuration(*, name: str, body: Any, by: User | None) -> ConfigurationRevision:
    """A configuration of the product, or another revision of the one that has this name. It imports no agents."""
    said = capability_sets.checked(body)
    name = given_name(name, "the configuration")
    lock("built-in configuration", _key(name))
    kept = Configuration.objects.filter(team=None, key=_key(name)).first()
    if kept is not None and kept.deleted_at is not None:
        raise Refusal("configuration_deleted", f"{kept.name} was deleted.")
    kept = kept or Configuration.objects.create(team=None, key=_key(name), name=name)
    made = _saved(None, kept, said, by)
    if made.number > kept.revision:
        kept.revision = made.number
        kept.save(update_fields=["revision"])
    audit.record(
        "configuration.built_in", team=None, by=by, object_type="configuration", object_id=kept.pk, number=made.number
    )
    return made


@transaction.atomic
def delete_built_in_configuration(*, configuration: Configuration, by: User | None) -> None:
    """Nothing new is launched with it."""
    if configuration.team_id is None and configuration.deleted_at is None:
        configuration.deleted_at = timezone.now()
        configuration.save(update_fields=["deleted_at"])
        audit.record("configuration.deleted", team=None, by=by, object_type="configuration", object_id=configuration.pk)


@transaction.atomic
def save_configuration(
    *, access: Access, configuration: Configuration, body: Any, revision: int
) -> ConfigurationRevision:
    """Another revision; saved agents are taken over as they stand now. Equal ones are the same revision."""
    access.require(*EDIT_CONTENT)
    said = capability_sets.checked(body)
    kept = _own(access, configuration)
    seen(kept.revision, revision, "The configuration")
    made = _saved(access, kept, said, access.user)
    if made.number > kept.revision:
        kept.revision = made.number
        kept.save(update_fields=["revision"])
        audit.by("configuration.saved", access, kept, number=made.number, sha256=made.sha256)
    return made


@transaction.atomic
def delete_configuration(*, access: Access, configuration: Configuration) -> Configuration:
    """Nothing new is launched with it. What was run with it, and what names it, stays."""
    access.require(*EDIT)
    kept = _own(access, configuration)
    kept.deleted_at = timezone.now()
    kept.save(update_fields=["deleted_at"])
    audit.by("configuration.deleted", access, kept)
    return kept


def _own(access: Access, configuration: Configuration) -> Configuration:
    if configuration.team_id is None:
        raise Refusal("configuration_built_in", f"{configuration.name} is built in.")
    kept = access.find(Configuration.objects.select_for_update(no_key=True), pk=configuration.pk)
    if kept.deleted_at is not None:
        raise Refusal("configuration_deleted", f"{kept.name} was deleted.")
    return kept


def _key(name: str) -> str:
    """The name as a key; names of other scripts get a short hash."""
    return slugify(name)[:60].strip("-") or f"configuration-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def _saved(
    access: Access | None, configuration: Configuration, said: dict[str, Any], by: User | None
) -> ConfigurationRevision:
    drafts = _drafts(access, said)
    body = {**said, "roles": [_taken_over(one, drafts) for one in said["roles"]]}
    sha256 = definitions.digest("configuration", body)
    newest: ConfigurationRevision | None = (
        ConfigurationRevision.objects.filter(configuration=configuration).order_by("-number").first()
    )
    if newest is not None and newest.sha256 == sha256:
        return newest
    last = ConfigurationRevision.objects.filter(configuration=configuration).aggregate(last=Max("number"))["last"]
    made: ConfigurationRevision = ConfigurationRevision.objects.create(
        configuration=configuration,
        number=(last or 0) + 1,
        root=said["root"],
        slots=said["slots"],
        routes=sorted({one["route"] for one in said["roles"] if "route" in one}),
        sha256=sha256,
        made_by=by,
    )
    ConfigurationContent.objects.create(revision=made, body=body)
    for role in said["roles"]:
        if "agent" in role:
            draft = drafts[role["agent"]]
            ImportedAgent.objects.create(revision=made, role=role["role"], agent=draft.agent, draft_sha256=draft.sha256)
    return made


def _drafts(access: Access | None, said: dict[str, Any]) -> dict[str, AgentDraft]:
    """The drafts of the saved agents that roles name; routes that are named must be there."""
    found: dict[str, AgentDraft] = {}
    for at, role in enumerate(said["roles"]):
        if "route" in role and not ModelRoute.objects.filter(key=role["route"], archived_at=None).exists():
            raise Refusal("invalid_field", "Choose one of the model routes.", place=f"roles[{at}].route")
        if "agent" in role:
            if access is None:
                raise Refusal("invalid_field", "A built-in role has instructions.", place=f"roles[{at}].agent")
            try:
                agent = access.find(Agent.objects.filter(archived_at=None), pk=role["agent"])
            except Refusal:
                raise Refusal("invalid_field", "Choose one of the team's agents.", place=f"roles[{at}].agent") from None
            found[role["agent"]] = AgentDraft.objects.select_related("agent").get(agent=agent)
    return found


def _taken_over(role: dict[str, Any], drafts: dict[str, AgentDraft]) -> dict[str, Any]:
    """A role with what it is told: a saved agent's definition without its model, which the role decides."""
    if "agent" not in role:
        return role
    body = drafts[role["agent"]].body
    return {**role, "definition": {name: part for name, part in body.items() if name != "route"}}
