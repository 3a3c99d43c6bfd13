"""One team with a row of everything it can own, and a second team with the same, for tests over all doors.

Every protected text holds CANARY, so that a leak is found wherever it comes out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from agents import actions as agent_actions
from agents.actions import hosts
from agents.models import (
    Agent,
    Configuration,
    Connector,
    Harness,
    ModelRoute,
    Provider,
    Release,
    Snapshot,
    SubjectDefinition,
)
from analysis.observations import FailureKind, Outcome
from comparisons.groups import intent as intents
from comparisons.groups import setups, starting, templates
from comparisons.groups.forms import fields_of
from comparisons.groups.readiness import check
from comparisons.models import Group, KeptResult, Setup, Template
from datasets import actions as dataset_actions
from datasets.bodies import Case
from datasets.models import ItemRevision, Slice
from grading import actions as grading_actions
from grading.models import Enrichment, EnrichmentOutput, Grader, GraderConfig, Judgment, Reasoning
from intake.models import (
    Import,
    ImportedRun,
    ImportFile,
    ImportFileName,
    ImportText,
    Mapping,
    RejectedRow,
    RejectedText,
)
from runs import actions as run_actions
from runs.engine import working
from runs.models import Attempt, Execution, Experiment, Span, SpanContent
from teams import actions, receipts
from teams.access import Access, current_access
from teams.models import ApiToken, Invitation, Role, Team, User
from teams.permissions import PRESETS, Right
from teams.records import new_id
from tests.factories import evidence
from webhooks import actions as webhook_actions
from webhooks.models import Event, Webhook, WebhookHost

CANARY = "zq-canary-"
CASES: dict[str, Any] = {
    f"{CANARY}first": [1, 0],
    f"{CANARY}second": [0, FailureKind.TIMED_OUT],
    f"{CANARY}third": [1, 1],
}


@dataclass
class World:
    """What addresses name. `candidate` and `baseline` are two experiments that can be compared."""

    team: Team
    owner: User
    candidate: Experiment
    baseline: Experiment
    token: ApiToken
    role: Role
    invitation: Invitation
    brought: Import
    mapping: Mapping
    slice: Slice
    snapshot: Snapshot
    connector: Connector
    release: Release
    configuration: Configuration
    launched: Experiment
    group: Group
    template: Template
    setup: Setup
    grader: Grader
    webhook: Webhook
    members: dict[str, User] = field(default_factory=dict)
    held: dict[str, frozenset[str]] = field(default_factory=dict)

    @property
    def revision(self) -> ItemRevision:
        return Execution.objects.filter(experiment=self.candidate).order_by("position")[0].revision


def _body(name: str) -> dict[str, Any]:
    point = {"id": f"{CANARY}point", "text": f"{CANARY}point of {name}", "points": 1}
    return {"input": f"{CANARY}input of {name}", "expected": f"{CANARY}expected", "checklist": [point]}


def _experiment(team: Team, owner: User, label: str) -> Experiment:
    return evidence.experiment(
        team,
        owner,
        CASES,
        label=label,
        bodies={name: _body(name) for name in CASES},
        titles=dict.fromkeys(CASES, f"{CANARY}title"),
        tags={name: [f"{CANARY}tag"] for name in CASES},
        answers=lambda name, repetition: f"{CANARY}answer",
        errors=lambda name, repetition: f"{CANARY}error",
        reasoning=lambda name, repetition: f"{CANARY}reasoning",
    )


def build(team: Team, owner: User) -> World:
    candidate, baseline = _experiment(team, owner, "ours"), _experiment(team, owner, "theirs")
    access = current_access(owner, team.slug)
    token, _ = actions.create_token(access=access, name="gate", days=1)
    role = actions.create_role(access=access, name="Auditor", rights=["evaluation.read"])
    invitation, _ = actions.invite(access=access, email=f"invited-to-{team.slug}@example.org", role=role)
    mapping, _ = receipts.once(
        access,
        "mapping.save",
        f"key-of-{team.slug}",
        {"name": "wide"},
        Mapping,
        lambda: Mapping.objects.create(team=team, name="wide", body={}, made_by=owner),
    )
    brought = Import.objects.create(
        team=team, by=owner, dataset=candidate.version.dataset, reader="table", state="completed", done=6, total=6
    )
    ImportText.objects.create(owner=brought, notes=[f"{CANARY}note"], refusal_message=f"{CANARY}message")
    file = ImportFile.objects.create(owner=brought, position=0, sha256="0" * 64, size=3)
    ImportFileName.objects.create(file=file, name=f"{CANARY}file.csv")
    ImportedRun.objects.create(
        team=team,
        owner=brought,
        position=0,
        dataset=candidate.version.dataset,
        files_sha256="0" * 64,
        source_run_id="run",
        experiment=candidate,
    )
    rejected = RejectedRow.objects.create(owner=brought, run=0, number=1, code="import_score_unknown")
    RejectedText.objects.create(row=rejected, place=f"{CANARY}place", message=CANARY, excerpt=f"{CANARY}excerpt")
    for experiment in (candidate, baseline):
        SubjectDefinition.objects.create(subject=experiment.subject, body={"prompt": f"{CANARY}prompt"})
    execution = Execution.objects.filter(experiment=candidate).order_by("position")[0]
    Attempt.objects.create(execution=execution, number=1, state="settled")
    grading_pass = candidate.gradingpass_set.get()
    version = grading_pass.passgrader_set.get().version
    GraderConfig.objects.create(version=version, body={"rubric": f"{CANARY}rubric"})
    evidence.interpretation(grading_pass, owner, {"1": 1.0})
    found = Enrichment.objects.create(execution=execution, version=version, outcome=Outcome.SCORED)
    EnrichmentOutput.objects.create(enrichment=found, body={"found": f"{CANARY}found"})
    assert Reasoning.objects.filter(judgment__in=Judgment.objects.filter(grading_pass=grading_pass)).exists()
    KeptResult.objects.create(team=team, key="0" * 64, method_version="1", result=b"")
    slice_ = _draft_and_slice(access, candidate)
    snapshot, connector = _agent(access)
    release = _releases(access, snapshot.agent)
    grader = _graders(access)
    return World(
        *(team, owner, candidate, baseline, token, role, invitation),
        *(brought, mapping, slice_, snapshot, connector, release),
        _configuration(access, snapshot.agent),
        _launched(access, candidate, snapshot),
        *_group(access, candidate, snapshot, grader),
        grader,
        _webhook(access),
    )


def model_route(key: str = "fixture-large", model_id: str = "fixture:support") -> ModelRoute:
    """An active route to a model that answers without a network."""
    provider, _ = Provider.objects.get_or_create(key="fixture", defaults={"name": "Fixture", "kind": "fixture"})
    route, made = ModelRoute.objects.get_or_create(key=key, defaults={"name": key.replace("-", " ").capitalize()})
    if made:
        fields = agent_actions.RouteFields(provider=provider, model_id=model_id, auth_mode="none")
        revision = agent_actions.add_route_revision(route=route, fields=fields, by=None)
        route = agent_actions.activate_route(revision=revision, by=None)
    return route


def definition(route: ModelRoute, connector: Connector | None = None) -> dict[str, Any]:
    """A draft with something protected in every part."""
    schema = {"type": "object", "properties": {"number": {"type": "string", "description": f"{CANARY}parameter"}}}
    return {
        "instructions": f"{CANARY}instructions",
        "route": route.key,
        "tools": [{"name": "find_order", "description": f"{CANARY}tool", "parameters": schema}],
        "connectors": [{"connector": str(connector.pk), "mode": "read"}] if connector else [],
        "context": [{"name": f"{CANARY}context", "text": f"{CANARY}text"}],
        "settings": {"temperature": 0.2, "stop": [f"{CANARY}stop"]},
    }


def _agent(access: Access) -> tuple[Snapshot, Connector]:
    """An agent whose draft was published and edited since, a variant of its snapshot, and a connector."""
    large, small = model_route(), model_route("fixture-small", "fixture:support-small")
    connector = agent_actions.create_connector(access=access, name="Orders")
    agent = agent_actions.create_agent(access=access, name="Support desk")
    said = definition(large, connector)
    agent_actions.save_draft(access=access, agent=agent, definition=said, revision=1)
    snapshot = agent_actions.publish_draft(access=access, agent=agent, revision=2).snapshot
    agent_actions.make_variant(access=access, base=snapshot, route=small)
    later = {**said, "instructions": f"{CANARY}later instructions"}
    agent_actions.save_draft(access=access, agent=agent, definition=later, revision=2)
    return snapshot, connector


def _launched(access: Access, like: Experiment, snapshot: Snapshot) -> Experiment:
    """An experiment that ran here, with a tool that was called, and an Agent Test of another agent's draft."""
    tool = model_route("fixture-tool", "fixture:tool")
    agent = agent_actions.create_agent(access=access, name="Caller")
    said = {**definition(tool), "settings": {}}
    draft = agent_actions.save_draft(access=access, agent=agent, definition=said, revision=1)
    plan = run_actions.Plan(version=like.version, tool_policy="record")
    experiment = run_actions.evaluate_draft(access=access, agent=agent, draft_revision=draft.revision, plan=plan)
    tested = snapshot.agent
    run_actions.test_draft(access=access, agent=tested, draft_revision=3, asked=f"{CANARY}asked")
    while working.step():
        pass
    asked = Span.objects.filter(attempt__execution__experiment=experiment).order_by("pk")[0]
    told = Span.objects.create(attempt_id=asked.attempt_id, position=1_000, kind="tool_result", answers=asked)
    SpanContent.objects.create(span=told, body={"result": {"found": f"{CANARY}result"}})
    experiment.refresh_from_db()
    return experiment


