"""Assets and releases: approved one by one, bound by role, moved by explicit steps, and never changed afterwards."""

from __future__ import annotations

import json

import pytest
from django.db import DatabaseError, IntegrityError, transaction

from agents import actions, queries
from agents.models import (
    Asset,
    AssetApproval,
    AssetContent,
    AssetVersion,
    ModelRoute,
    Release,
    ReleaseBinding,
    ReleaseState,
    ReleaseTransition,
    Subject,
)
from teams import actions as teams
from teams.models import AuditEvent
from teams.refusals import Refusal
from tests.comparisons.test_real_evidence import words_of
from tests.shape.world import model_route

pytestmark = pytest.mark.django_db
TOOLS = [{"name": "find_order", "description": "", "parameters": {"type": "object"}}]


@pytest.fixture
def access(cast):
    return cast.access(cast.ana)


@pytest.fixture
def agent(access):
    model_route()
    return actions.create_agent(access=access, name="Support desk")


@pytest.fixture
def versions(access, agent) -> dict[str, AssetVersion]:
    bodies = {"prompt_template": "Be kind.", "model": "fixture-large", "toolset": TOOLS}
    return {
        kind: actions.create_asset(access=access, kind=kind, name=f"Our {kind}", body=body)
        for kind, body in bodies.items()
    }


@pytest.fixture
def bindings(versions):
    return {kind: version.pk for kind, version in versions.items()}


def approve(access, versions) -> None:
    for version in versions.values():
        actions.approve_asset_version(access=access, version=version)


def code_of(attempt) -> str:
    with pytest.raises(Refusal) as refused:
        attempt()
    return refused.value.code


def test_an_asset_says_the_part_that_its_kind_is(access, agent):
    faults = {
        "prompt_template": ["", " ", 3, {"a": 1}],
        "model": ["", "no-such-route", ["fixture-large"]],
        "toolset": [[], "find", [{"name": "1"}]],
        "connectors": [[], [{"connector": "x", "mode": "read"}]],
        "context": [[], [{"name": "a"}]],
        "settings": [{}, {"temperature": 9}, []],
    }
    for kind, bodies in faults.items():
        for body in bodies:
            with pytest.raises(Refusal) as refused:
                actions.create_asset(access=access, kind=kind, name="x", body=body)
            assert refused.value.code in ("invalid_field", "unknown_field"), (kind, body)
    assert not Asset.objects.exists()


def test_the_same_words_are_the_same_version_and_other_words_the_next(access, versions):
    first = versions["prompt_template"]
    again = actions.add_asset_version(access=access, asset=first.asset, body="Be kind.", revision=1)
    assert again == first
    second = actions.add_asset_version(access=access, asset=first.asset, body="Be brief.", revision=1)
    assert (second.number, AssetContent.objects.get(version=first).body) == (2, "Be kind.")

    def late():
        actions.add_asset_version(access=access, asset=first.asset, body="Be late.", revision=1)

    assert code_of(late) == "revision_stale"
    actions.archive_asset(access=access, asset=first.asset)
    assert (
        code_of(lambda: actions.add_asset_version(access=access, asset=first.asset, body="No.", revision=3))
        == "asset_archived"
    )


def test_a_release_is_approved_only_whole_and_with_approved_versions(access, agent, versions, bindings):
    partial = {"toolset": bindings["toolset"]}
    release = actions.create_release(access=access, agent=agent, name="1", bindings=partial)

    def approving(revision: int):
        return lambda: actions.move_release(access=access, release=release, to="approved", revision=revision)

    assert code_of(approving(1)) == "release_incomplete"
    actions.bind_release(access=access, release=release, bindings=bindings, revision=1)
    assert code_of(approving(2)) == "binding_not_approved"
    approve(access, versions)
    assert code_of(approving(1)) == "revision_stale"
    approving(2)()
    release.refresh_from_db()
    assert (release.state, release.route_revision.model_id) == (ReleaseState.APPROVED, "fixture:support")
    assert release.subject.label == "Support desk, release 1"
    assert dict(release.subject.facts)["Model"] == "fixture:support"
    body = actions.assembled({one.role: one.version for one in queries.bindings_of(release)})
    assert (body["instructions"], body["route"], body["tools"]) == ("Be kind.", "fixture-large", TOOLS)


def test_a_release_over_an_inactive_route_is_not_approved(access, agent, versions, bindings):
    approve(access, versions)
    release = actions.create_release(access=access, agent=agent, name="1", bindings=bindings)
    actions.deactivate_route(route=ModelRoute.objects.get(), by=None)
    assert (
        code_of(lambda: actions.move_release(access=access, release=release, to="approved", revision=1))
        == "route_inactive"
    )


