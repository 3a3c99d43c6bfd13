"""Launching, steering and Agent Test through pages and API, with what they refuse."""

from __future__ import annotations

import json

import pytest
from django.urls import reverse

from agents import actions as agent_actions
from agents.models import Agent, AgentDeployment, Snapshot
from analysis.observations import Generation
from datasets import actions as dataset_actions
from datasets.models import SliceContent
from runs import actions, refusals
from runs.models import Answer, DraftTest, Execution, Experiment, State
from teams.refusals import Refusal
from tests.factories import agents as factory

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def snapshot(cast) -> Snapshot:
    return factory.snapshot(cast.access(cast.ana), factory.route())


@pytest.fixture
def version(cast):
    return factory.version(cast.access(cast.ana), 3)


def refused(code: str, do, *given, **more) -> Refusal:
    with pytest.raises(Refusal) as found:
        do(*given, **more)
    assert found.value.code == code
    return found.value


def test_a_person_starts_an_experiment_and_follows_it(cast, page_client, snapshot, version, work):
    omar = page_client(cast.omar)
    address = reverse("experiments:new", kwargs={"team": "support"})
    page = omar.get(address)
    assert page.status_code == 200 and "Desk #1" in page.content.decode()
    form = {"snapshot": snapshot.pk, "version": version.pk, "slice": "", "repetitions": 2, "tool_policy": "none"}
    key = page.context["form"]["key"].value()
    answer = omar.post(address, form | {"key": key})
    experiment = Experiment.objects.get()
    where = reverse("experiments:detail", kwargs={"team": "support", "experiment": experiment.pk})
    assert (answer.status_code, answer["Location"]) == (302, where)
    assert omar.post(address, form | {"key": key})["Location"] == where  # R1: a lost answer, sent again
    assert Experiment.objects.count() == 1
    running = omar.get(where).content.decode()
    assert 'data-terminal="false"' in running and "0 of 6" in running
    work()
    part = omar.get(reverse("experiments:progress", kwargs={"team": "support", "experiment": experiment.pk}))
    assert 'data-terminal="true"' in part.content.decode()
    row = omar.get(f"{where}executions/0/").content.decode()
    assert "question 0" in row and "Attempts" in row


def test_a_form_keeps_what_was_written_and_says_what_is_wrong(cast, page_client, snapshot, version):
    omar = page_client(cast.omar)
    address = reverse("experiments:new", kwargs={"team": "support"})
    form = {"snapshot": snapshot.pk, "version": "", "repetitions": 9, "tool_policy": "record", "key": "key-of-a-form"}
    answer = omar.post(address, form)
    assert answer.status_code == 422
    assert answer.context["form"].errors.keys() == {"version", "repetitions"}
    assert answer.context["form"]["tool_policy"].value() == "record"
    agent_actions.deactivate_route(route=snapshot.route_revision.route, by=None)
    answer = omar.post(address, form | {"version": version.pk, "repetitions": 1})
    assert "not active" in str(answer.context["form"].errors["snapshot"])
    assert Experiment.objects.count() == 0


def test_a_slice_decides_what_is_asked_and_the_manifest_says_so(cast, snapshot, work):
    access = cast.access(cast.ana)
    version = factory.version(access, [{"input": "about apples"}, {"input": "about pears"}])
    given = {"match": "all", "conditions": [{"field": "text", "operator": "contains", "value": "pears"}]}
    part = dataset_actions.create_slice(
        access=access, dataset=version.dataset, name="Pears", given=given, version=version
    )
    whole = actions.launch(access=access, snapshot=snapshot, plan=actions.Plan(version))
    sliced = actions.launch(access=access, snapshot=snapshot, plan=actions.Plan(version, part))
    assert (whole.planned, sliced.planned) == (2, 1)
    assert whole.manifest_sha256 != sliced.manifest_sha256
    work()
    assert Answer.objects.get(execution__experiment=sliced).text == "about pears"
    SliceContent.objects.filter(slice_version=part).update(availability="redacted", filter=None, words=None)
    refused("slice_unavailable", actions.launch, access=access, snapshot=snapshot, plan=actions.Plan(version, part))


def test_what_cannot_be_launched_is_refused_whole(cast, snapshot, version, monkeypatch):
    access = cast.access(cast.ana)
    monkeypatch.setattr("runs.actions.launching.MOST_EXECUTIONS", 5)
    plan = actions.Plan(version, repetitions=2)
    refused("experiment_too_large", actions.launch, access=access, snapshot=snapshot, plan=plan)
    given = {"match": "all", "conditions": [{"field": "text", "operator": "contains", "value": "nowhere"}]}
    part = dataset_actions.create_slice(
        access=access, dataset=version.dataset, name="None", given=given, version=version
    )
    nothing = actions.Plan(version, part)
    refused("experiment_empty", actions.launch, access=access, snapshot=snapshot, plan=nothing)
    for wrong in (0, 6):
        plan = actions.Plan(version, repetitions=wrong)
        refused("invalid_field", actions.launch, access=access, snapshot=snapshot, plan=plan)
    theirs = cast.access(cast.cleo, cast.other_team)
    refused("not_found", actions.launch, access=theirs, snapshot=snapshot, plan=actions.Plan(version))
    viewer = cast.access(cast.ben)
    refused("missing_right", actions.launch, access=viewer, snapshot=snapshot, plan=actions.Plan(version))
    assert Experiment.objects.count() == Execution.objects.count() == 0


