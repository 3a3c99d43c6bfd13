"""Signing in through an organisation's server, which speaks real HTTP on this machine."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from allauth.socialaccount.models import SocialAccount, SocialToken
from django.core.cache import cache
from django.test import Client

from teams import second_factor
from teams.models import AuditEvent, SecondFactor, User


@dataclass
class Organisation:
    """An OpenID Connect server: what it says about whoever comes, and what it was asked."""

    address: str = ""
    says: dict[str, Any] = field(default_factory=dict)
    asked: list[tuple[str, dict[str, list[str]]]] = field(default_factory=list)
    broken: bool = False


def _server(organisation: Organisation) -> ThreadingHTTPServer:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

        def _send(self, body: Any, status: int = 200) -> None:
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def do_GET(self) -> None:
            here = organisation.address
            if self.path.endswith("/openid-configuration"):
                names = ("authorization", "token", "userinfo")
                found = {f"{name}_endpoint": f"{here}/{name}" for name in names}
                self._send({"issuer": here, "jwks_uri": f"{here}/keys", **found})
            elif self.path == "/userinfo" and self.headers["Authorization"] == "Bearer access-1":
                self._send(organisation.says)
            else:
                self._send({"error": "not here"}, 404)

        def do_POST(self) -> None:
            sent = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            organisation.asked.append((self.path, sent))
            if organisation.broken or sent.get("code") != ["code-1"]:
                self._send({"error": "invalid_grant"}, 400)
            else:
                self._send({"access_token": "access-1", "token_type": "Bearer"})

    return ThreadingHTTPServer(("127.0.0.1", 0), Handler)


@pytest.fixture
def organisation(cast, settings) -> Iterator[Organisation]:
    cache.clear()
    found = Organisation(says={"sub": "u-7", "email": "ana@example.org", "email_verified": True})
    server = _server(found)
    found.address = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    providers = json.loads(json.dumps(settings.SOCIALACCOUNT_PROVIDERS))
    (app,) = providers["openid_connect"]["APPS"]
    app |= {"client_id": "evenhand", "secret": "a-secret-of-ours", "settings": {"server_url": found.address}}
    settings.SOCIALACCOUNT_PROVIDERS = providers
    settings.OIDC_SERVER_URL, settings.OIDC_NAME = found.address, "Acme"
    yield found
    server.shutdown()
    server.server_close()
    cache.clear()


def come_back(client: Client, organisation: Organisation, *, following: str = "", code: str = "code-1", **more: str):
    """Go to the organisation's server and back, as a browser does."""
    away = client.post(f"/sign-in/sso/?next={following}" if following else "/sign-in/sso/")
    assert away.status_code == 302 and away["Location"].startswith(f"{organisation.address}/authorization?")
    asked = parse_qs(urlsplit(away["Location"]).query)
    assert asked["code_challenge_method"] == ["S256"] and "a-secret-of-ours" not in away["Location"]
    assert urlsplit(asked["redirect_uri"][0]).path == "/sign-in/sso/callback/"
    return client.get("/sign-in/sso/callback/", {"code": code, "state": asked["state"][0], **more})


def who(client: Client) -> str:
    found = client.session.get("_auth_user_id")
    return User.objects.get(pk=found).email if found else ""


def said(client: Client) -> str:
    return client.get("/sign-in/").content.decode()


def test_a_verified_address_opens_its_account_and_binds_the_identity(cast, client, organisation):
    assert "Sign in with Acme" in said(client)
    before = client.session.session_key
    back = come_back(client, organisation, following=f"/t/{cast.team.slug}/agents/")
    assert (back.status_code, back["Location"]) == (302, f"/t/{cast.team.slug}/agents/")
    assert who(client) == "ana@example.org" and client.session.session_key != before
    kept = SocialAccount.objects.get()
    assert (kept.uid, kept.user, kept.extra_data) == ("u-7", cast.ana, {})
    assert not SocialToken.objects.exists()
    assert AuditEvent.objects.filter(action="session.started", actor=cast.ana).count() == 1
    assert organisation.asked[0][1]["code_verifier"]