def test_a_role_takes_its_own_kind_of_the_own_team(cast, access, agent, versions, bindings):
    def making(given):
        return lambda: actions.create_release(access=access, agent=agent, name="1", bindings=given)

    assert code_of(making({"model": bindings["toolset"]})) == "binding_kind_mismatch"
    assert code_of(making({"orchestra": bindings["toolset"]})) == "invalid_field"
    theirs = cast.access(cast.cleo, cast.other_team)
    foreign = actions.create_asset(access=theirs, kind="prompt_template", name="Theirs", body="Spy.")
    assert code_of(making({"prompt_template": foreign.pk})) == "invalid_field"
    assert not Release.objects.exists()


def moved(access, release, *states) -> Release:
    for state in states:
        release.refresh_from_db()
        actions.move_release(access=access, release=release, to=state, revision=release.revision)
    release.refresh_from_db()
    return release


def test_only_the_steps_that_there_are_can_be_taken(access, agent, versions, bindings):
    approve(access, versions)
    states = [state.value for state in ReleaseState]
    ways = {"draft": [], "approved": ["approved"], "active": ["approved", "active"]}
    ways["retired"] = [*ways["approved"], "retired"]
    allowed = {
        *{("draft", "approved"), ("draft", "retired"), ("approved", "active")},
        *{("approved", "retired"), ("active", "retired")},
    }
    for number, (state, way) in enumerate(ways.items()):
        for after in states:
            release = actions.create_release(access=access, agent=agent, name=f"{number} {after}", bindings=bindings)
            moved(access, release, *way)
            if (state, after) in allowed:
                moved(access, release, after)
                assert release.state == after
            else:
                assert code_of(lambda one=release, to=after: moved(access, one, to)) == "release_transition_impossible"
            if release.state == "active":
                moved(access, release, "retired")
    assert set(ReleaseTransition.objects.values_list("before", "after")) == allowed


def test_one_release_of_an_agent_is_active(access, agent, versions, bindings):
    approve(access, versions)
    first, second = (
        actions.create_release(access=access, agent=agent, name=name, bindings=bindings) for name in ("1", "2")
    )
    moved(access, first, "approved", "active")
    moved(access, second, "approved")
    assert code_of(lambda: moved(access, second, "active")) == "release_active_already"
    moved(access, first, "retired")
    assert moved(access, second, "active").state == "active"


def test_an_approved_release_keeps_what_it_binds_whatever_is_tried(access, agent, versions, bindings):
    approve(access, versions)
    release = moved(access, actions.create_release(access=access, agent=agent, name="1", bindings=bindings), "approved")
    assert (
        code_of(lambda: actions.bind_release(access=access, release=release, bindings={}, revision=2))
        == "release_not_a_draft"
    )
    rows = ReleaseBinding.objects.filter(release=release)
    other = Subject.objects.create(team=access.team, kind="imported", label="x", fingerprint="0" * 64)
    for change in (
        lambda: rows.delete(),
        lambda: rows.update(role="context"),
        lambda: ReleaseBinding.objects.create(release=release, role="context", version=versions["toolset"]),
        lambda: Release.objects.filter(pk=release.pk).update(state="draft"),
        lambda: Release.objects.filter(pk=release.pk).update(subject=other),
        lambda: Release.objects.filter(pk=release.pk).update(definition_sha256="0" * 64),
        lambda: Release.objects.filter(pk=release.pk).delete(),
    ):
        with pytest.raises((DatabaseError, IntegrityError)), transaction.atomic():
            change()
    assert rows.count() == 3


def test_a_later_version_or_route_changes_no_approved_release(access, agent, versions, bindings):
    approve(access, versions)
    release = moved(access, actions.create_release(access=access, agent=agent, name="1", bindings=bindings), "approved")
    before = (release.definition_sha256, release.subject_id, release.route_revision_id)
    asset = versions["prompt_template"].asset
    actions.add_asset_version(access=access, asset=asset, body="Be rude.", revision=1)
    route = ModelRoute.objects.get()
    fields = actions.RouteFields(provider=route.active.provider, model_id="fixture:other", auth_mode="none")
    actions.activate_route(revision=actions.add_route_revision(route=route, fields=fields, by=None), by=None)
    release.refresh_from_db()
    assert (release.definition_sha256, release.subject_id, release.route_revision_id) == before


