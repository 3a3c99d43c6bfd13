"""The start of a group: every arm with its experiment and its original pass, or nothing."""

from __future__ import annotations

from django.db import transaction

from agents.actions import make_variant
from agents.models import Snapshot
from comparisons.groups import templates
from comparisons.groups.intent import Intent
from comparisons.groups.readiness import ArmReady, check
from comparisons.models import Arm, Group
from datasets.models import SliceVersion, Version
from grading import actions as grading
from grading.actions import open_planned_pass
from grading.models import GradingPass, PassOrigin
from runs import actions as runs
from runs.engine import wakes
from runs.models import Experiment, Origin, State
from teams import audit, receipts
from teams.access import Access
from teams.permissions import LAUNCH_RIGHTS, Right
from teams.refusals import Refusal


def once(*, access: Access, intent: Intent, readiness_sha256: str, key: str) -> tuple[Group, bool]:
    """The group of a request key: started now, or the one that the same key and intent started before.

    The rights are the present ones either way, that of making variants among them where an arm is one.
    """
    access.require(*LAUNCH_RIGHTS)
    if any(arm.snapshot is None for arm in intent.arms) and not access.allows(Right.AGENT_EDIT):
        message = f"A new model variant needs the right {Right.AGENT_EDIT.value}."
        raise Refusal("missing_right", message, rights=[Right.AGENT_EDIT.value])
    return receipts.once(
        access,
        "group.start",
        key,
        intent.plain(),
        Group,
        lambda: start(access=access, intent=intent, readiness_sha256=readiness_sha256),
    )


@transaction.atomic
def start(*, access: Access, intent: Intent, readiness_sha256: str) -> Group:
    """Launch all arms. What was checked must still be so, and ready."""
    access.require(*LAUNCH_RIGHTS)
    readiness = check(access, intent)
    if readiness.sha256 != readiness_sha256:
        raise Refusal("stale_preflight", "Something changed since readiness was checked.", place="readiness_sha256")
    if readiness.blocked:
        first = readiness.blocked[0]
        raise Refusal(first.code, first.message, place=first.place)
    assert readiness.plan is not None
    snapshots = [_snapshot(access, arm, intent) for arm in readiness.arms]
    if len({one.pk for one in snapshots}) < len(snapshots):
        raise Refusal("invalid_field", "Two arms are the same snapshot.", place="arms")
    version = Version.objects.select_related("dataset").get(pk=intent.version)
    part = SliceVersion.objects.select_related("slice").get(pk=intent.slice) if intent.slice else None
    plan = runs.Plan(version, part, intent.repetitions, intent.tool_policy)
    cases = runs.planned(access, plan)
    batch = runs.open_batch(access)
    group = Group.objects.create(
        team=access.team,
        name=intent.name,
        batch=batch,
        base_id=intent.base,
        primary_id=intent.primary,
        readiness_sha256=readiness_sha256,
        template_version=readiness.template,
        as_saved=templates.says(readiness.template, intent) if readiness.template else None,
        made_by=access.user,
    )
    for index, snapshot in enumerate(snapshots):
        experiment = runs.open_experiment(
            access, batch=batch, arm=index, origin=Origin.GROUP, snapshot=snapshot, plan=plan, cases=cases
        )
        judged = open_planned_pass(
            access=access, experiment=experiment, plan=readiness.plan, origin=PassOrigin.ORIGINAL, name=intent.name
        )
        Arm.objects.create(group=group, index=index, snapshot=snapshot, experiment=experiment, original_pass=judged)
    audit.by("group.started", access, group, arms=len(snapshots), readiness=readiness_sha256)
    wakes.wake(batch.parallel)
    return group


def _snapshot(access: Access, arm: ArmReady, intent: Intent) -> Snapshot:
    """An arm's snapshot; a new variant is made, and one that says exactly the same already is taken."""
    if arm.snapshot is not None:
        return arm.snapshot
    assert arm.route is not None
    base = Snapshot.objects.select_related("agent", "route_revision").get(pk=intent.base)
    try:
        made = make_variant(access=access, base=base, route=arm.route)
    except Refusal as refusal:
        if refusal.code != "variant_exists":
            raise
        made = Snapshot.objects.get(pk=refusal.extra["snapshot"])
    found: Snapshot = Snapshot.objects.select_related("agent", "subject", "route_revision__route").get(pk=made.pk)
    return found


STEPS = {
    "pause": (runs.pause, grading.pause_pass),
    "resume": (runs.resume, grading.resume_pass),
    "cancel": (runs.cancel, grading.cancel_pass),
}


@transaction.atomic
def steer(*, access: Access, group: Group, step: str) -> Group:
    """Pause, resume or cancel every arm that runs, and every original pass. What has left settles in any case."""
    access.require(*LAUNCH_RIGHTS)
    if step not in STEPS:
        raise Refusal("invalid_field", f"step is one of {', '.join(STEPS)}.", place="step")
    of_experiment, of_pass = STEPS[step]
    rows = Experiment.objects.filter(arm_in__group=group, state=State.RUNNING).order_by("arm")
    running = list(rows.select_for_update(no_key=True, of=("self",)))
    for experiment in running:
        of_experiment(access=access, experiment=experiment)
    passes = list(GradingPass.objects.filter(arm__group=group, state=State.RUNNING).order_by("arm__index"))
    for one in passes:
        of_pass(access=access, grading_pass=one)
    if not running and not passes:
        raise Refusal("experiment_not_running", "No arm of the group runs, and none is being graded.")
    audit.by(f"group.{step}", access, group, arms=len(running), passes=len(passes))
    return group
