"""Errata over the API: points of a case's checklist that do not count after all."""

from __future__ import annotations

from uuid import UUID

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from datasets import actions, queries, serializers
from datasets.actions.drafts import EDIT
from datasets.models import Dataset, Erratum, ItemRevision
from teams import endpoints, receipts
from teams.access import Access
from teams.api import known_parameters, page_of, valid
from teams.permissions import Right


def _revision(access: Access, dataset: UUID, revision: UUID) -> ItemRevision:
    found = access.find(Dataset.objects.all(), pk=dataset)
    rows = queries.revisions_of(found).select_related("item__dataset")
    return access.find(rows, team="item__dataset__team", pk=revision)


class Errata(endpoints.TeamView):
    """What was found wrong with a case's checklist, in order."""

    needed = {"GET": (Right.EVALUATION_READ,), "POST": EDIT}

    @extend_schema(
        operation_id="errata", parameters=endpoints.PAGING, responses=endpoints.listed(serializers.ErratumRow)
    )
    def get(self, request: Request, dataset: UUID, revision: UUID) -> Response:
        known_parameters(request, "page", "page_size")
        shown = {"content": self.access.reads_content}
        rows = queries.errata_of(_revision(self.access, dataset, revision))
        return page_of(request, rows, lambda row: serializers.ErratumRow(row, context=shown).data)

    @extend_schema(
        operation_id="add_erratum",
        parameters=[endpoints.REQUEST_KEY],
        request=serializers.NewErratum,
        responses=endpoints.created(serializers.ErratumRow),
        examples=[
            OpenApiExample("One point", {"points": ["2"], "reason": "It asks for two things."}, request_only=True)
        ],
    )
    def post(self, request: Request, dataset: UUID, revision: UUID) -> Response:
        """Exclude points from every score. The case, and what was run on it, stay as they are."""
        known_parameters(request)
        access, found = self.access, _revision(self.access, dataset, revision)
        key, given = endpoints.request_key(request), valid(serializers.NewErratum, request)
        row, made = receipts.once(
            access,
            "erratum.add",
            key,
            {"revision": str(found.pk), **given},
            Erratum,
            lambda: actions.add_erratum(access=access, revision=found, **given),
        )
        shown = queries.errata_of(found).get(pk=row.pk)
        return Response(
            serializers.ErratumRow(shown, context={"content": access.reads_content}).data, status=201 if made else 200
        )
