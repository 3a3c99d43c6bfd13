"""Model routes over the API, as members see them: without addresses and secrets."""

from __future__ import annotations

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from agents import queries, serializers
from agents.models import ModelRoute
from teams import endpoints
from teams.api import known_parameters, page_of
from teams.permissions import Right
from teams.refusals import Refusal


def _route(route: UUID) -> ModelRoute:
    found = ModelRoute.objects.select_related("active__provider").filter(pk=route).first()
    if found is None:
        raise Refusal("not_found")
    return found


class ModelRoutes(endpoints.TeamView):
    """Every route that is not archived, by name."""

    needed = {"GET": (Right.AGENT_READ,)}

    @extend_schema(
        operation_id="model_routes", parameters=endpoints.PAGING, responses=endpoints.listed(serializers.RouteRow)
    )
    def get(self, request: Request) -> Response:
        known_parameters(request, "page", "page_size")
        rows = queries.routes().order_by("name", "pk")
        return page_of(request, rows, lambda row: serializers.RouteRow(row).data)


class ModelRouteDetail(endpoints.TeamView):
    needed = {"GET": (Right.AGENT_READ,)}

    @extend_schema(operation_id="model_route", responses=endpoints.one(serializers.RouteRow))
    def get(self, request: Request, route: UUID) -> Response:
        known_parameters(request)
        return Response(serializers.RouteRow(_route(route)).data)


class ModelRouteRevisions(endpoints.TeamView):
    """What a route meant and means, newest first."""

    needed = {"GET": (Right.AGENT_READ,)}

    @extend_schema(
        operation_id="model_route_revisions",
        parameters=endpoints.PAGING,
        responses=endpoints.listed(serializers.RouteRevisionRow),
    )
    def get(self, request: Request, route: UUID) -> Response:
        known_parameters(request, "page", "page_size")
        rows = queries.route_revisions(_route(route))
        return page_of(request, rows, lambda row: serializers.RouteRevisionRow(row).data)