def test_the_identity_counts_from_then_on_whatever_its_address_becomes(cast, organisation):
    come_back(Client(), organisation)
    organisation.says = {"sub": "u-7", "email": "omar@example.org", "email_verified": True}
    client = Client()
    come_back(client, organisation)
    assert who(client) == "ana@example.org"


@pytest.mark.parametrize(
    "says",
    [
        {"sub": "u-8", "email": "nobody@example.org", "email_verified": True},
        {"sub": "u-8", "email": "ana@example.org", "email_verified": False},
        {"sub": "u-8", "email": "ana@example.org"},
        {"sub": "u-8"},
        {"sub": "u-8", "email": "", "email_verified": True},
    ],
)
def test_nobody_else_is_let_in_and_nobody_signed_up(cast, client, organisation, says):
    organisation.says = says
    people = User.objects.count()
    back = come_back(client, organisation)
    assert back["Location"] == "/sign-in/" and who(client) == ""
    assert "Ask to be invited" in said(client)
    assert (User.objects.count(), SocialAccount.objects.count()) == (people, 0)
    assert AuditEvent.objects.filter(action="session.refused").exists()


def test_another_identity_with_the_same_address_is_not_let_in(cast, organisation):
    come_back(Client(), organisation)
    organisation.says = {**organisation.says, "sub": "u-9"}
    client = Client()
    come_back(client, organisation)
    assert who(client) == "" and SocialAccount.objects.count() == 1


def test_a_closed_account_stays_closed(cast, organisation):
    come_back(Client(), organisation)
    User.objects.filter(pk=cast.ana.pk).update(is_active=False)
    client = Client()
    come_back(client, organisation)
    assert who(client) == ""


def test_a_second_factor_is_asked_for_here_too(cast, client, organisation):
    factor = second_factor.begin(cast.ana)
    SecondFactor.objects.filter(pk=factor.pk).update(confirmed_at=factor.made_at)
    assert come_back(client, organisation)["Location"] == "/sign-in/code/"
    assert who(client) == ""


def test_a_forged_or_repeated_way_back_opens_nothing(cast, organisation):
    for state in ("", "forged", "x" * 500):
        client = Client()
        client.post("/sign-in/sso/")
        answer = client.get("/sign-in/sso/callback/", {"code": "code-1", "state": state})
        assert answer.status_code == 302 and who(client) == ""
    stranger, client = Client(), Client()
    away = client.post("/sign-in/sso/")
    state = parse_qs(urlsplit(away["Location"]).query)["state"][0]
    stranger.get("/sign-in/sso/callback/", {"code": "code-1", "state": state})
    assert who(stranger) == ""


def test_what_the_organisation_refuses_or_breaks_is_told_and_opens_nothing(cast, organisation):
    for more in ({"code": "code-2"}, {"error": "access_denied"}):
        client = Client()
        come_back(client, organisation, **more)
        assert who(client) == "" and "did not work" in said(client)
    organisation.broken = True
    client = Client()
    come_back(client, organisation)
    assert who(client) == "" and "did not work" in said(client)
    organisation.says = {"email": "ana@example.org", "email_verified": True}
    organisation.broken = False
    client = Client()
    come_back(client, organisation)
    assert who(client) == ""


def test_a_server_that_cannot_be_reached_is_told(cast, client, organisation, settings):
    providers = json.loads(json.dumps(settings.SOCIALACCOUNT_PROVIDERS))
    providers["openid_connect"]["APPS"][0]["settings"]["server_url"] = "http://127.0.0.1:9"
    settings.SOCIALACCOUNT_PROVIDERS = providers
    answer = client.post("/sign-in/sso/")
    assert answer.status_code == 302 and "did not work" in said(client)


def test_a_foreign_next_leads_home(cast, client, organisation):
    assert come_back(client, organisation, following="https://evil.example/")["Location"] == "/"


def test_without_a_server_there_is_no_such_door(cast, client, settings):
    settings.OIDC_SERVER_URL = ""
    assert "Sign in with" not in said(client)
    assert client.post("/sign-in/sso/").status_code == 404
    assert client.get("/sign-in/sso/callback/").status_code == 404
    assert client.get("/sign-in/other/callback/").status_code == 404
    assert client.get("/sign-in/sso/").status_code == 405
