"""API of a team: who am I, who is in it, which tokens speak for me."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from teams import endpoints, queries, serializers
from teams.api import known_parameters, page_of
from teams.permissions import Right


class Me(endpoints.TeamView):
    """Whom the token speaks for, in which team, with which rights as they stand now."""

    needed = {"GET": ()}  # a member without any right still learns which ones are missing

    @extend_schema(operation_id="me", responses=endpoints.one(serializers.Me))
    def get(self, request: Request) -> Response:
        known_parameters(request)
        access = self.access
        shown = {"user": access.user, "team": access.team, "role": access.role, "rights": sorted(access.held)}
        return Response(serializers.Me(shown).data)


class Members(endpoints.TeamView):
    needed = {"GET": (Right.EVALUATION_READ,)}

    @extend_schema(operation_id="members", parameters=endpoints.PAGING, responses=endpoints.listed(serializers.Member))
    def get(self, request: Request) -> Response:
        known_parameters(request, "page", "page_size")
        rows = queries.members_of(self.access.team)
        return page_of(request, rows, lambda row: serializers.Member(row).data)


class Tokens(endpoints.TeamView):
    """One's own tokens of this team."""

    needed = {"GET": (Right.EVALUATION_READ,)}

    @extend_schema(operation_id="tokens", parameters=endpoints.PAGING, responses=endpoints.listed(serializers.Token))
    def get(self, request: Request) -> Response:
        known_parameters(request, "page", "page_size")
        access = self.access
        rows = queries.tokens_seen_by(access).filter(user=access.user)
        return page_of(request, rows, lambda row: serializers.Token(queries.token_facts(row)).data)
