"""Configurations and harnesses: saved by revision, launched only whole, and with agents as they were taken over."""

from __future__ import annotations

import json

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agents import actions, capability_sets, queries
from agents.models import (
    AgentDraft,
    Configuration,
    ConfigurationContent,
    ConfigurationRevision,
    Harness,
    HarnessRevision,
    ModelRoute,
)
from teams.models import AuditEvent
from teams.refusals import Refusal
from tests.comparisons.test_real_evidence import words_of
from tests.shape.world import model_route

pytestmark = pytest.mark.django_db
ROLE = {"role": "lead", "instructions": "Plan.", "slot": "main"}
GOOD = {"root": "lead", "slots": ["main"], "roles": [ROLE], "delegation": []}
READER = {"role": "reader", "instructions": "Read.", "route": "fixture-large"}


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"choir": 1}, "choir"),
        ({"root": "boss"}, "root"),
        ({"roles": []}, "roles"),
        ({"roles": [{**ROLE, "role": "Lead"}], "root": "Lead"}, "roles[0].role"),
        ({"roles": [ROLE, ROLE]}, "roles[1].role"),
        ({"roles": [{**ROLE, "agent": "x"}]}, "roles[0].agent"),
        ({"roles": [{"role": "lead", "slot": "main"}]}, "roles[0].agent"),
        ({"roles": [{**ROLE, "route": "x"}]}, "roles[0].slot"),
        ({"roles": [{**ROLE, "slot": "other"}]}, "roles[0].slot"),
        ({"roles": [{**ROLE, "power": 3}]}, "roles[0].power"),
        ({"roles": [{**ROLE, "instructions": "  "}]}, "roles[0].instructions"),
        ({"slots": ["main", "spare"]}, "slots"),
        ({"slots": ["main", "main"]}, "slots"),
        ({"slots": "main"}, "slots"),
        ({"delegation": [{"from": "lead", "to": "boss"}]}, "delegation[0].to"),
        ({"delegation": [{"from": "lead", "to": "lead"}]}, "delegation[0]"),
        ({"delegation": ["lead"]}, "delegation[0]"),
    ],
)
def test_a_fault_is_told_with_its_place(change, place):
    with pytest.raises(Refusal) as refused:
        capability_sets.checked({**GOOD, **change})
    assert refused.value.place == place


@pytest.fixture
def access(cast):
    return cast.access(cast.ana)


@pytest.fixture
def agent(access):
    model_route()
    agent = actions.create_agent(access=access, name="Support desk")
    body = {"instructions": "Help.", "route": "fixture-large"}
    actions.save_draft(access=access, agent=agent, definition=body, revision=1)
    return agent


@pytest.fixture
def saved(access, agent) -> ConfigurationRevision:
    roles = [{"role": "lead", "agent": str(agent.pk), "slot": "main"}, READER]
    steps = [{"from": "lead", "to": "reader"}]
    body = {"root": "lead", "slots": ["main"], "roles": roles, "delegation": steps}
    return actions.create_configuration(access=access, name="Pair", body=body)


def codes(revision: ConfigurationRevision, **bound: str) -> list[str]:
    return [one.code for one in queries.unlaunchable(revision, bound)]


def test_it_is_launched_only_with_every_slot_bound_to_an_active_route(saved):
    assert codes(saved) == ["slot_unbound"]
    assert codes(saved, main="no-such") == ["route_inactive"]
    assert codes(saved, main="fixture-large") == []
    model_route("fixture-small", "fixture:support-small")
    actions.deactivate_route(route=ModelRoute.objects.get(key="fixture-large"), by=None)
    assert codes(saved, main="fixture-small") == ["route_inactive"]


def test_an_agent_that_was_edited_since_stops_it_until_it_is_saved_again(access, agent, saved):
    said = ConfigurationContent.objects.get().body["roles"][0]["definition"]
    assert said["instructions"] == "Help." and "route" not in said
    draft = AgentDraft.objects.get()
    body = {**draft.body, "instructions": "Help well."}
    actions.save_draft(access=access, agent=agent, definition=body, revision=draft.revision)
    assert codes(saved, main="fixture-large") == ["imported_agent_edited"]
    kept = {"root": "lead", "slots": ["main"], "roles": [{"role": "lead", "agent": str(agent.pk), "slot": "main"}]}
    later = actions.save_configuration(access=access, configuration=saved.configuration, body=kept, revision=1)
    assert (later.number, codes(later, main="fixture-large")) == (2, [])
    assert ConfigurationContent.objects.get(revision=saved).body["roles"][0]["definition"]["instructions"] == "Help."
    actions.archive_agent(access=access, agent=agent)
    assert codes(later, main="fixture-large") == ["agent_archived"]


def test_the_same_words_over_the_same_agents_are_the_same_revision(access, agent, saved):
    roles = [{"role": "lead", "agent": str(agent.pk), "slot": "main"}, READER]
    body = {"root": "lead", "slots": ["main"], "roles": roles, "delegation": [{"from": "lead", "to": "reader"}]}
    again = actions.save_configuration(access=access, configuration=saved.configuration, body=body, revision=1)
    assert again == saved

    def late():
        actions.save_configuration(access=access, configuration=saved.configuration, body=GOOD, revision=9)

    with pytest.raises(Refusal, match="revision_stale"):
        late()


