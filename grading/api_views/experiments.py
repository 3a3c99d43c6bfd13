"""API of one experiment with its passes: the lowest package that knows both."""

from __future__ import annotations

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from grading import queries, serializers
from runs.queries import experiments_of, tallies
from runs.serializers import counted
from teams import endpoints
from teams.api import known_parameters
from teams.permissions import Right


class ExperimentDetail(endpoints.TeamView):
    """An experiment: outcomes, cost, configuration, passes with their graders."""

    needed = {"GET": (Right.EVALUATION_READ,)}

    @extend_schema(operation_id="experiment", responses=endpoints.one(serializers.ExperimentDetail))
    def get(self, request: Request, experiment: UUID) -> Response:
        known_parameters(request)
        found = self.access.find(experiments_of(self.access.team), pk=experiment)
        return Response(
            {
                **counted(found, tallies([found])[found.pk]),
                "facts": found.facts,
                "passes": [serializers.pass_shape(entry) for entry in queries.passes_of(found)],
            }
        )
