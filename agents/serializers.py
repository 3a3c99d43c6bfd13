"""Shapes of the API: subjects."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers


class SubjectRow(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    kind = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]  # a field of the shape, not of Field
    fingerprint = serializers.CharField()
    facts = serializers.ListField(child=serializers.ListField(), help_text="Pairs of name and value.")
    created_at = serializers.DateTimeField()


class SubjectDetail(SubjectRow):
    definition = serializers.JSONField(allow_null=True, help_text="Null without the right evaluation.content.read.")
