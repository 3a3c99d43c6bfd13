"""API of subjects. A definition is content."""

from __future__ import annotations

from uuid import UUID

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from agents import queries, serializers
from agents.models import Subject
from teams import endpoints
from teams.api import known_parameters, page_of
from teams.permissions import Right


class Subjects(endpoints.TeamView):
    """What was evaluated, newest first."""

    needed = {"GET": (Right.AGENT_READ,)}

    @extend_schema(
        operation_id="subjects",
        parameters=[*endpoints.PAGING, OpenApiParameter("q", str, description="Part of a label, start of a hash.")],
        responses=endpoints.listed(serializers.SubjectRow),
    )
    def get(self, request: Request) -> Response:
        known_parameters(request, "page", "page_size", "q")
        search = request.query_params.get("q", "").strip()[:200]
        rows = queries.subjects_of(self.access, search=search).order_by("-created_at", "-pk")
        return page_of(request, rows, lambda row: serializers.SubjectRow(row).data)


class SubjectDetail(endpoints.TeamView):
    needed = {"GET": (Right.AGENT_READ,)}

    @extend_schema(operation_id="subject", responses=endpoints.one(serializers.SubjectDetail))
    def get(self, request: Request, subject: UUID) -> Response:
        known_parameters(request)
        found = self.access.find(Subject.objects.all(), pk=subject)
        definition = queries.definition_of(found).body if self.access.reads_content else None
        return Response({**serializers.SubjectRow(found).data, "definition": definition})
