"""Connectors over the API, and the roles that read what came through them."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db.models import Q
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from agents import actions, queries, serializers
from agents.actions.agents import EDIT
from agents.actions.connectors import MANAGE
from agents.api_views.agents import whole
from agents.models import Connector
from teams import endpoints, receipts
from teams.access import Access
from teams.api import known_parameters, page_of, valid
from teams.gates import require
from teams.models import Role
from teams.permissions import Right
from teams.refusals import Refusal

READ = (Right.AGENT_READ,)


def _connector(access: Access, connector: UUID) -> Connector:
    rows = queries.connectors_of(access, archived=None).prefetch_related("connectorreader_set")
    return access.find(rows, pk=connector)


def _shown(access: Access, row: Connector) -> dict[str, Any]:
    return dict(serializers.ConnectorRow(row, context={"access": access}).data)


class Connectors(endpoints.TeamView):
    """The team's connectors that are not archived, by name."""

    needed = {"GET": READ, "POST": EDIT}

    @extend_schema(
        operation_id="connectors", parameters=endpoints.PAGING, responses=endpoints.listed(serializers.ConnectorRow)
    )
    def get(self, request: Request) -> Response:
        known_parameters(request, "page", "page_size")
        access = self.access
        rows = queries.connectors_of(access).prefetch_related("connectorreader_set").order_by("name", "pk")
        return page_of(request, rows, lambda row: _shown(access, row))

    @extend_schema(
        operation_id="create_connector",
        parameters=[endpoints.REQUEST_KEY],
        request=serializers.NewConnector,
        responses=endpoints.created(serializers.ConnectorRow),
        examples=[OpenApiExample("A connector", {"name": "Order system"}, request_only=True)],
    )
    def post(self, request: Request) -> Response:
        """Make a connector. At first owners alone read what comes through it."""
        known_parameters(request)
        access, key = self.access, endpoints.request_key(request)
        given = valid(serializers.NewConnector, request)
        row, made = receipts.once(
            access,
            "connector.create",
            key,
            given,
            Connector,
            lambda: actions.create_connector(access=access, name=given["name"]),
        )
        kept = _connector(access, row.pk)
        return endpoints.with_etag(_shown(access, kept), kept.revision, status=201 if made else 200)


class ConnectorDetail(endpoints.TeamView):
    """One connector."""

    needed = {"GET": READ, "PATCH": READ}

    @extend_schema(operation_id="connector", responses=endpoints.one(serializers.ConnectorRow))
    def get(self, request: Request, connector: UUID) -> Response:
        known_parameters(request)
        found = _connector(self.access, connector)
        return endpoints.with_etag(_shown(self.access, found), found.revision)

    @extend_schema(
        operation_id="edit_connector",
        parameters=[endpoints.IF_MATCH],
        request=serializers.ConnectorEdit,
        responses={200: serializers.ConnectorRow, **endpoints.WRITE_ERRORS},
        examples=[OpenApiExample("Another name", {"name": "Orders"}, request_only=True)],
    )
    def patch(self, request: Request, connector: UUID) -> Response:
        """Rename, archive or restore it (`agent.edit`), or name the roles that read its content (`team.manage`)."""
        known_parameters(request)
        access, found = self.access, _connector(self.access, connector)
        seen = endpoints.expected(request)
        given = valid(serializers.ConnectorEdit, request)
        if "readers" in given:
            require(access, *MANAGE)
        if "readers" not in given or len(given) > 1:
            require(access, *EDIT)
        if whole(seen) != found.revision:
            raise Refusal("revision_stale", f"The connector is at revision {found.revision}.", current=found.revision)
        if "name" in given or "readers" in given:
            readers = self._roles(given["readers"]) if "readers" in given else None
            actions.edit_connector(
                access=access, connector=found, revision=found.revision, name=given.get("name"), readers=readers
            )
        if "archived" in given:
            act = actions.archive_connector if given["archived"] else actions.restore_connector
            act(access=access, connector=found)
        kept = _connector(access, connector)
        return endpoints.with_etag(_shown(access, kept), kept.revision)

    def _roles(self, ids: list[UUID]) -> list[Role]:
        wanted = set(ids)
        found = list(Role.objects.filter(Q(team=self.access.team) | Q(team=None), pk__in=wanted))
        if len(found) != len(wanted):
            raise Refusal("invalid_field", "Name roles of the team by their ids.", place="readers")
        return found
