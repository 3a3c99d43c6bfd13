"""Agents from the first draft to a deployment, in the console and over the API."""

from __future__ import annotations

import json
import re

import pytest

from agents import actions, queries
from agents.models import Agent, AgentDeployment, AgentDraft, Connector, ModelRoute, Snapshot, SnapshotDefinition
from teams import actions as teams
from teams.models import Role
from teams.permissions import Right
from teams.refusals import Refusal
from tests.comparisons.test_real_evidence import words_of
from tests.shape.world import model_route

pytestmark = pytest.mark.django_db

SCHEMA = '{"type": "object", "properties": {"number": {"type": "string"}}}'
WRITTEN = {
    **{"instructions": "You answer\r\nquestions about orders.", "route": "fixture-large", "temperature": "0.2"},
    **{"top_p": "", "max_output_tokens": "800", "seed": "", "max_tool_rounds": "", "timeout_seconds": ""},
    **{"stop": "", "output_schema": "", "revision": "1"},
    **{"tools-TOTAL_FORMS": "2", "tools-INITIAL_FORMS": "0", "tools-0-name": "find_order"},
    **{"tools-0-description": "Finds an order.", "tools-0-parameters": SCHEMA, "tools-1-name": ""},
    **{"connectors-TOTAL_FORMS": "0", "connectors-INITIAL_FORMS": "0"},
    **{"context-TOTAL_FORMS": "1", "context-INITIAL_FORMS": "0", "context-0-name": "policy"},
    **{"context-0-text": "Refunds take five days."},
}


@pytest.fixture
def routes(db):
    return model_route(), model_route("fixture-small", "fixture:support-small")


@pytest.fixture
def ana(cast, page_client):
    return page_client(cast.ana)


@pytest.fixture
def here(cast, ana, routes):
    """The page of a new agent."""
    made = ana.post(f"/t/{cast.team.slug}/agents/new", {"name": "Support desk"})
    return made["Location"].removesuffix("draft")


@pytest.fixture
def published(ana, here):
    ana.post(f"{here}draft", WRITTEN)
    ana.post(f"{here}publish", {"revision": "2"})
    return Snapshot.objects.get()


def test_a_written_draft_becomes_a_snapshot_in_use(cast, ana, here):
    assert "Say what it is told" in words_of(ana.get(f"{here}draft"))
    assert ana.post(f"{here}draft", WRITTEN)["Location"] == here
    draft = AgentDraft.objects.get()
    assert draft.revision == 2
    assert draft.body["instructions"] == "You answer\nquestions about orders."
    assert [one["name"] for one in draft.body["tools"]] == ["find_order"]
    assert draft.body["settings"] == {"temperature": 0.2, "max_output_tokens": 800}
    assert not Snapshot.objects.exists()
    assert "Nothing is in use yet" in words_of(ana.get(here))
    ana.post(f"{here}publish", {"revision": "2"})
    snapshot = Snapshot.objects.get()
    assert (snapshot.number, snapshot.route_revision.model_id, snapshot.base) == (1, "fixture:support", None)
    shown = words_of(ana.get(here))
    assert "Snapshot 1 is in use, over fixture:support" in shown
    assert "says what is in use" in shown
    assert snapshot.subject.label == "Support desk #1"
    page = words_of(ana.get(f"/t/{cast.team.slug}/agents/snapshots/{snapshot.pk}/"))
    assert "Refunds take five days." in page and "find_order" in page and snapshot.tools_sha256 in page


def test_publishing_the_same_draft_again_changes_nothing(ana, here, published):
    ana.post(f"{here}publish", {"revision": "2"})
    ana.post(f"{here}draft", {**WRITTEN, "revision": "2"})
    ana.post(f"{here}publish", {"revision": "2"})
    assert (Snapshot.objects.count(), AgentDeployment.objects.count(), AgentDraft.objects.get().revision) == (1, 1, 2)