def test_content_that_was_taken_away_stops_an_approval_and_says_so(
    access, agent, versions, bindings, cast, page_client
):
    approve(access, versions)
    release = actions.create_release(access=access, agent=agent, name="1", bindings=bindings)
    AssetContent.objects.filter(version=versions["toolset"]).update(availability="redacted", body=None)
    assert (
        code_of(lambda: actions.move_release(access=access, release=release, to="approved", revision=1))
        == "snapshot_unavailable"
    )
    page = words_of(page_client(cast.ana).get(f"/t/{cast.team.slug}/agents/releases/{release.pk}/"))
    assert "was taken away" in page


def test_an_archived_asset_is_bound_no_more(access, agent, versions, bindings):
    approve(access, versions)
    release = actions.create_release(access=access, agent=agent, name="1", bindings=bindings)
    actions.archive_asset(access=access, asset=versions["toolset"].asset)
    for attempt in (
        lambda: actions.create_release(access=access, agent=agent, name="2", bindings=bindings),
        lambda: actions.move_release(access=access, release=release, to="approved", revision=1),
        lambda: actions.approve_asset_version(access=access, version=versions["toolset"]),
    ):
        assert code_of(attempt) == "asset_archived"
    assert actions.bind_release(access=access, release=release, bindings=bindings, revision=1).revision == 2


def test_built_in_assets_serve_every_team_and_are_the_operators(cast, access, agent, client):
    client.force_login(cast.operator)
    form = {"kind": "prompt_template", "name": "Careful", "body": '"Be careful."'}
    assert client.post("/operators/agents/asset/add/", {**form, "body": '{"a": 1}'}).status_code == 200
    assert not Asset.objects.exists()
    assert client.post("/operators/agents/asset/add/", form).status_code == 302
    built_in = AssetVersion.objects.get()
    assert AssetApproval.objects.get().approved_by == cast.operator
    client.post("/operators/agents/asset/add/", {**form, "body": '"Be more careful."'})
    assert AssetVersion.objects.filter(asset=built_in.asset).count() == 2
    release = actions.create_release(access=access, agent=agent, name="1", bindings={"prompt_template": built_in.pk})
    assert queries.bindings_of(release)[0].version == built_in
    for attempt in (
        lambda: actions.add_asset_version(access=access, asset=built_in.asset, body="x", revision=1),
        lambda: actions.approve_asset_version(access=access, version=built_in),
        lambda: actions.archive_asset(access=access, asset=built_in.asset),
    ):
        assert code_of(attempt) == "asset_built_in"


# the console


def test_the_way_from_a_template_to_an_active_release_by_forms(cast, page_client, agent, access):
    ana, here = page_client(cast.ana), f"/t/{cast.team.slug}/agents/"
    assert "Instructions" in words_of(ana.get(f"{here}assets/new"))
    assert "A JSON list of tools" in words_of(ana.get(f"{here}assets/new?kind=toolset"))
    wrong = ana.post(f"{here}assets/new?kind=toolset", {"name": "Tools", "body": '[{"name": "1"}]'})
    assert wrong.status_code == 422 and "[0].name" in words_of(wrong)
    template = ana.post(f"{here}assets/new", {"name": "Prompt", "body": "Be\r\nkind."})["Location"]
    model = ana.post(f"{here}assets/new?kind=model", {"name": "Large", "body": "fixture-large"})["Location"]
    assert AssetContent.objects.get(version__asset__name="Prompt").body == "Be\nkind."
    ana.post(f"{template}versions/new", {"body": "Be brief.", "revision": "1"})
    told = words_of(ana.get(f"{template}?version=2&against=1"))
    assert "brief" in told and "kind" in told
    for page, number in ((template, 2), (model, 1)):
        ana.post(f"{page}versions/{number}/approve")
    newest = AssetVersion.objects.get(asset__name="Prompt", number=2)
    chosen = {"prompt_template": newest.pk, "model": AssetVersion.objects.get(asset__name="Large").pk}
    made = ana.post(f"{here}{agent.pk}/releases/new", {"name": "2026-12", **chosen})
    release = Release.objects.get()
    assert made["Location"].endswith(f"/{release.pk}/")
    page = words_of(ana.get(made["Location"]))
    assert "Be brief." in page and "Approve" in page
    for state in ("approved", "active"):
        release.refresh_from_db()
        ana.post(f"{made['Location']}move", {"to": state, "revision": release.revision})
    page = words_of(ana.get(made["Location"]))
    assert "Active" in page and "Retire" in page and "Change bindings" not in page
    assert "Release" in words_of(ana.get(f"{here}releases/"))
    stale = ana.post(f"{made['Location']}move", {"to": "retired", "revision": "1"})
    assert "release_transition_impossible" not in stale.content.decode() and stale.status_code == 409


