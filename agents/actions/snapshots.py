"""Snapshots: taken from the draft by publishing, or from another snapshot by changing the model alone."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.db.models import Max

from agents import definitions
from agents.actions.agents import EDIT, EDIT_CONTENT, locked, not_archived
from agents.actions.drafts import resolvable
from agents.actions.subjects import snapshot_subject
from agents.models import (
    Agent,
    AgentDeployment,
    AgentDraft,
    ModelRoute,
    ModelRouteRevision,
    Snapshot,
    SnapshotDefinition,
)
from teams import audit
from teams.access import Access
from teams.keeping import seen
from teams.permissions import Right
from teams.refusals import Code, Refusal, register

register(
    {
        "route_inactive": Code(409, "Choose another model route, or ask an operator to activate this one."),
        "draft_unfinished": Code(409, "Give the draft instructions and a model route, then publish it."),
        "variant_exists": Code(409, "Choose the snapshot that the message names."),
        "variant_same_model": Code(409, "A variant changes the model; choose another route."),
    }
)


@transaction.atomic
def publish_draft(*, access: Access, agent: Agent, revision: int) -> AgentDeployment:
    """The saved draft as a snapshot, put into use. A draft that says what a snapshot says is that snapshot.

    Publishing what is in use already changes nothing and answers with the deployment that stands.
    """
    access.require(*EDIT_CONTENT)
    kept = locked(access, agent)
    not_archived(kept)
    draft = AgentDraft.objects.select_for_update(no_key=True).get(agent=kept)
    seen(draft.revision, revision, "The draft")
    return _deployed(access, kept, _of_draft(access, kept, draft))


@transaction.atomic
def snapshot_draft(*, access: Access, agent: Agent, revision: int) -> Snapshot:
    """The saved draft as a snapshot for an evaluation. What is in use does not change."""
    access.require(Right.AGENT_READ, Right.AGENT_TEST, Right.EVALUATION_CONTENT_READ)
    kept = locked(access, agent)
    not_archived(kept)
    draft = AgentDraft.objects.select_for_update(no_key=True).get(agent=kept)
    seen(draft.revision, revision, "The draft")
    return _of_draft(access, kept, draft)


def draft_to_run(
    *, access: Access, agent: Agent, revision: int
) -> tuple[AgentDraft, dict[str, Any], ModelRouteRevision]:
    """The saved draft, what a snapshot of it would say, and the route revision that counts now. Nothing is written."""
    access.require(Right.AGENT_READ, Right.AGENT_TEST, Right.EVALUATION_CONTENT_READ)
    kept = access.find(Agent.objects.all(), pk=agent.pk)
    not_archived(kept)
    draft = AgentDraft.objects.get(agent=kept)
    seen(draft.revision, revision, "The draft")
    body, chosen = _runnable(access, draft)
    return draft, body, chosen


@transaction.atomic
def deploy_snapshot(*, access: Access, snapshot: Snapshot) -> AgentDeployment:
    """Put a snapshot into use that exists: a way back, or a variant that was chosen on purpose."""
    access.require(*EDIT)
    kept = locked(access, snapshot.agent)
    not_archived(kept)
    return _deployed(access, kept, snapshot)


@transaction.atomic
def make_variant(*, access: Access, base: Snapshot, route: ModelRoute) -> Snapshot:
    """A snapshot that differs from its base in the model resource alone. Draft and deployment stay as they are."""
    access.require(*EDIT)
    kept = locked(access, base.agent)
    not_archived(kept)
    content = SnapshotDefinition.objects.filter(snapshot=base).first()
    if content is None or content.body is None:
        raise Refusal("snapshot_unavailable", "The definition of the base snapshot was taken away.")
    chosen = active(route)
    if chosen.sha256 == base.route_revision.sha256:
        raise Refusal("variant_same_model", f"{route.name} leads to the model that {base} runs over.", place="route")
    made = _taken(access, kept, {**content.body, "route": route_facts(chosen)}, chosen, base=base)
    if made.base_id != base.pk:
        message = f"{made} is exactly this already; choose it."
        raise Refusal("variant_exists", message, place="route", snapshot=str(made.pk))
    return made


def active(route: ModelRoute) -> ModelRouteRevision:
    """The revision of a route that counts now."""
    kept = ModelRoute.objects.select_related("active__provider").get(pk=route.pk)
    if kept.active is None or kept.archived_at is not None:
        raise Refusal("route_inactive", f"The model route {kept.name} is not active.", place="route")
    return kept.active


def route_facts(revision: ModelRouteRevision) -> dict[str, Any]:
    """What a definition keeps of its route: which one, and what it meant. No address and no secret."""
    return {
        "key": revision.route.key,
        "revision": revision.number,
        "provider": revision.provider.key,
        "model_id": revision.model_id,
        "profile": revision.profile,
        "auth_mode": revision.auth_mode,
        "sha256": revision.sha256,
    }


def _of_draft(access: Access, agent: Agent, draft: AgentDraft) -> Snapshot:
    body, chosen = _runnable(access, draft)
    return _taken(access, agent, body, chosen, draft_sha256=draft.sha256)


def _runnable(access: Access, draft: AgentDraft) -> tuple[dict[str, Any], ModelRouteRevision]:
    """What a draft says, over its route as it is now; or what it lacks."""
    body = definitions.checked(draft.body)
    if not body["instructions"].strip() or not body["route"]:
        missing = "instructions" if not body["instructions"].strip() else "route"
        raise Refusal("draft_unfinished", f"The draft has no {missing} yet.", place=missing)
    resolvable(access, body)
    chosen = active(ModelRoute.objects.get(key=body["route"]))
    return {**body, "route": route_facts(chosen)}, chosen


def _taken(
    access: Access,
    agent: Agent,
    body: dict[str, Any],
    route: ModelRouteRevision,
    *,
    base: Snapshot | None = None,
    draft_sha256: str = "",
) -> Snapshot:
    hashes = definitions.digests(body)
    known: Snapshot | None = Snapshot.objects.filter(agent=agent, definition_sha256=hashes["definition_sha256"]).first()
    if known is not None:
        return known
    number = (Snapshot.objects.filter(agent=agent).aggregate(last=Max("number"))["last"] or 0) + 1
    subject = snapshot_subject(access=access, agent=agent, number=number, route=route, hashes=hashes)
    snapshot: Snapshot = Snapshot.objects.create(
        agent=agent,
        number=number,
        subject=subject,
        route_revision=route,
        base=base,
        changed="model" if base else "",
        draft_sha256=draft_sha256,
        capability_sha256=route.capability_sha256,
        made_by=access.user,
        **hashes,
    )
    SnapshotDefinition.objects.create(snapshot=snapshot, body=body)
    audit.by(
        "snapshot.made",
        access,
        snapshot,
        agent=str(agent.pk),
        number=number,
        base=base.number if base else None,
        definition=hashes["definition_sha256"],
    )
    return snapshot


def _deployed(access: Access, agent: Agent, snapshot: Snapshot) -> AgentDeployment:
    newest: AgentDeployment | None = AgentDeployment.objects.filter(agent=agent).order_by("-number").first()
    if newest is not None and newest.snapshot_id == snapshot.pk:
        return newest
    made: AgentDeployment = AgentDeployment.objects.create(
        agent=agent, number=(newest.number if newest else 0) + 1, snapshot=snapshot, made_by=access.user
    )
    audit.by("agent.deployed", access, agent, deployment=made.number, snapshot=snapshot.number)
    return made
