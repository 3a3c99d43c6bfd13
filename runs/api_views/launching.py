"""API of experiments: the history, launching, steering, retrying."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from agents.models import Agent, Snapshot
from runs import actions, queries, serializers
from runs.models import Experiment, State
from runs.parameters import one_id, word
from teams import endpoints, lists, receipts
from teams.access import Access
from teams.api import known_parameters, page_of, valid
from teams.permissions import LAUNCH_RIGHTS, Right

SOME_ID = "0198c0de-0000-7000-8000-000000000001"
STEPS = {"pause": actions.pause, "resume": actions.resume, "cancel": actions.cancel}


def _shown(access: Access, experiment: UUID) -> dict[str, Any]:
    found = access.find(queries.experiments_of(access.team), pk=experiment)
    return serializers.counted(found, queries.tallies([found])[found.pk])


class Experiments(endpoints.TeamView):
    """The run history, newest first."""

    needed = {"GET": (Right.EVALUATION_READ,), "POST": LAUNCH_RIGHTS}

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
            dataset=one_id(request, "dataset"),
            subject=one_id(request, "subject"),
            state=word(request, "state", State.values),
            archived=word(request, "archived", ("0", "1")) == "1",
        ).order_by("-number")
        counted = lists.Batched(rows, queries.with_tallies)
        return page_of(request, counted, lambda row: serializers.counted(*row))

    @extend_schema(
        operation_id="launch_experiment",
        parameters=[endpoints.REQUEST_KEY],
        request=serializers.NewExperiment,
        responses=endpoints.created(serializers.ExperimentCounted),
        examples=[
            OpenApiExample(
                "A snapshot, twice on every case",
                {"snapshot": SOME_ID, "version": SOME_ID, "repetitions": 2},
                request_only=True,
            )
        ],
    )
    def post(self, request: Request) -> Response:
        """Run a snapshot on a dataset version. Its calls are real and may cost money."""
        known_parameters(request)
        access, key = self.access, endpoints.request_key(request)
        given = valid(serializers.NewExperiment, request)

        def launch() -> Experiment:
            rows = Snapshot.objects.select_related("agent", "subject", "route_revision__route")
            snapshot = access.find(rows, team="agent__team", pk=given["snapshot"])
            return actions.launch(access=access, snapshot=snapshot, plan=actions.plan_of(access, given))

        row, made = receipts.once(access, "experiment.launch", key, given, Experiment, launch)
        return Response(_shown(access, row.pk), status=201 if made else 200)


class Evaluations(endpoints.TeamView):
    """Agent Evaluate: standalone experiments of an agent's saved draft are started here."""

    needed = {"POST": LAUNCH_RIGHTS}

    @extend_schema(
        operation_id="evaluate_draft",
        parameters=[endpoints.REQUEST_KEY],
        request=serializers.NewEvaluation,
        responses=endpoints.created(serializers.ExperimentCounted),
        examples=[
            OpenApiExample("The draft", {"draft_revision": 3, "version": SOME_ID, "repetitions": 1}, request_only=True)
        ],
    )
    def post(self, request: Request, agent: UUID) -> Response:
        """Run the draft as it is saved. It is kept as a snapshot; what is in use does not change."""
        known_parameters(request)
        access = self.access
        found: Agent = access.find(Agent.objects.all(), pk=agent)
        key = endpoints.request_key(request)
        given = valid(serializers.NewEvaluation, request)
        row, made = receipts.once(
            access,
            "experiment.evaluate",
            key,
            {"agent": str(found.pk), **given},
            Experiment,
            lambda: actions.evaluate_draft(
                access=access,
                agent=found,
                draft_revision=given["draft_revision"],
                plan=actions.plan_of(access, given),
            ),
        )
        return Response(_shown(access, row.pk), status=201 if made else 200)


class Steps(endpoints.TeamView):
    """Steers what runs: pause, resume, cancel."""

    needed = {"POST": LAUNCH_RIGHTS}

    @extend_schema(
        operation_id="steer_experiment",
        parameters=[endpoints.REQUEST_KEY],
        request=serializers.NewStep,
        responses=endpoints.created(serializers.ExperimentCounted),
        examples=[OpenApiExample("Pause", {"step": "pause"}, request_only=True)],
    )
    def post(self, request: Request, experiment: UUID) -> Response:
        """Take one step. What is under way settles in any case."""
        known_parameters(request)
        access = self.access
        found = access.find(queries.experiments_of(access.team), pk=experiment)
        key, given = endpoints.request_key(request), valid(serializers.NewStep, request)
        _, made = receipts.once(
            access,
            "experiment.steer",
            key,
            {"experiment": str(found.pk), **given},
            Experiment,
            lambda: STEPS[given["step"]](access=access, experiment=found),
        )
        return Response(_shown(access, found.pk), status=201 if made else 200)


class Retries(endpoints.TeamView):
    """Does one case and repetition again, beside what was."""

    needed = {"POST": LAUNCH_RIGHTS}

    @extend_schema(
        operation_id="retry_execution",
        parameters=[endpoints.REQUEST_KEY],
        request=serializers.NewRetry,
        responses=endpoints.created(serializers.ExecutionShape),
        examples=[OpenApiExample("Again", {}, request_only=True)],
    )
    def post(self, request: Request, experiment: UUID, position: int) -> Response:
        """Retry an execution that failed or is indeterminate. The earlier one keeps its attempts and its cost."""
        known_parameters(request)
        access = self.access
        found = access.find(queries.experiments_of(access.team), pk=experiment)
        chosen = access.find(queries.executions_of(found), team="experiment__team", position=position)
        key = endpoints.request_key(request)
        valid(serializers.NewRetry, request)

        def again() -> Experiment:
            actions.retry(access=access, execution=chosen)
            return found

        _, made = receipts.once(
            access, "execution.retry", key, {"experiment": str(found.pk), "position": position}, Experiment, again
        )
        live = access.find(queries.executions_of(found), team="experiment__team", position=position)
        row = queries.execution_rows([live], content=access.reads_content, answers=access.reads_content)[0]
        return Response(serializers.execution_shape(row), status=201 if made else 200)
