"""Whether a comparison is ready: what each arm will really run, what differs, how much work it is. Reads alone."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from django.db import connection

from agents import definitions
from agents.actions.snapshots import active, route_facts
from agents.models import ModelRoute, ModelRouteRevision, Snapshot, SnapshotDefinition
from analysis.strict_json import canonical
from comparisons.groups import templates
from comparisons.groups.foreseeing import StatisticalPlan, statistical_plan
from comparisons.groups.intent import ArmIntent, Intent
from comparisons.models import TemplateVersion
from comparisons.refusals import CODES
from datasets.models import SliceVersion, Version
from datasets.queries import CaseKey
from grading.actions import GradingPlan, Planned, checked_plan
from grading.models import GraderVersion
from runs import actions as runs
from runs import tools
from teams.access import Access
from teams.permissions import Right
from teams.refusals import Refusal

ADMISSION_LIMIT: Final = 1_000
"""Planned invocations of one group. It is never raised."""
UNKNOWN: Final = "Unknown"


@dataclass(frozen=True, slots=True)
class Blocked:
    """A check that stands in the way, with a stable code and the field that it is about."""

    code: str
    message: str
    allowed: str
    place: str


@dataclass(frozen=True, slots=True)
class ArmReady:
    """What one arm will really run. A fact that nobody recorded reads Unknown."""

    letter: str
    label: str
    new_variant: bool
    facts: tuple[tuple[str, str], ...]
    """Names and values, in the order in which they are compared."""
    route_revision: str
    snapshot: Snapshot | None
    route: ModelRoute | None
    prices: ModelRouteRevision | None


@dataclass(frozen=True, slots=True)
class Difference:
    """A fact in which the arms do not agree. `model` says that it belongs to the model itself."""

    name: str
    values: tuple[str, ...]
    model: bool


@dataclass(frozen=True, slots=True)
class Cost:
    """What generation may cost, from tokens of earlier work on the dataset and the routes' prices; None is unknown."""

    low_micros: int | None
    high_micros: int | None
    currency: str
    says: str


@dataclass(frozen=True, slots=True)
class Readiness:
    intent: Intent
    arms: tuple[ArmReady, ...]
    differences: tuple[Difference, ...]
    blocked: tuple[Blocked, ...]
    cases: int
    generations: int
    judgments: int
    invocations: int
    cost: Cost
    plan: GradingPlan | None
    template: TemplateVersion | None
    statistics: StatisticalPlan
    sha256: str

    @property
    def ready(self) -> bool:
        return not self.blocked

    @property
    def limit(self) -> int:
        return ADMISSION_LIMIT

    @property
    def table(self) -> list[tuple[str, list[str]]]:
        """Facts by name with the value of each arm, for reading side by side."""
        named = [dict(arm.facts) for arm in self.arms]
        names = dict.fromkeys(name for arm in self.arms for name, _ in arm.facts)
        return [(name, [facts.get(name, UNKNOWN) for facts in named]) for name in names]

    @property
    def beyond_the_model(self) -> tuple[Difference, ...]:
        return tuple(one for one in self.differences if not one.model)


MODEL_FACTS: Final = ("Model", "Provider", "Profile", "Model route", "Capability hash", "Definition hash")


def check(access: Access, intent: Intent) -> Readiness:
    """Look at everything that a start would use. What is missing or of another team is one answer, as everywhere."""
    blocked: list[Blocked] = []
    base = _snapshot(access, intent.base)
    template = _template(access, blocked, intent)
    plan = _case_plan(access, intent)
    cases: list[CaseKey] = _try(blocked, lambda: runs.planned(access, plan)) or []
    arms = tuple(_arm(access, blocked, at, one, base) for at, one in enumerate(intent.arms))
    arms = tuple(_with_tools(access, blocked, at, arm, base, intent) for at, arm in enumerate(arms))
    primary = _grader_version(access, intent.primary)
    grading = _grading(access, blocked, intent)
    per_arm = len(cases) * intent.repetitions
    generations = per_arm * len(arms)
    judgments = generations * len(intent.graders)
    invocations = generations + (grading.invocations(per_arm) * len(arms) if grading else 0)
    if invocations > ADMISSION_LIMIT:
        message = f"{invocations:,} planned invocations; at most {ADMISSION_LIMIT:,}."
        blocked.append(_blocked("comparison_invocation_limit", message, "repetitions"))
    if intent.primary not in {version for version, _ in intent.graders}:
        blocked.append(
            _blocked("comparison_primary_invalid", "The primary metric is not measured by the plan.", "primary")
        )
    return Readiness(
        intent=intent,
        arms=arms,
        differences=_differences(arms),
        blocked=tuple(blocked),
        cases=len(cases),
        generations=generations,
        judgments=judgments,
        invocations=invocations,
        cost=_cost(access, plan.version, arms, per_arm),
        plan=grading,
        template=template,
        statistics=statistical_plan(access, primary, plan.version, len(cases), intent.repetitions),
        sha256=_identity(intent, arms, cases, grading, blocked),
    )