def test_saving_touches_neither_snapshot_nor_deployment(ana, here, published):
    before = SnapshotDefinition.objects.get().body
    ana.post(f"{here}draft", {**WRITTEN, "instructions": "Say nothing.", "revision": "2"})
    assert (Snapshot.objects.count(), AgentDeployment.objects.count()) == (1, 1)
    assert SnapshotDefinition.objects.get().body == before
    assert "differs from what is in use" in words_of(ana.get(here))
    told = words_of(ana.get(f"{here}draft/changes"))
    assert "Say nothing" in told and "Instructions" in told and "Refunds" not in told


def test_a_variant_changes_the_model_alone(cast, ana, here, published, routes):
    address = f"/t/{cast.team.slug}/agents/snapshots/{published.pk}/"
    with pytest.raises(Refusal) as refused:
        actions.make_variant(access=cast.access(cast.ana), base=published, route=routes[0])
    assert refused.value.code == "variant_same_model"
    same = ana.post(f"{address}variant", {"route": "fixture-large"})
    assert same.status_code == 422
    assert "leads to the model that" in words_of(same)
    draft, deployment = AgentDraft.objects.get(), AgentDeployment.objects.get()
    made = ana.post(f"{address}variant", {"route": "fixture-small"})
    variant = Snapshot.objects.get(base=published)
    assert made["Location"].endswith(f"{variant.pk}/")
    for name in ("prompt", "tools", "connectors", "context", "settings"):
        assert getattr(variant, f"{name}_sha256") == getattr(published, f"{name}_sha256")
    assert variant.definition_sha256 != published.definition_sha256
    assert variant.route_revision.model_id == "fixture:support-small"
    kept = AgentDraft.objects.get()
    assert (kept.revision, kept.body, AgentDeployment.objects.get()) == (draft.revision, draft.body, deployment)
    again = ana.post(f"{address}variant", {"route": "fixture-small"})
    assert again["Location"] == made["Location"]
    back = ana.post(f"/t/{cast.team.slug}/agents/snapshots/{variant.pk}/variant", {"route": "fixture-large"})
    assert back.status_code == 422 and "#1 is exactly this already" in words_of(back)
    with pytest.raises(Refusal) as refused:
        actions.make_variant(access=cast.access(cast.ana), base=variant, route=routes[0])
    assert (refused.value.code, refused.value.extra["snapshot"]) == ("variant_exists", str(published.pk))
    told = words_of(ana.get(f"/t/{cast.team.slug}/agents/snapshots/{variant.pk}/?against={published.pk}"))
    assert "fixture:support-small" in told
    assert re.search(r"Model differs .* Instructions equal .* Tools equal .* Settings equal", told)


def test_the_way_back_is_a_deployment_and_the_draft_may_start_over(cast, ana, here, published):
    ana.post(f"{here}draft", {**WRITTEN, "instructions": "Say nothing.", "revision": "2"})
    ana.post(f"{here}publish", {"revision": "3"})
    address = f"/t/{cast.team.slug}/agents/snapshots/{published.pk}/"
    ana.post(f"{address}deploy")
    assert [one.snapshot.number for one in AgentDeployment.objects.all()] == [1, 2, 1]
    assert "differs from what is in use" in words_of(ana.get(here))
    ana.post(f"{address}start-over", {"revision": "3"})
    assert AgentDraft.objects.get().body["instructions"] == "You answer\nquestions about orders."
    assert "says what is in use" in words_of(ana.get(here))
    stale = ana.post(f"{address}start-over", {"revision": "3"})
    assert stale.status_code == 409 and "revision 4" in words_of(stale)


def test_a_form_keeps_every_word_and_tells_the_fault_beside_its_field(ana, here):
    wrong = {**WRITTEN, "tools-0-parameters": '{"type": "strin"}', "temperature": "9", "instructions": "Keep me"}
    refused = ana.post(f"{here}draft", wrong)
    page = refused.content.decode()
    assert refused.status_code == 422
    assert "Keep me" in page and "find_order" in page and "Refunds take five days." in page
    assert "A JSON schema of an object" in page
    fixed = ana.post(f"{here}draft", {**wrong, "tools-0-parameters": SCHEMA})
    assert "A number from 0 to 2" in words_of(fixed)
    assert AgentDraft.objects.get().revision == 1
    more = ana.post(f"{here}draft", {**WRITTEN, "more_rows": "tools"})
    assert more.status_code == 200
    assert more.content.decode().count('name="tools-') >= 6
    for rows in ("x", "", "0", "1", "-1", "9" * 30):
        for more in ({}, {"more_rows": "tools"}):
            assert ana.post(f"{here}draft", {**WRITTEN, "tools-TOTAL_FORMS": rows, **more}).status_code == 400
    assert "Enter a whole number" in words_of(ana.post(f"{here}draft", {**WRITTEN, "revision": "abc"}))
    assert AgentDraft.objects.get().revision == 1


