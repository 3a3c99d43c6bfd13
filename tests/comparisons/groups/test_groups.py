"""Groups: what readiness tells, that it writes nothing, and that all arms start or none."""

from __future__ import annotations

import dataclasses
import json
import threading

import pytest
from django.apps import apps
from django.db import IntegrityError, connections, transaction

from agents import actions as agent_actions
from agents.models import AgentDeployment, AgentDraft, Snapshot
from analysis.observations import Generation
from comparisons.groups import intent as intents
from comparisons.groups import queries, starting
from comparisons.groups.readiness import check
from comparisons.models import Arm, Group
from grading import actions as grading
from grading.engine import working as grading_work
from runs.engine import turns, working
from runs.models import Execution, Experiment
from teams import actions as team_actions
from teams.models import Receipt
from teams.refusals import Refusal
from tests.factories import agents as factory

pytestmark = pytest.mark.django_db(transaction=True)


def judge(access, key="small"):
    metric = grading.create_metric(
        access=access, key="judged", name="Judged", kind="boolean", direction="higher_is_better"
    )
    config = {"route": key, "prompt": "{{answer}}", "rubric": ""}
    return grading.create_grader(access=access, metric=metric, kind="judge", name="Judge", config=config)


def started(access, given) -> Group:
    intent = intents.read(given)
    return starting.start(access=access, intent=intent, readiness_sha256=check(access, intent).sha256)


def rows() -> dict[str, int]:
    return {model._meta.label: model._base_manager.count() for model in apps.get_models() if model._meta.managed}


def refused(code: str, do, *positional, **named) -> None:
    with pytest.raises(Refusal) as found:
        do(*positional, **named)
    assert found.value.code == code


def work() -> None:
    for _ in range(6):
        while working.step():
            pass
        grading_work.tick()
        while grading_work.step():
            pass
    grading_work.tick()


def test_R5_readiness_tells_what_would_run_and_writes_nothing(access, given):
    before = rows()
    found = check(access, intents.read(given))
    assert rows() == before
    assert found.ready and found.blocked == ()
    assert (found.cases, found.generations, found.judgments, found.invocations) == (2, 8, 8, 8)
    assert [arm.new_variant for arm in found.arms] == [False, True]
    assert dict(found.arms[1].facts)["Model"] == "fixture:tool"
    assert {one.name for one in found.differences} == {"Model", "Model route", "Definition hash"}
    assert found.beyond_the_model == ()
    assert dict(found.arms[0].facts)["Provider revision"] == "Unknown"
    assert found.cost.low_micros is None and found.cost.says.startswith("Unknown")


def test_what_differs_beyond_the_model_is_named(access, given):
    other = factory.snapshot(access, factory.route("small", "fixture:tool"), "Other", instructions="Otherwise.")
    found = check(access, intents.read(given | {"arms": [given["arms"][0], {"snapshot": str(other.pk)}]}))
    assert [one.name for one in found.beyond_the_model] == ["Instructions hash"]


def test_R6_the_limit_counts_every_call_with_its_allowance(access, given):
    """2 cases x 5 x (1 + 5 for each judge) x arms; the boundary itself is ready."""
    version = factory.version(access, 50, "Fifty")
    graders = [*given["graders"], {"version": str(judge(access).pk), "evidence": "generation"}]
    at_limit = given | {"version": str(version.pk), "repetitions": 1, "graders": graders}
    found = check(access, intents.read(at_limit))
    assert found.invocations == 50 * 2 * (1 + 5) == 600 and found.ready
    exactly = factory.version(access, 500, "Half of a thousand")
    edge = given | {"version": str(exactly.pk), "repetitions": 1}
    assert check(access, intents.read(edge)).invocations == 1000
    assert check(access, intents.read(edge)).ready
    beyond = factory.version(access, 501, "One more")
    found = check(access, intents.read(edge | {"version": str(beyond.pk)}))
    assert [one.code for one in found.blocked] == ["comparison_invocation_limit"]
    before = rows()
    refused("comparison_invocation_limit", started, access, edge | {"version": str(beyond.pk)})
    assert rows() == before


