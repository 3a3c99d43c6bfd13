"""Releases over the API: bound, approved, activated, retired."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from agents import actions, queries, serializers
from agents.actions.agents import EDIT
from agents.api_views.agents import whole
from agents.models import Agent, Release, ReleaseState, ReleaseTransition
from teams import endpoints, receipts
from teams.access import Access
from teams.api import known_parameters, page_of, valid
from teams.permissions import Right
from teams.refusals import Refusal

READ = (Right.AGENT_READ,)
SOME_ID = "0198c0de-0000-7000-8000-000000000001"


def _release(access: Access, release: UUID) -> Release:
    return access.find(queries.releases_of(access), team="agent__team", pk=release)


def _shown(row: Release) -> dict[str, Any]:
    bindings = {one.role: one for one in queries.bindings_of(row)}
    return {
        **serializers.ReleaseRow(row).data,
        "bindings": [serializers.BindingRow(one).data for one in bindings.values()],
    }


class Releases(endpoints.TeamView):
    """The team's releases, newest first."""

    needed = {"GET": READ}

    @extend_schema(
        operation_id="releases",
        parameters=[
            *endpoints.PAGING,
            OpenApiParameter("agent", UUID, description="Of this agent alone."),
            OpenApiParameter("state", str, enum=ReleaseState.values),
        ],
        responses=endpoints.listed(serializers.ReleaseRow),
    )
    def get(self, request: Request) -> Response:
        known_parameters(request, "page", "page_size", "agent", "state")
        rows = queries.releases_of(self.access).order_by("-created_at", "-pk")
        if agent := request.query_params.get("agent"):
            rows = rows.filter(agent=endpoints.uuid_of(agent, "agent"))
        if state := request.query_params.get("state"):
            if state not in ReleaseState:
                raise Refusal("invalid_field", f"state is one of {', '.join(ReleaseState)}.", place="state")
            rows = rows.filter(state=state)
        return page_of(request, rows, lambda row: serializers.ReleaseRow(row).data)


class AgentReleases(endpoints.TeamView):
    """Releases of one agent are made here, and listed with `releases?agent=`."""

    needed = {"POST": EDIT}

    @extend_schema(
        operation_id="create_release",
        parameters=[endpoints.REQUEST_KEY],
        request=serializers.NewRelease,
        responses=endpoints.created(serializers.ReleaseDetail),
        examples=[
            OpenApiExample("A draft", {"name": "2026-12", "bindings": {"prompt_template": SOME_ID}}, request_only=True)
        ],
    )
    def post(self, request: Request, agent: UUID) -> Response:
        """Make a draft that binds roles to asset versions."""
        known_parameters(request)
        access = self.access
        found: Agent = access.find(Agent.objects.all(), pk=agent)
        key, given = endpoints.request_key(request), valid(serializers.NewRelease, request)
        row, made = receipts.once(
            access,
            "release.create",
            key,
            {"agent": str(found.pk), **given},
            Release,
            lambda: actions.create_release(access=access, agent=found, name=given["name"], bindings=given["bindings"]),
        )
        kept = _release(access, row.pk)
        return endpoints.with_etag(_shown(kept), kept.revision, status=201 if made else 200)


class ReleaseDetail(endpoints.TeamView):
    """One release with its bindings."""

    needed = {"GET": READ, "PATCH": EDIT}

    @extend_schema(operation_id="release", responses=endpoints.one(serializers.ReleaseDetail))
    def get(self, request: Request, release: UUID) -> Response:
        known_parameters(request)
        found = _release(self.access, release)
        return endpoints.with_etag(_shown(found), found.revision)

    @extend_schema(
        operation_id="bind_release",
        parameters=[endpoints.IF_MATCH],
        request=serializers.ReleaseEdit,
        responses={200: serializers.ReleaseDetail, **endpoints.WRITE_ERRORS},
        examples=[OpenApiExample("Other bindings", {"bindings": {"model": SOME_ID}}, request_only=True)],
    )
    def patch(self, request: Request, release: UUID) -> Response:
        """Bind a draft anew, as a whole."""
        known_parameters(request)
        found, seen = _release(self.access, release), endpoints.expected(request)
        given = valid(serializers.ReleaseEdit, request)
        actions.bind_release(access=self.access, release=found, bindings=given["bindings"], revision=whole(seen))
        kept = _release(self.access, release)
        return endpoints.with_etag(_shown(kept), kept.revision)


class ReleaseTransitions(endpoints.TeamView):
    """The steps that a release took, newest first."""

    needed = {"GET": READ, "POST": EDIT}

    @extend_schema(
        operation_id="release_transitions",
        parameters=endpoints.PAGING,
        responses=endpoints.listed(serializers.TransitionRow),
    )
    def get(self, request: Request, release: UUID) -> Response:
        known_parameters(request, "page", "page_size")
        rows = queries.transitions_of(_release(self.access, release))
        return page_of(request, rows, lambda row: serializers.TransitionRow(row).data)

    @extend_schema(
        operation_id="move_release",
        parameters=[endpoints.REQUEST_KEY],
        request=serializers.NewTransition,
        responses=endpoints.created(serializers.TransitionRow),
        examples=[OpenApiExample("Approve", {"to": "approved", "release_revision": 1}, request_only=True)],
    )
    def post(self, request: Request, release: UUID) -> Response:
        """Take one step: draft to approved, approved to active or retired, active to retired."""
        known_parameters(request)
        access, found = self.access, _release(self.access, release)
        key, given = endpoints.request_key(request), valid(serializers.NewTransition, request)
        row, made = receipts.once(
            access,
            "release.move",
            key,
            {"release": str(found.pk), **given},
            ReleaseTransition,
            lambda: actions.move_release(
                access=access, release=found, to=given["to"], revision=given["release_revision"]
            ),
        )
        return Response(serializers.TransitionRow(row).data, status=201 if made else 200)
