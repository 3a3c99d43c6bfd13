"""API of passes: another one over the answers that are there, and what may be done about it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from grading import actions, queries, serializers
from grading.actions import GradingPlan, Planned
from grading.models import GraderVersion, GradingPass
from runs.models import Experiment
from runs.queries import experiments_of
from teams import endpoints, receipts
from teams.access import Access
from teams.api import known_parameters, page_of, valid
from teams.permissions import GRADING_RIGHTS, Right

SOME_ID = "0198c0de-0000-7000-8000-000000000001"
STEPS = {"pause": actions.pause_pass, "resume": actions.resume_pass, "cancel": actions.cancel_pass}


def _experiment(access: Access, experiment: UUID) -> Experiment:
    return access.find(experiments_of(access.team), pk=experiment)


def _shown(found: Experiment, pk: UUID) -> dict[str, Any]:
    return next(serializers.pass_shape(one) for one in queries.passes_of(found) if one.grading_pass.pk == pk)


def plan_of(access: Access, given: dict[str, Any]) -> GradingPlan:
    """A plan from the ids that a program sent; of another team and missing are one answer."""
    rows = GraderVersion.objects.select_related("grader__definition")

    def version(pk: UUID) -> GraderVersion:
        found: GraderVersion = access.find(rows, team="grader__definition__team", pk=pk)
        return found

    graders = [Planned(version(one["version"]), one["evidence"]) for one in given["graders"]]
    return GradingPlan(graders, version(given["enrichment"]) if given["enrichment"] else None)


class Passes(endpoints.TeamView):
    """The passes of an experiment, in order."""

    needed = {"GET": (Right.EVALUATION_READ,), "POST": GRADING_RIGHTS}

    @extend_schema(
        operation_id="passes", parameters=endpoints.PAGING, responses=endpoints.listed(serializers.PassShape)
    )
    def get(self, request: Request, experiment: UUID) -> Response:
        known_parameters(request, "page", "page_size")
        rows = queries.passes_of(_experiment(self.access, experiment))
        return page_of(request, _Counted(rows), serializers.pass_shape)

    @extend_schema(
        operation_id="open_pass",
        parameters=[endpoints.REQUEST_KEY],
        request=serializers.NewPass,
        responses=endpoints.created(serializers.PassShape),
        examples=[OpenApiExample("One grader", {"graders": [{"version": SOME_ID}]}, request_only=True)],
    )
    def post(self, request: Request, experiment: UUID) -> Response:
        """Grade the answers anew, with exact versions. Passes that exist stay as they are."""
        known_parameters(request)
        access, found = self.access, _experiment(self.access, experiment)
        key, given = endpoints.request_key(request), valid(serializers.NewPass, request)
        row, made = receipts.once(
            access,
            "pass.open",
            key,
            {"experiment": str(found.pk), **given},
            GradingPass,
            lambda: actions.regrade(access=access, experiment=found, plan=plan_of(access, given), name=given["name"]),
        )
        return Response(_shown(found, row.pk), status=201 if made else 200)


class PassSteps(endpoints.TeamView):
    """Pauses, resumes or cancels a pass."""

    needed = {"POST": GRADING_RIGHTS}

    @extend_schema(
        operation_id="steer_pass",
        parameters=[endpoints.REQUEST_KEY],
        request=serializers.NewPassStep,
        responses=endpoints.created(serializers.PassShape),
        examples=[OpenApiExample("Cancel", {"step": "cancel"}, request_only=True)],
    )
    def post(self, request: Request, experiment: UUID, number: int) -> Response:
        """Take one step. What is under way settles in any case."""
        known_parameters(request)
        access, found = self.access, _experiment(self.access, experiment)
        rows = GradingPass.objects.filter(experiment=found)
        row = access.find(rows, team="experiment__team", number=number)
        key, given = endpoints.request_key(request), valid(serializers.NewPassStep, request)
        _, made = receipts.once(
            access,
            "pass.steer",
            key,
            {"pass": str(row.pk), **given},
            GradingPass,
            lambda: STEPS[given["step"]](access=access, grading_pass=row),
        )
        return Response(_shown(found, row.pk), status=201 if made else 200)


class _Counted(list[queries.PassFigures]):
    """A list that says how long it is as a query does."""

    def count(self, *_: object) -> int:
        return len(self)