def _blocked(code: str, message: str, place: str) -> Blocked:
    return Blocked(code, message, CODES[code].allowed, place)


def _try[Found](blocked: list[Blocked], look: Any, place: str = "") -> Found | None:
    """What a look finds; a refusal becomes a check that stands in the way. A foreign object stays a missing one."""
    try:
        found: Found = look()
    except Refusal as refusal:
        if refusal.code == "not_found":
            raise
        blocked.append(Blocked(refusal.code, refusal.message, refusal.allowed, place or refusal.place))
        return None
    return found


def _snapshot(access: Access, pk: Any) -> Snapshot:
    rows = Snapshot.objects.select_related("agent", "subject", "route_revision__provider", "route_revision__route")
    found: Snapshot = access.find(rows, team="agent__team", pk=pk)
    return found


def _template(access: Access, blocked: list[Blocked], intent: Intent) -> TemplateVersion | None:
    if intent.template is None:
        return None
    found = templates.version_of(access, intent.template)
    if templates.body_of(found) is None:
        blocked.append(_blocked("template_unavailable", f"What {found} says was taken away.", "template"))
    return found


def _case_plan(access: Access, intent: Intent) -> runs.Plan:
    version = access.find(Version.objects.select_related("dataset"), team="dataset__team", pk=intent.version)
    part = None
    if intent.slice is not None:
        rows = SliceVersion.objects.select_related("slice")
        part = access.find(rows, team="slice__dataset__team", pk=intent.slice)
    return runs.Plan(version, part, intent.repetitions, intent.tool_policy)


def _arm(access: Access, blocked: list[Blocked], at: int, arm: ArmIntent, base: Snapshot) -> ArmReady:
    place, letter = f"arms[{at}]", "ABCDE"[at]
    if arm.snapshot is not None:
        snapshot = _snapshot(access, arm.snapshot)
        route = snapshot.route_revision.route
        if route.active_id is None or route.archived_at is not None:
            _try(blocked, lambda: active(route), place)
        if _definition(snapshot) is None:
            message = f"The definition of {snapshot} was taken away."
            blocked.append(Blocked("snapshot_unavailable", message, "Choose another snapshot.", place))
        hashes = {name: getattr(snapshot, f"{name}_sha256") for name in ("definition", *definitions.DIMENSIONS)}
        return ArmReady(
            letter, str(snapshot), False, _facts(snapshot.route_revision, hashes),
            str(snapshot.route_revision_id), snapshot, None, snapshot.route_revision,
        )  # fmt: skip
    return _variant(access, blocked, place, letter, arm.route, base)


def _variant(access: Access, blocked: list[Blocked], place: str, letter: str, key: str, base: Snapshot) -> ArmReady:
    route = ModelRoute.objects.filter(key=key, archived_at=None).select_related("active__provider").first()
    if route is None:
        raise Refusal("invalid_field", "Choose one of the model routes.", place=f"{place}.route")
    if not access.allows(Right.AGENT_EDIT):
        message = f"A new model variant needs the right {Right.AGENT_EDIT.value}."
        blocked.append(Blocked("missing_right", message, "Choose an existing snapshot instead.", place))
    revision: ModelRouteRevision | None = _try(blocked, lambda: active(route), place)
    body = _definition(base)
    if body is None:
        message = "The definition of the base snapshot was taken away."
        blocked.append(Blocked("snapshot_unavailable", message, "Choose another base snapshot.", "base"))
    label = f"{base.agent.name}, new variant over {route.name}"
    if revision is None or body is None:
        return ArmReady(letter, label, True, (("Model", UNKNOWN),), "", None, route, revision)
    if revision.sha256 == base.route_revision.sha256:
        message = f"{route.name} leads to the model that {base} runs over."
        blocked.append(Blocked("variant_same_model", message, "Choose the base snapshot itself as an arm.", place))
    hashes = definitions.digests({**body, "route": route_facts(revision)})
    named = {name.removesuffix("_sha256"): value for name, value in hashes.items()}
    return ArmReady(letter, label, True, _facts(revision, named), str(revision.pk), None, route, revision)


def _definition(snapshot: Snapshot) -> dict[str, Any] | None:
    content = SnapshotDefinition.objects.filter(snapshot=snapshot).first()
    return None if content is None else content.body


def _with_tools(
    access: Access, blocked: list[Blocked], at: int, arm: ArmReady, base: Snapshot, intent: Intent
) -> ArmReady:
    """Under a policy that runs tools, how many of the arm's are run; one over a connector nobody reaches blocks."""
    body = _definition(arm.snapshot or base)
    if body is None or not (summary := tools.summary(body, intent.tool_policy)):
        return arm
    _try(blocked, lambda: runs.tools_ready(access, body, intent.tool_policy), f"arms[{at}]")
    return replace(arm, facts=(*arm.facts, ("Tools run", summary)))


