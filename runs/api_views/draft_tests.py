"""API of Agent Test: ask an agent's draft as it is saved."""

from __future__ import annotations

from uuid import UUID

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from agents.models import Agent
from runs import actions, queries, serializers
from runs.models import DraftTest
from teams import endpoints, receipts
from teams.access import Access
from teams.api import known_parameters, page_of, valid
from teams.permissions import TEST_RIGHTS


def _agent(access: Access, agent: UUID) -> Agent:
    return access.find(Agent.objects.all(), pk=agent)


class DraftTests(endpoints.TeamView):
    """What was asked of an agent's drafts, newest first."""

    needed = {"GET": TEST_RIGHTS, "POST": TEST_RIGHTS}

    @extend_schema(
        operation_id="draft_tests",
        parameters=endpoints.PAGING,
        responses=endpoints.listed(serializers.DraftTestShape),
    )
    def get(self, request: Request, agent: UUID) -> Response:
        known_parameters(request, "page", "page_size")
        rows = queries.draft_tests_with_content(self.access, _agent(self.access, agent))
        return page_of(request, rows, serializers.draft_test_shape)

    @extend_schema(
        operation_id="test_draft",
        parameters=[endpoints.REQUEST_KEY],
        request=serializers.NewDraftTest,
        responses=endpoints.created(serializers.DraftTestShape),
        examples=[
            OpenApiExample("A question", {"draft_revision": 3, "asked": "Where is my order?"}, request_only=True)
        ],
    )
    def post(self, request: Request, agent: UUID) -> Response:
        """Ask the draft. The answer comes later: read the test until its state is none of planned and running."""
        known_parameters(request)
        access, found = self.access, _agent(self.access, agent)
        key = endpoints.request_key(request)
        given = valid(serializers.NewDraftTest, request)
        row, made = receipts.once(
            access,
            "agent.test",
            key,
            {"agent": str(found.pk), **given},
            DraftTest,
            lambda: actions.test_draft(
                access=access, agent=found, draft_revision=given["draft_revision"], asked=given["asked"]
            ),
        )
        kept = queries.draft_tests_with_content(access, found).get(pk=row.pk)
        return Response(serializers.draft_test_shape(kept), status=201 if made else 200)


class DraftTestDetail(endpoints.TeamView):
    """One question to a draft, and what came back."""

    needed = {"GET": TEST_RIGHTS}

    @extend_schema(operation_id="draft_test", responses=endpoints.one(serializers.DraftTestShape))
    def get(self, request: Request, agent: UUID, test: UUID) -> Response:
        known_parameters(request)
        found = _agent(self.access, agent)
        row = self.access.find(queries.draft_tests_with_content(self.access, found), pk=test)
        return Response(serializers.draft_test_shape(row))