def test_agent_evaluate_runs_the_saved_draft_and_changes_nothing_else(cast, page_client, snapshot, version, work):
    """R11: draft and deployment are as they were."""
    agent, access = snapshot.agent, cast.access(cast.ana)
    body = {**agent.agentdraft.body, "instructions": "Answer better."}
    draft = agent_actions.save_draft(access=access, agent=agent, definition=body, revision=2)
    deployed = list(AgentDeployment.objects.values())
    omar = page_client(cast.omar)
    address = reverse("experiments:evaluate", kwargs={"team": "support", "agent": agent.pk})
    assert f"revision {draft.revision}" in omar.get(address).content.decode()
    form = {"version": version.pk, "repetitions": 1, "tool_policy": "none", "key": "evaluate-once"}
    answer = omar.post(address, form | {"draft_revision": draft.revision - 1})
    assert "reload" in answer.content.decode().lower() and answer.status_code == 422
    assert omar.post(address, form | {"draft_revision": draft.revision}).status_code == 302
    experiment = Experiment.objects.get()
    evaluated = Snapshot.objects.get(subject=experiment.subject)
    assert (evaluated.number, evaluated.draft_sha256) == (2, draft.sha256)
    assert list(AgentDeployment.objects.values()) == deployed
    kept = Agent.objects.get(pk=agent.pk).agentdraft
    assert (kept.sha256, kept.revision) == (draft.sha256, draft.revision)
    published = agent_actions.publish_draft(access=access, agent=agent, revision=draft.revision)
    assert published.snapshot == evaluated  # what was evaluated is what is published


def test_agent_test_asks_the_saved_draft_and_leaves_no_evidence(cast, page_client, snapshot, work):
    agent = snapshot.agent
    omar = page_client(cast.omar)
    address = reverse("experiments:tests", kwargs={"team": "support", "agent": agent.pk})
    assert "Nothing was asked yet" in omar.get(address).content.decode()
    form = {"asked": "Where is it?", "draft_revision": 2, "key": "test-once-1"}
    answer = omar.post(address, form)
    row = DraftTest.objects.get()
    assert answer["Location"] == f"{address}{row.pk}/"
    assert omar.post(address, form)["Location"] == answer["Location"]
    assert 'data-terminal="false"' in omar.get(answer["Location"]).content.decode()
    work()
    assert "Where is it?" in omar.get(f"{address}{row.pk}/state").content.decode()
    row.refresh_from_db()
    assert row.state == Generation.COMPLETED and row.drafttestanswer.text == "Where is it?"
    assert Experiment.objects.count() == Snapshot.objects.count() - 1 == 0
    assert omar.post(address, form | {"asked": " ", "key": "test-once-2"}).status_code == 422
    stale = omar.post(address, form | {"draft_revision": 1, "key": "test-once-3"})
    assert stale.status_code == 422 and stale.context["form"]["draft_revision"].value() == "2"
    assert page_client(cast.ben).get(address).status_code == 403


def test_one_person_waits_for_few_agent_tests_at_a_time(cast, snapshot, work):
    access = cast.access(cast.omar)

    def ask() -> DraftTest:
        return actions.test_draft(access=access, agent=snapshot.agent, draft_revision=2, asked="?")

    for _ in range(5):
        ask()
    refused("draft_test_busy", ask)
    work()
    ask()


def test_a_lost_agent_test_is_indeterminate_and_one_without_a_call_waits_again(cast, snapshot):
    from runs.engine import draft_tests, finishing

    row = actions.test_draft(access=cast.access(cast.ana), agent=snapshot.agent, draft_revision=2, asked="?")
    assert draft_tests.claim_next() is not None and draft_tests.claim_next() is None
    DraftTest.objects.update(lease_until="2020-01-01T00:00:00Z")
    assert finishing.sweep() == 1
    row.refresh_from_db()
    assert row.state == Generation.PLANNED
    claim = draft_tests.claim_next()
    row.drafttestattempt_set.create(number=1, epoch=claim.epoch, state="admitted")
    DraftTest.objects.update(lease_until="2020-01-01T00:00:00Z")
    finishing.sweep()
    row.refresh_from_db()
    assert (row.state, row.error_code) == (Generation.INDETERMINATE, "invocation_indeterminate")