def test_R7_the_primary_metric_is_measured_by_an_exact_version_of_the_plan(access, given):
    other = judge(access)
    found = check(access, intents.read(given | {"primary": str(other.pk)}))
    assert [one.code for one in found.blocked] == ["comparison_primary_invalid"]
    refused("comparison_primary_invalid", started, access, given | {"primary": str(other.pk)})
    assert not Group.objects.exists()


def test_all_arms_start_with_their_passes_and_end_graded(access, given):
    drafts, deployed = list(AgentDraft.objects.values()), list(AgentDeployment.objects.values())
    group = started(access, given)
    assert list(AgentDraft.objects.values()) == drafts  # R11
    assert list(AgentDeployment.objects.values()) == deployed
    arms = list(Arm.objects.filter(group=group))
    assert [arm.letter for arm in arms] == ["A", "B"]
    assert arms[1].snapshot.base_id == arms[0].snapshot_id and arms[1].snapshot.changed == "model"
    assert len({arm.experiment.manifest_sha256 for arm in arms}) == 1
    order = []
    while (taken := turns.claim_next()) is not None and len(order) < 4:
        order.append(taken.experiment)
        working.quantum.work_on(taken)
    assert order == [arms[0].experiment_id, arms[1].experiment_id] * 2  # S1
    work()
    Execution.objects.filter(state=Generation.RUNNING).update(lease_until="2020-01-01T00:00:00Z")
    working.tick()
    work()
    states = queries.arm_states(group)
    assert [(one.tally.completed, one.judged, one.expected, one.comparable) for one in states] == [(4, 4, 4, True)] * 2
    assert "candidate_pass=1" in queries.comparison_of(group, states[1], states[0])


@pytest.mark.parametrize("broken", range(5))
def test_R4_one_arm_that_cannot_start_starts_none(access, given, broken):
    routes = [factory.route(f"route-{at}", f"fixture:fail/provider_rejected{at}") for at in range(5)]
    arms = [{"route": one.key} for one in routes]
    intent = intents.read(given | {"arms": arms})
    sha = check(access, intent).sha256
    agent_actions.deactivate_route(route=routes[broken], by=None)
    before = rows()
    refused("stale_preflight", starting.start, access=access, intent=intent, readiness_sha256=sha)
    refused("route_inactive", started, access, given | {"arms": arms})
    assert rows() == before


def test_R8_what_changed_since_the_check_is_seen(access, given):
    intent = intents.read(given)
    sha = check(access, intent).sha256
    assert check(access, intent).sha256 == sha  # R3: checking again changes nothing
    factory.route("small", "fixture:echo2")  # another revision, activated
    refused("stale_preflight", starting.start, access=access, intent=intent, readiness_sha256=sha)
    assert not Group.objects.exists() and not Receipt.objects.filter(operation="group.start").exists()


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"repetitions": 0}, "repetitions"),
        ({"repetitions": 6}, "repetitions"),
        ({"repetitions": True}, "repetitions"),
        ({"repetitions": "2"}, "repetitions"),
        ({"repetitions": 2.0}, "repetitions"),
        ({"arms": [{"route": "small"}]}, "arms"),
        ({"arms": [{"route": f"r{at}"} for at in range(6)]}, "arms"),
        ({"arms": [{"route": "small"}, {"route": "small"}]}, "arms[1]"),
        ({"arms": [{"route": "small"}, {"snapshot": "x"}]}, "arms[1].snapshot"),
        ({"graders": [{"version": "x"}]}, "graders[0].version"),
        ({"tool_policy": "every"}, "tool_policy"),
        ({"name": ""}, "name"),
        ({"more": 1}, "more"),
    ],
)
def test_R9_an_intent_is_refused_with_its_place(given, change, place):
    with pytest.raises(Refusal) as found:
        intents.read(given | change)
    assert found.value.place == place


