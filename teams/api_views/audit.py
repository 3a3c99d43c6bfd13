"""The audit log."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from teams import endpoints, queries, serializers
from teams.api import known_parameters, page_of
from teams.permissions import Right


class Audit(endpoints.TeamView):
    """What was done and what was refused, newest first."""

    needed = {"GET": (Right.TEAM_MANAGE,)}

    @extend_schema(
        operation_id="audit_events",
        parameters=[
            *endpoints.PAGING,
            OpenApiParameter("action", str, description="Such as `token.created`."),
            OpenApiParameter("actor", str, description="The id of a person."),
            OpenApiParameter("since", str, description="A day, such as 2026-11-30, in UTC."),
            OpenApiParameter("until", str, description="The last day."),
        ],
        responses=endpoints.listed(serializers.Event),
    )
    def get(self, request: Request) -> Response:
        known_parameters(request, "page", "page_size", *queries.AUDIT_WORDS)
        rows = queries.audit_events(self.access.team, **queries.audit_filter(request.query_params))
        return page_of(request, rows, lambda row: serializers.Event(row).data)
