"""API of executions and their attempts."""

from __future__ import annotations

from uuid import UUID

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from analysis.observations import FailureKind, Generation
from runs import queries, serializers
from runs.parameters import word
from teams import endpoints, lists
from teams.api import known_parameters, page_of
from teams.permissions import Right

STATES = {state.name.lower(): state for state in Generation}
FAILURES = {kind.name.lower(): kind for kind in FailureKind if kind}


class Executions(endpoints.TeamView):
    """The executions of one experiment by position; answers and errors only for readers of content."""

    needed = {"GET": (Right.EVALUATION_READ,)}

    @extend_schema(
        operation_id="executions",
        parameters=[
            *endpoints.PAGING,
            OpenApiParameter("state", str, enum=list(STATES)),
            OpenApiParameter("failure", str, enum=list(FAILURES)),
        ],
        responses=endpoints.listed(serializers.ExecutionShape),
    )
    def get(self, request: Request, experiment: UUID) -> Response:
        known_parameters(request, "page", "page_size", "state", "failure")
        access = self.access
        found = access.find(queries.experiments_of(access.team), pk=experiment)
        rows = queries.executions_of(
            found,
            state=STATES.get(word(request, "state", STATES)),
            failure=FAILURES.get(word(request, "failure", FAILURES)),
        ).order_by("position")
        shown = lists.Batched(
            rows, lambda page: queries.execution_rows(page, content=access.reads_content, answers=access.reads_content)
        )
        return page_of(request, shown, serializers.execution_shape)


class Attempts(endpoints.TeamView):
    """The outside calls of one execution, in order. What they said stands with the execution."""

    needed = {"GET": (Right.EVALUATION_READ,)}

    @extend_schema(
        operation_id="attempts",
        parameters=endpoints.PAGING,
        responses=endpoints.listed(serializers.AttemptShape),
    )
    def get(self, request: Request, experiment: UUID, position: int) -> Response:
        known_parameters(request, "page", "page_size")
        access = self.access
        found = access.find(queries.experiments_of(access.team), pk=experiment)
        chosen = access.find(queries.executions_of(found), team="experiment__team", position=position)
        return page_of(request, queries.attempts_of(chosen), serializers.attempt_shape)


class ToolCalls(endpoints.TeamView):
    """What the model asked tools for and what it was told, in order, as far as you may read their connectors."""

    needed = {"GET": (Right.EVALUATION_READ, Right.EVALUATION_CONTENT_READ)}

    @extend_schema(
        operation_id="tool_calls",
        parameters=endpoints.PAGING,
        responses=endpoints.listed(serializers.ToolCallShape),
    )
    def get(self, request: Request, experiment: UUID, position: int) -> Response:
        known_parameters(request, "page", "page_size")
        access = self.access
        found = access.find(queries.experiments_of(access.team), pk=experiment)
        chosen = access.find(queries.executions_of(found), team="experiment__team", position=position)
        shown = lists.Batched(queries.tool_spans_of(chosen), lambda page: queries.tool_calls(page, access))
        return page_of(request, shown, serializers.tool_call_shape)
