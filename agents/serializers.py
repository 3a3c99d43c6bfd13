"""Shapes of the API: agents, drafts, snapshots, model routes, connectors, subjects."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from agents.models import AssetKind, ReleaseState
from teams.api import StrictSerializer


class SubjectRow(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    kind = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]  # a field of the shape, not of Field
    fingerprint = serializers.CharField()
    facts = serializers.ListField(child=serializers.ListField(), help_text="Pairs of name and value.")
    created_at = serializers.DateTimeField()


class SubjectDetail(SubjectRow):
    definition = serializers.JSONField(allow_null=True, help_text="Null without the right evaluation.content.read.")


# --- model routes ----------------------------------------------------------------------------------


class RouteRevisionRow(serializers.Serializer[Any]):
    """What a route means. Prices are millionths of the currency per million tokens; null is unknown."""

    number = serializers.IntegerField()
    provider = serializers.CharField(source="provider.key")
    protocol = serializers.CharField(source="provider.kind")
    model_id = serializers.CharField()
    profile = serializers.CharField()
    capabilities = serializers.DictField()
    capability_sha256 = serializers.CharField()
    auth_mode = serializers.CharField()
    currency = serializers.CharField()
    input_micros = serializers.IntegerField(allow_null=True)
    cached_input_micros = serializers.IntegerField(allow_null=True)
    output_micros = serializers.IntegerField(allow_null=True)
    call_fee_micros = serializers.IntegerField(allow_null=True)
    sha256 = serializers.CharField(help_text="Covers what may change answers, not what they cost.")
    made_at = serializers.DateTimeField()


class RouteRow(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    key = serializers.CharField()
    name = serializers.CharField()
    active = RouteRevisionRow(allow_null=True, help_text="Null: nothing new runs over it.")


# --- agents ----------------------------------------------------------------------------------------


class AgentRow(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    name = serializers.CharField()
    snapshots = serializers.IntegerField()
    deployed_snapshot = serializers.UUIDField(source="deployed_id", allow_null=True)
    deployed_number = serializers.IntegerField(allow_null=True)
    draft_revision = serializers.IntegerField()
    draft_differs = serializers.SerializerMethodField(help_text="Whether publishing it would make another snapshot.")
    created_at = serializers.DateTimeField()
    archived_at = serializers.DateTimeField(allow_null=True)
    revision = serializers.IntegerField()

    def get_draft_differs(self, row: Any) -> bool:
        route_changed = row.active_route is not None and row.active_route != row.deployed_route
        return row.deployed_id is None or row.draft_sha256 != row.deployed_draft or route_changed


class NewAgent(StrictSerializer):
    name = serializers.CharField(max_length=120)


class AgentEdit(StrictSerializer):
    """One of them, or both."""

    name = serializers.CharField(max_length=120, required=False)
    archived = serializers.BooleanField(required=False)


class AgentDraft(serializers.Serializer[Any]):
    revision = serializers.IntegerField()
    sha256 = serializers.CharField()
    saved_at = serializers.DateTimeField()
    definition = serializers.SerializerMethodField(help_text="Null without the right evaluation.content.read.")

    def get_definition(self, row: Any) -> dict[str, Any] | None:
        return row.body if self.context["content"] else None


class DraftInput(StrictSerializer):
    definition = serializers.DictField(
        help_text="instructions, route, tools, connectors, context, settings; what is left out is empty."
    )


class SnapshotRow(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    agent = serializers.UUIDField(source="agent_id")
    agent_name = serializers.CharField(source="agent.name")
    number = serializers.IntegerField()
    subject = serializers.UUIDField(source="subject_id")
    route = serializers.CharField(source="route_revision.route.key")
    route_revision = serializers.IntegerField(source="route_revision.number")
    provider = serializers.CharField(source="route_revision.provider.key")
    model_id = serializers.CharField(source="route_revision.model_id")
    base = serializers.UUIDField(source="base_id", allow_null=True)
    changed = serializers.CharField(help_text="model in a variant, else empty.")
    definition_sha256 = serializers.CharField()
    prompt_sha256 = serializers.CharField()
    tools_sha256 = serializers.CharField()
    connectors_sha256 = serializers.CharField()
    context_sha256 = serializers.CharField()
    settings_sha256 = serializers.CharField()
    capability_sha256 = serializers.CharField()
    made_at = serializers.DateTimeField()


class SnapshotDetail(SnapshotRow):
    availability = serializers.CharField(help_text="available, expired, deleted or redacted.")
    definition = serializers.JSONField(allow_null=True, help_text="Null without the right evaluation.content.read.")


class NewVariant(StrictSerializer):
    route = serializers.CharField(max_length=80, help_text="The key of another model route.")


class PieceRow(serializers.Serializer[Any]):
    text = serializers.CharField()
    differs = serializers.BooleanField()


class FieldDiffRow(serializers.Serializer[Any]):
    name = serializers.CharField()
    before = PieceRow(many=True)
    after = PieceRow(many=True)


class SnapshotDifferenceRow(serializers.Serializer[Any]):
    dimension = serializers.CharField(source="key")
    same = serializers.BooleanField()
    before = serializers.CharField(help_text="A hash, or for route the provider and model.")
    after = serializers.CharField()
    fields = FieldDiffRow(many=True, help_text="Empty without the right evaluation.content.read.")  # type: ignore[assignment]


class SnapshotDifferences(serializers.Serializer[Any]):
    dimensions = SnapshotDifferenceRow(many=True)


class DeploymentRow(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    number = serializers.IntegerField()
    snapshot = serializers.UUIDField(source="snapshot_id")
    snapshot_number = serializers.IntegerField(source="snapshot.number")
    made_at = serializers.DateTimeField()


class NewDeployment(StrictSerializer):
    """Either the saved draft, by its revision, or a snapshot that exists."""

    draft_revision = serializers.IntegerField(
        required=False, min_value=1, help_text="The draft's revision that was read."
    )
    snapshot = serializers.UUIDField(required=False)


# --- connectors ------------------------------------------------------------------------------------


class ConnectorRow(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    name = serializers.CharField()
    created_at = serializers.DateTimeField()
    archived_at = serializers.DateTimeField(allow_null=True)
    revision = serializers.IntegerField()
    reachable = serializers.BooleanField(help_text="Whether tools can be run over it: operators gave it an address.")
    reads = serializers.SerializerMethodField(help_text="Whether you may read what came through it.")
    readers = serializers.SerializerMethodField(help_text="Roles by id.")

    def get_reads(self, row: Any) -> bool:
        return bool(self.context["access"].reads_source(self._roles(row)))

    def get_readers(self, row: Any) -> list[str]:
        return sorted(str(role) for role in self._roles(row))

    def _roles(self, row: Any) -> list[Any]:
        return [one.role_id for one in row.connectorreader_set.all()]


class NewConnector(StrictSerializer):
    name = serializers.CharField(max_length=120)


class ConnectorEdit(StrictSerializer):
    """Any of them. `readers` needs the right team.manage."""

    name = serializers.CharField(max_length=120, required=False)
    archived = serializers.BooleanField(required=False)
    readers = serializers.ListField(child=serializers.UUIDField(), required=False, max_length=100)


# --- assets and releases ---------------------------------------------------------------------------


class AssetRow(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    kind = serializers.CharField()
    name = serializers.CharField()
    built_in = serializers.SerializerMethodField(help_text="Of the product: operators keep it.")
    versions = serializers.IntegerField()
    approved = serializers.IntegerField(allow_null=True, help_text="Number of the newest approved version.")
    created_at = serializers.DateTimeField()
    archived_at = serializers.DateTimeField(allow_null=True)
    revision = serializers.IntegerField()

    def get_built_in(self, row: Any) -> bool:
        return row.team_id is None


class NewAsset(StrictSerializer):
    kind = serializers.CharField(max_length=20, help_text=", ".join(AssetKind.values))
    name = serializers.CharField(max_length=120)
    body = serializers.JSONField(help_text="The part of a definition: a text, a route's key, a list, or an object.")

    def validate_kind(self, kind: str) -> str:
        if kind not in AssetKind:
            raise serializers.ValidationError(f"kind is one of {', '.join(AssetKind)}.")
        return kind


class AssetEdit(StrictSerializer):
    """One of them, or both."""

    name = serializers.CharField(max_length=120, required=False)
    archived = serializers.BooleanField(required=False)


class AssetVersionRow(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    asset = serializers.UUIDField(source="asset_id")
    kind = serializers.CharField(source="asset.kind")
    number = serializers.IntegerField()
    sha256 = serializers.CharField()
    made_at = serializers.DateTimeField()
    approved_at = serializers.SerializerMethodField(help_text="Null: releases may not be approved with it.")

    @extend_schema_field(serializers.DateTimeField(allow_null=True))
    def get_approved_at(self, row: Any) -> Any:
        return row.assetapproval.approved_at if hasattr(row, "assetapproval") else None


class AssetVersionDetail(AssetVersionRow):
    availability = serializers.CharField(help_text="available, expired, deleted or redacted.")
    body = serializers.JSONField(allow_null=True, help_text="Null without the right evaluation.content.read.")


class NewAssetVersion(StrictSerializer):
    body = serializers.JSONField(help_text="The part of a definition that the asset's kind says.")
    asset_revision = serializers.IntegerField(min_value=1, help_text="The asset's revision that was read.")


class BindingRow(serializers.Serializer[Any]):
    role = serializers.CharField()
    version = serializers.UUIDField(source="version_id")
    asset = serializers.UUIDField(source="version.asset_id")
    number = serializers.IntegerField(source="version.number")
    sha256 = serializers.CharField(source="version.sha256")
    approved = serializers.SerializerMethodField()

    def get_approved(self, row: Any) -> bool:
        return hasattr(row.version, "assetapproval")


class ReleaseRow(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    agent = serializers.UUIDField(source="agent_id")
    name = serializers.CharField()
    state = serializers.CharField(help_text=", ".join(ReleaseState.values))
    subject = serializers.UUIDField(source="subject_id", allow_null=True, help_text="Null until it is approved.")
    definition_sha256 = serializers.CharField(help_text="Empty until it is approved.")
    created_at = serializers.DateTimeField()
    revision = serializers.IntegerField()


class ReleaseDetail(ReleaseRow):
    bindings = BindingRow(many=True)


class ReleaseEdit(StrictSerializer):
    bindings = serializers.DictField(
        child=serializers.UUIDField(), help_text="Role to asset version. What is left out is bound no more."
    )


class NewRelease(ReleaseEdit):
    name = serializers.CharField(max_length=120)


class TransitionRow(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    number = serializers.IntegerField()
    before = serializers.CharField()
    after = serializers.CharField()
    made_at = serializers.DateTimeField()


class NewTransition(StrictSerializer):
    to = serializers.CharField(max_length=20, help_text="approved, active or retired.")
    release_revision = serializers.IntegerField(min_value=1, help_text="The release's revision that was read.")


# --- configurations and harnesses ------------------------------------------------------------------


class ConfigurationRow(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    key = serializers.CharField()
    name = serializers.CharField()
    built_in = serializers.SerializerMethodField(help_text="Of the product: operators keep it.")
    slots = serializers.ListField(child=serializers.CharField(), help_text="What a launch binds models to.")
    revisions = serializers.IntegerField()
    sha256 = serializers.CharField()
    created_at = serializers.DateTimeField()
    deleted_at = serializers.DateTimeField(allow_null=True)
    revision = serializers.IntegerField()

    def get_built_in(self, row: Any) -> bool:
        return row.team_id is None


class ConfigurationRevisionRow(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    configuration = serializers.UUIDField(source="configuration_id")
    number = serializers.IntegerField()
    root = serializers.CharField()  # type: ignore[assignment]  # a field of the shape, not of Field
    slots = serializers.ListField(child=serializers.CharField())
    sha256 = serializers.CharField()
    made_at = serializers.DateTimeField()


class ConfigurationRevisionDetail(ConfigurationRevisionRow):
    availability = serializers.CharField(help_text="available, expired, deleted or redacted.")
    body = serializers.JSONField(allow_null=True, help_text="Null without the right evaluation.content.read.")


class ConfigurationInput(StrictSerializer):
    body = serializers.DictField(help_text="root, slots, roles, delegation.")


class NewConfiguration(ConfigurationInput):
    name = serializers.CharField(max_length=120)


class ObstacleRow(serializers.Serializer[Any]):
    code = serializers.CharField()
    text = serializers.CharField()


class Obstacles(serializers.Serializer[Any]):
    slots = serializers.ListField(child=serializers.CharField())
    obstacles = ObstacleRow(many=True)


class HarnessRevisionRow(serializers.Serializer[Any]):
    number = serializers.IntegerField()
    version = serializers.CharField()
    families = serializers.ListField(child=serializers.CharField(), help_text="Empty: any model.")
    auth_mode = serializers.CharField()
    timeout_seconds = serializers.IntegerField()
    sha256 = serializers.CharField()
    made_at = serializers.DateTimeField()


class HarnessRow(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    key = serializers.CharField()
    name = serializers.CharField()
    active = HarnessRevisionRow(allow_null=True, help_text="Null: nothing runs with it.")