def _facts(route: ModelRouteRevision, hashes: dict[str, str]) -> tuple[tuple[str, str], ...]:
    return (
        ("Model", route.model_id),
        ("Provider", route.provider.name),
        ("Profile", route.profile or UNKNOWN),
        ("Model route", f"{route.route.name}, revision {route.number}"),
        ("Capability hash", route.capability_sha256),
        ("Definition hash", hashes["definition"]),
        ("Instructions hash", hashes["prompt"]),
        ("Tools hash", hashes["tools"]),
        ("Connector modes hash", hashes["connectors"]),
        ("Context hash", hashes["context"]),
        ("Settings hash", hashes["settings"]),
        ("Provider revision", UNKNOWN),
    )


def _differences(arms: Sequence[ArmReady]) -> tuple[Difference, ...]:
    named = [dict(arm.facts) for arm in arms]
    found = []
    for name in dict.fromkeys(name for arm in arms for name, _ in arm.facts):
        values = tuple(facts.get(name, UNKNOWN) for facts in named)
        if len(set(values)) > 1:
            found.append(Difference(name, values, name in MODEL_FACTS))
    return tuple(found)


def _grading(access: Access, blocked: list[Blocked], intent: Intent) -> GradingPlan | None:
    graders = [Planned(_grader_version(access, pk), evidence) for pk, evidence in intent.graders]
    plan = GradingPlan(graders, _grader_version(access, intent.enrichment) if intent.enrichment else None)
    return _try(blocked, lambda: checked_plan(access, plan))


def _grader_version(access: Access, pk: Any) -> GraderVersion:
    rows = GraderVersion.objects.select_related("grader__definition")
    found: GraderVersion = access.find(rows, team="grader__definition__team", pk=pk)
    return found


def _cost(access: Access, version: Version, arms: Sequence[ArmReady], per_arm: int) -> Cost:
    """From the tokens that nine of ten earlier answers on the dataset stayed within, and each arm's prices."""
    if not per_arm:
        return Cost(None, None, "", "Unknown: there is no case to ask.")
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT count(*),
                percentile_cont(0.1) WITHIN GROUP (ORDER BY x.input_tokens),
                percentile_cont(0.9) WITHIN GROUP (ORDER BY x.input_tokens),
                percentile_cont(0.1) WITHIN GROUP (ORDER BY x.output_tokens),
                percentile_cont(0.9) WITHIN GROUP (ORDER BY x.output_tokens)
            FROM runs_execution x JOIN runs_experiment e ON e.id = x.experiment_id
            JOIN datasets_version v ON v.id = e.version_id
            WHERE e.team_id = %s AND v.dataset_id = %s AND x.input_tokens IS NOT NULL AND x.output_tokens IS NOT NULL
            """,
            [access.team.pk, version.dataset_id],
        )
        count, *tokens = cursor.fetchone() or (0,)
    if not count:
        return Cost(None, None, "", "Unknown: no earlier answer on this dataset tells its tokens.")
    currencies = {arm.prices.currency for arm in arms if arm.prices is not None}
    priced = [
        arm.prices for arm in arms
        if arm.prices is not None and arm.prices.input_micros is not None and arm.prices.output_micros is not None
    ]  # fmt: skip
    if len(priced) < len(arms) or len(currencies) != 1:
        return Cost(None, None, "", "Unknown: not every model route has prices in one currency.")
    low_in, high_in, low_out, high_out = tokens

    def total(given: float, wrote: float) -> int:
        each = [(one.input_micros or 0) * given + (one.output_micros or 0) * wrote for one in priced]
        return round(sum(each) * per_arm / 1_000_000) + sum((one.call_fee_micros or 0) * per_arm for one in priced)

    says = f"Generation alone, from the tokens of {count:,} earlier answers on this dataset. No guarantee."
    return Cost(total(low_in, low_out), total(high_in, high_out), currencies.pop(), says)


def _identity(
    intent: Intent,
    arms: Sequence[ArmReady],
    cases: Sequence[CaseKey],
    plan: GradingPlan | None,
    blocked: Sequence[Blocked],
) -> str:
    """SHA-256 over everything that a start depends on, so that whatever changed since is seen."""
    said = {
        "intent": intent.plain(),
        "arms": [[list(fact) for fact in arm.facts] + [arm.route_revision] for arm in arms],
        "cases": hashlib.sha256(b"".join(case.revision.bytes for case in cases)).hexdigest(),
        "plan": plan.sha256 if plan else "",
        "blocked": [one.code for one in blocked],
    }
    return hashlib.sha256(b"evenhand/readiness/1\0" + canonical(said)).hexdigest()
