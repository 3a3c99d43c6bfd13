"""Roles: the product's presets and the team's own."""

from __future__ import annotations

from uuid import UUID

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from teams import actions, endpoints, queries, receipts, serializers
from teams.api import known_parameters, page_of, valid
from teams.models import Role
from teams.permissions import Right
from teams.refusals import Refusal

MANAGE = (Right.TEAM_MANAGE,)
EXAMPLE = OpenApiExample(
    "A role for auditors", {"name": "Auditor", "rights": ["evaluation.read", "agent.read"]}, request_only=True
)


class Roles(endpoints.TeamView):
    """The presets in their own order, then the team's roles by name."""

    needed = {"GET": (Right.EVALUATION_READ,), "POST": MANAGE}

    @extend_schema(operation_id="roles", parameters=endpoints.PAGING, responses=endpoints.listed(serializers.Role))
    def get(self, request: Request) -> Response:
        known_parameters(request, "page", "page_size")
        rows = queries.Listed(queries.roles_for(self.access.team))
        return page_of(request, rows, lambda row: serializers.Role(row).data)

    @extend_schema(
        operation_id="create_role",
        parameters=[endpoints.REQUEST_KEY],
        request=serializers.RoleInput,
        responses=endpoints.created(serializers.Role),
        examples=[EXAMPLE],
    )
    def post(self, request: Request) -> Response:
        known_parameters(request)
        access, key = self.access, endpoints.request_key(request)
        given = valid(serializers.RoleInput, request)
        row, made = receipts.once(
            access,
            "role.create",
            key,
            {"name": given["name"], "rights": sorted(given["rights"])},
            Role,
            lambda: actions.create_role(access=access, name=given["name"], rights=given["rights"]),
        )
        return endpoints.with_etag(serializers.Role(row).data, row.revision, status=201 if made else 200)


class RoleDetail(endpoints.TeamView):
    """One role. A role that somebody has cannot be deleted; a preset of the product is changed by nobody."""

    needed = {"GET": (Right.EVALUATION_READ,), "PATCH": MANAGE, "DELETE": MANAGE}

    def _found(self, role: UUID) -> Role:
        for one in queries.roles_for(self.access.team):
            if one.pk == role:
                return one
        raise Refusal("not_found")

    @extend_schema(operation_id="role", responses=endpoints.one(serializers.Role))
    def get(self, request: Request, role: UUID) -> Response:
        known_parameters(request)
        found = self._found(role)
        return endpoints.with_etag(serializers.Role(found).data, found.revision)

    @extend_schema(
        operation_id="edit_role",
        parameters=[endpoints.IF_MATCH],
        request=serializers.RoleInput,
        responses={200: serializers.Role, **endpoints.WRITE_ERRORS},
        examples=[EXAMPLE],
    )
    def patch(self, request: Request, role: UUID) -> Response:
        """Name and rights, both given: a role is edited as a whole."""
        known_parameters(request)
        found, seen = self._found(role), endpoints.expected(request)
        given = valid(serializers.RoleInput, request)
        if seen != str(found.revision):
            raise Refusal("revision_stale", f"The role is at revision {found.revision}.", current=found.revision)
        kept = actions.edit_role(access=self.access, role=found, revision=found.revision, **given)
        return endpoints.with_etag(serializers.Role(kept).data, kept.revision)

    @extend_schema(operation_id="delete_role", responses={204: None, **endpoints.WRITE_ERRORS})
    def delete(self, request: Request, role: UUID) -> Response:
        known_parameters(request)
        actions.delete_role(access=self.access, role=self._found(role))
        return Response(status=204)
