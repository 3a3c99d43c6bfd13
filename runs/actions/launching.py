"""Launching: an experiment with its manifest, written whole before any work begins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db import transaction

from agents.actions import snapshot_draft
from agents.definitions import EMPTY
from agents.models import Agent, Snapshot, SnapshotDefinition
from analysis.observations import CostCoverage, FailureKind, Generation
from datasets.models import SliceVersion, Version
from datasets.queries import CaseKey, cases_of
from runs import tools
from runs.actions.experiments import manifest_sha256, next_number
from runs.engine import wakes
from runs.models import Batch, BatchMode, Execution, Experiment, Origin, State, ToolPolicy
from teams import audit
from teams.access import Access
from teams.bulk import copy_rows
from teams.permissions import LAUNCH_RIGHTS
from teams.refusals import Refusal

MOST_EXECUTIONS: Final = 20_000
MOST_REPETITIONS: Final = 5
COLUMNS: Final = (
    *("experiment", "position", "revision", "repetition", "state", "failure_kind"),
    *("cost_micros", "cost_coverage", "cost_basis", "currency", "finish_reason", "trace"),
)


@dataclass(frozen=True, slots=True)
class Plan:
    """What an experiment does: on which cases of which version, how often, with which tools."""

    version: Version
    slice_version: SliceVersion | None = None
    repetitions: int = 1
    tool_policy: str = ToolPolicy.NONE


def plan_of(access: Access, given: Mapping[str, Any]) -> Plan:
    """A plan from what a form or a program sent: ids of version and slice version, repetitions, tool policy."""
    versions = Version.objects.select_related("dataset")
    version = access.find(versions, team="dataset__team", pk=given["version"])
    slice_version = None
    if given.get("slice"):
        rows = SliceVersion.objects.select_related("slice")
        slice_version = access.find(rows, team="slice__dataset__team", pk=given["slice"])
        if slice_version.slice.dataset_id != version.dataset_id:
            raise Refusal("invalid_field", "Choose a slice of the same dataset.", place="slice")
    return Plan(version, slice_version, given["repetitions"], given["tool_policy"])


def launch(*, access: Access, snapshot: Snapshot, plan: Plan) -> Experiment:
    """A standalone experiment of a snapshot. Its work begins as soon as it is written."""
    access.require(*LAUNCH_RIGHTS)
    cases = planned(access, plan)
    with transaction.atomic():
        batch = open_batch(access)
        experiment = open_experiment(
            access, batch=batch, arm=0, origin=Origin.STANDALONE, snapshot=snapshot, plan=plan, cases=cases
        )
        wakes.wake(batch.parallel)
    return experiment


def evaluate_draft(*, access: Access, agent: Agent, draft_revision: int, plan: Plan) -> Experiment:
    """Agent Evaluate: a standalone experiment of the draft as it is saved.

    The draft is kept as a snapshot, so that what was evaluated stays known; what is in use does not change.
    """
    access.require(*LAUNCH_RIGHTS)
    with transaction.atomic():
        snapshot = snapshot_draft(access=access, agent=agent, revision=draft_revision)
        return launch(access=access, snapshot=snapshot, plan=plan)


def planned(access: Access, plan: Plan) -> list[CaseKey]:
    """The cases of a plan in the order of their version, or a refusal."""
    if plan.version.dataset.team_id != access.team.pk:
        raise Refusal("not_found")
    if plan.version.dataset.archived_at is not None:
        raise Refusal("conflict", "The dataset is archived. Restore it first.", place="version")
    if plan.slice_version is not None and plan.slice_version.slice.dataset_id != plan.version.dataset_id:
        raise Refusal("not_found")
    if not 1 <= plan.repetitions <= MOST_REPETITIONS:
        raise Refusal("invalid_field", f"A whole number from 1 to {MOST_REPETITIONS}.", place="repetitions")
    if plan.tool_policy not in ToolPolicy.values:
        raise Refusal("invalid_field", f"One of {', '.join(ToolPolicy.values)}.", place="tool_policy")
    cases = cases_of(plan.version, plan.slice_version)
    if not cases:
        raise Refusal("experiment_empty", "No case of this version is taken.", place="version")
    total = len(cases) * plan.repetitions
    if total > MOST_EXECUTIONS:
        raise Refusal("experiment_too_large", f"{total:,} executions; at most {MOST_EXECUTIONS:,}.", place="version")
    return cases


def tools_ready(access: Access, definition: Mapping[str, Any], policy: str) -> None:
    """Refuse a policy under which tools would be run over a connector that cannot be reached."""
    if names := tools.unreachable(access.team.pk, definition, policy):
        told = f"Tools would be run over {', '.join(names)}, which has no address or is archived."
        raise Refusal("connector_unreachable", told, place="tool_policy")


def open_batch(access: Access, mode: BatchMode = BatchMode.ROTATE) -> Batch:
    return Batch.objects.create(team=access.team, starter=access.user, mode=mode)


def open_experiment(
    access: Access, *, batch: Batch, arm: int, origin: Origin, snapshot: Snapshot, plan: Plan, cases: Sequence[CaseKey]
) -> Experiment:
    """An experiment with all of its executions, planned, in the caller's transaction: arms stand or fall together."""
    if snapshot.agent.team_id != access.team.pk:
        raise Refusal("not_found")
    route = snapshot.route_revision.route
    if route.active_id is None or route.archived_at is not None:
        raise Refusal("route_inactive", f"The model route {route.name} is not active.", place="snapshot")
    content = SnapshotDefinition.objects.filter(snapshot=snapshot).first()
    body = content.body if content is not None and content.body is not None else EMPTY
    tools_ready(access, body, plan.tool_policy)
    summary = tools.summary(body, plan.tool_policy)
    pairs = [(case, repetition) for repetition in range(1, plan.repetitions + 1) for case in cases]
    experiment = Experiment.objects.create(
        team=access.team,
        number=next_number(access.team),
        version=plan.version,
        slice_version=plan.slice_version,
        subject=snapshot.subject,
        route_revision=snapshot.route_revision,
        repetitions=plan.repetitions,
        tool_policy=plan.tool_policy,
        origin=origin,
        state=State.RUNNING,
        batch=batch,
        arm=arm,
        planned=len(pairs),
        manifest_sha256=manifest_sha256((case.source, case.content, repetition) for case, repetition in pairs),
        starter=access.user,
        facts=[["Tools", ToolPolicy(plan.tool_policy).label], *([["Tools run", summary]] if summary else [])],
        provenance={"snapshot": str(snapshot.pk), "definition_sha256": snapshot.definition_sha256},
    )
    nothing = (Generation.PLANNED.value, FailureKind.NONE.value, 0, CostCoverage.NONE.value, "", "", "", False)
    copy_rows(
        Execution,
        COLUMNS,
        (
            (experiment.pk, position, case.revision, repetition, *nothing)
            for position, (case, repetition) in enumerate(pairs)
        ),
    )
    audit.by(
        "experiment.launched",
        access,
        experiment,
        number=experiment.number,
        snapshot=str(snapshot.pk),
        version=str(plan.version.pk),
        executions=len(pairs),
    )
    return experiment
