"""Assets over the API: governed parts, their versions and approvals."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from agents import actions, queries, serializers
from agents.actions.agents import EDIT, EDIT_CONTENT
from agents.actions.assets import APPROVE
from agents.api_views.agents import whole
from agents.models import Asset, AssetApproval, AssetKind, AssetVersion
from teams import endpoints, receipts
from teams.access import Access
from teams.api import known_parameters, page_of, valid
from teams.permissions import Right
from teams.refusals import Refusal

READ = (Right.AGENT_READ,)
EXAMPLE = {"kind": "prompt_template", "name": "Refund prompt", "body": "You answer questions about refunds."}


def _asset(access: Access, asset: UUID) -> Any:
    found = queries.assets_of(access, archived=None).filter(pk=asset).first()
    if found is None:
        raise Refusal("not_found")
    return found


def _version(access: Access, asset: Asset, number: int) -> AssetVersion:
    found = queries.asset_versions(asset).filter(number=number).first()
    if found is None:
        raise Refusal("not_found")
    return found


def _shown(access: Access, row: AssetVersion) -> dict[str, Any]:
    part = queries.part_of(row)
    return {
        **serializers.AssetVersionRow(row).data,
        "availability": part.removed or "available",
        "body": part.body if access.reads_content else None,
    }


class Assets(endpoints.TeamView):
    """The assets that are not archived, the team's and those of the product, by name."""

    needed = {"GET": READ, "POST": EDIT_CONTENT}

    @extend_schema(
        operation_id="assets",
        parameters=[
            *endpoints.PAGING,
            OpenApiParameter("q", str, description="Part of a name."),
            OpenApiParameter("kind", str, enum=AssetKind.values),
        ],
        responses=endpoints.listed(serializers.AssetRow),
    )
    def get(self, request: Request) -> Response:
        known_parameters(request, "page", "page_size", "q", "kind")
        kind = request.query_params.get("kind", "")
        if kind and kind not in AssetKind:
            raise Refusal("invalid_field", f"kind is one of {', '.join(AssetKind)}.", place="kind")
        search = request.query_params.get("q", "").strip()[:200]
        rows = queries.assets_of(self.access, kind=kind, search=search).order_by("name", "pk")
        return page_of(request, rows, lambda row: serializers.AssetRow(row).data)

    @extend_schema(
        operation_id="create_asset",
        parameters=[endpoints.REQUEST_KEY],
        request=serializers.NewAsset,
        responses=endpoints.created(serializers.AssetVersionDetail),
        examples=[OpenApiExample("A prompt template", EXAMPLE, request_only=True)],
    )
    def post(self, request: Request) -> Response:
        """Make an asset with its first version. `body` is the part of a definition that the kind says."""
        known_parameters(request)
        access, key = self.access, endpoints.request_key(request)
        given = valid(serializers.NewAsset, request)
        row, made = receipts.once(
            access, "asset.create", key, given, AssetVersion, lambda: actions.create_asset(access=access, **given)
        )
        return Response(_shown(access, row), status=201 if made else 200)


class AssetDetail(endpoints.TeamView):
    """One asset."""

    needed = {"GET": READ, "PATCH": EDIT}

    @extend_schema(operation_id="asset", responses=endpoints.one(serializers.AssetRow))
    def get(self, request: Request, asset: UUID) -> Response:
        known_parameters(request)
        found = _asset(self.access, asset)
        return endpoints.with_etag(serializers.AssetRow(found).data, found.revision)

    @extend_schema(
        operation_id="edit_asset",
        parameters=[endpoints.IF_MATCH],
        request=serializers.AssetEdit,
        responses={200: serializers.AssetRow, **endpoints.WRITE_ERRORS},
        examples=[OpenApiExample("Another name", {"name": "Refunds"}, request_only=True)],
    )
    def patch(self, request: Request, asset: UUID) -> Response:
        """Rename, archive or restore it."""
        known_parameters(request)
        found, seen = _asset(self.access, asset), endpoints.expected(request)
        given = valid(serializers.AssetEdit, request)
        if whole(seen) != found.revision:
            raise Refusal("revision_stale", f"The asset is at revision {found.revision}.", current=found.revision)
        if "name" in given:
            actions.rename_asset(access=self.access, asset=found, name=given["name"], revision=found.revision)
        if "archived" in given:
            act = actions.archive_asset if given["archived"] else actions.restore_asset
            act(access=self.access, asset=found)
        kept = _asset(self.access, asset)
        return endpoints.with_etag(serializers.AssetRow(kept).data, kept.revision)


class AssetVersions(endpoints.TeamView):
    """The versions of an asset, newest first."""

    needed = {"GET": READ, "POST": EDIT_CONTENT}

    @extend_schema(
        operation_id="asset_versions",
        parameters=endpoints.PAGING,
        responses=endpoints.listed(serializers.AssetVersionRow),
    )
    def get(self, request: Request, asset: UUID) -> Response:
        known_parameters(request, "page", "page_size")
        rows = queries.asset_versions(_asset(self.access, asset))
        return page_of(request, rows, lambda row: serializers.AssetVersionRow(row).data)

    @extend_schema(
        operation_id="new_asset_version",
        parameters=[endpoints.REQUEST_KEY],
        request=serializers.NewAssetVersion,
        responses=endpoints.created(serializers.AssetVersionDetail),
        examples=[OpenApiExample("Other words", {"asset_revision": 1, "body": "You answer."}, request_only=True)],
    )
    def post(self, request: Request, asset: UUID) -> Response:
        """What the asset says from now on."""
        known_parameters(request)
        access, found = self.access, _asset(self.access, asset)
        key, given = endpoints.request_key(request), valid(serializers.NewAssetVersion, request)
        row, made = receipts.once(
            access,
            "asset.version",
            key,
            {"asset": str(found.pk), **given},
            AssetVersion,
            lambda: actions.add_asset_version(
                access=access, asset=found, body=given["body"], revision=given["asset_revision"]
            ),
        )
        return Response(_shown(access, row), status=201 if made else 200)


class AssetVersionDetail(endpoints.TeamView):
    """One version. What it says is content."""

    needed = {"GET": READ}

    @extend_schema(operation_id="asset_version", responses=endpoints.one(serializers.AssetVersionDetail))
    def get(self, request: Request, asset: UUID, number: int) -> Response:
        known_parameters(request)
        found = _asset(self.access, asset)
        return Response(_shown(self.access, _version(self.access, found, number)))


class AssetVersionApproval(endpoints.TeamView):
    """That releases may bind the version."""

    needed = {"PUT": APPROVE}

    @extend_schema(
        operation_id="approve_asset_version",
        request=None,
        responses={200: serializers.AssetVersionRow, **endpoints.WRITE_ERRORS},
    )
    def put(self, request: Request, asset: UUID, number: int) -> Response:
        """Approve it. Approving it again changes nothing; an approval is not taken back."""
        known_parameters(request)
        found = _asset(self.access, asset)
        approval: AssetApproval = actions.approve_asset_version(
            access=self.access, version=_version(self.access, found, number)
        )
        kept = _version(self.access, found, approval.version.number)
        return Response(serializers.AssetVersionRow(kept).data)
