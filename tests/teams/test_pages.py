"""The team's pages: members, tokens, audit log."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from teams import actions
from teams.models import ApiToken, AuditEvent, Membership, User


@pytest.fixture
def here(cast):
    return f"/t/{cast.team.slug}/team/"


@pytest.fixture
def ana(cast, page_client):
    return page_client(cast.ana)


def test_members_read_who_is_here_and_what_roles_may_do(cast, page_client, here):
    body = page_client(cast.ben).get(here).content.decode()
    for word in ("ana@example.org", "Omar", "evaluation.content.read", "Reviewer", "Your role here: Viewer."):
        assert word in body
    assert "Manage members</a>" not in body


@pytest.mark.parametrize(
    ("email", "sentence"),
    [("ben@example.org", "Change the role in the table of members."), ("no-address", "Enter a valid email address.")],
)
def test_a_wrong_e_mail_is_said_beside_the_field_and_kept(cast, ana, here, email, sentence):
    found = ana.post(f"{here}members/", {"email": email, "role": actions.preset("Viewer").pk})
    body = found.content.decode()
    assert found.status_code == 422
    assert sentence in body and f'value="{email}"' in body
    assert Membership.objects.filter(team=cast.team).count() == 3


def test_the_last_owner_is_told_why_nothing_happened(cast, ana, here):
    for address, data in (
        (f"{here}members/{cast.ana.pk}/role", {"role": actions.preset("Viewer").pk}),
        (f"{here}members/{cast.ana.pk}/remove", {}),
    ):
        found = ana.post(address, data)
        assert found.status_code == 409
        assert "last_owner" in found.content.decode()
    assert cast.access(cast.ana).role == "Owner"


def test_a_role_is_changed_and_a_member_removed(cast, ana, here):
    ana.post(f"{here}members/{cast.ben.pk}/role", {"role": actions.preset("Manager").pk})
    assert cast.access(cast.ben).role == "Manager"
    assert ana.post(f"{here}members/{cast.ben.pk}/role", {"role": "nonsense"}).status_code == 400
    ana.post(f"{here}members/{cast.ben.pk}/remove")
    assert not Membership.objects.filter(team=cast.team, user=cast.ben).exists()


def test_a_token_is_shown_once_and_works(cast, ana, client, here):
    body = ana.post(f"{here}tokens/", {"name": "nightly gate", "days": "30"}).content.decode()
    secret = re.search(r"evh_[\w-]+", body)[0]
    assert secret not in ana.get(f"{here}tokens/").content.decode()
    assert not ApiToken.objects.filter(digest=secret).exists()
    assert client.get("/api/v1/me", headers={"Authorization": f"Bearer {secret}"}).json()["role"] == "Owner"
    token = ApiToken.objects.get()
    assert token.last_used_at and timedelta(days=29) < token.expires_at - timezone.now() <= timedelta(days=30)


@pytest.mark.parametrize(
    "data", [{"name": "", "days": "30"}, {"name": "x" * 81, "days": ""}, {"name": "x", "days": "9999"}]
)
def test_a_token_of_another_form_is_refused_at_the_field(ana, here, data):
    assert ana.post(f"{here}tokens/", data).status_code == 422
    assert not ApiToken.objects.exists()


@pytest.mark.parametrize("end", ["expired", "revoked", "account closed", "membership ended"])
def test_a_token_that_ended_is_as_good_as_none(cast, api_client, end):
    program = api_client(cast.omar, cast.team)
    assert program.get("/api/v1/me").status_code == 200
    token = ApiToken.objects.filter(user=cast.omar)
    if end == "expired":
        token.update(expires_at=timezone.now())
    elif end == "revoked":
        actions.revoke_token(access=cast.access(cast.omar), token=token.get())
    elif end == "account closed":
        User.objects.filter(pk=cast.omar.pk).update(is_active=False)
    else:
        Membership.objects.filter(user=cast.omar).delete()
    found = program.get("/api/v1/me")
    assert found.status_code == (404 if end == "membership ended" else 401)


def test_a_token_speaks_for_its_own_team_only(cast, api_client):
    actions.set_role(access=None, team=cast.other_team, user=cast.omar, role=actions.preset("Owner"), by=None)
    assert api_client(cast.omar, cast.team).get("/api/v1/me").json()["role"] == "Analyst"


def test_a_member_sees_own_tokens_and_an_owner_ends_anybodys(cast, page_client, ana, here):
    token, _ = actions.create_token(access=cast.access(cast.omar), name="laptop of omar", days=1)
    assert "laptop of omar" not in page_client(cast.ben).get(f"{here}tokens/").content.decode()
    assert page_client(cast.ben).post(f"{here}tokens/{token.pk}/revoke").status_code == 404
    assert "laptop of omar" in ana.get(f"{here}tokens/").content.decode()
    assert ana.post(f"{here}tokens/{token.pk}/revoke").status_code == 302
    token.refresh_from_db()
    assert token.revoked_at


def test_tokens_of_the_api_are_ones_own_and_carry_no_digest(cast, api_client):
    actions.create_token(access=cast.access(cast.omar), name="laptop", days=1)
    listed = api_client(cast.ana, cast.team).get("/api/v1/tokens").json()
    assert [token["name"] for token in listed["items"]] == ["test"]
    assert "digest" not in str(listed)


def test_the_audit_log_is_filtered_and_refuses_unknown_words(cast, ana, here):
    actions.create_token(access=cast.access(cast.omar), name="laptop", days=1)
    page = f"{here}audit/"
    assert "member.role_set" in ana.get(page).content.decode()
    body = ana.get(page, {"action": "token.created", "actor": cast.omar.pk}).content.decode()
    assert "<code>token.created</code>" in body and "<code>member.role_set</code>" not in body
    assert ana.get(page, {"action": "nothing"}).status_code == 400
    assert ana.get(page, {"actor": "1 OR 1=1"}).status_code == 400


def test_the_audit_log_by_day_as_a_page_a_file_and_over_the_api(cast, ana, here, api_client, page_client):
    actions.create_token(access=cast.access(cast.omar), name="laptop", days=1)
    today = timezone.now().date().isoformat()
    assert "<code>token.created</code>" in ana.get(f"{here}audit/?since={today}&until={today}").content.decode()
    assert "No event matches" in ana.get(f"{here}audit/?until=2020-01-01").content.decode()
    assert ana.get(f"{here}audit/?since=yesterday").status_code == 400
    file = ana.get(f"{here}audit/export.csv?action=token.created")
    lines = b"".join(file).decode().splitlines()
    assert file["Content-Disposition"] == 'attachment; filename="audit-support.csv"'
    assert len(lines) == 2 and "omar@example.org,token.created" in lines[1]
    assert AuditEvent.objects.filter(action="audit.exported", actor=cast.ana).exists()
    assert page_client(cast.omar).get(f"{here}audit/export.csv").status_code == 403
    program = api_client(cast.ana, cast.team)
    found = program.get(f"/api/v1/audit-events?action=token.created&actor={cast.omar.pk}").json()
    assert [(one["action"], one["actor"]["email"]) for one in found["items"]] == [("token.created", "omar@example.org")]
    for query in ("since=31.12.", "actor=me", "page_size=1000", "colour=red"):
        assert program.get(f"/api/v1/audit-events?{query}").status_code == 400


def test_events_hold_one_line_each(cast):
    from teams import audit

    event = audit.record("test.event", team=cast.team, by=cast.ana, note="one\r\ntwo\\n", names=["a\nb"])
    event = AuditEvent.objects.get(pk=event.pk)
    assert event.detail == {"note": "one\\r\\ntwo\\\\n", "names": ["a\\nb"]}


def test_many_events_cost_no_more_queries(cast, ana, here, django_assert_max_num_queries):
    from teams import audit

    for number in range(120):
        audit.record("test.event", team=cast.team, by=cast.ana, number=number)
    with django_assert_max_num_queries(14):
        body = ana.get(f"{here}audit/?page=2").content.decode()
    assert "51–100 of" in body
