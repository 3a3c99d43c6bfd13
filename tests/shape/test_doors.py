"""Every door of the map: which rights it asks, whom it lets in, and what it shows to those without content."""

from __future__ import annotations

import re
import uuid

import pytest
from django.urls import URLPattern

from config import urls
from teams import actions
from teams.access import current_access
from teams.models import AuditEvent, User
from teams.permissions import Right
from tests.shape.addresses import ENDPOINTS, FOREIGN, PAGES, Address
from tests.shape.world import CANARY, World

CONTENT = Right.EVALUATION_CONTENT_READ.value

OPEN = {
    "home": "sends people to their team or to signing in",
    "ping": "says that the server is alive",
    "login": "the way in",
    "second_factor_code": "the second step of the way in; the session remembers who gave the password",
    "single_sign_on": "another way in, through the organisation's server",
    "openid_connect_callback": "where that server sends people back to; what it says is asked of it",
    "second_factor": "one's own second factor, with a code",
    "logout": "the way out",
    "password_forgotten": "asks for a link by mail; its answer tells nothing",
    "password_change": "one's own password, with the present one",
    "password_new": "the link is the key",
    "api_docs": "shows what `api:schema` says, and nothing about any team",
    "join": "the link of an invitation is its key",
    "theme": "remembers light or dark in a cookie",
    "gallery": "shows components without anybody's data",
}
"""Addresses outside teams and API, with the reason why they ask for no right."""

ANY_MEMBER = {
    "api:me": "tells a member without rights which ones are missing",
    "teams:leave": "everybody may go",
}
"""Doors of a team that ask for membership alone, with the reason."""

PERSONAL = {"api:token": Right.TEAM_MANAGE.value, "comparisons:setup": ""}
"""Doors to one person's things: for other members they look missing, unless these hold the right, if there is one."""

PUBLIC = {"api:schema": "describes the API and says nothing about any team"}
"""API addresses that need no token, with the reason."""

OPENS_WITH: dict[str, set[int]] = {
    "team_home": {302},  # to the newest comparison
    "comparisons:paired": {302},  # to the same address with every choice spelt out
    "imports:target": {409},  # a written import has nothing left to aim at
    "imports:discard": {302},  # a written import cannot be discarded
}
"""What a door answers to those whom it lets in, where that is not 200."""


@pytest.fixture
def foreign(db, built) -> World:
    return built[1]


@pytest.fixture
def outside(foreign, built) -> tuple[User, User]:
    """Signed in, and no member here: another team's owner, and an operator and superuser."""
    return foreign.owner, built[2]


def _ask(who, method: str, address: str):
    if method == "GET":
        return who.get(address)
    if address.startswith("/api/"):
        return getattr(who, method.lower())(address, b"{}", content_type="application/json")
    return getattr(who, method.lower())(address)


def shown(body: bytes) -> str:
    """A body without what differs from request to request."""
    text = re.sub(r"[0-9a-f]{32}", "<request>", body.decode())
    return re.sub(r'(nonce=|X-CSRFToken": |csrfmiddlewaretoken" value=)"[^"]*"', r"\1", text)


# the lists


def test_every_address_outside_teams_is_a_named_one():
    names = {entry.name for entry in urls.urlpatterns if isinstance(entry, URLPattern) and entry.name}
    assert names == set(OPEN)


@pytest.mark.parametrize("door", PAGES, ids=str)
def test_every_page_of_a_team_names_the_rights_it_needs(door: Address):
    assert door.view.needed or door.name in ANY_MEMBER, "decorate the view with @team_page(<rights>)"
    assert door.view.methods


@pytest.mark.parametrize("endpoint", [one for one in ENDPOINTS if one.name not in PUBLIC], ids=str)
def test_every_endpoint_names_the_rights_of_each_method(endpoint: Address):
    view = endpoint.view.view_class
    handlers = {name.upper() for name in view.http_method_names if name != "options" and hasattr(view, name)}
    assert set(view.needed) == handlers
    for method in view.needed:
        assert endpoint.needed(method) or endpoint.name in ANY_MEMBER