def test_a_deleted_one_is_not_launched_and_not_changed(access, saved):
    actions.delete_configuration(access=access, configuration=saved.configuration)
    saved.refresh_from_db()
    assert codes(ConfigurationRevision.objects.get(), main="fixture-large") == ["configuration_deleted"]
    for attempt in (
        lambda: actions.save_configuration(access=access, configuration=saved.configuration, body=GOOD, revision=1),
        lambda: actions.delete_configuration(access=access, configuration=saved.configuration),
    ):
        with pytest.raises(Refusal) as refused:
            attempt()
        assert refused.value.code == "configuration_deleted"


def test_content_that_was_taken_away_stops_it(saved):
    ConfigurationContent.objects.update(availability="deleted", body=None)
    assert codes(saved, main="fixture-large") == ["content_gone"]


def test_a_foreign_agent_is_no_agent(cast, access, agent):
    theirs = cast.access(cast.cleo, cast.other_team)
    for found in (actions.create_agent(access=theirs, name="Theirs").pk, "not an id"):
        roles = [{"role": "lead", "agent": str(found), "slot": "main"}]
        with pytest.raises(Refusal) as refused:
            actions.create_configuration(access=access, name="x", body={**GOOD, "roles": roles})
        assert (refused.value.code, refused.value.place) == ("invalid_field", "roles[0].agent")
    assert not Configuration.objects.exists()


def test_built_in_ones_serve_every_team_and_are_the_operators(cast, access, client):
    client.force_login(cast.operator)
    here, form = "/operators/agents/configuration/", {"name": "Planner", "body": json.dumps(GOOD)}
    wrong = client.post(f"{here}add/", {**form, "body": json.dumps({**GOOD, "root": "boss"})})
    assert "The root is one of the roles" in wrong.content.decode()
    assert client.post(f"{here}add/", form).status_code == 302
    built_in = ConfigurationRevision.objects.get()
    later = {**GOOD, "roles": [{**ROLE, "instructions": "Plan well."}]}
    client.post(f"{here}add/", {**form, "body": json.dumps(later)})
    assert [one.number for one in queries.configuration_revisions(built_in.configuration)] == [2, 1]
    assert built_in.configuration in queries.configurations_of(access)
    with pytest.raises(Refusal) as refused:
        actions.save_configuration(access=access, configuration=built_in.configuration, body=GOOD, revision=2)
    assert refused.value.code == "configuration_built_in"
    client.post(here, {"action": "end", "_selected_action": [built_in.configuration_id]})
    assert Configuration.objects.get().deleted_at is not None
    again = client.post(f"{here}add/", form, follow=True)
    assert "was deleted" in again.content.decode()


# the console


ROWS = {
    **{"roles-TOTAL_FORMS": "3", "roles-INITIAL_FORMS": "0", "roles-0-role": "lead", "roles-0-agent": ""},
    **{"roles-0-instructions": "Plan\r\nit.", "roles-0-slot": "main", "roles-0-route": ""},
    **{"roles-1-role": "reader", "roles-1-instructions": "Read.", "roles-1-route": "fixture-large"},
    **{"roles-2-role": "", "roles-2-agent": ""},
}


def test_it_is_written_and_judged_by_forms(cast, page_client, agent):
    ana, here = page_client(cast.ana), f"/t/{cast.team.slug}/agents/configurations/"
    form = {"name": "Pair", "root": "lead", "delegation": "lead > reader\r\n", **ROWS}
    wrong = ana.post(f"{here}new", {**form, "root": "boss", "delegation": "lead > nobody"})
    assert wrong.status_code == 422 and "The root is one of the roles" in words_of(wrong)
    assert "Plan\nit." in wrong.content.decode().replace("\r\n", "\n")
    wrong = ana.post(f"{here}new", {**form, "delegation": "lead > nobody"})
    assert "Line 1: Name one of the roles" in words_of(wrong)
    more = ana.post(f"{here}new", {**form, "more_rows": "roles"})
    assert more.status_code == 200 and "Read." in more.content.decode()
    made = ana.post(f"{here}new", form)
    body = ConfigurationContent.objects.get().body
    assert body["roles"][0] == {"role": "lead", "instructions": "Plan\nit.", "slot": "main"}
    assert (body["slots"], body["delegation"]) == (["main"], [{"from": "lead", "to": "reader"}])
    page = made["Location"]
    assert "The launch slot main has no model" in words_of(ana.get(page))
    assert "Yes: every slot has a model" in words_of(ana.get(page, {"slot-main": "fixture-large"}))
    edited = {**ROWS, "root": "lead", "delegation": "", "revision": "1", "roles-0-instructions": "Plan more."}
    ana.post(f"{page}edit", {**edited, "roles-INITIAL_FORMS": "2"})
    assert ConfigurationRevision.objects.count() == 2
    assert "Plan more." in words_of(ana.get(page)) and "Plan more." not in words_of(ana.get(f"{page}?revision=1"))
    ana.post(f"{page}delete")
    assert "Pair" in words_of(ana.get(f"{here}?deleted=1"))
    ben = words_of(page_client(cast.ben).get(page))
    assert "Plan" not in ben and "evaluation.content.read" in ben