def test_the_second_of_two_editors_is_told_and_keeps_what_was_written(ana, here):
    ana.post(f"{here}draft", WRITTEN)
    late = ana.post(f"{here}draft", {**WRITTEN, "instructions": "Mine instead"})
    assert late.status_code == 422
    assert "Somebody saved this draft meanwhile" in words_of(late)
    assert "Mine instead" in late.content.decode()
    assert AgentDraft.objects.get().revision == 2


def test_an_unfinished_draft_and_an_inactive_route_are_not_published(cast, ana, here, routes):
    assert "draft_unfinished" in ana.post(f"{here}publish", {"revision": "1"}).content.decode()
    ana.post(f"{here}draft", WRITTEN)
    actions.deactivate_route(route=routes[0], by=None)
    assert "route_inactive" in ana.post(f"{here}publish", {"revision": "2"}).content.decode()
    assert not Snapshot.objects.exists()


def test_a_changed_route_counts_for_new_snapshots_once_it_is_activated(cast, ana, here, published, routes):
    route = ModelRoute.objects.get(key="fixture-large")
    fields = actions.RouteFields(provider=route.active.provider, model_id="fixture:support-2", auth_mode="none")
    revision = actions.add_route_revision(route=route, fields=fields, by=None)
    ana.post(f"{here}publish", {"revision": "2"})
    assert Snapshot.objects.count() == 1
    actions.activate_route(revision=revision, by=None)
    assert "means something else by now" in words_of(ana.get(here))
    ana.post(f"{here}publish", {"revision": "2"})
    newest = Snapshot.objects.order_by("-number")[0]
    assert (newest.number, newest.route_revision.model_id) == (2, "fixture:support-2")
    assert Snapshot.objects.get(number=1).route_revision.model_id == "fixture:support"


def test_an_archived_agent_is_not_edited_until_it_is_restored(cast, ana, here, published):
    ana.post(f"{here}archive")
    assert "Support desk" not in words_of(ana.get(f"/t/{cast.team.slug}/agents/")).partition("Archived")[2]
    for address in (f"{here}publish", f"/t/{cast.team.slug}/agents/snapshots/{published.pk}/deploy"):
        assert "agent_archived" in ana.post(address, {"revision": "2"}).content.decode()
    assert ana.post(f"{here}draft", {**WRITTEN, "revision": "2"}).status_code == 422
    ana.post(f"{here}restore")
    assert Agent.objects.get().archived_at is None


def test_a_definition_that_was_taken_away_keeps_its_hashes_and_makes_no_variant(cast, ana, published):
    SnapshotDefinition.objects.filter(snapshot=published).update(availability="redacted", body=None)
    address = f"/t/{cast.team.slug}/agents/snapshots/{published.pk}/"
    page = words_of(ana.get(address))
    assert "Definition redacted" in page and published.prompt_sha256 in page
    assert "taken away" in words_of(ana.post(f"{address}variant", {"route": "fixture-small"}))
    assert "snapshot_unavailable" in ana.post(f"{address}start-over", {"revision": "2"}).content.decode()
    assert Snapshot.objects.count() == 1