def _group(access: Access, like: Experiment, snapshot: Snapshot, grader: Grader) -> tuple[Group, Template, Setup]:
    """A group whose arms wait for a worker, a template that says the same, and a setup restored from it."""
    primary = grader.graderversion_set.get()
    variant = snapshot.variants.get()
    intent = intents.read(
        {
            "name": "Large against small",
            "base": str(snapshot.pk),
            "version": str(like.version_id),
            "arms": [{"snapshot": str(snapshot.pk)}, {"snapshot": str(variant.pk)}],
            "graders": [{"version": str(primary.pk)}],
            "primary": str(primary.pk),
        }
    )
    saved = templates.create(access=access, name="Large against small", intent=intent)
    begun = setups.begin(access=access, pk=new_id(), fields={"name": [f"{CANARY}name"]})
    setup = setups.restore(access=access, setup=begun, version=saved, fields_of=fields_of)
    group = starting.start(access=access, intent=intent, readiness_sha256=check(access, intent).sha256)
    return group, saved.template, setup


def _draft_and_slice(access: Access, experiment: Experiment) -> Slice:
    """A revised case and an added one in the draft of the next version, and a slice of this one."""
    dataset = experiment.version.dataset
    said = {
        "title": f"{CANARY}title",
        "tags": [f"{CANARY}tag"],
        "metadata": {f"{CANARY}key": f"{CANARY}value"},
        "group": f"{CANARY}group",
    }
    revision = Execution.objects.filter(experiment=experiment).order_by("position")[0].revision
    dataset_actions.add_erratum(access=access, revision=revision, points=[f"{CANARY}point"], reason=f"{CANARY}reason")
    dataset_actions.revise_case(
        access=access,
        dataset=dataset,
        item=revision.item_id,
        case=Case("-", {"input": f"{CANARY}revised"}, **said),
        seen_revision=revision.pk,
    )
    written = Case(f"{CANARY}written", {"turns": [{"role": "user", "content": f"{CANARY}turn"}]}, **said)
    dataset_actions.add_case(access=access, dataset=dataset, case=written)
    condition = {"field": "tag", "operator": "is", "value": f"{CANARY}tag"}
    return dataset_actions.create_slice(
        access=access,
        dataset=dataset,
        name="Refunds",
        given={"match": "all", "conditions": [condition]},
        version=experiment.version,
    ).slice


