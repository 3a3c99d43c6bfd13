"""Metrics over the API."""

from __future__ import annotations

from uuid import UUID

from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from analysis.observations import Kind
from grading import actions, queries, serializers
from grading.actions.metrics import EDIT
from grading.models import MetricDefinition
from teams import endpoints, receipts
from teams.api import known_parameters, page_of, valid
from teams.permissions import Right
from teams.refusals import Refusal

READ = (Right.EVALUATION_READ,)
EXAMPLE = {"key": "correct", "name": "Correct", "kind": "boolean", "direction": "higher_is_better"}


class Metrics(endpoints.TeamView):
    """What a team's values mean, by key."""

    needed = {"GET": READ, "POST": EDIT}

    @extend_schema(
        operation_id="metrics",
        parameters=[
            *endpoints.PAGING,
            OpenApiParameter("q", str, description="Part of a name or a key."),
            OpenApiParameter("kind", str, enum=[kind.value for kind in Kind]),
        ],
        responses=endpoints.listed(serializers.MetricRow),
    )
    def get(self, request: Request) -> Response:
        known_parameters(request, "page", "page_size", "q", "kind")
        kind = request.query_params.get("kind", "")
        if kind and kind not in tuple(Kind):
            raise Refusal("invalid_field", f"kind is one of {', '.join(Kind)}.", place="kind")
        search = request.query_params.get("q", "").strip()[:200]
        rows = queries.metrics_of(self.access, search=search, kind=kind)
        return page_of(request, rows, lambda row: serializers.MetricRow(row).data)

    @extend_schema(
        operation_id="create_metric",
        parameters=[endpoints.REQUEST_KEY],
        request=serializers.NewMetric,
        responses=endpoints.created(serializers.MetricRow),
        examples=[OpenApiExample("Yes or no", EXAMPLE, request_only=True)],
    )
    def post(self, request: Request) -> Response:
        """Make a metric. What it means never changes."""
        known_parameters(request)
        access, key = self.access, endpoints.request_key(request)
        given = valid(serializers.NewMetric, request)
        row, made = receipts.once(
            access, "metric.create", key, given, MetricDefinition, lambda: actions.create_metric(access=access, **given)
        )
        return Response(serializers.MetricRow(row).data, status=201 if made else 200)


class MetricDetail(endpoints.TeamView):
    """One metric."""

    needed = {"GET": READ}

    @extend_schema(operation_id="metric", responses=endpoints.one(serializers.MetricRow))
    def get(self, request: Request, metric: UUID) -> Response:
        known_parameters(request)
        found = self.access.find(queries.metrics_of(self.access), pk=metric)
        return Response(serializers.MetricRow(found).data)