def test_snapshots_are_found_by_agent_number_and_pasted_id(cast, ana, here, published, routes):
    access = cast.access(cast.ana)
    variant = actions.make_variant(access=access, base=published, route=routes[1])
    other = actions.create_agent(access=access, name="Returns desk")
    body = {**AgentDraft.objects.get(agent=published.agent).body, "instructions": "Returns only."}
    actions.save_draft(access=access, agent=other, definition=body, revision=1)
    returns = actions.publish_draft(access=access, agent=other, revision=2).snapshot

    def found(words: str) -> set[object]:
        return {one.pk for one in queries.found_snapshots(access, words)}

    assert found("") == {published.pk, variant.pk, returns.pk}
    assert found("support") == {published.pk, variant.pk}
    assert found("2") == found("#2") == {variant.pk}
    assert found("desk #1") == {published.pk, returns.pk}
    assert found("returns #2") == set()
    assert found(str(variant.pk)) == found(str(variant.pk).upper()) == {variant.pk}
    assert found(variant.pk.hex) == {variant.pk}
    assert variant.pk in found(str(variant.pk)[:13])
    assert found("nothing like it") == found("deadbeef" * 5) == set()
    assert "No snapshot has this" in words_of(ana.get(f"/t/{cast.team.slug}/agents/snapshots/", {"q": "zzz"}))


def test_a_long_list_of_snapshots_loads_more(cast, ana, here, published, routes):
    access, body = cast.access(cast.ana), AgentDraft.objects.get().body
    for number in range(30):
        draft = AgentDraft.objects.get()
        changed = {**body, "instructions": f"Version {number}"}
        actions.save_draft(access=access, agent=published.agent, definition=changed, revision=draft.revision)
        actions.publish_draft(access=access, agent=published.agent, revision=draft.revision + 1)
    address = f"/t/{cast.team.slug}/agents/snapshots/"
    first = ana.get(address).content.decode()
    assert first.count('scope="row"') == 25 and "Load more" in first
    rest = ana.get(address, {"page": 2}, headers={"HX-Request": "true", "HX-Target": "more"}).content.decode()
    assert rest.count('scope="row"') == 6 and "<html" not in rest and "All 31 are shown" in rest


# rights


def test_what_an_agent_is_told_needs_the_right_to_content(cast, page_client, published, here):
    ben = page_client(cast.ben)
    page = words_of(ben.get(f"/t/{cast.team.slug}/agents/snapshots/{published.pk}/"))
    assert published.prompt_sha256 in page and "Refunds" not in page and "questions about" not in page
    assert "Refunds" not in words_of(ben.get(here))
    assert ben.get(f"{here}draft").status_code == 403
    assert ben.post(f"{here}publish", {"revision": "2"}).status_code == 403


def test_publishing_needs_the_right_to_what_is_published(cast, here, published):
    role = Role.objects.create(team=cast.team, name="Blind", rights=[Right.AGENT_READ, Right.AGENT_EDIT])
    teams.set_role(access=None, team=cast.team, user=cast.omar, role=role, by=None)
    access, agent = cast.access(cast.omar), published.agent
    for attempt in (
        lambda: actions.save_draft(access=access, agent=agent, definition={}, revision=2),
        lambda: actions.publish_draft(access=access, agent=agent, revision=2),
        lambda: actions.draft_from_snapshot(access=access, snapshot=published, revision=2),
    ):
        with pytest.raises(Refusal) as refused:
            attempt()
        assert refused.value.code == "missing_right"
    assert actions.deploy_snapshot(access=access, snapshot=published).snapshot == published


def test_a_connector_is_read_by_the_roles_that_it_names(cast, ana, page_client):
    made = ana.post(f"/t/{cast.team.slug}/agents/connectors/new", {"name": "Orders"})
    connector = Connector.objects.get()
    assert queries.reads_connector(cast.access(cast.ana), connector)
    assert not queries.reads_connector(cast.access(cast.omar), connector)
    analyst, viewer = (Role.objects.get(team=None, name=name) for name in ("Analyst", "Viewer"))
    readers = {"readers": [analyst.pk, viewer.pk], "revision": "1"}
    assert page_client(cast.omar).post(made["Location"], readers).status_code == 403
    ana.post(made["Location"], readers)
    assert queries.reads_connector(cast.access(cast.omar), connector)
    assert not queries.reads_connector(cast.access(cast.ben), connector), "a viewer reads no content at all"
    assert not queries.reads_connector(cast.access(cast.ana), connector)
    assert "at revision 2" in words_of(ana.post(made["Location"], readers))
    foreign = Role.objects.create(team=cast.other_team, name="Theirs", rights=[])
    assert ana.post(made["Location"], {"readers": [foreign.pk], "revision": "2"}).status_code == 422