def test_steering_is_for_what_runs(cast, page_client, launched, work):
    experiment, access = launched(cases=2), cast.access(cast.ana)
    refused("experiment_running", actions.archive, access=access, experiment=experiment.pk)
    ana = page_client(cast.ana)
    address = reverse("experiments:steer", kwargs={"team": "support", "experiment": experiment.pk})
    assert ana.post(address, {"step": "pause"}).status_code == 302
    assert (
        "Resume"
        in ana.get(
            reverse("experiments:detail", kwargs={"team": "support", "experiment": experiment.pk})
        ).content.decode()
    )
    assert work() == 0
    assert ana.post(address, {"step": "cancel"}).status_code == 302
    experiment.refresh_from_db()
    assert experiment.state == State.CANCELLED
    refused("experiment_not_running", actions.pause, access=access, experiment=experiment)
    refused("retry_not_possible", actions.retry, access=access, execution=Execution.objects.first())
    assert ana.post(address, {"step": "jump"}).status_code == 400
    assert page_client(cast.ben).post(address, {"step": "pause"}).status_code == 403


def test_the_api_launches_steers_and_retries(cast, api_client, snapshot, version, work):
    program = api_client(cast.omar, cast.team)

    def post(address: str, body: dict, key: str):
        return program.post(
            f"/api/v1/{address}", json.dumps(body), content_type="application/json", headers={"Idempotency-Key": key}
        )

    body = {"snapshot": str(snapshot.pk), "version": str(version.pk), "repetitions": 1}
    made = post("experiments", body, "launch-by-api")
    assert made.status_code == 201 and made.json()["state"] == "running"
    assert post("experiments", body, "launch-by-api").status_code == 200
    changed = post("experiments", body | {"repetitions": 2}, "launch-by-api")
    assert changed.json()["error"]["code"] == "request_key_conflict"
    where = f"experiments/{made.json()['id']}"
    assert post(f"{where}/steps", {"step": "pause"}, "pause-by-api").json()["paused_at"] is not None
    assert post(f"{where}/steps", {"step": "resume"}, "resume-by-api").json()["paused_at"] is None
    work()
    attempts = program.get(f"/api/v1/{where}/executions/0/attempts").json()["items"]
    assert [one["state"] for one in attempts] == ["settled"]
    assert attempts[0]["cost"]["known_micros"] is None
    assert post(f"{where}/executions/0/retries", {}, "retry-by-api").json()["error"]["code"] == "retry_not_possible"
    draft = post(
        f"agents/{snapshot.agent_id}/evaluations", {"draft_revision": 2, "version": str(version.pk)}, "evaluate"
    )
    assert draft.status_code == 201
    test = post(f"agents/{snapshot.agent_id}/tests", {"draft_revision": 2, "asked": "?"}, "test-by-api")
    assert test.json()["state"] == "planned"
    work()
    told = program.get(f"/api/v1/agents/{snapshot.agent_id}/tests/{test.json()['id']}").json()
    assert (told["state"], told["answer"]) == ("completed", "?")


def test_F24_identical_launches_at_once_make_one_experiment(cast, api_client, snapshot, version):
    import threading

    from django.db import connections

    body = json.dumps({"snapshot": str(snapshot.pk), "version": str(version.pk)})
    clients = [api_client(cast.omar, cast.team) for _ in range(10)]
    answers, start = [], threading.Barrier(10)

    def launch(program) -> None:
        try:
            start.wait()
            answers.append(
                program.post(
                    "/api/v1/experiments",
                    body,
                    content_type="application/json",
                    headers={"Idempotency-Key": "all-at-once"},
                )
            )
        finally:
            connections.close_all()

    threads = [threading.Thread(target=launch, args=(program,)) for program in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(one.status_code for one in answers) == [200] * 9 + [201]
    assert Experiment.objects.count() == 1


def test_every_code_of_running_says_what_is_allowed():
    assert all(code.allowed.endswith(".") for code in refusals.OWN.values())


def test_operators_see_what_waits_and_whose_claim_ran_out(cast, page_client, launched):
    from runs.engine import turns

    experiment = launched(cases=3)
    turns.claim_next("worker-7")
    Execution.objects.filter(state=Generation.RUNNING).update(lease_until="2020-01-01T00:00:00Z")
    actions.test_draft(access=cast.access(cast.ana), agent=Agent.objects.get(), draft_revision=2, asked="?")
    page = page_client(cast.operator).get("/operators/queues/").content.decode()
    assert f"experiment {experiment.pk}" in page and "2 waiting, 1 under way" in page
    assert "worker-7" in page and page.count("expired") == 1 and "Agent Test" in page


def test_operators_limit_a_route(cast, page_client):
    route = factory.route()
    operator = page_client(cast.operator)
    address = f"/operators/agents/modelroute/{route.pk}/change/"
    answer = operator.post(address, {"name": route.name, "most_at_once": 2, "most_per_minute": ""})
    assert answer.status_code == 302
    route.refresh_from_db()
    assert (route.most_at_once, route.most_per_minute) == (2, None)
