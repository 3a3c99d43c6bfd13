"""Agents over the API: themselves, their drafts, deployments."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from agents import actions, queries, serializers
from agents.actions.agents import EDIT, EDIT_CONTENT
from agents.models import Agent, AgentDeployment, Snapshot
from teams import endpoints, receipts
from teams.access import Access
from teams.api import known_parameters, page_of, valid
from teams.gates import require
from teams.permissions import Right
from teams.refusals import Refusal

READ = (Right.AGENT_READ,)
DEFINITION = {
    "instructions": "You answer questions about orders. Ask for the order number first.",
    "route": "support-large",
    "tools": [
        {
            "name": "find_order",
            "description": "Finds an order by its number.",
            "parameters": {"type": "object", "properties": {"number": {"type": "string"}}, "required": ["number"]},
        }
    ],
    "context": [{"name": "refund policy", "text": "Refunds take five working days."}],
    "settings": {"temperature": 0.2, "max_output_tokens": 800},
}


def _agent(access: Access, agent: UUID) -> Any:
    """The agent with the facts of its row."""
    return access.find(queries.agents_of(access, archived=None), pk=agent)


def whole(text: str) -> int:
    """A revision as it stands in an ETag; what is none matches none."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 9 else 0


class Agents(endpoints.TeamView):
    """The team's agents that are not archived, by name."""

    needed = {"GET": READ, "POST": EDIT}

    @extend_schema(
        operation_id="agents",
        parameters=[*endpoints.PAGING, OpenApiParameter("q", str, description="Part of a name.")],
        responses=endpoints.listed(serializers.AgentRow),
    )
    def get(self, request: Request) -> Response:
        known_parameters(request, "page", "page_size", "q")
        search = request.query_params.get("q", "").strip()[:200]
        rows = queries.agents_of(self.access, search=search).order_by("name", "pk")
        return page_of(request, rows, lambda row: serializers.AgentRow(row).data)

    @extend_schema(
        operation_id="create_agent",
        parameters=[endpoints.REQUEST_KEY],
        request=serializers.NewAgent,
        responses=endpoints.created(serializers.AgentRow),
        examples=[OpenApiExample("An agent", {"name": "Support desk"}, request_only=True)],
    )
    def post(self, request: Request) -> Response:
        """Make an agent with an empty draft."""
        known_parameters(request)
        access, key = self.access, endpoints.request_key(request)
        given = valid(serializers.NewAgent, request)
        row, made = receipts.once(
            access,
            "agent.create",
            key,
            given,
            Agent,
            lambda: actions.create_agent(access=access, name=given["name"]),
        )
        shown = _agent(access, row.pk)
        return endpoints.with_etag(serializers.AgentRow(shown).data, shown.revision, status=201 if made else 200)


class AgentDetail(endpoints.TeamView):
    """One agent."""

    needed = {"GET": READ, "PATCH": EDIT}

    @extend_schema(operation_id="agent", responses=endpoints.one(serializers.AgentRow))
    def get(self, request: Request, agent: UUID) -> Response:
        known_parameters(request)
        found = _agent(self.access, agent)
        return endpoints.with_etag(serializers.AgentRow(found).data, found.revision)

    @extend_schema(
        operation_id="edit_agent",
        parameters=[endpoints.IF_MATCH],
        request=serializers.AgentEdit,
        responses={200: serializers.AgentRow, **endpoints.WRITE_ERRORS},
        examples=[OpenApiExample("Another name", {"name": "Help desk"}, request_only=True)],
    )
    def patch(self, request: Request, agent: UUID) -> Response:
        """Rename, archive or restore it."""
        known_parameters(request)
        found, seen = _agent(self.access, agent), endpoints.expected(request)
        given = valid(serializers.AgentEdit, request)
        if whole(seen) != found.revision:
            raise Refusal("revision_stale", f"The agent is at revision {found.revision}.", current=found.revision)
        if "name" in given:
            actions.rename_agent(access=self.access, agent=found, name=given["name"], revision=found.revision)
        if "archived" in given:
            act = actions.archive_agent if given["archived"] else actions.restore_agent
            act(access=self.access, agent=found)
        kept = _agent(self.access, agent)
        return endpoints.with_etag(serializers.AgentRow(kept).data, kept.revision)


class AgentDraft(endpoints.TeamView):
    """What is edited. Saving it touches nothing else."""

    needed = {"GET": READ, "PUT": EDIT_CONTENT}

    @extend_schema(operation_id="agent_draft", responses=endpoints.one(serializers.AgentDraft))
    def get(self, request: Request, agent: UUID) -> Response:
        known_parameters(request)
        return self._shown(queries.draft_of(_agent(self.access, agent), content=self.access.reads_content))

    @extend_schema(
        operation_id="save_agent_draft",
        parameters=[endpoints.IF_MATCH],
        request=serializers.DraftInput,
        responses={200: serializers.AgentDraft, **endpoints.WRITE_ERRORS},
        examples=[OpenApiExample("Whole definition", {"definition": DEFINITION}, request_only=True)],
    )
    def put(self, request: Request, agent: UUID) -> Response:
        """Save it whole. The same words again change nothing."""
        known_parameters(request)
        found, seen = _agent(self.access, agent), endpoints.expected(request)
        given = valid(serializers.DraftInput, request)
        saved = actions.save_draft(
            access=self.access, agent=found, definition=given["definition"], revision=whole(seen)
        )
        return self._shown(saved)

    def _shown(self, draft: Any) -> Response:
        shown = serializers.AgentDraft(draft, context={"content": self.access.reads_content}).data
        return endpoints.with_etag(shown, draft.revision)


class Deployments(endpoints.TeamView):
    """What was in use, newest first; the first one is the active deployment."""

    needed = {"GET": READ, "POST": EDIT}

    @extend_schema(
        operation_id="deployments", parameters=endpoints.PAGING, responses=endpoints.listed(serializers.DeploymentRow)
    )
    def get(self, request: Request, agent: UUID) -> Response:
        known_parameters(request, "page", "page_size")
        rows = queries.deployments_of(_agent(self.access, agent))
        return page_of(request, rows, lambda row: serializers.DeploymentRow(row).data)

    @extend_schema(
        operation_id="deploy",
        parameters=[endpoints.REQUEST_KEY],
        request=serializers.NewDeployment,
        responses=endpoints.created(serializers.DeploymentRow),
        examples=[OpenApiExample("Publish the draft", {"draft_revision": 2}, request_only=True)],
    )
    def post(self, request: Request, agent: UUID) -> Response:
        """Publish the saved draft, or put a snapshot into use that exists."""
        known_parameters(request)
        access, found = self.access, _agent(self.access, agent)
        key, given = endpoints.request_key(request), valid(serializers.NewDeployment, request)
        if len(given) != 1:
            raise Refusal("invalid_field", "Send draft_revision or snapshot, one of them.", place="draft_revision")
        if "draft_revision" in given:
            require(access, *EDIT_CONTENT)

        def perform() -> AgentDeployment:
            if "draft_revision" in given:
                return actions.publish_draft(access=access, agent=found, revision=given["draft_revision"])
            rows = Snapshot.objects.filter(agent=found).select_related("agent")
            chosen = access.find(rows, team="agent__team", pk=given["snapshot"])
            return actions.deploy_snapshot(access=access, snapshot=chosen)

        row, made = receipts.once(
            access, "agent.deploy", key, {"agent": str(found.pk), **given}, AgentDeployment, perform
        )
        shown = queries.deployments_of(found).get(pk=row.pk)
        return Response(serializers.DeploymentRow(shown).data, status=201 if made else 200)
