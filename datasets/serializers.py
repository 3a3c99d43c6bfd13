"""Shapes of the API: datasets, versions, items."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers


class DatasetRow(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    slug = serializers.CharField()
    name = serializers.CharField()
    versions = serializers.IntegerField()
    newest_version = serializers.IntegerField(source="newest", allow_null=True)
    cases = serializers.IntegerField(source="items", allow_null=True, help_text="Of the newest version.")
    created_at = serializers.DateTimeField()
    archived_at = serializers.DateTimeField(allow_null=True)


class VersionRow(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    number = serializers.IntegerField()
    cases = serializers.IntegerField(source="count")
    sha256 = serializers.CharField()
    made_at = serializers.DateTimeField()


class ItemContentPart(serializers.Serializer[Any]):
    availability = serializers.CharField(help_text="available, expired, deleted or redacted.")
    source_id = serializers.CharField(allow_null=True)
    title = serializers.CharField(allow_null=True)
    group = serializers.CharField(
        source="group_name", allow_null=True, help_text="What the case shares with related ones, if it was told."
    )
    language = serializers.CharField()
    tags = serializers.ListField(child=serializers.CharField(), allow_null=True)
    metadata = serializers.JSONField(allow_null=True)
    body = serializers.JSONField(allow_null=True)


class ItemRow(serializers.Serializer[Any]):
    position = serializers.IntegerField()
    item = serializers.UUIDField()
    revision = serializers.UUIDField()
    revision_number = serializers.IntegerField(source="number")
    content_sha256 = serializers.CharField(source="fingerprint", help_text="Empty where the content was not captured.")
    content = ItemContentPart(allow_null=True, help_text="Null without the right evaluation.content.read.")
