"""Reads of groups: the list, and one with the state of its arms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db import models
from django.db.models import Count, Q

from analysis.observations import Outcome
from comparisons.models import Arm, Group
from comparisons.selection import Asked
from grading.models import GradingPass, Judgment, PassGrader
from grading.pauses import PAUSES
from runs import codes
from runs.models import Experiment, State
from runs.queries import Pace, Tally, pace_of, tallies
from teams.access import Access

OPEN = (Outcome.PENDING, Outcome.WAITING_FOR_EVIDENCE)


def groups_of(access: Access) -> models.QuerySet[Group]:
    rows = Group.objects.filter(team=access.team).select_related(
        "base__agent", "primary__grader__definition", "made_by", "template_version__template"
    )
    return rows.annotate(
        arms=Count("arm", distinct=True), running=Count("arm", filter=Q(arm__experiment__state=State.RUNNING))
    )


@dataclass(frozen=True, slots=True)
class ArmState:
    """One arm as it stands: generation and grading apart."""

    arm: Arm
    experiment: Experiment
    tally: Tally
    pace: Pace
    judged: int
    expected: int
    """Judgments of the answers that are there; of an ended pass those that it made, as it takes no later ones."""
    errors: int
    cancelled: int
    """Judgments that nobody made any more."""
    paused: str
    grading_paused: str

    @property
    def working(self) -> bool:
        return self.experiment.state == State.RUNNING or self.arm.original_pass.state == State.RUNNING

    @property
    def held(self) -> bool:
        """Whether what is left of it, generation first and then grading, is paused."""
        left = self.experiment if self.experiment.state == State.RUNNING else self.arm.original_pass
        return left.state == State.RUNNING and left.paused_at is not None

    @property
    def comparable(self) -> bool:
        return self.experiment.state == self.arm.original_pass.state == State.COMPLETED


def arm_states(group: Group) -> list[ArmState]:
    """Every arm with its counts, in a fixed number of queries but for the pace of each."""
    arms = list(
        Arm.objects.filter(group=group)
        .select_related(
            "snapshot__agent", "snapshot__route_revision__provider", "snapshot__route_revision__route",
            "experiment__subject", "experiment__version__dataset", "experiment__slice_version__slice", "original_pass",
        )
        .order_by("index")
    )  # fmt: skip
    counted = tallies([arm.experiment for arm in arms])
    graders = {
        row["pk"]: row["n"]
        for row in GradingPass.objects.filter(arm__group=group).values("pk").annotate(n=Count("passgrader"))
    }
    judged: dict[Any, dict[str, Any]] = {
        row["grading_pass"]: dict(row)
        for row in Judgment.objects.filter(grading_pass__arm__group=group)
        .order_by()
        .values("grading_pass")
        .annotate(
            rows=Count("pk"),
            settled=Count("pk", filter=~Q(outcome__in=(*OPEN, Outcome.CANCELLED))),
            cancelled=Count("pk", filter=Q(outcome=Outcome.CANCELLED)),
            errors=Count("pk", filter=Q(outcome=Outcome.GRADER_ERROR)),
        )
    }
    found = []
    for arm in arms:
        tally = counted[arm.experiment_id]
        said: dict[str, Any] = judged.get(arm.original_pass_id, {})
        found.append(
            ArmState(
                arm=arm,
                experiment=arm.experiment,
                tally=tally,
                pace=pace_of(arm.experiment, tally),
                judged=said.get("settled", 0),
                expected=tally.completed * graders.get(arm.original_pass_id, 0)
                if arm.original_pass.state == State.RUNNING
                else said.get("rows", 0),
                errors=said.get("errors", 0),
                cancelled=said.get("cancelled", 0),
                paused=codes.pause(arm.experiment.pause_code),
                grading_paused=PAUSES.get(arm.original_pass.pause_code, "Somebody paused the grading.")
                if arm.original_pass.paused_at is not None and arm.original_pass.state == State.RUNNING
                else "",
            )
        )
    return found


def meant_by(group: Group) -> dict[str, Any]:
    """The intent that a group carried out, with the snapshots that its arms really ran."""
    arms = list(Arm.objects.filter(group=group).select_related("experiment", "original_pass").order_by("index"))
    first = arms[0]
    plan = PassGrader.objects.filter(grading_pass=first.original_pass).order_by("pk")
    return {
        "name": group.name,
        "base": str(group.base_id),
        "version": str(first.experiment.version_id),
        "slice": str(first.experiment.slice_version_id) if first.experiment.slice_version_id else None,
        "arms": [{"snapshot": str(arm.snapshot_id)} for arm in arms],
        "repetitions": first.experiment.repetitions,
        "tool_policy": first.experiment.tool_policy,
        "graders": [{"version": str(one.version_id), "evidence": one.evidence} for one in plan],
        "enrichment": str(first.original_pass.enrichment_id) if first.original_pass.enrichment_id else None,
        "primary": str(group.primary_id),
    }


def comparison_of(group: Group, candidate: ArmState, baseline: ArmState) -> str:
    """The address part of comparing two arms, with both original passes and the exact primary version pinned."""
    version = group.primary
    return Asked(
        candidate=str(candidate.experiment.pk),
        baseline=str(baseline.experiment.pk),
        candidate_pass=str(candidate.arm.original_pass.number),
        baseline_pass=str(baseline.arm.original_pass.number),
        metric=version.grader.definition.key,
        candidate_grader=str(version.pk),
        baseline_grader=str(version.pk),
    ).query()
