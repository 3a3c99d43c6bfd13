"""API of datasets. Items carry their content only for readers of content."""

from __future__ import annotations

from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from analysis import strict_json
from analysis.refusals import Refused
from datasets import actions, filters, queries, serializers
from datasets.actions.drafts import EDIT
from datasets.api_views.drafts import make_version
from datasets.models import Dataset, Version, VersionEntry
from teams import endpoints, lists, receipts
from teams.api import known_parameters, page_of, positive, valid
from teams.gates import require
from teams.permissions import Right
from teams.refusals import Refusal

READ = {"GET": (Right.EVALUATION_READ,)}


class Datasets(endpoints.TeamView):
    """The team's datasets that are not archived, by name."""

    needed = {**READ, "POST": (Right.EVALUATION_MANAGE,)}

    @extend_schema(
        operation_id="datasets", parameters=endpoints.PAGING, responses=endpoints.listed(serializers.DatasetRow)
    )
    def get(self, request: Request) -> Response:
        known_parameters(request, "page", "page_size")
        rows = queries.datasets_of(self.access.team).order_by("name", "pk")
        return page_of(request, rows, lambda row: serializers.DatasetRow(row).data)

    @extend_schema(
        operation_id="create_dataset",
        parameters=[endpoints.REQUEST_KEY],
        request=serializers.NewDataset,
        responses=endpoints.created(serializers.DatasetRow),
        examples=[OpenApiExample("A new dataset", {"name": "Refund questions"}, request_only=True)],
    )
    def post(self, request: Request) -> Response:
        """A dataset without any version yet."""
        known_parameters(request)
        access, key = self.access, endpoints.request_key(request)
        given = valid(serializers.NewDataset, request)
        row, made = receipts.once(
            access, "dataset.create", key, given, Dataset, lambda: actions.create_dataset(access=access, **given)
        )
        shown = queries.counted(access.team).get(pk=row.pk)
        return endpoints.with_etag(serializers.DatasetRow(shown).data, shown.revision, status=201 if made else 200)


class DatasetDetail(endpoints.TeamView):
    """One dataset."""

    needed = {**READ, "PATCH": (Right.EVALUATION_MANAGE,)}

    def _shown(self, dataset: UUID) -> Response:
        found = self.access.find(queries.counted(self.access.team), pk=dataset)
        return endpoints.with_etag(serializers.DatasetRow(found).data, found.revision)

    @extend_schema(operation_id="dataset", responses=endpoints.one(serializers.DatasetRow))
    def get(self, request: Request, dataset: UUID) -> Response:
        known_parameters(request)
        return self._shown(dataset)

    @extend_schema(
        operation_id="edit_dataset",
        parameters=[endpoints.IF_MATCH],
        request=serializers.DatasetEdit,
        responses={200: serializers.DatasetRow, **endpoints.WRITE_ERRORS},
        examples=[OpenApiExample("Out of the lists", {"archived": True}, request_only=True)],
    )
    def patch(self, request: Request, dataset: UUID) -> Response:
        """Rename, archive or restore it; nothing is lost by any of them."""
        known_parameters(request)
        access = self.access
        found, seen = access.find(Dataset.objects.all(), pk=dataset), endpoints.expected(request)
        given = valid(serializers.DatasetEdit, request)
        if seen != str(found.revision):
            raise Refusal("revision_stale", f"The dataset is at revision {found.revision}.", current=found.revision)
        with transaction.atomic():
            if "name" in given:
                actions.rename_dataset(access=access, dataset=found, name=given["name"], revision=found.revision)
            if "archived" in given:
                act = actions.archive_dataset if given["archived"] else actions.restore_dataset
                act(access=access, dataset=found)
        return self._shown(dataset)