def test_no_exception_is_stale():
    named = {one.name: one for one in (*PAGES, *ENDPOINTS)}
    for name in (*PUBLIC, *ANY_MEMBER, *PERSONAL, *OPENS_WITH):
        assert name in named, f"{name} is no address any more"
    for name in PUBLIC:
        assert not hasattr(named[name].view.view_class, "needed")
    for name in ANY_MEMBER:
        assert not any(named[name].needed(method) for method in named[name].methods)


@pytest.mark.parametrize("door", [one for one in PAGES if set(one.methods) != {"GET", "HEAD", "POST"}], ids=str)
def test_a_page_refuses_other_methods_and_lists_its_own(door: Address, world: World, page_client):
    owner = page_client(world.owner)
    for method in {"GET", "POST", "PUT", "PATCH", "DELETE"} - set(door.methods):
        found = getattr(owner, method.lower())(door.of(world))
        assert (found.status_code, found["Allow"]) == (405, ", ".join(door.methods))


# the matrix


@pytest.mark.parametrize("door", PAGES, ids=str)
def test_a_page_opens_exactly_for_those_who_hold_its_rights(door: Address, world: World, outside, client, page_client):
    address = door.of(world)
    method = "GET" if "GET" in door.methods else "POST"

    def ask(who):
        return getattr(who, method.lower())(address)

    assert (found := ask(client)).status_code == 302 and found["Location"].startswith("/sign-in/")
    for outsider in outside:
        assert ask(page_client(outsider)).status_code == 404
    for name, member in world.members.items():
        allowed = world.held[name] >= door.needed(method)
        if method == "POST" and allowed:
            continue  # what a change does stands in the tests of its own
        found = ask(page_client(member))
        expected = OPENS_WITH.get(door.name, {200}) if allowed else {403}
        if allowed and door.name in PERSONAL and PERSONAL[door.name] not in world.held[name]:
            expected = {404}
        assert found.status_code in expected, f"{name}: {found.status_code}"
        if CONTENT not in world.held[name]:
            assert CANARY not in b"".join(found).decode(), f"{name} reads content"


@pytest.mark.parametrize("endpoint", [one for one in ENDPOINTS if one.name not in PUBLIC], ids=str)
def test_an_endpoint_opens_exactly_for_those_who_hold_its_rights(
    endpoint: Address, world: World, foreign: World, client, api_client
):
    address = endpoint.of(world)
    for method in endpoint.methods:

        def ask(who, method=method):
            return _ask(who, method, address)

        assert ask(client).status_code == 401
        if any(name in FOREIGN for name in endpoint.parameters):
            assert ask(api_client(foreign.owner, foreign.team)).status_code == 404
        for name, member in world.members.items():
            allowed = world.held[name] >= endpoint.needed(method)
            if method != "GET" and allowed:
                continue
            found = ask(api_client(member, world.team))
            if allowed and endpoint.name in PERSONAL and PERSONAL[endpoint.name] not in world.held[name]:
                assert found.status_code == 404, f"{name}: {found.status_code}"
                continue
            assert found.status_code == (200 if allowed else 403), f"{name}: {found.status_code}"
            if CONTENT not in world.held[name]:
                assert CANARY not in b"".join(found).decode(), f"{name} reads content"


SHOW_CONTENT = {
    "datasets:detail",
    "datasets:version",
    "datasets:revision",
    "datasets:draft",
    "datasets:edit_case",
    "datasets:slices",
    "datasets:slice",
    "datasets:edit_slice",
    "api:item_revision",
    "api:errata",
    "api:draft_changes",
    "api:draft_case",
    "api:slice_versions",
    "api:slice_items",
    "agents:subject",
    "agents:draft",
    "agents:changes",
    "agents:snapshot",
    "agents:asset",
    "agents:release",
    "agents:configuration",
    "agents:edit_configuration",
    "api:configuration_revisions",
    "agents:new_asset_version",
    "api:asset_version",
    "api:agent_draft",
    "api:snapshot",
    "graders:grader",
    "graders:new_version",
    "api:grader_version",
    "experiments:detail",
    "experiments:execution",
    "api:version_items",
    "api:subject",
    "api:executions",
}


