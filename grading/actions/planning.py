"""Plans of grading, and the passes that they open: exact grader versions, what each judges by, what comes before."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.db.models import Max

from analysis.strict_json import canonical
from grading import judges
from grading.models import (
    EvidenceKind,
    GraderConfig,
    GraderKind,
    GraderVersion,
    GradingPass,
    PassGrader,
    PassOrigin,
)
from runs.models import Experiment, State
from teams import audit
from teams.access import Access
from teams.refusals import Code, Refusal, register

register(
    {
        "plan_empty": Code(422, "Choose at least one grader."),
        "plan_grader_unusable": Code(
            422, "Choose versions of graders made here whose configuration can still be read, each once."
        ),
        "plan_evidence_unfit": Code(422, "Choose evidence that the version accepts; enrichment needs a validator."),
    }
)
MOST_GRADERS: Final = 20
RECOVERY_CALLS: Final = 5
"""Calls that one judgment may take: the first, and what a worker may try again."""


@dataclass(frozen=True, slots=True)
class Planned:
    """One grader version of a plan, and what it judges by."""

    version: GraderVersion
    evidence: str = EvidenceKind.GENERATION


@dataclass(frozen=True, slots=True)
class GradingPlan:
    """What a pass holds. `enrichment` is a validator's version whose findings some of the judges look at."""

    graders: Sequence[Planned]
    enrichment: GraderVersion | None = None

    @property
    def sha256(self) -> str:
        """Identity of the plan by what its versions are, whichever order they stand in."""
        graders = sorted([one.version.sha256, str(one.evidence)] for one in self.graders)
        enrichment = self.enrichment.sha256 if self.enrichment else ""
        said = canonical({"graders": graders, "enrichment": enrichment})
        return hashlib.sha256(b"evenhand/plan/1\0" + said).hexdigest()

    def invocations(self, executions: int) -> int:
        """Calls to models and tools that judging so many executions may take, allowance for recovery included.

        Assertions call nothing. A validator counts whatever its fee; so does enrichment.
        """
        calling = sum(one.version.grader.kind != GraderKind.ASSERTION for one in self.graders)
        return executions * RECOVERY_CALLS * (calling + (self.enrichment is not None))


def checked_plan(access: Access, plan: GradingPlan) -> GradingPlan:
    """The plan, or a refusal with the place of the fault. Nothing is ever swapped for another version."""
    if not plan.graders:
        raise Refusal("plan_empty", place="graders")
    if len(plan.graders) > MOST_GRADERS:
        raise Refusal("invalid_field", f"At most {MOST_GRADERS} graders.", place="graders")
    seen: set[object] = set()
    for at, one in enumerate(plan.graders):
        _usable(access, one.version, f"graders[{at}]")
        if one.version.pk in seen:
            raise Refusal("plan_grader_unusable", f"{one.version} stands in the plan twice.", place=f"graders[{at}]")
        seen.add(one.version.pk)
        route = one.version.route_revision
        if route is not None and (route.route.active_id is None or route.route.archived_at is not None):
            message = f"The model route of {one.version} is not active."
            raise Refusal("route_inactive", message, place=f"graders[{at}]")
        if one.evidence not in one.version.evidence:
            raise Refusal("plan_evidence_unfit", f"{one.version} does not accept it.", place=f"graders[{at}].evidence")
        needs = one.evidence == EvidenceKind.ENRICHMENT or _needs_enrichment(one.version)
        if needs and plan.enrichment is None:
            raise Refusal("plan_evidence_unfit", f"{one.version} looks at enrichment.", place="enrichment")
    if plan.enrichment is not None:
        _usable(access, plan.enrichment, "enrichment")
        if plan.enrichment.grader.kind != GraderKind.VALIDATOR:
            raise Refusal("plan_evidence_unfit", "Enrichment comes from a validator.", place="enrichment")
    return plan


def _usable(access: Access, version: GraderVersion, place: str) -> None:
    if version.grader.definition.team_id != access.team.pk:
        raise Refusal("not_found")
    if version.grader.kind == GraderKind.IMPORTED or version.grader.archived_at is not None:
        raise Refusal("plan_grader_unusable", f"{version} cannot judge anything new.", place=place)
    if not GraderConfig.objects.filter(version=version, body__isnull=False).exists():
        raise Refusal("plan_grader_unusable", f"The configuration of {version} was taken away.", place=place)


def _needs_enrichment(version: GraderVersion) -> bool:
    if version.grader.kind != GraderKind.JUDGE:
        return False
    body = GraderConfig.objects.values_list("body", flat=True).get(version=version)
    return body is not None and judges.needs_enrichment(body)


def open_planned_pass(
    *, access: Access, experiment: Experiment, plan: GradingPlan, origin: PassOrigin, name: str = ""
) -> GradingPass:
    """A pass over an experiment that judges its answers as they come, in the caller's transaction."""
    last = GradingPass.objects.filter(experiment=experiment).aggregate(last=Max("number"))["last"] or 0
    opened = GradingPass.objects.create(
        experiment=experiment,
        number=last + 1,
        origin=origin,
        name=name,
        state=State.RUNNING,
        creator=access.user,
        enrichment=plan.enrichment,
        plan_sha256=plan.sha256,
    )
    for one in plan.graders:
        PassGrader.objects.create(grading_pass=opened, version=one.version, evidence=one.evidence)
    audit.by(
        "pass.opened", access, opened, experiment=str(experiment.pk), number=opened.number, plan=opened.plan_sha256
    )
    return opened