def _releases(access: Access, agent: Agent) -> Release:
    """A draft of a release beside an approved one, over the same assets."""
    bodies = {"prompt_template": f"{CANARY}template", "model": "fixture-large", "settings": {"stop": [f"{CANARY}stop"]}}
    versions = {
        kind: agent_actions.create_asset(access=access, kind=kind, name=f"Our {kind}", body=body)
        for kind, body in bodies.items()
    }
    bindings = {kind: version.pk for kind, version in versions.items()}
    for version in versions.values():
        agent_actions.approve_asset_version(access=access, version=version)
    first = agent_actions.create_release(access=access, agent=agent, name="1", bindings=bindings)
    agent_actions.move_release(access=access, release=first, to="approved", revision=1)
    return agent_actions.create_release(access=access, agent=agent, name="2", bindings=bindings)


def _configuration(access: Access, agent: Agent) -> Configuration:
    """A saved agent beside a role with instructions of its own; and a harness, once for everybody."""
    if not Harness.objects.exists():
        harness = Harness.objects.create(key="cli", name="Command line agent")
        fields = agent_actions.HarnessFields(version="1.2", command=["agent", "--json"], families=["fixture"])
        revision = agent_actions.add_harness_revision(harness=harness, fields=fields, by=None)
        agent_actions.activate_harness(revision=revision, by=None)
    roles = [
        {"role": "lead", "agent": str(agent.pk), "slot": "main"},
        {"role": "reader", "instructions": f"{CANARY}reads", "route": "fixture-small"},
    ]
    body = {"root": "lead", "slots": ["main"], "roles": roles, "delegation": [{"from": "lead", "to": "reader"}]}
    return agent_actions.create_configuration(access=access, name="Pair", body=body).configuration


