"""Reads of agents, their drafts and deployments, and of the routes and connectors that they use."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from django.db import models
from django.db.models import Count, F, OuterRef, Subquery

from agents.models import (
    Agent,
    AgentDeployment,
    AgentDraft,
    Connector,
    ConnectorReader,
    ModelRoute,
    ModelRouteRevision,
    Snapshot,
)
from teams.access import Access


def agents_of(access: Access, *, archived: bool | None = False, search: str = "") -> models.QuerySet[Agent]:
    """A team's agents with what is in use and whether the draft says something else."""
    newest = AgentDeployment.objects.filter(agent=OuterRef("pk")).order_by("-number")
    rows = Agent.objects.filter(team=access.team)
    if archived is not None:
        rows = rows.filter(archived_at__isnull=not archived)
    if search:
        rows = rows.filter(name__icontains=search)
    return rows.annotate(
        snapshots=Count("snapshot"),
        deployed_id=Subquery(newest.values("snapshot")[:1]),
        deployed_number=Subquery(newest.values("snapshot__number")[:1]),
        deployed_model=Subquery(newest.values("snapshot__route_revision__model_id")[:1]),
        deployed_draft=Subquery(newest.values("snapshot__draft_sha256")[:1]),
        deployed_route=Subquery(newest.values("snapshot__route_revision__sha256")[:1]),
        active_route=Subquery(newest.values("snapshot__route_revision__route__active__sha256")[:1]),
        draft_sha256=F("agentdraft__sha256"),
        draft_revision=F("agentdraft__revision"),
        changed_at=F("agentdraft__saved_at"),
    )


def draft_of(agent: Agent, *, content: bool) -> AgentDraft:
    """The draft. What it says is fetched only for readers of content."""
    rows = AgentDraft.objects.select_related("saved_by")
    return (rows if content else rows.defer("body")).get(agent=agent)


def deployments_of(agent: Agent) -> models.QuerySet[AgentDeployment]:
    rows: models.QuerySet[AgentDeployment] = AgentDeployment.objects.filter(agent=agent).select_related(
        "snapshot__agent", "snapshot__route_revision__provider", "snapshot__route_revision__route", "made_by"
    )
    return rows


def deployed_of(agent: Agent) -> AgentDeployment | None:
    """The active deployment."""
    return deployments_of(agent).first()


@dataclass(frozen=True, slots=True)
class DraftState:
    """How the draft stands to what is in use, from hashes alone."""

    revision: int
    same: bool
    """It says what the deployed snapshot was taken from."""
    route_changed: bool
    """The route of the deployed snapshot means something else by now."""


def draft_state(draft: AgentDraft, deployed: AgentDeployment | None) -> DraftState:
    if deployed is None:
        return DraftState(draft.revision, same=False, route_changed=False)
    used: Snapshot = deployed.snapshot
    active = used.route_revision.route.active
    changed = active is not None and active.sha256 != used.route_revision.sha256
    return DraftState(draft.revision, same=draft.sha256 == used.draft_sha256, route_changed=changed)


# --- model routes ----------------------------------------------------------------------------------


def routes(*, active: bool = False) -> models.QuerySet[ModelRoute]:
    """The model routes that are not archived; `active` leaves out those over which nothing runs."""
    rows = ModelRoute.objects.filter(archived_at=None).select_related("active__provider")
    return rows.filter(active__isnull=False) if active else rows


def route_by_key(key: str) -> ModelRoute | None:
    return ModelRoute.objects.filter(key=key).select_related("active__provider").first()


def route_revisions(route: ModelRoute) -> models.QuerySet[ModelRouteRevision]:
    rows: models.QuerySet[ModelRouteRevision] = ModelRouteRevision.objects.filter(route=route).select_related(
        "provider", "made_by"
    )
    return rows


# --- connectors ------------------------------------------------------------------------------------


def connectors_of(access: Access, *, archived: bool | None = False) -> models.QuerySet[Connector]:
    rows = Connector.objects.filter(team=access.team)
    return rows if archived is None else rows.filter(archived_at__isnull=not archived)


def names_of_connectors(access: Access, ids: Iterable[str]) -> dict[str, str]:
    """Names by id in text."""
    rows = Connector.objects.filter(team=access.team, pk__in=list(ids)).values_list("pk", "name")
    return {str(pk): name for pk, name in rows}


def readable_connectors(access: Access, connectors: Iterable[Connector]) -> set[UUID]:
    """Ids of the connectors whose content the reader may see, in one query."""
    readers: dict[UUID, list[UUID]] = {}
    rows = ConnectorReader.objects.filter(connector__in=list(connectors)).values_list("connector", "role")
    for connector, role in rows:
        readers.setdefault(connector, []).append(role)
    return {connector for connector, roles in readers.items() if access.reads_source(roles)}


def reads_connector(access: Access, connector: Connector) -> bool:
    """Whether a member may read what came through a connector: content at all, and this source's."""
    return connector.pk in readable_connectors(access, [connector])
