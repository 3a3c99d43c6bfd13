"""Graders over the API: what measures a metric, and its versions."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from agents.api_views.agents import whole
from grading import actions, queries, serializers
from grading.actions.graders import EDIT, EDIT_CONTENT
from grading.models import Grader, GraderKind, GraderVersion, MetricDefinition
from teams import endpoints, receipts
from teams.access import Access
from teams.api import known_parameters, page_of, valid
from teams.permissions import Right
from teams.refusals import Refusal

READ = (Right.EVALUATION_READ,)
CONFIG = {"match": "all", "checks": [{"operator": "contains", "source": "case", "pointer": "/expected"}]}
EXAMPLE = {
    "metric": "01890000-0000-7000-8000-000000000000",
    "kind": "assertion",
    "name": "Says what is expected",
    "config": CONFIG,
}


def _grader(access: Access, grader: UUID) -> Any:
    return access.find(queries.graders_of(access, archived=None), team="definition__team", pk=grader)


def _shown(access: Access, version: GraderVersion) -> dict[str, Any]:
    row = queries.grader_versions(version.grader).get(pk=version.pk)
    said = queries.config_of(row)
    return {
        **serializers.GraderVersionRow(row).data,
        "availability": said.removed or "available",
        "config": said.body if access.reads_content else None,
    }


class Graders(endpoints.TeamView):
    """The graders that are not archived, by name."""

    needed = {"GET": READ, "POST": EDIT_CONTENT}

    @extend_schema(
        operation_id="graders",
        parameters=[
            *endpoints.PAGING,
            OpenApiParameter("q", str, description="Part of a name, or of its metric's."),
            OpenApiParameter("kind", str, enum=GraderKind.values),
        ],
        responses=endpoints.listed(serializers.GraderRow),
    )
    def get(self, request: Request) -> Response:
        known_parameters(request, "page", "page_size", "q", "kind")
        kind = request.query_params.get("kind", "")
        if kind and kind not in GraderKind:
            raise Refusal("invalid_field", f"kind is one of {', '.join(GraderKind)}.", place="kind")
        search = request.query_params.get("q", "").strip()[:200]
        rows = queries.graders_of(self.access, kind=kind, search=search).order_by("name", "pk")
        return page_of(request, rows, lambda row: serializers.GraderRow(row).data)

    @extend_schema(
        operation_id="create_grader",
        parameters=[endpoints.REQUEST_KEY],
        request=serializers.NewGrader,
        responses=endpoints.created(serializers.GraderVersionDetail),
        examples=[OpenApiExample("An assertion", EXAMPLE, request_only=True)],
    )
    def post(self, request: Request) -> Response:
        """Make a grader with its first version. `config` is what the kind needs."""
        known_parameters(request)
        access, key = self.access, endpoints.request_key(request)
        given = valid(serializers.NewGrader, request)
        metric = MetricDefinition.objects.filter(team=access.team, pk=given["metric"]).first()
        if metric is None:
            raise Refusal("invalid_field", "Choose one of the team's metrics.", place="metric")
        row, made = receipts.once(
            access,
            "grader.create",
            key,
            given,
            GraderVersion,
            lambda: actions.create_grader(access=access, **{**given, "metric": metric}),
        )
        return Response(_shown(access, row), status=201 if made else 200)


class GraderDetail(endpoints.TeamView):
    """One grader."""

    needed = {"GET": READ, "PATCH": EDIT}

    @extend_schema(operation_id="grader", responses=endpoints.one(serializers.GraderRow))
    def get(self, request: Request, grader: UUID) -> Response:
        known_parameters(request)
        found = _grader(self.access, grader)
        return endpoints.with_etag(serializers.GraderRow(found).data, found.revision)

    @extend_schema(
        operation_id="edit_grader",
        parameters=[endpoints.IF_MATCH],
        request=serializers.GraderEdit,
        responses={200: serializers.GraderRow, **endpoints.WRITE_ERRORS},
        examples=[OpenApiExample("Another name", {"name": "Exact answer"}, request_only=True)],
    )
    def patch(self, request: Request, grader: UUID) -> Response:
        """Rename, archive or restore it."""
        known_parameters(request)
        found, seen = _grader(self.access, grader), endpoints.expected(request)
        given = valid(serializers.GraderEdit, request)
        if whole(seen) != found.revision:
            raise Refusal("revision_stale", f"The grader is at revision {found.revision}.", current=found.revision)
        if "name" in given:
            actions.rename_grader(access=self.access, grader=found, name=given["name"], revision=found.revision)
        if "archived" in given:
            act = actions.archive_grader if given["archived"] else actions.restore_grader
            act(access=self.access, grader=found)
        kept = _grader(self.access, grader)
        return endpoints.with_etag(serializers.GraderRow(kept).data, kept.revision)


class GraderVersions(endpoints.TeamView):
    """The versions of a grader, newest first."""

    needed = {"GET": READ, "POST": EDIT_CONTENT}

    @extend_schema(
        operation_id="grader_versions",
        parameters=endpoints.PAGING,
        responses=endpoints.listed(serializers.GraderVersionRow),
    )
    def get(self, request: Request, grader: UUID) -> Response:
        known_parameters(request, "page", "page_size")
        rows = queries.grader_versions(_grader(self.access, grader))
        return page_of(request, rows, lambda row: serializers.GraderVersionRow(row).data)

    @extend_schema(
        operation_id="new_grader_version",
        parameters=[endpoints.REQUEST_KEY],
        request=serializers.NewGraderVersion,
        responses=endpoints.created(serializers.GraderVersionDetail),
        examples=[OpenApiExample("Other checks", {"grader_revision": 1, "config": CONFIG}, request_only=True)],
    )
    def post(self, request: Request, grader: UUID) -> Response:
        """How the grader measures from now on. What a version says already is that version."""
        known_parameters(request)
        access, found = self.access, _grader(self.access, grader)
        key, given = endpoints.request_key(request), valid(serializers.NewGraderVersion, request)
        row, made = receipts.once(
            access,
            "grader.version",
            key,
            {"grader": str(found.pk), **given},
            GraderVersion,
            lambda: _added(access, found, given),
        )
        return Response(_shown(access, row), status=201 if made else 200)


def _added(access: Access, grader: Grader, given: dict[str, Any]) -> GraderVersion:
    said = {name: value for name, value in given.items() if name != "grader_revision"}
    return actions.add_grader_version(access=access, grader=grader, revision=given["grader_revision"], **said)


class GraderVersionDetail(endpoints.TeamView):
    """One version. What it says is content."""

    needed = {"GET": READ}

    @extend_schema(operation_id="grader_version", responses=endpoints.one(serializers.GraderVersionDetail))
    def get(self, request: Request, grader: UUID, number: int) -> Response:
        known_parameters(request)
        rows = queries.grader_versions(_grader(self.access, grader))
        found = self.access.find(rows, team="grader__definition__team", number=number)
        return Response(_shown(self.access, found))