def test_an_archived_connector_is_named_no_more_and_stays_where_it_is(cast, page_client, published):
    access, draft = cast.access(cast.ana), AgentDraft.objects.get()
    kept, late = (actions.create_connector(access=access, name=name) for name in ("Kept", "Late"))
    body = {**draft.body, "connectors": [{"connector": str(kept.pk), "mode": "read"}]}
    agent = published.agent
    actions.save_draft(access=access, agent=agent, definition=body, revision=2)
    for connector in (kept, late):
        actions.archive_connector(access=access, connector=connector)
    told = words_of(page_client(cast.ana).get(f"/t/{cast.team.slug}/agents/{agent.pk}/draft/changes"))
    assert "Kept" in told and str(kept.pk) not in told
    body["instructions"] = "More."
    assert actions.save_draft(access=access, agent=agent, definition=body, revision=3).revision == 4
    body["connectors"] = [{"connector": str(late.pk), "mode": "read"}]
    with pytest.raises(Refusal) as refused:
        actions.save_draft(access=access, agent=agent, definition=body, revision=4)
    assert refused.value.place == "connectors[0].connector"
    assert actions.publish_draft(access=access, agent=agent, revision=4).snapshot.number == 2


def test_the_review_page_tells_order_and_model(cast, ana, here, published, routes):
    access, draft = cast.access(cast.ana), AgentDraft.objects.get()
    tools = [*draft.body["tools"], {**draft.body["tools"][0], "name": "find_parcel"}]
    actions.save_draft(access=access, agent=published.agent, definition={**draft.body, "tools": tools}, revision=2)
    actions.publish_draft(access=access, agent=published.agent, revision=3)
    turned = {**draft.body, "tools": tools[::-1]}
    actions.save_draft(access=access, agent=published.agent, definition=turned, revision=3)
    told = words_of(ana.get(f"{here}draft/changes"))
    assert "Order" in told and "find_order" in told and "says what is in use" not in told
    actions.save_draft(access=access, agent=published.agent, definition={**turned, "tools": tools}, revision=4)
    assert "says what is in use" in words_of(ana.get(f"{here}draft/changes"))
    route = ModelRoute.objects.get(key="fixture-large")
    fields = actions.RouteFields(provider=route.active.provider, model_id="fixture:support-2", auth_mode="none")
    actions.activate_route(revision=actions.add_route_revision(route=route, fields=fields, by=None), by=None)
    told = words_of(ana.get(f"{here}draft/changes"))
    assert "support-2" in told.replace(" ", "") and "says what is in use" not in told
    assert "model route changed" in words_of(ana.get(f"/t/{cast.team.slug}/agents/"))


def test_a_route_that_changed_its_price_alone_makes_no_other_snapshot(cast, ana, here, published, routes):
    route = ModelRoute.objects.get(key="fixture-large")
    before = route.active
    fields = actions.RouteFields(provider=before.provider, model_id=before.model_id, auth_mode="none", input_micros=5)
    actions.activate_route(revision=actions.add_route_revision(route=route, fields=fields, by=None), by=None)
    ana.post(f"{here}publish", {"revision": "2"})
    assert Snapshot.objects.count() == 1


# limits


def test_a_team_has_a_bounded_number_of_agents(cast, monkeypatch, routes):
    monkeypatch.setattr("agents.actions.agents.MOST_AGENTS", 1)
    access = cast.access(cast.ana)
    actions.create_agent(access=access, name="One")
    with pytest.raises(Refusal) as refused:
        actions.create_agent(access=access, name="Two")
    assert refused.value.code == "too_many_agents"


def test_a_name_is_taken_whatever_the_case_of_its_letters(cast, ana, here):
    taken = ana.post(f"/t/{cast.team.slug}/agents/new", {"name": "support DESK"})
    assert taken.status_code == 422 and "Choose another name" in words_of(taken)
    odd = ana.post(f"/t/{cast.team.slug}/agents/new", {"name": "a\u202eb"})
    assert odd.status_code == 422 and "printable" in words_of(odd)


# the same over the API


@pytest.fixture
def api(cast, api_client, routes):
    return api_client(cast.ana, cast.team)


