"""The way in and out: lock, idle end, new session at sign-in, forged forms."""

from __future__ import annotations

import time

import pytest
from django.core.cache import cache
from django.test import Client

from config.middleware import SEEN
from config.signing_in import LIMITS

FORM = {"username": "ana@example.org", "password": "a-long-password"}


@pytest.fixture(autouse=True)
def no_earlier_attempts():
    cache.clear()
    yield
    cache.clear()


@pytest.fixture(autouse=True)
def database(db):
    """The cache may live in the database."""


def test_signing_in_makes_a_new_session(cast, client):
    client.get("/sign-in/")
    before = client.session.session_key
    found = client.post("/sign-in/", FORM)
    assert found.status_code == 302
    assert client.session.session_key and client.session.session_key != before
    assert client.get("/")["Location"] == f"/t/{cast.team.slug}/"


def test_a_member_of_no_team_is_told_what_to_do(cast, page_client):
    found = page_client(cast.operator).get("/")
    assert found.status_code == 200
    assert "You are in no team yet" in found.content.decode()


def test_repeated_failures_lock_the_account_for_that_address_alone(cast, client):
    for _ in range(LIMITS["pair"]):
        assert client.post("/sign-in/", {**FORM, "password": "wrong"}).status_code == 200
    locked = client.post("/sign-in/", FORM)  # even the right password
    assert locked.status_code == 429
    assert "sign_in_locked" in locked.content.decode()
    assert client.post("/sign-in/", {**FORM, "username": "omar@example.org"}).status_code == 302
    assert Client(REMOTE_ADDR="203.0.113.9").post("/sign-in/", FORM).status_code == 302


def test_the_answer_does_not_tell_whether_an_account_exists(cast, client):
    wrong = client.post("/sign-in/", {**FORM, "password": "wrong"}).content.decode()
    unknown = client.post("/sign-in/", {**FORM, "username": "nobody@example.org"}).content.decode()
    sentence = "Please enter a correct email and password."
    assert sentence in wrong and sentence in unknown


def test_an_idle_session_ends(cast, page_client, settings):
    browser = page_client(cast.ana)
    page = f"/t/{cast.team.slug}/datasets/"
    assert browser.get(page).status_code == 200
    session = browser.session
    session[SEEN] = int(time.time()) - settings.SESSION_IDLE_SECONDS - 1
    session.save()
    found = browser.get(page)
    assert found.status_code == 302 and found["Location"].startswith("/sign-in/?next=")
    assert "_auth_user_id" not in browser.session


def test_signing_out_ends_the_session(cast, page_client):
    browser = page_client(cast.ana)
    assert browser.get("/sign-out/").status_code == 405  # an image or a link must not sign anybody out
    assert browser.post("/sign-out/").status_code == 302
    assert browser.get(f"/t/{cast.team.slug}/datasets/").status_code == 302


def test_a_form_without_its_token_is_refused_with_a_page(cast):
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(cast.ana)
    found = browser.post(f"/t/{cast.team.slug}/team/tokens/", {"name": "x", "days": ""})
    assert found.status_code == 403
    assert "csrf_failed" in found.content.decode()
    assert "Reload the page" in found.content.decode()


@pytest.mark.parametrize("back", ["https://evil.example/", "//evil.example/", "javascript:alert(1)", "/\\evil.example"])
def test_nobody_is_sent_off_the_site(cast, client, back):
    assert client.post("/theme", {"theme": "dark", "next": back})["Location"] == "/"
    assert "evil" not in client.post(f"/sign-in/?next={back}", {**FORM, "next": back})["Location"]


def test_the_theme_is_kept_in_a_cookie_and_taken_back(client, db):
    assert client.post("/theme", {"theme": "dark", "next": "/sign-in/"}).cookies["theme"].value == "dark"
    assert 'data-theme="dark"' in client.get("/sign-in/").content.decode()
    client.post("/theme", {"theme": "system"})
    assert "data-theme=" not in client.get("/sign-in/").content.decode()
