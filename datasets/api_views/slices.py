"""Slices over the API: named filters in immutable versions."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from datasets import actions, filters, queries, serializers
from datasets.actions.slices import EDIT
from datasets.models import Dataset, Slice, SliceContent, SliceVersion, Version
from teams import endpoints, lists, receipts
from teams.access import Access
from teams.api import known_parameters, page_of, positive, valid
from teams.permissions import Right
from teams.refusals import Refusal

READ = (Right.EVALUATION_READ,)
EXAMPLE = OpenApiExample(
    "Arabic refunds",
    {
        "name": "Arabic refunds",
        "filter": {
            "match": "all",
            "conditions": [
                {"field": "language", "operator": "is", "value": "ar"},
                {"field": "tag", "operator": "is", "value": "refund"},
            ],
        },
        "version": 1,
    },
    request_only=True,
)

CHANGED = {
    "filter": {"match": "all", "conditions": [{"field": "tag", "operator": "is", "value": "refund"}]},
    "version": 2,
    "slice_revision": 1,
}


def _dataset(access: Access, dataset: UUID) -> Dataset:
    return access.find(Dataset.objects.all(), pk=dataset)


def _version(access: Access, dataset: Dataset, number: int) -> Version:
    return access.find(queries.versions_of(dataset), team="dataset__team", number=number)


def _slice(access: Access, dataset: UUID, slice_: UUID) -> Slice:
    rows = queries.slices_of(_dataset(access, dataset), archived=None).select_related("dataset")
    return access.find(rows, team="dataset__team", pk=slice_)


def _words(access: Access, rows: list[SliceVersion]) -> dict[str, Any]:
    return {"filters": queries.words_of(row.pk for row in rows) if access.reads_content else {}}


def _made(access: Access, row: SliceVersion, status: int) -> Response:
    row = SliceVersion.objects.select_related("counted_on", "slice").get(pk=row.pk)
    shown = serializers.SliceVersionRow(row, context=_words(access, [row])).data
    return endpoints.with_etag(shown, row.slice.revision, status=status)


class Slices(endpoints.TeamView):
    """The slices of a dataset that are not archived, by name."""

    needed = {"GET": READ, "POST": EDIT}

    @extend_schema(operation_id="slices", parameters=endpoints.PAGING, responses=endpoints.listed(serializers.SliceRow))
    def get(self, request: Request, dataset: UUID) -> Response:
        known_parameters(request, "page", "page_size")
        rows = queries.slices_of(_dataset(self.access, dataset)).order_by("name", "pk")
        return page_of(request, rows, lambda row: serializers.SliceRow(row).data)

    @extend_schema(
        operation_id="create_slice",
        parameters=[endpoints.REQUEST_KEY],
        request=serializers.NewSlice,
        responses=endpoints.created(serializers.SliceVersionRow),
        examples=[EXAMPLE],
    )
    def post(self, request: Request, dataset: UUID) -> Response:
        """Make a slice with its first version."""
        known_parameters(request)
        access = self.access
        found, key = _dataset(access, dataset), endpoints.request_key(request)
        given = valid(serializers.NewSlice, request)
        version = _version(access, found, given["version"])
        row, made = receipts.once(
            access,
            "slice.create",
            key,
            {"dataset": str(found.pk), **given},
            SliceVersion,
            lambda: actions.create_slice(
                access=access, dataset=found, name=given["name"], given=given["filter"], version=version
            ),
        )
        return _made(access, row, 201 if made else 200)


class SliceDetail(endpoints.TeamView):
    """One slice."""

    needed = {"GET": READ, "PATCH": (Right.EVALUATION_MANAGE,)}

    @extend_schema(operation_id="slice", responses=endpoints.one(serializers.SliceRow))
    def get(self, request: Request, dataset: UUID, slice: UUID) -> Response:  # noqa: A002 - the address says so
        known_parameters(request)
        found = _slice(self.access, dataset, slice)
        return endpoints.with_etag(serializers.SliceRow(found).data, found.revision)

    @extend_schema(
        operation_id="edit_slice",
        parameters=[endpoints.IF_MATCH],
        request=serializers.SliceEdit,
        responses={200: serializers.SliceRow, **endpoints.WRITE_ERRORS},
        examples=[OpenApiExample("Another name", {"name": "Arabic, refunds"}, request_only=True)],
    )
    def patch(self, request: Request, dataset: UUID, slice: UUID) -> Response:  # noqa: A002
        """Rename, archive or restore it. Its filter changes by a new version."""
        known_parameters(request)
        found, seen = _slice(self.access, dataset, slice), endpoints.expected(request)
        given = valid(serializers.SliceEdit, request)
        if seen != str(found.revision):
            raise Refusal("revision_stale", f"The slice is at revision {found.revision}.", current=found.revision)
        if "name" in given:
            actions.rename_slice(access=self.access, slice_=found, name=given["name"], revision=found.revision)
        if "archived" in given:
            act = actions.archive_slice if given["archived"] else actions.restore_slice
            act(access=self.access, slice_=found)
        kept = _slice(self.access, dataset, slice)
        return endpoints.with_etag(serializers.SliceRow(kept).data, kept.revision)


class SliceVersions(endpoints.TeamView):
    """The versions of a slice, newest first."""

    needed = {"GET": READ, "POST": EDIT}

    @extend_schema(
        operation_id="slice_versions",
        parameters=endpoints.PAGING,
        responses=endpoints.listed(serializers.SliceVersionRow),
    )
    def get(self, request: Request, dataset: UUID, slice: UUID) -> Response:  # noqa: A002
        known_parameters(request, "page", "page_size")
        access, found = self.access, _slice(self.access, dataset, slice)
        rows = lists.Batched(
            queries.slice_versions(found),
            lambda page: [
                serializers.SliceVersionRow(row, context=_words(access, list(page))).data for row in list(page)
            ],
        )
        return page_of(request, rows, lambda row: row)

    @extend_schema(
        operation_id="new_slice_version",
        parameters=[endpoints.REQUEST_KEY],
        request=serializers.NewSliceVersion,
        responses=endpoints.created(serializers.SliceVersionRow),
        examples=[OpenApiExample("Fewer cases", CHANGED, request_only=True)],
    )
    def post(self, request: Request, dataset: UUID, slice: UUID) -> Response:  # noqa: A002
        """Another filter under the same name."""
        known_parameters(request)
        access = self.access
        found, key = _slice(access, dataset, slice), endpoints.request_key(request)
        given = valid(serializers.NewSliceVersion, request)
        version = _version(access, found.dataset, given["version"])
        row, made = receipts.once(
            access,
            "slice.version",
            key,
            {"slice": str(found.pk), **given},
            SliceVersion,
            lambda: actions.new_slice_version(
                access=access,
                slice_=found,
                given=given["filter"],
                version=version,
                revision=given["slice_revision"],
            ),
        )
        return _made(access, row, 201 if made else 200)


class SliceItems(endpoints.TeamView):
    """The cases that the newest filter of a slice takes from a version of the dataset."""

    needed = {"GET": (Right.EVALUATION_READ, Right.EVALUATION_CONTENT_READ)}

    @extend_schema(
        operation_id="slice_items",
        parameters=[
            *endpoints.PAGING,
            OpenApiParameter("version", int, description="Of the dataset; the one it was counted on unless given."),
        ],
        responses=endpoints.listed(serializers.ItemRow),
    )
    def get(self, request: Request, dataset: UUID, slice: UUID) -> Response:  # noqa: A002
        known_parameters(request, "page", "page_size", "version")
        found = _slice(self.access, dataset, slice)
        newest = queries.slice_versions(found)[0]
        version = newest.counted_on
        if "version" in request.query_params:
            version = _version(self.access, found.dataset, positive(request, "version", 1, 10**8))
        content = SliceContent.objects.filter(slice_version=newest).first()
        if content is None or content.filter is None:
            raise Refusal("not_found", "The filter of this slice was taken away.")
        entries = filters.entries(version, filters.read(content.filter)).select_related("revision")
        rows = lists.Batched(entries, lambda page: queries.item_rows(page, content=True))
        return page_of(request, rows, lambda row: serializers.ItemRow(row).data)