def _send(api, method: str, address: str, body: object, **headers: str):
    return api.generic(method, f"/api/v1/{address}", json.dumps(body), content_type="application/json", headers=headers)


def test_an_agent_is_made_written_and_published_over_the_api(cast, api):
    made = _send(api, "POST", "agents", {"name": "Desk"}, **{"Idempotency-Key": "agent-key-1"})
    assert made.status_code == 201
    agent = made.json()
    assert (agent["snapshots"], agent["draft_differs"], made["ETag"]) == (0, True, '"1"')
    again = _send(api, "POST", "agents", {"name": "Desk"}, **{"Idempotency-Key": "agent-key-1"})
    assert (again.status_code, again.json()["id"]) == (200, agent["id"])
    other = _send(api, "POST", "agents", {"name": "Other"}, **{"Idempotency-Key": "agent-key-1"})
    assert other.json()["error"]["code"] == "request_key_conflict"
    address = f"agents/{agent['id']}"
    definition = {"instructions": "Help.", "route": "fixture-large"}
    assert (
        _send(api, "PUT", f"{address}/draft", {"definition": definition}).json()["error"]["code"] == "revision_missing"
    )
    stale = _send(api, "PUT", f"{address}/draft", {"definition": definition}, **{"If-Match": '"7"'})
    assert stale.json()["error"]["code"] == "revision_stale"
    saved = _send(api, "PUT", f"{address}/draft", {"definition": definition}, **{"If-Match": '"1"'})
    assert (saved.status_code, saved["ETag"], saved.json()["definition"]["tools"]) == (200, '"2"', [])
    wrong = {"definition": {**definition, "settings": {"temperature": 5}}}
    refused = _send(api, "PUT", f"{address}/draft", wrong, **{"If-Match": '"2"'}).json()["error"]
    assert (refused["code"], refused["place"]) == ("invalid_field", "settings.temperature")
    unknown = {"definition": {**definition, "route": "no-such"}}
    refused = _send(api, "PUT", f"{address}/draft", unknown, **{"If-Match": '"2"'}).json()["error"]
    assert refused["place"] == "route"
    both = {"draft_revision": 2, "snapshot": agent["id"]}
    for body in (both, {}):
        bad = _send(api, "POST", f"{address}/deployments", body, **{"Idempotency-Key": "deploy-key-0"})
        assert bad.status_code == 400
    key = {"Idempotency-Key": "deploy-key-1"}
    deployed = _send(api, "POST", f"{address}/deployments", {"draft_revision": 2}, **key)
    assert (deployed.status_code, deployed.json()["snapshot_number"]) == (201, 1)
    assert _send(api, "POST", f"{address}/deployments", {"draft_revision": 2}, **key).status_code == 200
    snapshot = deployed.json()["snapshot"]
    variants = f"snapshots/{snapshot}/variants"
    variant = _send(api, "POST", variants, {"route": "fixture-small"}, **{"Idempotency-Key": "variant-key-1"}).json()
    assert (variant["base"], variant["changed"], variant["model_id"]) == (snapshot, "model", "fixture:support-small")
    assert variant["definition"]["route"]["key"] == "fixture-small"
    told = api.get(f"/api/v1/snapshots/{variant['id']}/differences", {"against": snapshot}).json()["dimensions"]
    assert [one["dimension"] for one in told if not one["same"]] == ["route"]
    assert api.get(f"/api/v1/{variants}").json()["count"] == 1
    assert api.get("/api/v1/snapshots", {"agent": agent["id"], "q": "#2"}).json()["items"][0]["id"] == variant["id"]
    renamed = _send(api, "PATCH", address, {"name": "Desk two", "archived": True}, **{"If-Match": '"1"'}).json()
    assert (renamed["name"], renamed["archived_at"] is None, renamed["revision"]) == ("Desk two", False, 3)
    assert api.get("/api/v1/agents").json()["count"] == 0


