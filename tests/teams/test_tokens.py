"""The scope of tokens: below the member, never above the token that made them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from teams import actions
from teams.models import ApiToken, AuditEvent


def speaking(cast, user, **given) -> Client:
    _, secret = actions.create_token(access=cast.access(user), name="test", days=given.pop("days", None), **given)
    return Client(headers={"Authorization": f"Bearer {secret}"})


def make(program, key="make-a-token", **body):
    return program.post(
        "/api/v1/tokens", {"name": "child", **body}, content_type="application/json", headers={"Idempotency-Key": key}
    )


def test_a_token_may_do_what_both_it_and_its_member_may(cast):
    narrow = speaking(cast, cast.ana, rights=["evaluation.read", "team.manage"])
    assert narrow.get("/api/v1/me").json()["rights"] == ["evaluation.read", "team.manage"]
    assert narrow.get("/api/v1/subjects").status_code == 403
    actions.set_role(access=None, team=cast.team, user=cast.omar, role=actions.preset("Owner"), by=None)
    actions.set_role(access=None, team=cast.team, user=cast.ana, role=actions.preset("Viewer"), by=None)
    assert narrow.get("/api/v1/me").json()["rights"] == ["evaluation.read"]


def test_the_page_makes_a_token_that_only_reads(cast, page_client):
    page = f"/t/{cast.team.slug}/team/tokens/"
    body = page_client(cast.ana).post(page, {"name": "reader", "days": "30", "rights": ["evaluation.read"]})
    assert body.status_code == 200
    assert ApiToken.objects.get().rights == ["evaluation.read"]
    above = page_client(cast.ben).post(page, {"name": "x", "days": "", "rights": ["team.manage"]})
    assert above.status_code == 422
    assert ApiToken.objects.count() == 1


def test_a_token_made_with_a_token_is_never_wider_and_never_lives_longer(cast):
    narrow = speaking(cast, cast.ana, days=2, rights=["evaluation.read"])
    above = make(narrow, rights=["evaluation.read", "team.manage"])
    assert (above.status_code, above.json()["error"]["code"]) == (403, "right_above_own")
    made = make(narrow, "another-key").json()
    assert made["rights"] == ["evaluation.read"]
    assert ApiToken.objects.get(pk=made["id"]).expires_at <= timezone.now() + timedelta(days=2)


def test_a_token_is_made_once_per_key_and_shown_once(cast):
    program = speaking(cast, cast.ana)
    first, again = make(program, days=30), make(program, days=30)
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json()["secret"].startswith("evh_") and again.json()["secret"] is None
    child = Client(headers={"Authorization": f"Bearer {first.json()['secret']}"})
    one = f"/api/v1/tokens/{first.json()['id']}"
    assert child.get(one).json()["name"] == "child"
    assert program.delete(one).status_code == 204
    assert child.get(one).status_code == 401
    assert program.get(one).json()["state"] == "revoked"


@pytest.mark.parametrize("body", [{"days": 0}, {"days": 367}, {"rights": []}, {"rights": ["made.up"]}, {"name": ""}])
def test_a_wrong_token_is_refused_at_its_place(cast, body):
    found = make(speaking(cast, cast.ana), **body)
    assert (found.status_code, found.json()["error"]["code"]) == (400, "invalid_field")
    assert found.json()["error"]["place"].split(".")[0] in body


def test_tokens_of_others_are_listed_and_ended_with_the_right_alone(cast):
    token, _ = actions.create_token(access=cast.access(cast.omar), name="of omar", days=1)
    ben, ana = speaking(cast, cast.ben), speaking(cast, cast.ana)
    assert ben.get("/api/v1/tokens?of=all").status_code == 403
    assert ben.delete(f"/api/v1/tokens/{token.pk}").status_code == 404
    assert "of omar" in [row["name"] for row in ana.get("/api/v1/tokens?of=all").json()["items"]]
    assert ana.get("/api/v1/tokens?of=odd").status_code == 400
    assert ana.delete(f"/api/v1/tokens/{token.pk}").status_code == 204
    assert AuditEvent.objects.filter(action="token.revoked", actor=cast.ana, object_id=token.pk).exists()