def test_R9_the_database_holds_the_bounds_too(access, given):
    group = started(access, given)
    arm = group.arm_set.first()
    with pytest.raises(IntegrityError), transaction.atomic():
        Arm.objects.create(
            group=group, index=5, snapshot=arm.snapshot, experiment=arm.experiment, original_pass=arm.original_pass
        )


def test_P1_a_variant_needs_the_right_to_edit_agents_and_the_rest_does_not(cast, access, given):
    omar = cast.access(cast.omar)
    found = check(omar, intents.read(given))
    assert [one.code for one in found.blocked] == ["missing_right"]
    refused("missing_right", started, omar, given)
    variant = agent_actions.make_variant(
        access=access, base=Snapshot.objects.get(), route=factory.ModelRoute.objects.get(key="small")
    )
    existing = given | {"arms": [given["arms"][0], {"snapshot": str(variant.pk)}]}
    assert started(omar, existing).arm_set.count() == 2
    refused("not_found", check, cast.access(cast.cleo, cast.other_team), intents.read(given))


def test_P3_a_starter_without_rights_pauses_every_arm(cast, access, given):
    variant = agent_actions.make_variant(
        access=access, base=Snapshot.objects.get(), route=factory.ModelRoute.objects.get(key="small")
    )
    group = started(cast.access(cast.omar), given | {"arms": [given["arms"][0], {"snapshot": str(variant.pk)}]})
    team_actions.set_role(access=None, team=cast.team, user=cast.omar, role=team_actions.preset("Viewer"), by=None)
    assert not working.step()
    assert {arm.experiment.pause_code for arm in Arm.objects.filter(group=group)} == {"starter_unauthorized"}


def post(program, address: str, body: dict, key: str):
    return program.post(
        f"/api/v1/{address}", json.dumps(body), content_type="application/json", headers={"Idempotency-Key": key}
    )


def test_R1_R2_a_key_starts_one_group_and_takes_one_intent(cast, given, api_client):
    program = api_client(cast.ana, cast.team)
    ready = program.get("/api/v1/groups/readiness", {"intent": json.dumps(given)}).json()
    assert ready["ready"] and ready["invocations"] == 8
    body = {"intent": given, "readiness_sha256": ready["sha256"]}
    made = post(program, "groups", body, "start-once")
    assert made.status_code == 201 and [one["letter"] for one in made.json()["states"]] == ["A", "B"]
    again = post(program, "groups", body, "start-once")
    assert (again.status_code, again.json()["id"]) == (200, made.json()["id"])
    other = post(program, "groups", body | {"intent": given | {"repetitions": 1}}, "start-once")
    assert other.json()["error"]["code"] == "request_key_conflict"
    assert Group.objects.count() == 1
    step = post(program, f"groups/{made.json()['id']}/steps", {"step": "cancel"}, "cancel-once")
    assert {one["state"] for one in step.json()["states"]} == {"cancelled"}
    assert program.get("/api/v1/groups").json()["count"] == 1


