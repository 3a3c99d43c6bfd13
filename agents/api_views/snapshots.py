"""Snapshots over the API: found, read, compared and varied."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from agents import actions, queries, serializers
from agents.actions.agents import EDIT
from agents.models import Snapshot
from teams import endpoints, receipts
from teams.access import Access
from teams.api import known_parameters, page_of, valid
from teams.permissions import Right
from teams.refusals import Refusal

READ = (Right.AGENT_READ,)


def _snapshot(access: Access, snapshot: UUID) -> Snapshot:
    return access.find(queries.found_snapshots(access), team="agent__team", pk=snapshot)


def _detail(access: Access, row: Snapshot) -> dict[str, Any]:
    kept = queries.kept_definition(row)
    return {
        **serializers.SnapshotRow(row).data,
        "availability": kept.removed or "available",
        "definition": kept.body if access.reads_content else None,
    }


class Snapshots(endpoints.TeamView):
    """The team's snapshots, newest first."""

    needed = {"GET": READ}

    @extend_schema(
        operation_id="snapshots",
        parameters=[
            *endpoints.PAGING,
            OpenApiParameter("q", str, description="Part of an agent's name, a number, or the start of an id."),
            OpenApiParameter("agent", UUID, description="Of this agent alone."),
        ],
        responses=endpoints.listed(serializers.SnapshotRow),
    )
    def get(self, request: Request) -> Response:
        known_parameters(request, "page", "page_size", "q", "agent")
        rows = queries.found_snapshots(self.access, request.query_params.get("q", "")[:200])
        if agent := request.query_params.get("agent"):
            rows = rows.filter(agent=endpoints.uuid_of(agent, "agent"))
        return page_of(request, rows, lambda row: serializers.SnapshotRow(row).data)


class SnapshotDetail(endpoints.TeamView):
    """One snapshot. Its definition is content; its hashes tell readers of metadata what differs."""

    needed = {"GET": READ}

    @extend_schema(operation_id="snapshot", responses=endpoints.one(serializers.SnapshotDetail))
    def get(self, request: Request, snapshot: UUID) -> Response:
        known_parameters(request)
        return Response(_detail(self.access, _snapshot(self.access, snapshot)))


class SnapshotDifferences(endpoints.TeamView):
    """What two snapshots do not share."""

    needed = {"GET": READ}

    @extend_schema(
        operation_id="snapshot_differences",
        parameters=[OpenApiParameter("against", UUID, required=True, description="The other snapshot, of any agent.")],
        responses=endpoints.one(serializers.SnapshotDifferences),
    )
    def get(self, request: Request, snapshot: UUID) -> Response:
        known_parameters(request, "against")
        found = _snapshot(self.access, snapshot)
        given = request.query_params.get("against", "")
        if not given:
            raise Refusal("invalid_field", "Name the other snapshot.", place="against")
        other = _snapshot(self.access, endpoints.uuid_of(given, "against"))
        told = queries.snapshot_differences(other, found, content=self.access.reads_content)
        return Response(serializers.SnapshotDifferences({"dimensions": told}).data)


class Variants(endpoints.TeamView):
    """The variants of a snapshot, newest first."""

    needed = {"GET": READ, "POST": EDIT}

    @extend_schema(
        operation_id="variants", parameters=endpoints.PAGING, responses=endpoints.listed(serializers.SnapshotRow)
    )
    def get(self, request: Request, snapshot: UUID) -> Response:
        known_parameters(request, "page", "page_size")
        found = _snapshot(self.access, snapshot)
        rows = queries.found_snapshots(self.access).filter(base=found)
        return page_of(request, rows, lambda row: serializers.SnapshotRow(row).data)

    @extend_schema(
        operation_id="make_variant",
        parameters=[endpoints.REQUEST_KEY],
        request=serializers.NewVariant,
        responses=endpoints.created(serializers.SnapshotDetail),
        examples=[OpenApiExample("A smaller model", {"route": "support-small"}, request_only=True)],
    )
    def post(self, request: Request, snapshot: UUID) -> Response:
        """Copy the definition and change the model alone. Draft and deployment stay as they are."""
        known_parameters(request)
        access, found = self.access, _snapshot(self.access, snapshot)
        key, given = endpoints.request_key(request), valid(serializers.NewVariant, request)
        route = queries.route_by_key(given["route"])
        if route is None:
            raise Refusal("invalid_field", "Name the key of a model route.", place="route")
        row, made = receipts.once(
            access,
            "snapshot.variant",
            key,
            {"snapshot": str(found.pk), **given},
            Snapshot,
            lambda: actions.make_variant(access=access, base=found, route=route),
        )
        return Response(_detail(access, _snapshot(access, row.pk)), status=201 if made else 200)
