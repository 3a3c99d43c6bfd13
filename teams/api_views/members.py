"""Members and invitations."""

from __future__ import annotations

from uuid import UUID

from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from teams import actions, endpoints, mail, queries, receipts, serializers
from teams.access import Access
from teams.api import known_parameters, page_of, valid
from teams.models import Invitation, Membership, Role
from teams.permissions import Right
from teams.refusals import Refusal

MANAGE = (Right.TEAM_MANAGE,)
INVITE = OpenApiExample(
    "An analyst",
    {"email": "dina@example.org", "role": "01922f5e-8c1a-7d3e-9b64-2f6f1c0a7e14"},
    request_only=True,
)
ROLE = OpenApiExample("Another role", {"role": "01922f5e-8c1a-7d3e-9b64-2f6f1c0a7e14"}, request_only=True)


def role_of(access: Access, pk: UUID) -> Role:
    """A role that this team may give, or a refusal at the field."""
    found = {role.pk: role for role in queries.roles_for(access.team)}.get(pk)
    if found is None:
        raise Refusal("invalid_field", "role is the id of one of `GET roles`.", place="role")
    return found


class Members(endpoints.TeamView):
    """Everybody in the team, by name."""

    needed = {"GET": (Right.EVALUATION_READ,)}

    @extend_schema(
        operation_id="members",
        parameters=[*endpoints.PAGING, OpenApiParameter("role", str, description="The id of a role.")],
        responses=endpoints.listed(serializers.Member),
    )
    def get(self, request: Request) -> Response:
        known_parameters(request, "page", "page_size", "role")
        rows = queries.members_of(self.access.team)
        if role := request.query_params.get("role"):
            rows = rows.filter(role=role_of(self.access, endpoints.uuid_of(role, "role")))
        return page_of(request, rows, lambda row: serializers.Member(row).data)


class Member(endpoints.TeamView):
    """One member. Nobody gives, changes or takes a role that holds a right above their own."""

    needed = {"GET": (Right.EVALUATION_READ,), "PATCH": MANAGE, "DELETE": MANAGE}

    def _found(self, user: UUID) -> Membership:
        return self.access.find(queries.members_of(self.access.team), user_id=user)

    @extend_schema(operation_id="member", responses=endpoints.one(serializers.Member))
    def get(self, request: Request, user: UUID) -> Response:
        known_parameters(request)
        found = self._found(user)
        return endpoints.with_etag(serializers.Member(found).data, found.role_id)

    @extend_schema(
        operation_id="change_member",
        parameters=[endpoints.IF_MATCH],
        request=serializers.MemberInput,
        responses={200: serializers.Member, **endpoints.WRITE_ERRORS},
        examples=[ROLE],
    )
    def patch(self, request: Request, user: UUID) -> Response:
        known_parameters(request)
        access, found = self.access, self._found(user)
        if endpoints.expected(request) != str(found.role_id):
            raise Refusal("revision_stale", f"The member is {found.role.name} by now.")
        role = role_of(access, valid(serializers.MemberInput, request)["role"])
        actions.set_role(access=access, team=access.team, user=found.user, role=role, by=access.user, seen=found.role)
        found = self._found(user)
        return endpoints.with_etag(serializers.Member(found).data, found.role_id)

    @extend_schema(operation_id="remove_member", responses={204: None, **endpoints.WRITE_ERRORS})
    def delete(self, request: Request, user: UUID) -> Response:
        known_parameters(request)
        actions.remove_member(access=self.access, user=self._found(user).user)
        return Response(status=204)


def _fresh(invitation: Invitation, secret: str | None) -> dict[str, object]:
    """The invitation, and its link when no mail server took it. Outside every transaction."""
    link = mail.send_invitation(invitation, secret) if secret is not None else None
    shown = serializers.Invitation(invitation).data
    return {**shown, "link": link.address if link is not None and not link.sent else None}


class Invitations(endpoints.TeamView):
    """Invitations of the team, newest first."""

    needed = {"GET": MANAGE, "POST": MANAGE}

    @extend_schema(
        operation_id="invitations",
        parameters=[*endpoints.PAGING, OpenApiParameter("state", str, enum=serializers.INVITATION_STATES)],
        responses=endpoints.listed(serializers.Invitation),
    )
    def get(self, request: Request) -> Response:
        known_parameters(request, "page", "page_size", "state")
        state = request.query_params.get("state", "")
        if state and state not in serializers.INVITATION_STATES:
            raise Refusal(
                "invalid_field", f"state is one of {', '.join(serializers.INVITATION_STATES)}.", place="state"
            )
        rows = queries.invitations_of(self.access.team).in_state(state)
        return page_of(request, rows, lambda row: serializers.Invitation(row).data)

    @extend_schema(
        operation_id="invite",
        parameters=[endpoints.REQUEST_KEY],
        request=serializers.InvitationInput,
        responses=endpoints.created(serializers.FreshInvitation),
        examples=[INVITE],
    )
    def post(self, request: Request) -> Response:
        known_parameters(request)
        access, key = self.access, endpoints.request_key(request)
        given = valid(serializers.InvitationInput, request)
        role = role_of(access, given["role"])
        secrets: list[str] = []

        def perform() -> Invitation:
            made, secret = actions.invite(access=access, email=given["email"], role=role)
            secrets.append(secret)
            return made

        body = {"email": given["email"].lower(), "role": str(role.pk)}
        row, made = receipts.once(access, "invitation.create", key, body, Invitation, perform)
        row = access.find(queries.invitations_of(access.team), pk=row.pk)
        return Response(_fresh(row, secrets[0] if made else None), status=201 if made else 200)


class InvitationDetail(endpoints.TeamView):
    needed = {"GET": MANAGE, "DELETE": MANAGE}

    def _found(self, invitation: UUID) -> Invitation:
        return self.access.find(queries.invitations_of(self.access.team), pk=invitation)

    @extend_schema(operation_id="invitation", responses=endpoints.one(serializers.Invitation))
    def get(self, request: Request, invitation: UUID) -> Response:
        known_parameters(request)
        return Response(serializers.Invitation(self._found(invitation)).data)

    @extend_schema(operation_id="revoke_invitation", responses={204: None, **endpoints.WRITE_ERRORS})
    def delete(self, request: Request, invitation: UUID) -> Response:
        known_parameters(request)
        actions.revoke_invitation(access=self.access, invitation=self._found(invitation))
        return Response(status=204)


class Resend(endpoints.TeamView):
    """A new link with a new term; the earlier one ends."""

    needed = {"POST": MANAGE}

    @extend_schema(
        operation_id="resend_invitation",
        request=None,
        responses={200: serializers.FreshInvitation, **endpoints.WRITE_ERRORS},
    )
    def post(self, request: Request, invitation: UUID) -> Response:
        known_parameters(request)
        access = self.access
        found = access.find(queries.invitations_of(access.team), pk=invitation)
        row, secret = actions.resend_invitation(access=access, invitation=found)
        return Response(_fresh(row, secret))
