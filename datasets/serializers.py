"""Shapes of the API: datasets, versions, items, drafts, slices."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from datasets import filters
from datasets.queries import KINDS
from teams.api import StrictSerializer


class DatasetRow(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    slug = serializers.CharField()
    name = serializers.CharField()
    versions = serializers.IntegerField()
    newest_version = serializers.IntegerField(source="newest", allow_null=True)
    cases = serializers.IntegerField(source="items", allow_null=True, help_text="Of the newest version.")
    created_at = serializers.DateTimeField()
    archived_at = serializers.DateTimeField(allow_null=True)
    revision = serializers.IntegerField()


class NewDataset(StrictSerializer):
    name = serializers.CharField(max_length=120)


class DatasetEdit(StrictSerializer):
    """One of them, or both."""

    name = serializers.CharField(max_length=120, required=False)
    archived = serializers.BooleanField(required=False)


class VersionRow(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    number = serializers.IntegerField()
    cases = serializers.IntegerField(source="count")
    sha256 = serializers.CharField()
    made_at = serializers.DateTimeField()


class NewVersion(StrictSerializer):
    draft_revision = serializers.IntegerField(min_value=1, help_text="The draft's revision that was read.")


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


class RevisionRow(serializers.Serializer[Any]):
    """What a case said at one time."""

    id = serializers.UUIDField()
    item = serializers.UUIDField(source="item_id")
    number = serializers.IntegerField()
    content_sha256 = serializers.SerializerMethodField(help_text="Empty where the content was not captured.")
    made_at = serializers.DateTimeField()
    content = serializers.SerializerMethodField(help_text="Null without the right evaluation.content.read.")

    def get_content_sha256(self, row: Any) -> str:
        return bytes(row.content_digest).hex()

    def get_content(self, row: Any) -> dict[str, Any] | None:
        found = self.context.get("content")
        return None if found is None else dict(ItemContentPart(found).data)


class CaseInput(StrictSerializer):
    """A case as a whole: what is left out is empty."""

    body = serializers.DictField(help_text="input or turns, expected, checklist; other parts are kept as they are.")
    title = serializers.CharField(required=False, allow_blank=True, default="", max_length=500)
    language = serializers.CharField(required=False, allow_blank=True, default="", max_length=35)
    tags = serializers.ListField(
        child=serializers.CharField(max_length=100), required=False, default=list, max_length=50
    )
    metadata = serializers.DictField(required=False, default=dict)
    group = serializers.CharField(required=False, allow_blank=True, default="", max_length=500)


class NewCase(CaseInput):
    source_id = serializers.CharField(max_length=500, help_text="How your tools name the case.")
    version = serializers.IntegerField(
        required=False, min_value=1, help_text="Where a new draft starts from; the newest version unless given."
    )


class CasesInput(StrictSerializer):
    """Rows as in a JSON Lines table: what a row does not name stays as it is."""

    cases = serializers.ListField(child=serializers.DictField(), min_length=1, max_length=5_000)
    leave_out_faulty = serializers.BooleanField(default=False)
    dry_run = serializers.BooleanField(default=False)


class RowFault(serializers.Serializer[Any]):
    row = serializers.IntegerField()
    place = serializers.CharField()
    message = serializers.CharField()


class CasesReport(serializers.Serializer[Any]):
    added = serializers.IntegerField()
    revised = serializers.IntegerField()
    unchanged = serializers.IntegerField()
    faulty = serializers.IntegerField()
    faults = RowFault(many=True, help_text="The first 200.")


class Draft(serializers.Serializer[Any]):
    revision = serializers.IntegerField()
    base_version = serializers.IntegerField(allow_null=True)
    made_at = serializers.DateTimeField()
    added = serializers.IntegerField()
    revised = serializers.IntegerField()
    removed = serializers.IntegerField()


class DifferenceRow(serializers.Serializer[Any]):
    kind = serializers.ChoiceField(KINDS)
    item = serializers.UUIDField()
    before = serializers.UUIDField(source="before.pk", default=None, allow_null=True, help_text="Revision id.")
    after = serializers.UUIDField(source="after.pk", default=None, allow_null=True, help_text="Revision id.")
    content = ItemContentPart(allow_null=True, help_text="Of the newer one; null without evaluation.content.read.")


class SliceRow(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    name = serializers.CharField()
    number = serializers.IntegerField(help_text="Of its newest version.")
    cases = serializers.IntegerField(source="count", help_text="When that version was made.")
    of = serializers.IntegerField(source="scope")
    counted_on_version = serializers.IntegerField(source="counted_on_number")
    archived_at = serializers.DateTimeField(allow_null=True)
    revision = serializers.IntegerField()


class Condition(StrictSerializer):
    field = serializers.ChoiceField(list(filters.FIELDS))
    operator = serializers.ChoiceField(list(filters.OPERATORS))
    value = serializers.CharField(required=False, max_length=filters.LONGEST_VALUE)
    key = serializers.CharField(required=False, max_length=filters.LONGEST_KEY, help_text="Of metadata, with dots.")


class FilterInput(StrictSerializer):
    match = serializers.ChoiceField(["all", "any"], default="all")
    conditions = Condition(many=True)


class NewSlice(StrictSerializer):
    name = serializers.CharField(max_length=120)
    filter = FilterInput()
    version = serializers.IntegerField(min_value=1, help_text="The dataset version that its cases are counted on.")


class SliceEdit(StrictSerializer):
    """One of them, or both."""

    name = serializers.CharField(max_length=120, required=False)
    archived = serializers.BooleanField(required=False)


class NewSliceVersion(StrictSerializer):
    filter = FilterInput()
    version = serializers.IntegerField(min_value=1, help_text="The dataset version that its cases are counted on.")
    slice_revision = serializers.IntegerField(min_value=1, help_text="The slice's revision that was read.")


class SliceVersionRow(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    slice = serializers.UUIDField(source="slice_id")
    number = serializers.IntegerField()
    cases = serializers.IntegerField(source="count")
    of = serializers.IntegerField(source="scope")
    counted_on_version = serializers.IntegerField(source="counted_on.number")
    sha256 = serializers.CharField()
    made_at = serializers.DateTimeField()
    filter = serializers.SerializerMethodField(help_text="Null without the right evaluation.content.read.")

    def get_filter(self, row: Any) -> dict[str, Any] | None:
        found = self.context.get("filters", {}).get(row.pk)
        return None if found is None else found.filter


# --- errata ----------------------------------------------------------------------------------------


class ErratumRow(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    number = serializers.IntegerField()
    made_at = serializers.DateTimeField()
    excluded = serializers.SerializerMethodField(help_text="Ids of points; null without the right to content.")
    reason = serializers.SerializerMethodField(help_text="Null without the right evaluation.content.read.")

    @extend_schema_field(serializers.ListField(child=serializers.CharField(), allow_null=True))
    def get_excluded(self, row: Any) -> list[str] | None:
        return row.erratumcontent.excluded if self.context["content"] else None

    @extend_schema_field(serializers.CharField(allow_null=True))
    def get_reason(self, row: Any) -> str | None:
        return row.erratumcontent.reason if self.context["content"] else None


class NewErratum(StrictSerializer):
    points = serializers.ListField(child=serializers.CharField(max_length=80), min_length=1, max_length=200)
    reason = serializers.CharField(max_length=2_000)
