"""Configurations and harnesses over the API."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from agents import actions, queries, serializers
from agents.actions.agents import EDIT, EDIT_CONTENT
from agents.api_views.agents import whole
from agents.models import Configuration, ConfigurationRevision
from analysis import strict_json
from analysis.refusals import Refused
from teams import endpoints, lists, receipts
from teams.access import Access
from teams.api import known_parameters, page_of, valid
from teams.permissions import Right
from teams.refusals import Refusal

READ = (Right.AGENT_READ,)
BODY = {
    "root": "lead",
    "slots": ["main"],
    "roles": [{"role": "lead", "instructions": "You plan, and answer.", "slot": "main"}],
    "delegation": [],
}


def _configuration(access: Access, configuration: UUID) -> Any:
    found = queries.configurations_of(access, deleted=None).filter(pk=configuration).first()
    if found is None:
        raise Refusal("not_found")
    return found


def _shown(access: Access, row: ConfigurationRevision) -> dict[str, Any]:
    return _all_shown(access, [row])[0]


def _all_shown(access: Access, rows: Iterable[ConfigurationRevision]) -> list[dict[str, Any]]:
    rows = list(rows)
    kept = queries.capability_sets_of(rows)
    return [
        {
            **serializers.ConfigurationRevisionRow(row).data,
            "availability": kept[row.pk].removed or "available",
            "body": kept[row.pk].body if access.reads_content else None,
        }
        for row in rows
    ]


class Configurations(endpoints.TeamView):
    """The configurations that a team may launch, by name."""

    needed = {"GET": READ, "POST": EDIT_CONTENT}

    @extend_schema(
        operation_id="configurations",
        parameters=endpoints.PAGING,
        responses=endpoints.listed(serializers.ConfigurationRow),
    )
    def get(self, request: Request) -> Response:
        known_parameters(request, "page", "page_size")
        rows = queries.configurations_of(self.access).order_by("name", "pk")
        return page_of(request, rows, lambda row: serializers.ConfigurationRow(row).data)

    @extend_schema(
        operation_id="create_configuration",
        parameters=[endpoints.REQUEST_KEY],
        request=serializers.NewConfiguration,
        responses=endpoints.created(serializers.ConfigurationRevisionDetail),
        examples=[OpenApiExample("One role", {"name": "Planner", "body": BODY}, request_only=True)],
    )
    def post(self, request: Request) -> Response:
        """Save a configuration. Saved agents are taken over as their drafts stand."""
        known_parameters(request)
        access, key = self.access, endpoints.request_key(request)
        given = valid(serializers.NewConfiguration, request)
        row, made = receipts.once(
            access,
            "configuration.create",
            key,
            given,
            ConfigurationRevision,
            lambda: actions.create_configuration(access=access, **given),
        )
        return endpoints.with_etag(_shown(access, row), row.configuration.revision, status=201 if made else 200)


class ConfigurationDetail(endpoints.TeamView):
    """One configuration."""

    needed = {"GET": READ, "PUT": EDIT_CONTENT, "DELETE": EDIT}

    @extend_schema(operation_id="configuration", responses=endpoints.one(serializers.ConfigurationRow))
    def get(self, request: Request, configuration: UUID) -> Response:
        known_parameters(request)
        found = _configuration(self.access, configuration)
        return endpoints.with_etag(serializers.ConfigurationRow(found).data, found.revision)

    @extend_schema(
        operation_id="save_configuration",
        parameters=[endpoints.IF_MATCH],
        request=serializers.ConfigurationInput,
        responses={200: serializers.ConfigurationRevisionDetail, **endpoints.WRITE_ERRORS},
        examples=[OpenApiExample("Another revision", {"body": BODY}, request_only=True)],
    )
    def put(self, request: Request, configuration: UUID) -> Response:
        """Save another revision. The same words over unedited agents are the revision that is there."""
        known_parameters(request)
        found, seen = _configuration(self.access, configuration), endpoints.expected(request)
        given = valid(serializers.ConfigurationInput, request)
        made = actions.save_configuration(
            access=self.access, configuration=found, body=given["body"], revision=whole(seen)
        )
        kept: Configuration = _configuration(self.access, configuration)
        return endpoints.with_etag(_shown(self.access, made), kept.revision)

    @extend_schema(operation_id="delete_configuration", responses={204: None, **endpoints.WRITE_ERRORS})
    def delete(self, request: Request, configuration: UUID) -> Response:
        """Nothing new is launched with it. What was run with it stays."""
        known_parameters(request)
        actions.delete_configuration(access=self.access, configuration=_configuration(self.access, configuration))
        return Response(status=204)


class ConfigurationRevisions(endpoints.TeamView):
    """What a configuration was, newest first."""

    needed = {"GET": READ}

    @extend_schema(
        operation_id="configuration_revisions",
        parameters=endpoints.PAGING,
        responses=endpoints.listed(serializers.ConfigurationRevisionDetail),
    )
    def get(self, request: Request, configuration: UUID) -> Response:
        known_parameters(request, "page", "page_size")
        access = self.access
        rows = queries.configuration_revisions(_configuration(access, configuration))
        return page_of(request, lists.Batched(rows, lambda page: _all_shown(access, page)), lambda row: row)


class ConfigurationObstacles(endpoints.TeamView):
    """Why the newest revision cannot be launched with these models; nothing in the list: it can."""

    needed = {"GET": READ}

    @extend_schema(
        operation_id="configuration_obstacles",
        parameters=[
            OpenApiParameter("models", str, description='Slots and keys of model routes: {"main": "support-large"}.')
        ],
        responses=endpoints.one(serializers.Obstacles),
    )
    def get(self, request: Request, configuration: UUID) -> Response:
        known_parameters(request, "models")
        newest = queries.configuration_revisions(_configuration(self.access, configuration))[0]
        bound = _models(request.query_params.get("models", ""))
        unknown = sorted(set(bound) - set(newest.slots))
        if unknown:
            raise Refusal("invalid_field", f"The slots are {', '.join(newest.slots) or 'none'}.", place="models")
        shown = {"slots": newest.slots, "obstacles": queries.unlaunchable(newest, bound)}
        return Response(serializers.Obstacles(shown).data)


def _models(text: str) -> dict[str, str]:
    if not text:
        return {}
    allowed = 'An object of slots and keys of model routes, such as {"main": "support-large"}.'
    try:
        found = strict_json.loads(text)
    except Refused:
        raise Refusal("invalid_field", allowed, place="models") from None
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise Refusal("invalid_field", allowed, place="models")
    return found


class Harnesses(endpoints.TeamView):
    """The harnesses that operators set up, by name."""

    needed = {"GET": READ}

    @extend_schema(
        operation_id="harnesses", parameters=endpoints.PAGING, responses=endpoints.listed(serializers.HarnessRow)
    )
    def get(self, request: Request) -> Response:
        known_parameters(request, "page", "page_size")
        rows = queries.harnesses().order_by("name", "pk")
        return page_of(request, rows, lambda row: serializers.HarnessRow(row).data)


class HarnessDetail(endpoints.TeamView):
    needed = {"GET": READ}

    @extend_schema(operation_id="harness", responses=endpoints.one(serializers.HarnessRow))
    def get(self, request: Request, harness: UUID) -> Response:
        known_parameters(request)
        found = queries.harnesses().filter(pk=harness).first()
        if found is None:
            raise Refusal("not_found")
        return Response(serializers.HarnessRow(found).data)