def _graders(access: Access) -> Grader:
    """A grader of each kind that people make, with something protected in every text; the assertion."""
    grading_actions.list_host(host="checks.example.org", note="", by=None)
    metric = grading_actions.create_metric(
        access=access, key="kind", name="Kind", kind="boolean", direction="higher_is_better"
    )
    judge = {
        "route": model_route().key,
        "prompt": f"{CANARY}prompt {{{{answer}}}} {{{{enrichment}}}}",
        "rubric": f"{CANARY}rubric",
    }
    validator = {"url": f"https://checks.example.org/{CANARY}path", "sends": ["answer"], "value": f"/{CANARY}value"}
    check = {"operator": "contains", "source": "literal", "value": f"{CANARY}wanted"}
    bodies: dict[str, dict[str, Any]] = {
        "judge": {"config": judge, "evidence": ["generation", "enrichment"]},
        "validator": {"config": validator, "fee_micros": 0, "fee_currency": "USD"},
        "assertion": {"config": {"checks": [check]}},
    }
    made = [
        grading_actions.create_grader(access=access, metric=metric, kind=kind, name=f"Our {kind}", **said)
        for kind, said in bodies.items()
    ]
    return made[-1].grader


def _webhook(access: Access) -> Webhook:
    """A webhook that was pinged. Nothing of it is protected text: whoever may see it sets it up."""
    hosts.list_host(WebhookHost, host="hooks.example.org", note="", by=None)
    made = webhook_actions.create_webhook(
        access=access, name="Release pipeline", url="https://hooks.example.org/told", events=Event.values
    )
    webhook_actions.ping(access=access, webhook=made)
    return made


def outsiders() -> tuple[User, User]:
    """The owner of another team, and an operator who is in none."""
    stranger = User.objects.create_user("stranger@example.org", None, name="Stranger")
    return stranger, User.objects.create_superuser("operator-only@example.org", None, name="Operator")


def build_both() -> tuple[World, World, User]:
    """A populated team, a foreign one with the same evidence, and an operator who is in neither."""
    owner = User.objects.create_user("owner@example.org", None, name="Owner")
    stranger, operator = outsiders()
    team = actions.create_team(slug="ours", name="Our team", owner=owner, by=None)
    other = actions.create_team(slug="theirs", name="Their team", owner=stranger, by=None)
    return populate(build(team, owner)), build(other, stranger), operator


def populate(world: World) -> World:
    """A member for each preset, one with no right, and one for each right with all the others."""
    rights = {name: frozenset(right.value for right in preset) for name, preset in PRESETS.items()}
    rights["nothing"] = frozenset()
    for missing in Right:
        rights[f"all but {missing.value}"] = frozenset(right.value for right in Right) - {missing.value}
    for number, (name, held) in enumerate(rights.items()):
        role = actions.preset(name) if name in PRESETS else None
        if role is None:
            role = Role.objects.create(team=world.team, name=name, rights=sorted(held))
        user = User.objects.create_user(f"member-{number}@example.org", None, name=name)
        actions.set_role(access=None, team=world.team, user=user, role=role, by=None)
        world.members[name], world.held[name] = user, held
    return world