class Versions(endpoints.TeamView):
    """The versions of a dataset, newest first."""

    needed = {**READ, "POST": EDIT}

    @extend_schema(
        operation_id="dataset_versions", parameters=endpoints.PAGING, responses=endpoints.listed(serializers.VersionRow)
    )
    def get(self, request: Request, dataset: UUID) -> Response:
        known_parameters(request, "page", "page_size")
        found = self.access.find(Dataset.objects.all(), pk=dataset)
        return page_of(request, queries.versions_of(found), lambda row: serializers.VersionRow(row).data)

    @extend_schema(
        operation_id="make_version",
        parameters=[endpoints.REQUEST_KEY],
        request=serializers.NewVersion,
        responses=endpoints.created(serializers.VersionRow),
        examples=[OpenApiExample("The draft as it was read", {"draft_revision": 4}, request_only=True)],
    )
    def post(self, request: Request, dataset: UUID) -> Response:
        """Make the draft the next version. A list that equals the newest version's is that version again."""
        known_parameters(request)
        found = self.access.find(Dataset.objects.all(), pk=dataset)
        key = endpoints.request_key(request)
        row, made = make_version(self.access, found, key, valid(serializers.NewVersion, request))
        return Response(serializers.VersionRow(row).data, status=201 if made else 200)


class Differences(endpoints.TeamView):
    """The cases that two versions of a dataset do not share: added, then revised, then removed."""

    needed = READ

    @extend_schema(
        operation_id="version_differences",
        parameters=[
            *endpoints.PAGING,
            OpenApiParameter("from", int, required=True, description="Number of the older version."),
            OpenApiParameter("to", int, required=True, description="Number of the newer version."),
            OpenApiParameter("kind", str, enum=list(queries.KINDS)),
        ],
        responses=endpoints.listed(serializers.DifferenceRow),
    )
    def get(self, request: Request, dataset: UUID) -> Response:
        known_parameters(request, "page", "page_size", "from", "to", "kind")
        access = self.access
        found = access.find(Dataset.objects.all(), pk=dataset)
        older, newer = (
            access.find(queries.versions_of(found), team="dataset__team", number=positive(request, name, 0, 10**8))
            for name in ("from", "to")
        )
        kind = request.query_params.get("kind", "")
        if kind and kind not in queries.KINDS:
            raise Refusal("invalid_field", f"kind is one of {', '.join(queries.KINDS)}.", place="kind")
        differing = [row for row in queries.compared(older, newer) if not kind or row[0] == kind]
        rows = lists.Batched(differing, lambda page: queries.version_differences(page, content=access.reads_content))
        return page_of(request, rows, lambda row: serializers.DifferenceRow(row).data)


class Revision(endpoints.TeamView):
    """What a case said at one time. The content needs the right to it."""

    needed = READ

    @extend_schema(operation_id="item_revision", responses=endpoints.one(serializers.RevisionRow))
    def get(self, request: Request, dataset: UUID, revision: UUID) -> Response:
        known_parameters(request)
        access = self.access
        found = access.find(Dataset.objects.all(), pk=dataset)
        row = access.find(queries.revisions_of(found), team="item__dataset__team", pk=revision)
        content = queries.content_of(row.pk).content if access.reads_content else None
        return Response(serializers.RevisionRow(row, context={"content": content}).data)


class Items(endpoints.TeamView):
    """The items of one version in its order. `q` and `filter` look into content and need the right to it."""

    needed = READ

    @extend_schema(
        operation_id="version_items",
        parameters=[
            *endpoints.PAGING,
            OpenApiParameter("q", str, description="Words in id, title, tags or body."),
            OpenApiParameter("filter", str, description="A slice's filter as JSON; not together with q."),
        ],
        responses=endpoints.listed(serializers.ItemRow),
    )
    def get(self, request: Request, dataset: UUID, number: int) -> Response:
        known_parameters(request, "page", "page_size", "q", "filter")
        access = self.access
        found = access.find(Dataset.objects.all(), pk=dataset)
        version = access.find(queries.versions_of(found), team="dataset__team", number=number)
        search = request.query_params.get("q", "").strip()
        given = request.query_params.get("filter", "")
        if search or given:
            require(access, Right.EVALUATION_CONTENT_READ)
        if search and given:
            raise Refusal("invalid_field", "Send q or filter, not both.", place="filter")
        entries = _filtered(version, given) if given else queries.entries_of(version, search=search)
        rows = lists.Batched(entries, lambda page: queries.item_rows(page, content=access.reads_content))
        return page_of(request, rows, lambda row: serializers.ItemRow(row).data)


def _filtered(version: Version, given: str) -> QuerySet[VersionEntry]:
    try:
        value = strict_json.loads(given)
    except Refused as refused:
        raise Refusal("invalid_field", str(refused), place="filter") from None
    return filters.entries(version, filters.read(value)).select_related("revision")
