"""Shapes of the API: people, rights, tokens."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers


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


class Member(serializers.Serializer[Any]):
    user = Person()
    role = serializers.CharField(source="role.name")
    joined_at = serializers.DateTimeField()


class Token(serializers.Serializer[Any]):
    """A token's facts. The token itself was shown once, when it was made."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    state = serializers.ChoiceField(["active", "expired", "revoked"])
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField(allow_null=True)
    last_used_at = serializers.DateTimeField(allow_null=True)
