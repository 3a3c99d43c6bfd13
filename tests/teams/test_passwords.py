"""New passwords and the other ways in: nothing is told, links work once, every way writes an event."""

from __future__ import annotations

import re

import pytest
from django.core import mail as outbox
from django.core.cache import cache
from django.test import Client

from config import signing_in
from teams import mail, tasks
from teams.models import AuditEvent, User

NEW = "seven green umbrellas"
FORM = {"username": "ana@example.org", "password": "a-long-password"}


@pytest.fixture(autouse=True)
def no_earlier_attempts(db):
    cache.clear()
    yield
    cache.clear()


@pytest.fixture
def sent(monkeypatch):
    """The messages to the worker, as they are."""
    messages = []
    monkeypatch.setattr(
        signing_in.current_app, "send_task", lambda name, arguments, **options: messages.append((name, arguments))
    )
    return messages


def set_password(client, link, password=NEW):
    page = client.get(link.replace(mail.absolute(""), ""), follow=True)
    form = page.redirect_chain[-1][0] if page.redirect_chain else link
    return client.post(form, {"new_password1": password, "new_password2": password})


def test_the_answer_is_the_same_with_and_without_an_account(cast, client, sent):
    known = client.post("/password/", {"email": "ANA@example.org"}, follow=True)
    unknown = client.post("/password/", {"email": "nobody@example.org"}, follow=True)
    assert known.redirect_chain == unknown.redirect_chain == [("/sign-in/", 302)]
    sentence = "If there is an account with this address"
    assert sentence in known.content.decode() and sentence in unknown.content.decode()
    assert sent == [("teams.tasks.send_password_link", [str(cast.ana.pk)])]  # an id, never a link


def test_a_broker_that_is_down_changes_nothing_in_the_answer(cast, client, monkeypatch):
    def down(*arguments, **options):
        raise ConnectionError

    monkeypatch.setattr(signing_in.current_app, "send_task", down)
    assert client.post("/password/", {"email": "ana@example.org"})["Location"] == "/sign-in/"


def test_a_link_sets_the_password_once_ends_sessions_and_signs_nobody_in(cast, client, page_client):
    elsewhere = page_client(cast.ana)
    tasks.send_password_link(str(cast.ana.pk))
    (message,) = outbox.outbox
    link = re.search(r"http\S+", message.body)[0]
    assert message.to == ["ana@example.org"] and link.startswith("http://127.0.0.1:8000/password/")
    assert set_password(client, link, "short").status_code == 200
    found = set_password(client, link)
    assert (found.status_code, found["Location"]) == (302, "/sign-in/")
    assert "_auth_user_id" not in client.session
    assert elsewhere.get(f"/t/{cast.team.slug}/datasets/").status_code == 302
    assert "This link has ended" in Client().get(link.replace("http://127.0.0.1:8000", "")).content.decode()
    assert client.post("/sign-in/", {**FORM, "password": NEW}).status_code == 302
    assert AuditEvent.objects.filter(action="password.changed", actor=cast.ana).count() == 1


def test_no_link_for_a_closed_account_and_an_old_one_stops_working(cast, client, sent):
    link = mail.password_link(cast.ana)
    User.objects.filter(pk=cast.ana.pk).update(is_active=False)
    client.post("/password/", {"email": "ana@example.org"})
    tasks.send_password_link(str(cast.ana.pk))
    assert sent == [] and outbox.outbox == []
    set_password(client, link)
    assert client.post("/sign-in/", {**FORM, "password": NEW}).status_code == 200


def test_asking_is_limited_per_account_and_per_address(cast, client, sent):
    for _ in range(signing_in.ASKED_PER_ADDRESS):
        assert client.post("/password/", {"email": "ana@example.org"}).status_code == 302
    assert len(sent) == signing_in.ASKED_PER_ACCOUNT
    found = client.post("/password/", {"email": "ben@example.org"})
    assert found.status_code == 429 and "too_many_requests" in found.content.decode()


