"""Who is asking."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from teams import endpoints, serializers
from teams.api import known_parameters

EXAMPLE = {
    "user": {"id": "01922f5e-8c1a-7d3e-9b64-2f6f1c0a7e11", "name": "Ana Haddad", "email": "ana@demo.example"},
    "team": {"slug": "support", "name": "Support quality"},
    "role": "Viewer",
    "rights": ["agent.read", "evaluation.read"],
}


class Me(endpoints.TeamView):
    """Whom the token speaks for, in which team, with which rights as they stand now."""

    needed = {"GET": ()}  # a member without any right still learns which ones are missing

    @extend_schema(
        operation_id="me", responses=endpoints.one(serializers.Me), examples=[OpenApiExample("A viewer", EXAMPLE)]
    )
    def get(self, request: Request) -> Response:
        known_parameters(request)
        access = self.access
        shown = {"user": access.user, "team": access.team, "role": access.role, "rights": sorted(access.held)}
        return Response(serializers.Me(shown).data)
