"""Releases: roles bound to asset versions, and the steps from a draft to retirement."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Max

from agents import definitions
from agents.actions.agents import EDIT, locked, not_archived
from agents.actions.assets import PARTS, visible
from agents.actions.drafts import resolvable
from agents.actions.snapshots import active, route_facts
from agents.actions.subjects import release_subject
from agents.models import (
    TRANSITIONS,
    Agent,
    AssetApproval,
    AssetContent,
    AssetKind,
    AssetVersion,
    ModelRoute,
    Release,
    ReleaseBinding,
    ReleaseState,
    ReleaseTransition,
)
from teams import audit
from teams.access import Access
from teams.given import name as given_name
from teams.keeping import seen
from teams.refusals import Code, Refusal, register

register(
    {
        "binding_kind_mismatch": Code(409, "Bind an asset of the kind that the role expects."),
        "binding_not_approved": Code(409, "Have the asset version approved by an owner, then approve the release."),
        "release_incomplete": Code(409, "Bind a prompt template and a model."),
        "release_not_a_draft": Code(409, "Make another release; what an approved one binds stays."),
        "release_transition_impossible": Code(409, "Take one of the steps that the message names."),
        "release_active_already": Code(409, "Retire the active release of the agent first."),
    }
)

REQUIRED: Final = (AssetKind.PROMPT_TEMPLATE, AssetKind.MODEL)
MOST_RELEASES: Final = 500


@transaction.atomic
def create_release(*, access: Access, agent: Agent, name: str, bindings: Mapping[str, UUID]) -> Release:
    """A draft of a release. `bindings` names an asset version for each role that is bound."""
    access.require(*EDIT)
    kept = locked(access, agent)
    not_archived(kept)
    chosen = bound(access, bindings)
    name = given_name(name, "the release")
    if Release.objects.filter(agent=kept).count() >= MOST_RELEASES:
        raise Refusal("invalid_field", f"An agent has at most {MOST_RELEASES} releases.", place="name")
    try:
        with transaction.atomic():
            release = Release.objects.create(agent=kept, name=name, made_by=access.user)
    except IntegrityError:
        raise Refusal("name_taken", f"The agent has a release {name} already.", place="name") from None
    _bind(release, chosen)
    audit.by("release.created", access, release, agent=str(kept.pk), name=name)
    return release


@transaction.atomic
def bind_release(*, access: Access, release: Release, bindings: Mapping[str, UUID], revision: int) -> Release:
    """A draft's bindings as a whole: what is left out is bound no more."""
    access.require(*EDIT)
    kept = _own(access, release)
    seen(kept.revision, revision, "The release")
    not_archived(kept.agent)
    if kept.state != ReleaseState.DRAFT:
        raise Refusal("release_not_a_draft", f"The release is {kept.state}.")
    before = set(ReleaseBinding.objects.filter(release=kept).values_list("version", flat=True))
    chosen = bound(access, bindings, before)
    ReleaseBinding.objects.filter(release=kept).delete()
    _bind(kept, chosen)
    kept.revision += 1
    kept.save(update_fields=["revision"])
    audit.by("release.bound", access, kept, roles=sorted(chosen))
    return kept


@transaction.atomic
def move_release(*, access: Access, release: Release, to: str, revision: int) -> ReleaseTransition:
    """One explicit step. Approving freezes what the release is; activating and retiring change no definition."""
    access.require(*EDIT)
    kept = _own(access, release)
    seen(kept.revision, revision, "The release")
    steps = [after.value for before, after in TRANSITIONS if before == kept.state]
    if to not in steps:
        offered = f"It may become {' or '.join(steps)}." if steps else "It stays as it is."
        raise Refusal("release_transition_impossible", f"The release is {kept.state}. {offered}", place="to")
    if to == ReleaseState.APPROVED:
        not_archived(kept.agent)
        archived = ReleaseBinding.objects.filter(release=kept, version__asset__archived_at__isnull=False).first()
        if archived is not None:
            raise Refusal("asset_archived", f"{archived.version.asset.name} is archived.")
        _approve(access, kept)
    if to == ReleaseState.ACTIVE:
        not_archived(kept.agent)
        other = Release.objects.filter(agent=kept.agent, state=ReleaseState.ACTIVE).first()
        if other is not None:
            raise Refusal("release_active_already", f"Release {other.name} is active.")
    before, kept.state, kept.revision = kept.state, to, kept.revision + 1
    kept.save()
    number = (ReleaseTransition.objects.filter(release=kept).aggregate(last=Max("number"))["last"] or 0) + 1
    step: ReleaseTransition = ReleaseTransition.objects.create(
        release=kept, number=number, before=before, after=to, made_by=access.user
    )
    audit.by("release.moved", access, kept, before=before, after=to)
    return step


