"""One's own API tokens."""

from __future__ import annotations

from uuid import UUID

from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from teams import actions, endpoints, queries, receipts, serializers
from teams.api import known_parameters, page_of, valid
from teams.models import ApiToken
from teams.permissions import Right
from teams.refusals import Refusal

READ = (Right.EVALUATION_READ,)
WHOSE = ("own", "all")
EXAMPLE = OpenApiExample(
    "For a nightly gate",
    {"name": "nightly gate", "days": 90, "rights": ["evaluation.read", "agent.read"]},
    request_only=True,
)


class Tokens(endpoints.TeamView):
    """One's own tokens of this team; with `team.manage` also everybody's."""

    needed = {"GET": READ, "POST": READ}

    @extend_schema(
        operation_id="tokens",
        parameters=[*endpoints.PAGING, OpenApiParameter("of", str, enum=WHOSE, description="own unless given.")],
        responses=endpoints.listed(serializers.Token),
    )
    def get(self, request: Request) -> Response:
        known_parameters(request, "page", "page_size", "of")
        access, whose = self.access, request.query_params.get("of", "own")
        if whose not in WHOSE:
            raise Refusal("invalid_field", "of is own or all.", place="of")
        if whose == "all":
            access.require(Right.TEAM_MANAGE)
        rows = queries.tokens_seen_by(access)
        rows = rows if whose == "all" else rows.filter(user=access.user)
        return page_of(request, rows, lambda row: serializers.Token(queries.token_facts(row)).data)

    @extend_schema(
        operation_id="create_token",
        parameters=[endpoints.REQUEST_KEY],
        request=serializers.TokenInput,
        responses=endpoints.created(serializers.FreshToken),
        examples=[EXAMPLE],
    )
    def post(self, request: Request) -> Response:
        """The new token is never wider and never lives longer than the one that asks."""
        known_parameters(request)
        access, key = self.access, endpoints.request_key(request)
        given = valid(serializers.TokenInput, request)
        secrets: list[str] = []

        def perform() -> ApiToken:
            made, secret = actions.create_token(access=access, **given)
            secrets.append(secret)
            return made

        row, made = receipts.once(access, "token.create", key, given, ApiToken, perform)
        shown = serializers.Token(queries.token_facts(row)).data
        return Response({**shown, "secret": secrets[0] if made else None}, status=201 if made else 200)


class Token(endpoints.TeamView):
    needed = {"GET": READ, "DELETE": READ}

    def _found(self, token: UUID) -> ApiToken:
        return self.access.find(queries.tokens_seen_by(self.access), pk=token)

    @extend_schema(operation_id="token", responses=endpoints.one(serializers.Token))
    def get(self, request: Request, token: UUID) -> Response:
        known_parameters(request)
        return Response(serializers.Token(queries.token_facts(self._found(token))).data)

    @extend_schema(operation_id="revoke_token", responses={204: None, **endpoints.WRITE_ERRORS})
    def delete(self, request: Request, token: UUID) -> Response:
        """Ends it from the next request on: one's own, or anybody's with `team.manage`."""
        known_parameters(request)
        actions.revoke_token(access=self.access, token=self._found(token))
        return Response(status=204)
