"""Shapes of the API: people, rights, tokens."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from teams.api import StrictSerializer
from teams.permissions import Right

INVITATION_STATES = ("open", "accepted", "revoked", "expired")
TOKEN_STATES = ("active", "expired", "revoked")


class Person(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    name = serializers.CharField()
    email = serializers.EmailField()


class TeamName(serializers.Serializer[Any]):
    slug = serializers.CharField()
    name = serializers.CharField()


class Me(serializers.Serializer[Any]):
    user = Person()
    team = TeamName()
    role = serializers.CharField()
    rights = serializers.ListField(child=serializers.CharField())


class Role(serializers.Serializer[Any]):
    """A role; one without a team is a preset of the product and is not edited."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    rights = serializers.ListField(child=serializers.ChoiceField(Right.values))
    preset = serializers.SerializerMethodField()
    revision = serializers.IntegerField()

    def get_preset(self, row: Any) -> bool:
        return row.team_id is None


class RoleInput(StrictSerializer):
    name = serializers.CharField(max_length=60)
    rights = serializers.ListField(child=serializers.ChoiceField(Right.values), min_length=1, max_length=len(Right))


class Member(serializers.Serializer[Any]):
    user = Person()
    role = serializers.CharField(source="role.name")
    role_id = serializers.UUIDField()
    joined_at = serializers.DateTimeField()


class MemberInput(StrictSerializer):
    role = serializers.UUIDField(help_text="The id of a role of this team or of the product.")


class Invitation(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    email = serializers.EmailField()
    role = serializers.CharField(source="role.name", default=None, allow_null=True)
    state = serializers.ChoiceField(INVITATION_STATES)
    invited_by = Person()
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()
    accepted_at = serializers.DateTimeField(allow_null=True)


class FreshInvitation(Invitation):
    """As an invitation, with its link where no mail server took it; shown once, null when the key comes again."""

    link = serializers.CharField(allow_null=True)


class InvitationInput(StrictSerializer):
    email = serializers.EmailField(max_length=254)
    role = serializers.UUIDField(help_text="The id of a role of this team or of the product.")


class Token(serializers.Serializer[Any]):
    """A token's facts. The token itself was shown once, when it was made."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    rights = serializers.ListField(
        child=serializers.CharField(), allow_null=True, help_text="At most these; null: whatever its member may."
    )
    state = serializers.ChoiceField(TOKEN_STATES)
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField(allow_null=True)
    last_used_at = serializers.DateTimeField(allow_null=True)


class FreshToken(Token):
    """As a token, with its secret; shown once, null when the key comes again."""

    secret = serializers.CharField(allow_null=True)


class TokenInput(StrictSerializer):
    name = serializers.CharField(max_length=80)
    days = serializers.IntegerField(min_value=1, max_value=366, allow_null=True, default=None)
    rights = serializers.ListField(
        child=serializers.ChoiceField(Right.values), min_length=1, max_length=len(Right), allow_null=True, default=None
    )


class Event(serializers.Serializer[Any]):
    """One entry of the audit log: ids, counts, codes and names; never content."""

    id = serializers.UUIDField()
    at = serializers.DateTimeField()
    actor = Person(allow_null=True)
    action = serializers.CharField()
    code = serializers.CharField()
    object_type = serializers.CharField()
    object_id = serializers.UUIDField(allow_null=True)
    request_id = serializers.CharField()
    detail = serializers.DictField()
