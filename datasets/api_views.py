"""API of datasets. Items carry their content only for readers of content."""

from __future__ import annotations

from uuid import UUID

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from datasets import queries, serializers
from datasets.models import Dataset
from teams import endpoints, lists
from teams.api import known_parameters, page_of
from teams.gates import require
from teams.permissions import Right

READ = {"GET": (Right.EVALUATION_READ,)}


class Datasets(endpoints.TeamView):
    """The team's datasets that are not archived, by name."""

    needed = READ

    @extend_schema(
        operation_id="datasets", parameters=endpoints.PAGING, responses=endpoints.listed(serializers.DatasetRow)
    )
    def get(self, request: Request) -> Response:
        known_parameters(request, "page", "page_size")
        rows = queries.datasets_of(self.access.team).order_by("name", "pk")
        return page_of(request, rows, lambda row: serializers.DatasetRow(row).data)


class DatasetDetail(endpoints.TeamView):
    needed = READ

    @extend_schema(operation_id="dataset", responses=endpoints.one(serializers.DatasetRow))
    def get(self, request: Request, dataset: UUID) -> Response:
        known_parameters(request)
        return Response(serializers.DatasetRow(self.access.find(queries.counted(self.access.team), pk=dataset)).data)


class Versions(endpoints.TeamView):
    """The versions of a dataset, newest first."""

    needed = READ

    @extend_schema(
        operation_id="dataset_versions", parameters=endpoints.PAGING, responses=endpoints.listed(serializers.VersionRow)
    )
    def get(self, request: Request, dataset: UUID) -> Response:
        known_parameters(request, "page", "page_size")
        found = self.access.find(Dataset.objects.all(), pk=dataset)
        return page_of(request, queries.versions_of(found), lambda row: serializers.VersionRow(row).data)


class Items(endpoints.TeamView):
    """The items of one version in its order. `q` finds words in content and needs the right to it."""

    needed = READ

    @extend_schema(
        operation_id="version_items",
        parameters=[*endpoints.PAGING, OpenApiParameter("q", str, description="Words in id, title, tags or body.")],
        responses=endpoints.listed(serializers.ItemRow),
    )
    def get(self, request: Request, dataset: UUID, number: int) -> Response:
        known_parameters(request, "page", "page_size", "q")
        access = self.access
        found = access.find(Dataset.objects.all(), pk=dataset)
        version = access.find(queries.versions_of(found), team="dataset__team", number=number)
        search = request.query_params.get("q", "").strip()
        if search:
            require(access, Right.EVALUATION_CONTENT_READ)
        entries = queries.entries_of(version, search=search)
        rows = lists.Batched(entries, lambda page: queries.item_rows(page, content=access.reads_content))
        return page_of(request, rows, lambda row: serializers.ItemRow(row).data)
