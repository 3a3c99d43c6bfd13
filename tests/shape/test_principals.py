"""Every door against everybody whose way in has ended or is narrower than the member: sessions, tokens, operators.

`test_doors` asks for each set of rights; here each right is also missing from a token of a member who has it.
"""

from __future__ import annotations

import logging
from datetime import timedelta

import pytest
from django.contrib import admin
from django.test import Client
from django.utils import timezone

from teams import actions
from teams.access import current_access
from teams.models import ApiToken, Membership, User
from teams.permissions import Right
from tests.shape.addresses import ENDPOINTS, PAGES, Address
from tests.shape.test_doors import ANY_MEMBER, PUBLIC, _ask
from tests.shape.world import CANARY, World

CLOSED = [one for one in ENDPOINTS if one.name not in PUBLIC]
READ_ONLY = frozenset({"evaluation.read", "evaluation.content.read", "agent.read"})


@pytest.fixture
def second(world: World) -> User:
    """Another owner, whose account and membership may end without leaving the team alone."""
    user = User.objects.create_user("second@example.org", None, name="Second")
    actions.set_role(access=None, team=world.team, user=user, role=actions.preset("Owner"), by=None)
    return user


def speaking(world: World, user: User, rights=None) -> tuple[ApiToken, Client]:
    token, secret = actions.create_token(
        access=current_access(user, world.team.slug), name="test", days=1, rights=rights
    )
    return token, Client(headers={"Authorization": f"Bearer {secret}"})


@pytest.mark.parametrize("door", PAGES, ids=str)
def test_a_session_opens_no_page_after_its_account_or_membership_ended(
    door: Address, world: World, second: User, page_client
):
    address, browser = door.of(world), page_client(second)
    methods = [method for method in ("GET", "POST") if method in door.methods]
    Membership.objects.filter(user=second).delete()
    assert [_ask(browser, method, address).status_code for method in methods] == [404] * len(methods)
    User.objects.filter(pk=second.pk).update(is_active=False)
    found = [_ask(browser, method, address) for method in methods]
    assert all(one.status_code == 302 and one["Location"].startswith("/sign-in/") for one in found)


@pytest.mark.parametrize("endpoint", CLOSED, ids=str)
def test_a_token_opens_nothing_after_it_or_its_member_ended(endpoint: Address, world: World, second: User):
    address = endpoint.of(world)
    token, program = speaking(world, second)
    row = ApiToken.objects.filter(pk=token.pk)

    def answers(code: str) -> None:
        for method in endpoint.methods:
            found = _ask(program, method, address)
            assert found.json()["error"]["code"] == code, method
            assert CANARY not in found.content.decode()

    row.update(expires_at=timezone.now() - timedelta(seconds=1))
    answers("not_authenticated")
    row.update(expires_at=None, revoked_at=timezone.now())
    answers("not_authenticated")
    row.update(revoked_at=None)
    Membership.objects.filter(user=second).delete()
    answers("not_found")
    User.objects.filter(pk=second.pk).update(is_active=False)
    answers("not_authenticated")


@pytest.mark.parametrize("endpoint", CLOSED, ids=str)
def test_a_narrow_token_of_an_owner_may_do_no_more_than_it_says(endpoint: Address, world: World):
    address = endpoint.of(world)
    everything = {right.value for right in Right}
    for missing in sorted(everything):
        _, program = speaking(world, world.owner, sorted(everything - {missing}))
        for method in endpoint.methods:
            if missing in endpoint.needed(method):
                found = _ask(program, method, address).json()["error"]
                assert (found["code"], found["extra"]["rights"]) == ("missing_right", [missing])
    _, reader = speaking(world, world.owner, sorted(READ_ONLY))
    for method in endpoint.methods:
        needed = endpoint.needed(method)
        if not needed <= READ_ONLY:
            assert _ask(reader, method, address).status_code == 403
        elif method == "GET":
            assert _ask(reader, method, address).status_code == 200
    _, blind = speaking(world, world.owner, sorted(everything - {"evaluation.content.read"}))
    if "GET" in endpoint.methods:
        assert CANARY not in _ask(blind, "GET", address).content.decode()


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_every_page_has_the_strict_policy_and_is_stored_nowhere(page: Address, world: World, page_client):
    if page.name in ANY_MEMBER:
        return  # it acts for everybody; what it does stands in the tests of its own
    if "GET" in page.methods:
        answer = page_client(world.owner).get(page.of(world))
    else:
        answer = page_client(world.members["nothing"]).post(page.of(world))
    policy = answer["Content-Security-Policy"]
    assert "unsafe" not in policy and "*" not in policy and "http" not in policy and "data:" not in policy
    assert "default-src 'self'" in policy and "frame-ancestors 'none'" in policy
    assert answer["Cache-Control"] == "no-store, private"
    assert answer["X-Content-Type-Options"] == "nosniff"


# the third door


def _operators_addresses() -> list[str]:
    models = (model._meta for model in admin.site._registry)
    lists = [f"/operators/{meta.app_label}/{meta.model_name}/" for meta in models]
    return [
        "/operators/",
        "/operators/health/",
        "/operators/queues/",
        "/operators/refusals/",
        *lists,
        *(f"{one}add/" for one in lists),
    ]


@pytest.mark.parametrize("address", _operators_addresses())
def test_the_operators_site_is_shut_to_members_whatever_their_rights(
    address: str, world: World, built, client, page_client
):
    assert client.get(address).status_code == 302
    for name, member in world.members.items():
        found = page_client(member).get(address)
        assert (found.status_code, found["Location"].split("?")[0]) == (302, "/operators/login/"), name
    assert page_client(world.owner).post(address).status_code == 302
    seen = page_client(built[2]).get(address)
    assert seen.status_code in (200, 403)  # 403: nothing is added there by hand
    assert CANARY not in seen.content.decode()


def test_staff_without_a_permission_see_no_table(world: World, page_client):
    staff = page_client(User.objects.create_user("staff@example.org", None, is_staff=True))
    for model in admin.site._registry:
        address = f"/operators/{model._meta.app_label}/{model._meta.model_name}/"
        assert staff.get(address).status_code == 403, address
        row = model._base_manager.first()
        if row is not None:
            assert staff.get(f"{address}{row.pk}/change/").status_code == 403, address


# where nobody looks


def test_no_log_line_of_any_door_holds_content(world: World, page_client, api_client, caplog):
    caplog.set_level(logging.DEBUG)
    browser, program = page_client(world.owner), api_client(world.owner, world.team)
    seen = 0
    for one in (*PAGES, *CLOSED):
        if "GET" in one.methods:
            answer = (program if one.api else browser).get(one.of(world))
            seen += CANARY in b"".join(answer).decode()
    assert seen > 5  # content was read on the way
    # The test database logs its statements here; an operator who turns that on asks for them.
    lines = [record for record in caplog.records if record.name != "django.db.backends"]
    assert not [record.getMessage() for record in lines if CANARY in record.getMessage()]


def test_no_export_holds_content_for_those_who_may_not_read_it(world: World, page_client):
    export = next(one for one in PAGES if one.name == "comparisons:export")
    for name, member in world.members.items():
        if "evaluation.read" not in world.held[name]:
            continue
        for form in ("json", "csv"):
            body = b"".join(page_client(member).get(f"{export.of(world)}&format={form}")).decode()
            assert (CANARY in body) is ("evaluation.content.read" in world.held[name]), (name, form)
