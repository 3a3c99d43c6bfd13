"""The draft of an agent: saved by people, read by Agent Test and publication, touched by nothing else."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.db import transaction

from agents import definitions
from agents.actions.agents import EDIT_CONTENT, locked, not_archived
from agents.models import Agent, AgentDraft, Connector, ModelRoute, Snapshot, SnapshotDefinition
from teams import audit
from teams.access import Access
from teams.keeping import seen
from teams.refusals import Code, Refusal, register

register({"snapshot_unavailable": Code(409, "Choose a snapshot whose definition can still be read.")})


@transaction.atomic
def save_draft(*, access: Access, agent: Agent, definition: Any, revision: int) -> AgentDraft:
    """The draft says this from now on. `revision` is the one that the editor saw; equal words change nothing."""
    access.require(*EDIT_CONTENT)
    body = definitions.checked(definition)
    kept = locked(access, agent)
    not_archived(kept)
    draft = AgentDraft.objects.select_for_update(no_key=True).get(agent=kept)
    seen(draft.revision, revision, "The draft")
    resolvable(access, body, kept=[one["connector"] for one in draft.body["connectors"]])
    return _saved(access, draft, body)


@transaction.atomic
def draft_from_snapshot(*, access: Access, snapshot: Snapshot, revision: int) -> AgentDraft:
    """The draft says what a snapshot says, over the route as it is now."""
    access.require(*EDIT_CONTENT)
    kept = locked(access, snapshot.agent)
    not_archived(kept)
    draft = AgentDraft.objects.select_for_update(no_key=True).get(agent=kept)
    seen(draft.revision, revision, "The draft")
    return _saved(access, draft, draft_body(snapshot))


def draft_body(snapshot: Snapshot) -> dict[str, Any]:
    """What a draft would have to say to become this snapshot."""
    content = SnapshotDefinition.objects.filter(snapshot=snapshot).first()
    if content is None or content.body is None:
        raise Refusal("snapshot_unavailable", "The definition of this snapshot was taken away.")
    return {**content.body, "route": content.body["route"]["key"]}


def _saved(access: Access, draft: AgentDraft, body: dict[str, Any]) -> AgentDraft:
    sha256 = definitions.digest("draft", body)
    if sha256 != draft.sha256:
        draft.body, draft.sha256, draft.saved_by = body, sha256, access.user
        draft.revision += 1
        draft.save()
        audit.by("agent.draft_saved", access, draft.agent, revision=draft.revision, sha256=sha256)
    return draft


def resolvable(access: Access, body: dict[str, Any], kept: Collection[str] | None = None) -> None:
    """Refuse a draft that names a route or a connector that is not there.

    Archived connectors are named no more, but those that are named already (`kept`; None: any) may stay.
    """
    if body["route"] and not ModelRoute.objects.filter(key=body["route"], archived_at=None).exists():
        raise Refusal("invalid_field", "Choose one of the model routes.", place="route")
    rows = Connector.objects.filter(team=access.team).values_list("pk", "archived_at")
    known = {str(pk) for pk, archived in rows if archived is None or kept is None or str(pk) in kept}
    for at, one in enumerate(body["connectors"]):
        if one["connector"] not in known:
            raise Refusal("invalid_field", "Choose one of the team's connectors.", place=f"connectors[{at}].connector")