def test_approval_is_the_owners_and_editing_the_managers(cast, page_client, agent, access, versions):
    teams.set_role(access=None, team=cast.team, user=cast.omar, role=teams.preset("Manager"), by=None)
    manager, page = page_client(cast.omar), f"/t/{cast.team.slug}/agents/assets/{versions['model'].asset_id}/"
    assert manager.post(f"{page}versions/1/approve").status_code == 403
    assert "versions/1/approve" not in manager.get(page).content.decode()
    assert manager.get(f"{page}versions/new").status_code == 200
    page_client(cast.ana).post(f"{page}versions/1/approve")
    assert AssetApproval.objects.get().approved_by == cast.ana
    assert AuditEvent.objects.filter(action="asset.approved").count() == 1


def test_what_an_asset_says_needs_the_right_to_content(cast, page_client, versions):
    ben = page_client(cast.ben)
    page = words_of(ben.get(f"/t/{cast.team.slug}/agents/assets/{versions['prompt_template'].asset_id}/"))
    assert "Be kind" not in page and "evaluation.content.read" in page


# the same over the API


def test_a_release_over_the_api(cast, api_client, agent):
    api = api_client(cast.ana, cast.team)

    def send(method: str, address: str, body: object, **headers: str):
        return api.generic(
            method, f"/api/v1/{address}", json.dumps(body), content_type="application/json", headers=headers
        )

    def key(text: str) -> dict[str, str]:
        return {"Idempotency-Key": f"release-key-{text}"}

    made = send("POST", "assets", {"kind": "prompt_template", "name": "P", "body": "Be kind."}, **key("a")).json()
    assert (made["number"], made["body"], made["approved_at"]) == (1, "Be kind.", None)
    model = send("POST", "assets", {"kind": "model", "name": "M", "body": "fixture-large"}, **key("b")).json()
    again = {"asset_revision": 1, "body": "Be brief."}
    later = send("POST", f"assets/{made['asset']}/versions", again, **key("c"))
    assert (later.status_code, later.json()["number"]) == (201, 2)
    wrong = send("POST", "assets", {"kind": "choir", "name": "C", "body": "x"}, **key("d"))
    assert (wrong.status_code, wrong.json()["error"]["place"]) == (400, "kind")
    for asset, number in ((made["asset"], 2), (model["asset"], 1)):
        approved = api.put(f"/api/v1/assets/{asset}/versions/{number}/approval")
        assert approved.status_code == 200 and approved.json()["approved_at"]
    bindings = {"prompt_template": later.json()["id"], "model": model["id"]}
    release = send("POST", f"agents/{agent.pk}/releases", {"name": "1", "bindings": bindings}, **key("e")).json()
    assert {one["role"]: one["approved"] for one in release["bindings"]} == {"prompt_template": True, "model": True}
    odd = send("PATCH", f"releases/{release['id']}", {"bindings": {"model": "x"}}, **{"If-Match": '"1"'})
    assert (odd.status_code, odd.json()["error"]["place"]) == (400, "bindings.model")
    bound = send("PATCH", f"releases/{release['id']}", {"bindings": bindings}, **{"If-Match": '"1"'})
    assert (bound.status_code, bound["ETag"]) == (200, '"2"')
    body = {"to": "approved", "release_revision": 2}
    first = send("POST", f"releases/{release['id']}/transitions", body, **key("f"))
    assert (first.status_code, first.json()["after"]) == (201, "approved")
    assert send("POST", f"releases/{release['id']}/transitions", body, **key("f")).status_code == 200
    impossible = {"to": "draft", "release_revision": 3}
    refused = send("POST", f"releases/{release['id']}/transitions", impossible, **key("g"))
    assert (refused.status_code, refused.json()["error"]["place"]) == (409, "to")
    shown = api.get("/api/v1/releases", {"agent": str(agent.pk), "state": "approved"}).json()["items"]
    assert [one["id"] for one in shown] == [release["id"]] and shown[0]["subject"]
    assert api.get("/api/v1/releases", {"state": "asleep"}).status_code == 400
    assert api.get("/api/v1/assets", {"kind": "model"}).json()["count"] == 1
    renamed = send("PATCH", f"assets/{model['asset']}", {"name": "Main", "archived": True}, **{"If-Match": '"1"'})
    assert (renamed.json()["name"], renamed.json()["revision"]) == ("Main", 3)
    body = api_client(cast.ben, cast.team).get(f"/api/v1/assets/{made['asset']}/versions/2").json()
    assert (body["body"], body["availability"]) == (None, "available")