def test_an_own_password_is_changed_with_the_present_one(cast, client, page_client):
    assert client.get("/password/change/")["Location"].startswith("/sign-in/")
    ana, other = page_client(cast.ana), page_client(cast.ana)
    body = {"old_password": "wrong", "new_password1": NEW, "new_password2": NEW}
    assert ana.post("/password/change/", body).status_code == 200
    assert ana.post("/password/change/", {**body, "old_password": "a-long-password"}).status_code == 302
    page = f"/t/{cast.team.slug}/datasets/"
    assert (ana.get(page).status_code, other.get(page).status_code) == (200, 302)


def test_an_operator_hands_over_a_link_and_it_is_written_down(cast, client, page_client):
    operator = page_client(cast.operator)
    address = f"/operators/teams/user/{cast.ben.pk}/change/"
    assert "_password_link" in operator.get(address).content.decode()
    found = operator.post(
        address, {"email": "ben@example.org", "name": "Ben", "is_active": "on", "_password_link": "1"}
    )
    link = re.search(r"http\S+/password/[^<\s]+", found.content.decode())[0]
    assert "no-store" in found["Cache-Control"]
    assert set_password(client, link).status_code == 302
    assert AuditEvent.objects.get(action="password.link_made").actor == cast.operator


def test_an_account_is_locked_also_when_guesses_come_from_many_addresses(cast, monkeypatch):
    monkeypatch.setitem(signing_in.LIMITS, "account", 3)
    for number in range(3):
        Client(REMOTE_ADDR=f"203.0.113.{number}").post("/sign-in/", {**FORM, "password": "wrong"})
    assert Client(REMOTE_ADDR="203.0.113.99").post("/sign-in/", FORM).status_code == 429


def test_an_address_is_locked_also_when_it_guesses_at_many_accounts(cast, monkeypatch):
    monkeypatch.setitem(signing_in.LIMITS, "address", 3)
    for number in range(3):
        Client().post("/sign-in/", {"username": f"{number}@example.org", "password": "wrong"})
    assert Client().post("/sign-in/", FORM).status_code == 429
    assert Client(REMOTE_ADDR="203.0.113.9").post("/sign-in/", FORM).status_code == 302


@pytest.mark.parametrize(
    ("proxies", "forwarded", "address"),
    [
        (0, "198.51.100.1", "127.0.0.1"),
        (1, "198.51.100.1", "198.51.100.1"),
        (1, "6.6.6.6, 198.51.100.1", "198.51.100.1"),  # what a client wrote stands before what our proxy saw
        (2, "6.6.6.6, 198.51.100.1, 10.0.0.1", "198.51.100.1"),
        (1, "", "127.0.0.1"),
    ],
)
def test_an_address_is_what_our_own_proxy_saw(rf, settings, proxies, forwarded, address):
    settings.PROXIES = proxies
    assert signing_in.address_of(rf.get("/", headers={"X-Forwarded-For": forwarded})) == address


def test_coming_going_and_being_refused_are_written_down(cast, client):
    client.post("/sign-in/", {**FORM, "password": "wrong"})
    client.post("/sign-in/", {"username": "no\0body", "password": "wrong"})
    client.post("/sign-in/", FORM)
    client.post("/sign-out/")
    events = AuditEvent.objects.filter(action__startswith="session.").order_by("at")
    assert [(one.action, one.code, one.object_id) for one in events] == [
        ("session.refused", "not_authenticated", cast.ana.pk),
        ("session.refused", "not_authenticated", None),
        ("session.started", "", cast.ana.pk),
        ("session.ended", "", cast.ana.pk),
    ]
    assert "example.org" not in str([one.detail for one in events])


def test_operators_come_in_by_the_same_door(cast, client, page_client):
    found = client.get("/operators/login/?next=/operators/teams/")
    assert found["Location"] == "/sign-in/?next=%2Foperators%2Fteams%2F"
    assert client.post("/operators/login/", {**FORM, "username": "operator@example.org"}).status_code == 302
    assert "_auth_user_id" not in client.session
    assert page_client(cast.ana).get("/operators/login/")["Location"] == "/"
    assert page_client(cast.operator).get("/operators/login/")["Location"] == "/operators/"