def test_operators_set_up_harnesses_and_members_see_no_command(cast, client, page_client, api_client):
    client.force_login(cast.operator)
    client.post("/operators/agents/harness/add/", {"key": "cli", "name": "Command line agent"})
    harness, here = Harness.objects.get(), "/operators/agents/harnessrevision/"
    form = {
        **{
            "harness": harness.pk,
            "version": "1.2",
            "command": "/opt/agent\r\n--secret-flag",
            "families": "fixture\r\n",
        },
        **{"auth_mode": "api_key", "timeout_seconds": "600"},
    }
    wrong = client.post(f"{here}add/", {**form, "timeout_seconds": "0"}).content.decode()
    assert "From 1 to 86,400 seconds" in wrong
    assert client.post(f"{here}add/", form).status_code == 302
    revision = HarnessRevision.objects.get()
    assert (revision.command, revision.families) == (["/opt/agent", "--secret-flag"], ["fixture"])
    client.post(here, {"action": "activate", "_selected_action": [revision.pk]})
    harness.refresh_from_db()
    assert harness.active == revision
    assert set(AuditEvent.objects.filter(object_type="harness").values_list("action", flat=True)) == {
        "harness.revision_made",
        "harness.activated",
    }
    page = page_client(cast.ana).get(f"/t/{cast.team.slug}/agents/harnesses/{harness.pk}/").content.decode()
    answer = api_client(cast.ana, cast.team).get(f"/api/v1/harnesses/{harness.pk}").content.decode()
    for text in (page, answer):
        assert "1.2" in text and "secret-flag" not in text


# the same over the API


def test_a_configuration_over_the_api(cast, api_client, agent):
    api = api_client(cast.ana, cast.team)

    def send(method: str, address: str, body: object, **headers: str):
        return api.generic(
            method, f"/api/v1/{address}", json.dumps(body), content_type="application/json", headers=headers
        )

    key = {"Idempotency-Key": "configuration-1"}
    made = send("POST", "configurations", {"name": "Planner", "body": GOOD}, **key)
    assert (made.status_code, made["ETag"], made.json()["body"]["root"]) == (201, '"1"', "lead")
    assert send("POST", "configurations", {"name": "Planner", "body": GOOD}, **key).status_code == 200
    address = f"configurations/{made.json()['configuration']}"
    obstacles = f"/api/v1/{address}/obstacles"
    assert [one["code"] for one in api.get(obstacles).json()["obstacles"]] == ["slot_unbound"]
    assert api.get(obstacles, {"models": '{"main": "fixture-large"}'}).json()["obstacles"] == []
    for odd in ("x", "[]", '{"main": 1}', '{"other": "fixture-large"}', '{"main": "a", "main": "b"}'):
        assert api.get(obstacles, {"models": odd}).status_code == 400
    later = {**GOOD, "roles": [{**ROLE, "instructions": "Plan well."}]}
    put = send("PUT", address, {"body": later}, **{"If-Match": '"1"'})
    assert (put.status_code, put["ETag"], put.json()["number"]) == (200, '"2"', 2)
    assert api.get(f"/api/v1/{address}/revisions").json()["count"] == 2
    assert api.delete(f"/api/v1/{address}").status_code == 204
    assert api.get("/api/v1/configurations").json()["count"] == 0
    assert api.get(f"/api/v1/{address}").json()["deleted_at"]
    body = api_client(cast.ben, cast.team).get(f"/api/v1/{address}/revisions").json()["items"][0]
    assert (body["body"], body["slots"]) == (None, ["main"])


def test_many_revisions_are_read_with_as_few_queries_as_one(cast, access, api_client):
    api, made = api_client(cast.ana, cast.team), None
    asked = []
    for number in range(6):
        body = {**GOOD, "roles": [{**ROLE, "instructions": f"Plan {number}."}]}
        if made is None:
            made = actions.create_configuration(access=access, name="Planner", body=body).configuration
        else:
            actions.save_configuration(access=access, configuration=made, body=body, revision=number)
        address = f"/api/v1/configurations/{made.pk}/revisions"
        api.get(address)  # what is asked once per process is asked here
        with CaptureQueriesContext(connection) as caught:
            found = api.get(address).json()
        assert found["items"][0]["body"]["roles"][0]["instructions"] == f"Plan {number}."
        asked.append(len(caught))
    assert len(set(asked)) == 1


def test_a_subject_leads_to_what_it_is(cast, access, agent, page_client):
    published = actions.publish_draft(access=access, agent=agent, revision=2).snapshot
    page = page_client(cast.ben).get(f"/t/{cast.team.slug}/agents/subjects/{published.subject_id}/").content.decode()
    assert f"/agents/snapshots/{published.pk}/" in page