def bound(access: Access, bindings: Mapping[str, UUID], kept: Collection[UUID] = ()) -> dict[str, AssetVersion]:
    """Each role's asset version, inside the team or built in, of the kind that the role expects.

    Versions of archived assets are bound no more, but those that a draft binds already (`kept`) may stay.
    """
    found: dict[str, AssetVersion] = {}
    for role, version in bindings.items():
        if role not in AssetKind:
            raise Refusal("invalid_field", f"Roles are {', '.join(AssetKind)}.", place=f"bindings.{role}"[:80])
        rows = AssetVersion.objects.select_related("asset").filter(asset__in=visible(access))
        chosen = rows.filter(pk=version).first()
        if chosen is None:
            raise Refusal("invalid_field", "Choose an asset version of the team.", place=f"bindings.{role}")
        if chosen.asset.kind != role:
            message = f"{chosen.asset.name} is a {AssetKind(chosen.asset.kind).label.lower()}."
            raise Refusal("binding_kind_mismatch", message, place=f"bindings.{role}")
        if chosen.asset.archived_at is not None and chosen.pk not in kept:
            raise Refusal("asset_archived", f"{chosen.asset.name} is archived.", place=f"bindings.{role}")
        found[role] = chosen
    return found


def assembled(bindings: Mapping[str, AssetVersion]) -> dict[str, Any]:
    """The definition that bound versions make, its route still by key."""
    bodies = AssetContent.objects.in_bulk([one.pk for one in bindings.values()])
    body: dict[str, Any] = {}
    for role, version in bindings.items():
        content = bodies.get(version.pk)
        if content is None or content.body is None:
            raise Refusal("snapshot_unavailable", f"What {version} says was taken away.", place=f"bindings.{role}")
        body[PARTS[AssetKind(role)]] = content.body
    return definitions.checked(body)


def _bind(release: Release, chosen: Mapping[str, AssetVersion]) -> None:
    for role, version in chosen.items():
        ReleaseBinding.objects.create(release=release, role=role, version=version)


def _approve(access: Access, release: Release) -> None:
    """Everything that a release needs to be something: whole, approved, and with a route that runs."""
    rows = ReleaseBinding.objects.filter(release=release).select_related("version__asset")
    bindings = {one.role: one.version for one in rows}
    missing = [role.label.lower() for role in REQUIRED if role not in bindings]
    if missing:
        raise Refusal("release_incomplete", f"The release binds no {' and no '.join(missing)}.")
    approved = set(AssetApproval.objects.filter(version__in=bindings.values()).values_list("version", flat=True))
    for role, version in bindings.items():
        if version.pk not in approved:
            raise Refusal("binding_not_approved", f"{version} is not approved.", place=f"bindings.{role}")
    body = assembled(bindings)
    resolvable(access, body)
    route = active(ModelRoute.objects.get(key=body["route"]))
    hashes = definitions.digests({**body, "route": route_facts(route)})
    release.route_revision, release.definition_sha256 = route, hashes["definition_sha256"]
    release.subject = release_subject(access=access, release=release, route=route, hashes=hashes)


def _own(access: Access, release: Release) -> Release:
    """The team's release and its agent, ours to change until the transaction ends."""
    rows = Release.objects.select_related("agent")
    found = access.find(rows, team="agent__team", pk=release.pk)
    locked(access, found.agent)
    return Release.objects.select_for_update(of=("self",), no_key=True).select_related("agent").get(pk=found.pk)