@pytest.mark.parametrize("name", sorted(SHOW_CONTENT))
def test_a_reader_of_content_meets_it_where_it_belongs(name: str, world: World, page_client, api_client):
    """Without this, the matrix would also pass on pages that show nothing to anybody."""
    one = next(one for one in (*PAGES, *ENDPOINTS) if one.name == name)
    who = api_client(world.owner, world.team) if one.api else page_client(world.owner)
    assert CANARY in who.get(one.of(world)).content.decode()


def _named_objects() -> list[tuple[Address, str]]:
    return [(one, name) for one in (*PAGES, *ENDPOINTS) for name in one.parameters if name in FOREIGN]


@pytest.mark.parametrize(("one", "parameter"), _named_objects(), ids=lambda part: str(part))
def test_a_foreign_object_looks_exactly_like_a_missing_one(
    one: Address, parameter: str, world: World, foreign: World, page_client, api_client
):
    who = api_client(world.owner, world.team) if one.api else page_client(world.owner)
    method = "GET" if "GET" in one.methods else "POST" if "POST" in one.methods else one.methods[0]
    theirs = one.of(foreign, **({} if one.api else {"team": world.team.slug}))
    their_id = str(getattr(_Only(foreign), parameter))
    others = one.of(world, **{parameter: their_id})
    missing = one.of(world, **{parameter: str(uuid.uuid4())})
    found = [_ask(who, method, address) for address in (theirs, others, missing)]
    assert [answer.status_code for answer in found] == [404, 404, 404]
    bodies = {shown(answer.content).replace(their_id, "<id>") for answer in found}
    assert len({re.sub(r"[0-9a-f-]{36}", "<id>", body) for body in bodies}) == 1


class _Only:
    """Parameters of one world by attribute."""

    def __init__(self, world: World) -> None:
        self.world = world

    def __getattr__(self, name: str):
        from tests.shape.addresses import OBJECTS

        return OBJECTS[name](self.world)


def test_a_foreign_team_looks_exactly_like_a_missing_one(world: World, foreign: World, page_client):
    stranger = page_client(foreign.owner)
    for page in PAGES:
        if "GET" not in page.methods:
            continue
        foreign = stranger.get(page.of(world))
        missing = stranger.get(page.of(world, team="no-such-team"))
        assert foreign.status_code == missing.status_code == 404
        assert shown(foreign.content).replace(world.team.slug, "") == shown(missing.content).replace("no-such-team", "")


def test_a_denial_is_written_once_with_the_missing_right(world: World, page_client):
    member = world.members["nothing"]
    page_client(member).get(f"/t/{world.team.slug}/datasets/")
    event = AuditEvent.objects.get(action="access.denied", actor=member)
    assert (event.team, event.code, event.detail) == (world.team, "missing_right", {"rights": ["evaluation.read"]})
    assert event.request_id


def test_rights_are_asked_fresh_at_each_request(world: World, page_client):
    member = world.members["Analyst"]
    browser = page_client(member)
    assert browser.get(f"/t/{world.team.slug}/experiments/").status_code == 200
    actions.remove_member(access=current_access(world.owner, world.team.slug), user=member)
    assert browser.get(f"/t/{world.team.slug}/experiments/").status_code == 404


def test_no_event_of_the_audit_log_holds_content(world: World):
    assert AuditEvent.objects.filter(team=world.team).exists()
    for event in AuditEvent.objects.all():
        assert CANARY not in str(event.detail)
