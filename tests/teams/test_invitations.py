"""Invitations: one link for one address, accepted once, ended at any time, never above who invites."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.core import mail as outbox
from django.utils import timezone

from teams import actions
from teams.models import AuditEvent, Invitation, Membership, Role, User
from teams.refusals import Refusal

PASSWORD = "seven green umbrellas"


@pytest.fixture
def here(cast):
    return f"/t/{cast.team.slug}/team/"


@pytest.fixture
def ana(cast, page_client):
    return page_client(cast.ana)


def invited(cast, email="dina@example.org", role="Analyst"):
    return actions.invite(access=cast.access(cast.ana), email=email, role=actions.preset(role))


def link_of(answer) -> str:
    return re.search(r"/join/[\w-]+/", answer.content.decode())[0]


def refused(call) -> str:
    with pytest.raises(Refusal) as fault:
        call()
    return fault.value.code


def test_without_a_mail_server_the_link_is_shown_once_and_makes_an_account_and_a_member(cast, ana, client, here):
    role = actions.preset("Analyst")
    link = link_of(ana.post(f"{here}members/", {"email": "Dina@Example.org", "role": role.pk}))
    assert link not in ana.get(f"{here}members/").content.decode()
    assert link.split("/")[2] not in str(Invitation.objects.values())
    page = client.get(link)
    assert page.status_code == 200 and "no-store" in page["Cache-Control"]
    wrong = client.post(link, {"name": "Dina", "password": PASSWORD, "again": "another"})
    assert wrong.status_code == 422 and "The two passwords differ" in wrong.content.decode()
    assert client.post(link, {"name": "Dina", "password": "short", "again": "short"}).status_code == 422
    found = client.post(link, {"name": "Dina", "password": PASSWORD, "again": PASSWORD})
    assert (found.status_code, found["Location"]) == (302, f"/t/{cast.team.slug}/")
    dina = User.objects.get(email="dina@example.org")
    assert cast.access(dina).role == "Analyst"
    assert client.get(f"/t/{cast.team.slug}/datasets/").status_code == 200
    assert AuditEvent.objects.filter(action="invitation.accepted", actor=dina, team=cast.team).exists()


def test_a_mail_server_carries_the_link_and_the_page_does_not_show_it(cast, ana, here, settings):
    settings.MAIL_SENDS, settings.PUBLIC_URL = True, "https://evenhand.example.org"
    found = ana.post(
        f"{here}members/", {"email": "dina@example.org", "role": actions.preset("Viewer").pk}, HTTP_HOST="localhost"
    )
    assert found.status_code == 302
    (message,) = outbox.outbox
    assert message.to == ["dina@example.org"]
    assert re.search(r"https://evenhand\.example\.org/join/[\w-]{43}/", message.body)


def test_a_mail_server_that_fails_leaves_the_link_on_the_page(cast, ana, here, settings, monkeypatch):
    def down(self):
        raise OSError

    settings.MAIL_SENDS = True
    monkeypatch.setattr("teams.mail.EmailMessage.send", down)
    role = actions.preset("Viewer")
    assert link_of(ana.post(f"{here}members/", {"email": "dina@example.org", "role": role.pk}))


def test_an_account_joins_after_signing_in_and_nobody_else_does(cast, client, page_client):
    _, secret = invited(cast, "cleo@example.org", "Reviewer")
    link = f"/join/{secret}/"
    assert f"/sign-in/?next={link}" in client.get(link).content.decode()
    assert client.post(link, {"name": "x", "password": PASSWORD, "again": PASSWORD}).status_code == 200
    other = page_client(cast.operator)
    assert "another e-mail address" in other.get(link).content.decode()
    found = other.post(link)
    assert found.status_code == 403 and "invitation_for_another" in found.content.decode()
    assert not Membership.objects.filter(team=cast.team, user__in=[cast.cleo, cast.operator]).exists()
    cleo = page_client(cast.cleo)
    assert cleo.post(link).status_code == 302
    assert cast.access(cast.cleo).role == "Reviewer"
    assert cleo.post(link).status_code == 404  # it worked once


def test_every_ended_link_is_one_answer(cast, client):
    gone, used = invited(cast, "one@example.org"), invited(cast, "cleo@example.org")
    late, renewed = invited(cast, "two@example.org"), invited(cast, "three@example.org")
    actions.revoke_invitation(access=cast.access(cast.ana), invitation=gone[0])
    actions.accept_invitation(secret=used[1], user=cast.cleo)
    Invitation.objects.filter(pk=late[0].pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    actions.resend_invitation(access=cast.access(cast.ana), invitation=renewed[0])
    answers = [client.get(f"/join/{secret}/") for secret in (gone[1], used[1], late[1], renewed[1], "x" * 43)]
    assert {answer.status_code for answer in answers} == {404}
    assert all("invitation_ended" in answer.content.decode() for answer in answers)


def test_a_new_link_works_after_the_earlier_one_ended(cast):
    invitation, _ = invited(cast)
    _, secret = actions.resend_invitation(access=cast.access(cast.ana), invitation=invitation)
    member = actions.accept_invitation(secret=secret, name="Dina", password=PASSWORD)
    assert member.user.email == "dina@example.org"


def test_an_invitation_ends_with_the_rights_of_who_invited(cast):
    owner = actions.preset("Owner")
    actions.set_role(access=None, team=cast.team, user=cast.omar, role=owner, by=None)
    _, secret = actions.invite(access=cast.access(cast.omar), email="dina@example.org", role=owner)
    actions.set_role(access=None, team=cast.team, user=cast.omar, role=actions.preset("Viewer"), by=None)
    assert refused(lambda: actions.accept_invitation(secret=secret, name="D", password=PASSWORD)) == "invitation_ended"
    assert not User.objects.filter(email="dina@example.org").exists()


def test_a_closed_account_does_not_come_back_by_an_invitation(cast):
    User.objects.filter(pk=cast.cleo.pk).update(is_active=False)
    _, secret = invited(cast, "cleo@example.org")
    for user in (None, cast.cleo):
        assert (
            refused(lambda user=user: actions.accept_invitation(secret=secret, user=user)) == "invitation_for_another"
        )


def test_one_open_invitation_per_address_and_none_for_a_member(cast):
    invitation, _ = invited(cast)
    assert refused(lambda: invited(cast, "DINA@example.org")) == "invitation_open"
    assert refused(lambda: invited(cast, "ben@example.org")) == "already_member"
    assert refused(lambda: invited(cast, "no address")) == "invalid_field"
    Invitation.objects.filter(pk=invitation.pk).update(expires_at=timezone.now())
    again, _ = invited(cast)
    invitation.refresh_from_db()
    assert (invitation.state, again.state) == ("revoked", "open")
    actions.revoke_invitation(access=cast.access(cast.ana), invitation=again)
    for end in (actions.revoke_invitation, actions.resend_invitation):
        assert refused(lambda end=end: end(access=cast.access(cast.ana), invitation=again)) == "invitation_closed"


def test_a_team_has_a_bounded_number_of_open_invitations(cast, monkeypatch):
    monkeypatch.setattr("teams.actions.invitations.MAX_OPEN", 1)
    invited(cast)
    assert refused(lambda: invited(cast, "two@example.org")) == "too_many_invitations"


def test_nobody_invites_above_their_own_rights(cast, api_client):
    helper = Role.objects.create(team=cast.team, name="Helper", rights=["evaluation.read", "team.manage"])
    actions.set_role(access=None, team=cast.team, user=cast.omar, role=helper, by=None)
    with pytest.raises(Refusal) as fault:
        actions.invite(access=cast.access(cast.omar), email="dina@example.org", role=actions.preset("Owner"))
    assert fault.value.code == "right_above_own" and "evaluation.execute" in fault.value.extra["rights"]
    invitation, _ = invited(cast, role="Owner")  # by ana; omar may not make it his own
    assert refused(lambda: actions.resend_invitation(access=cast.access(cast.omar), invitation=invitation)) == (
        "right_above_own"
    )


def test_the_page_lists_sends_again_and_revokes(cast, ana, here):
    invitation, secret = invited(cast)
    assert "dina@example.org" in ana.get(f"{here}members/").content.decode()
    fresh = link_of(ana.post(f"{here}invitations/{invitation.pk}/resend"))
    assert secret not in fresh
    assert ana.post(f"{here}invitations/{invitation.pk}/revoke").status_code == 302
    assert ana.post(f"{here}invitations/{invitation.pk}/revoke").status_code == 409
    assert "dina@example.org" not in ana.get(f"{here}members/").content.decode().split("Open invitations")[-1]


def test_the_api_invites_once_per_key_and_shows_the_link_once(cast, api_client):
    program, role = api_client(cast.ana, cast.team), str(actions.preset("Viewer").pk)
    body = {"email": "dina@example.org", "role": role}

    def post(body, key="invite-dina-1"):
        return program.post(
            "/api/v1/invitations", body, content_type="application/json", headers={"Idempotency-Key": key}
        )

    assert program.post("/api/v1/invitations", body, content_type="application/json").json()["error"]["code"] == (
        "request_key_missing"
    )
    first, again = post(body), post(body)
    assert (first.status_code, again.status_code) == (201, 200)
    assert "/join/" in first.json()["link"] and again.json()["link"] is None
    assert first.json()["id"] == again.json()["id"]
    assert post({**body, "email": "other@example.org"}).json()["error"]["code"] == "request_key_conflict"
    assert post({**body, "extra": 1}, "another-key").json()["error"]["code"] == "unknown_field"
    assert post({**body, "role": str(cast.team.pk)}, "another-key").json()["error"]["place"] == "role"
    one = f"/api/v1/invitations/{first.json()['id']}"
    assert program.get(one).json()["state"] == "open"
    assert "/join/" in program.post(f"{one}/resend").json()["link"]
    assert [row["email"] for row in program.get("/api/v1/invitations?state=open").json()["items"]] == [body["email"]]
    assert program.get("/api/v1/invitations?state=odd").status_code == 400
    assert program.delete(one).status_code == 204
    assert program.delete(one).json()["error"]["code"] == "invitation_closed"
    assert program.get("/api/v1/invitations?state=revoked").json()["count"] == 1


def test_no_digest_of_a_link_leaves_the_database(cast, api_client, page_client):
    invitation, _ = invited(cast)
    shown = api_client(cast.ana, cast.team).get("/api/v1/invitations").content.decode()
    operators = page_client(cast.operator).get(f"/operators/teams/invitation/{invitation.pk}/change/")
    assert operators.status_code == 200
    assert invitation.digest not in shown + operators.content.decode()
