"""API of experiments and their executions."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from analysis.observations import FailureKind, Generation
from runs import queries, serializers
from runs.models import State
from teams import endpoints, lists
from teams.api import known_parameters, page_of
from teams.permissions import Right
from teams.refusals import Refusal

STATES = {state.name.lower(): state for state in Generation}
FAILURES = {kind.name.lower(): kind for kind in FailureKind if kind}


def _word(request: Request, name: str, allowed: Collection[str]) -> str:
    value: str = request.query_params.get(name, "")
    if value and value not in allowed:
        raise Refusal("invalid_field", f"{name} is one of {', '.join(allowed)}.", place=name)
    return value


def _uuid(request: Request, name: str) -> str:
    value: str = request.query_params.get(name, "")
    try:
        return str(UUID(value)) if value else ""
    except ValueError:
        raise Refusal("invalid_field", f"{name} is an id such as 01922f5e-….", place=name) from None


class Experiments(endpoints.TeamView):
    """The run history, newest first."""

    needed = {"GET": (Right.EVALUATION_READ,)}

    @extend_schema(
        operation_id="experiments",
        parameters=[
            *endpoints.PAGING,
            OpenApiParameter("dataset", UUID),
            OpenApiParameter("subject", UUID),
            OpenApiParameter("state", str, enum=State.values),
            OpenApiParameter("archived", str, enum=["0", "1"]),
        ],
        responses=endpoints.listed(serializers.ExperimentCounted),
    )
    def get(self, request: Request) -> Response:
        known_parameters(request, "page", "page_size", "dataset", "subject", "state", "archived")
        rows = queries.filtered(
            queries.experiments_of(self.access.team),
            dataset=_uuid(request, "dataset"),
            subject=_uuid(request, "subject"),
            state=_word(request, "state", State.values),
            archived=_word(request, "archived", ("0", "1")) == "1",
        ).order_by("-number")
        counted = lists.Batched(rows, queries.with_tallies)
        return page_of(request, counted, lambda row: serializers.counted(*row))


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
            state=STATES.get(_word(request, "state", STATES)),
            failure=FAILURES.get(_word(request, "failure", FAILURES)),
        ).order_by("position")
        shown = lists.Batched(
            rows, lambda page: queries.execution_rows(page, content=access.reads_content, answers=access.reads_content)
        )
        return page_of(request, shown, serializers.execution_shape)