def test_F24_twenty_identical_starts_at_once_make_one_group(cast, access, given, api_client):
    body = {"intent": given, "readiness_sha256": check(access, intents.read(given)).sha256}
    programs = [api_client(cast.ana, cast.team) for _ in range(20)]
    answers, barrier = [], threading.Barrier(20)

    def go(program) -> None:
        try:
            barrier.wait()
            answers.append(post(program, "groups", body, "start-by-twenty"))
        finally:
            connections.close_all()

    threads = [threading.Thread(target=go, args=(program,)) for program in programs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(one.status_code for one in answers) == [200] * 19 + [201]
    assert len({one.json()["id"] for one in answers}) == 1
    assert (Group.objects.count(), Arm.objects.count(), Experiment.objects.count()) == (1, 2, 2)


def test_a_group_page_steers_every_arm(cast, access, given, page_client):
    group = started(access, given)
    ana, address = page_client(cast.ana), f"/t/support/comparisons/groups/{group.pk}/"
    shown = ana.get(address).content.decode()
    assert "Inspect A" in shown and "Inspect B" in shown and 'data-terminal="false"' in shown
    assert ana.post(f"{address}steer", {"step": "pause"}).status_code == 302
    assert "Resume" in ana.get(f"{address}state").content.decode()
    assert page_client(cast.ben).get(address).status_code == 200
    assert page_client(cast.ben).post(f"{address}steer", {"step": "resume"}).status_code == 403


def test_an_intent_has_one_canonical_form(given):
    intent = intents.read(given)
    assert intents.read(intent.plain()) == intent
    assert dataclasses.replace(intent, name="x").plain() != intent.plain()


def test_tools_that_would_be_run_over_a_connector_without_an_address_stand_in_the_way(access, given):
    orders = agent_actions.create_connector(access=access, name="Orders")
    parts = {
        "tools": [
            {"name": name, "description": "", "parameters": {"type": "object"}, "connector": str(orders.pk)}
            for name in ("find", "change")
        ],
        "connectors": [{"connector": str(orders.pk), "mode": "read"}],
    }
    base = factory.snapshot(access, factory.route("over"), "Caller", **parts)
    given |= {"base": str(base.pk), "arms": [{"snapshot": str(base.pk)}, {"route": "small"}], "tool_policy": "read"}
    found = check(access, intents.read(given))
    assert [(one.code, one.place) for one in found.blocked] == [
        ("connector_unreachable", "arms[0]"),
        ("connector_unreachable", "arms[1]"),
    ]
    assert [dict(arm.facts)["Tools run"] for arm in found.arms] == ["2 of 2", "2 of 2"]
    refused("connector_unreachable", started, access, given)
    assert not Group.objects.exists()
    agent_actions.reach_connector(connector=orders, reach=agent_actions.Reach("https://tools.example.org/v1"), by=None)
    assert check(access, intents.read(given)).ready
    assert started(access, given).arm_set.count() == 2
    recorded = check(access, intents.read({**given, "tool_policy": "record"}))
    assert recorded.ready and "Tools run" not in dict(recorded.arms[0].facts)


def test_a_group_that_is_only_graded_yet_is_paused_resumed_and_cancelled_as_a_whole(access, given):
    group = started(access, given)
    while working.step():
        pass
    grading_work.tick()
    arms = list(Arm.objects.filter(group=group).select_related("original_pass"))
    assert {arm.original_pass.state for arm in arms} == {"running"}
    starting.steer(access=access, group=group, step="pause")
    assert not grading_work.step() and all(one.held for one in queries.arm_states(group))
    starting.steer(access=access, group=group, step="resume")
    starting.steer(access=access, group=group, step="cancel")
    states = queries.arm_states(group)
    assert [(one.judged, one.cancelled, one.expected) for one in states] == [(0, 4, 4)] * 2
    refused("experiment_not_running", starting.steer, access=access, group=group, step="cancel")


def test_what_was_cancelled_is_counted_apart(access, given):
    group = started(access, given)
    for _ in range(3):
        working.step()
    starting.steer(access=access, group=group, step="cancel")
    working.tick()
    states = queries.arm_states(group)
    assert sum(one.pace.done for one in states) == 3
    assert sum(one.tally.cancelled for one in states) == 5


def test_a_judge_whose_route_is_off_stands_in_the_way_and_pauses_its_pass(access, given):
    """Turned off before the check it blocks the start; turned off later nothing more is asked."""
    version = judge(access, "large")
    with_judge = given | {"graders": [*given["graders"], {"version": str(version.pk), "evidence": "generation"}]}
    with_judge["arms"] = [{"route": "small"}, {"route": "other"}]
    factory.route("other", "fixture:support")
    group = started(access, with_judge)
    while working.step():
        pass
    agent_actions.deactivate_route(route=factory.ModelRoute.objects.get(key="large"), by=None)
    grading_work.tick()
    while grading_work.step():
        pass
    codes = {arm.original_pass.pause_code for arm in Arm.objects.filter(group=group).select_related("original_pass")}
    assert codes == {"route_inactive"}
    assert "route_inactive" in {one.code for one in check(access, intents.read(with_judge)).blocked}
