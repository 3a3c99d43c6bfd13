"""API of comparison groups: readiness, start, state, steps."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from analysis import strict_json
from analysis.refusals import Refused
from analysis.results import plain
from comparisons.groups import intent as intents
from comparisons.groups import queries, starting
from comparisons.groups.intent import Intent
from comparisons.groups.readiness import Readiness, check
from comparisons.models import Group
from runs.serializers import RUN_STEPS, CostFact, spend
from teams import endpoints, receipts
from teams.access import Access
from teams.api import StrictSerializer, known_parameters, page_of, valid
from teams.permissions import LAUNCH_RIGHTS, Right
from teams.refusals import Refusal

READ = (Right.EVALUATION_READ,)
SOME_ID = "0198c0de-0000-7000-8000-000000000001"
EXAMPLE: dict[str, Any] = {
    "name": "Small against large",
    "base": SOME_ID,
    "version": SOME_ID,
    "slice": None,
    "arms": [{"snapshot": SOME_ID}, {"route": "support-small"}],
    "repetitions": 1,
    "tool_policy": "none",
    "graders": [{"version": SOME_ID, "evidence": "generation"}],
    "enrichment": None,
    "primary": SOME_ID,
    "template": None,
}


class NewGroup(StrictSerializer):
    intent = serializers.DictField(help_text="What `groups/readiness` took.")
    readiness_sha256 = serializers.CharField(max_length=64, help_text="What `groups/readiness` answered.")


class NewGroupStep(StrictSerializer):
    step = serializers.ChoiceField(RUN_STEPS)


class GroupRow(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    name = serializers.CharField()
    base = serializers.UUIDField(source="base_id")
    primary = serializers.UUIDField(source="primary_id", help_text="The version that measures the primary metric.")
    arms = serializers.IntegerField()
    running = serializers.IntegerField()
    made_at = serializers.DateTimeField()


class ArmShape(serializers.Serializer[Any]):
    letter = serializers.CharField()
    name = serializers.CharField(help_text="The agent's name and the snapshot's number.")
    snapshot = serializers.UUIDField()
    experiment = serializers.UUIDField()
    original_pass = serializers.IntegerField(help_text="Its number in the experiment.")
    state = serializers.CharField()
    grading_state = serializers.CharField(help_text="Of the original pass.")
    paused = serializers.BooleanField(help_text="What is left of it waits until somebody resumes it.")
    pause_code = serializers.CharField()
    done = serializers.IntegerField()
    planned = serializers.IntegerField()
    failed = serializers.IntegerField()
    cancelled = serializers.IntegerField()
    judged = serializers.IntegerField()
    expected = serializers.IntegerField(help_text="Judgments of the answers that are there.")
    judgments_cancelled = serializers.IntegerField()
    grading_pause_code = serializers.CharField()
    manifest_sha256 = serializers.CharField()
    generation_cost = CostFact(many=True)


class GroupDetail(GroupRow):
    readiness_sha256 = serializers.CharField()
    states = ArmShape(many=True)


class ReadinessShape(serializers.Serializer[Any]):
    ready = serializers.BooleanField()
    sha256 = serializers.CharField()
    cases = serializers.IntegerField()
    generations = serializers.IntegerField()
    judgments = serializers.IntegerField()
    invocations = serializers.IntegerField()
    limit = serializers.IntegerField()
    blocked = serializers.ListField(child=serializers.DictField())
    arms = serializers.ListField(child=serializers.DictField())
    differences = serializers.ListField(child=serializers.DictField())
    expected_cost = serializers.DictField(help_text="low_micros and high_micros are null where unknown.")
    statistical_plan = serializers.DictField(
        help_text="The smallest difference of the primary metric that shows, in its unit; null where unknown."
    )


def readiness_shape(found: Readiness) -> dict[str, Any]:
    return {
        **{name: getattr(found, name) for name in ("ready", "sha256", "cases", "generations", "judgments")},
        **{name: getattr(found, name) for name in ("invocations", "limit")},
        "blocked": [
            {"code": one.code, "message": one.message, "allowed": one.allowed, "place": one.place}
            for one in found.blocked
        ],
        "arms": [
            {"letter": arm.letter, "label": arm.label, "new_variant": arm.new_variant, "facts": dict(arm.facts)}
            for arm in found.arms
        ],
        "differences": [
            {"name": one.name, "values": list(one.values), "beyond_the_model": not one.model}
            for one in found.differences
        ],
        "expected_cost": {
            "low_micros": found.cost.low_micros,
            "high_micros": found.cost.high_micros,
            "currency": found.cost.currency,
            "says": found.cost.says,
        },
        "statistical_plan": {
            "metric": found.statistics.metric,
            **plain(found.statistics.foresight),
            "earlier_experiments": list(found.statistics.earlier),
        },
    }


def _intent(text: str) -> Intent:
    try:
        given = strict_json.loads(text)
    except Refused as refused:
        raise Refusal("invalid_field", f"intent is one JSON object. {refused.message}", place="intent") from None
    return intents.read(given)


def _shown(access: Access, pk: UUID) -> dict[str, Any]:
    group: Group = access.find(queries.groups_of(access), pk=pk)
    return {
        **GroupRow(group).data,
        "readiness_sha256": group.readiness_sha256,
        "states": [
            {
                "letter": one.arm.letter,
                "name": str(one.arm.snapshot),
                "snapshot": str(one.arm.snapshot_id),
                "experiment": str(one.experiment.pk),
                "original_pass": one.arm.original_pass.number,
                "state": one.experiment.state,
                "grading_state": one.arm.original_pass.state,
                "paused": one.held,
                "pause_code": one.experiment.pause_code,
                "done": one.pace.done,
                "planned": one.pace.total,
                "failed": one.tally.failed,
                "cancelled": one.tally.cancelled,
                "judged": one.judged,
                "expected": one.expected,
                "judgments_cancelled": one.cancelled,
                "grading_pause_code": one.arm.original_pass.pause_code,
                "manifest_sha256": one.experiment.manifest_sha256,
                "generation_cost": [spend(folded) for folded in one.tally.spends],
            }
            for one in queries.arm_states(group)
        ],
    }


class GroupReadiness(endpoints.TeamView):
    """Whether a comparison is ready. Reads alone: nothing is written, and nobody is called."""

    needed = {"GET": LAUNCH_RIGHTS}

    @extend_schema(
        operation_id="group_readiness",
        parameters=[OpenApiParameter("intent", str, required=True, description="A JSON object; see `POST groups`.")],
        responses=endpoints.one(ReadinessShape),
    )
    def get(self, request: Request) -> Response:
        known_parameters(request, "intent")
        found = check(self.access, _intent(request.query_params.get("intent", "")))
        return Response(readiness_shape(found))


class Groups(endpoints.TeamView):
    """Groups of arms that were launched together, newest first."""

    needed = {"GET": READ, "POST": LAUNCH_RIGHTS}

    @extend_schema(operation_id="groups", parameters=endpoints.PAGING, responses=endpoints.listed(GroupRow))
    def get(self, request: Request) -> Response:
        known_parameters(request, "page", "page_size")
        rows = queries.groups_of(self.access).order_by("-made_at", "-pk")
        return page_of(request, rows, lambda row: GroupRow(row).data)

    @extend_schema(
        operation_id="start_group",
        parameters=[endpoints.REQUEST_KEY],
        request=NewGroup,
        responses=endpoints.created(GroupDetail),
        examples=[
            OpenApiExample("Two arms", {"intent": EXAMPLE, "readiness_sha256": "0" * 64}, request_only=True),
        ],
    )
    def post(self, request: Request) -> Response:
        """Start all arms or none, as readiness was checked. The same key and intent give the first group again."""
        known_parameters(request)
        access, key, given = self.access, endpoints.request_key(request), valid(NewGroup, request)
        intent = intents.read(given["intent"])
        row, made = starting.once(access=access, intent=intent, readiness_sha256=given["readiness_sha256"], key=key)
        return Response(_shown(access, row.pk), status=201 if made else 200)


class GroupView(endpoints.TeamView):
    """One group with the state of its arms."""

    needed = {"GET": READ}

    @extend_schema(operation_id="group", responses=endpoints.one(GroupDetail))
    def get(self, request: Request, group: UUID) -> Response:
        known_parameters(request)
        return Response(_shown(self.access, group))


class GroupSteps(endpoints.TeamView):
    """Steers every arm that runs: pause, resume, cancel."""

    needed = {"POST": LAUNCH_RIGHTS}

    @extend_schema(
        operation_id="steer_group",
        parameters=[endpoints.REQUEST_KEY],
        request=NewGroupStep,
        responses=endpoints.created(GroupDetail),
        examples=[OpenApiExample("Cancel", {"step": "cancel"}, request_only=True)],
    )
    def post(self, request: Request, group: UUID) -> Response:
        """Take one step. What is under way settles in any case."""
        known_parameters(request)
        access = self.access
        found: Group = access.find(queries.groups_of(access), pk=group)
        key, given = endpoints.request_key(request), valid(NewGroupStep, request)
        _, made = receipts.once(
            access,
            "group.steer",
            key,
            {"group": str(found.pk), **given},
            Group,
            lambda: starting.steer(access=access, group=found, step=given["step"]),
        )
        return Response(_shown(access, found.pk), status=201 if made else 200)