def test_definitions_over_the_api_need_the_right_to_content(cast, api_client, published):
    ben = api_client(cast.ben, cast.team)
    assert ben.get(f"/api/v1/snapshots/{published.pk}").json()["definition"] is None
    assert ben.get(f"/api/v1/agents/{published.agent_id}/draft").json()["definition"] is None
    other = cast.access(cast.ana)
    draft = AgentDraft.objects.get()
    body = {**draft.body, "instructions": "A secret plan"}
    actions.save_draft(access=other, agent=published.agent, definition=body, revision=draft.revision)
    later = actions.publish_draft(access=other, agent=published.agent, revision=draft.revision + 1).snapshot
    address = f"/api/v1/snapshots/{later.pk}/differences"
    told = ben.get(address, {"against": str(published.pk)})
    prompt = next(one for one in told.json()["dimensions"] if one["dimension"] == "prompt")
    assert (prompt["same"], prompt["fields"]) == (False, [])
    assert "secret plan" not in told.content.decode()
    assert (
        "secret plan" in api_client(cast.ana, cast.team).get(address, {"against": str(published.pk)}).content.decode()
    )


def test_connectors_over_the_api(cast, api, api_client):
    made = _send(api, "POST", "connectors", {"name": "Orders"}, **{"Idempotency-Key": "connector-1"}).json()
    assert made["reads"] is True
    analyst = Role.objects.get(team=None, name="Analyst")
    address, body = f"connectors/{made['id']}", {"name": "Order system", "readers": [str(analyst.pk)]}
    done = _send(api, "PATCH", address, body, **{"If-Match": '"1"'}).json()
    assert (done["name"], done["readers"], done["reads"]) == ("Order system", [str(analyst.pk)], False)
    omar = api_client(cast.omar, cast.team)
    assert omar.get(f"/api/v1/{address}").json()["reads"] is True
    for change in ({"name": "Mine"}, {"readers": []}):
        assert _send(omar, "PATCH", address, change, **{"If-Match": '"2"'}).status_code == 403
    missing = {"readers": ["00000000-0000-7000-8000-000000000000"]}
    refused = _send(api, "PATCH", address, missing, **{"If-Match": '"3"'}).json()["error"]
    assert (refused["code"], refused["place"]) == ("invalid_field", "readers")


def test_lists_ask_the_database_as_often_for_many_agents_as_for_one(cast, page_client, api_client, routes):
    access = cast.access(cast.ana)
    browser, program = page_client(cast.ana), api_client(cast.ana, cast.team)

    def count(ask) -> int:
        from django.db import connection
        from django.test.utils import CaptureQueriesContext

        ask()
        with CaptureQueriesContext(connection) as caught:
            ask()
        return len(caught)

    asks = [
        lambda: browser.get(f"/t/{cast.team.slug}/agents/"),
        lambda: browser.get(f"/t/{cast.team.slug}/agents/snapshots/"),
        lambda: browser.get(f"/t/{cast.team.slug}/agents/connectors/"),
        lambda: browser.get(f"/t/{cast.team.slug}/agents/assets/"),
        lambda: browser.get(f"/t/{cast.team.slug}/agents/releases/"),
        lambda: browser.get(f"/t/{cast.team.slug}/agents/configurations/"),
        lambda: program.get("/api/v1/assets"),
        lambda: program.get("/api/v1/releases"),
        lambda: program.get("/api/v1/configurations"),
        lambda: program.get("/api/v1/agents"),
        lambda: program.get("/api/v1/snapshots"),
        lambda: program.get("/api/v1/connectors"),
    ]

    def grow(number: int) -> None:
        agent = actions.create_agent(access=access, name=f"Agent {number}")
        body = {"instructions": f"Number {number}", "route": "fixture-large"}
        actions.save_draft(access=access, agent=agent, definition=body, revision=1)
        actions.publish_draft(access=access, agent=agent, revision=2)
        actions.create_connector(access=access, name=f"Connector {number}")
        actions.create_asset(access=access, kind="settings", name=f"Asset {number}", body={"seed": number})
        actions.create_release(access=access, agent=agent, name="1", bindings={})
        roles = [{"role": "lead", "instructions": "Plan.", "slot": "main"}]
        body = {"root": "lead", "slots": ["main"], "roles": roles}
        actions.create_configuration(access=access, name=f"Pair {number}", body=body)

    grow(0)
    few = [count(ask) for ask in asks]
    for number in range(1, 8):
        grow(number)
    assert [count(ask) for ask in asks] == few
