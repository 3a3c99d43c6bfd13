"""The operators' site: accounts, teams, roles, health. No content, and no membership by being an operator."""

from __future__ import annotations

from datetime import timedelta

import pytest
from celery import current_app
from django.contrib import admin
from django.contrib.auth.models import Group
from django.utils import timezone

from intake.models import Import
from teams import actions
from teams.models import ApiToken, AuditEvent, Membership, Team, User
from teams.records import Content
from teams.refusals import CATALOGUE
from tests.shape.world import CANARY, build


@pytest.fixture
def operator(cast, page_client):
    return page_client(cast.operator)


def test_only_operators_enter(cast, client, page_client):
    for address in (
        "/operators/",
        "/operators/health/",
        "/operators/queues/",
        "/operators/refusals/",
        "/operators/teams/auditevent/",
    ):
        assert client.get(address).status_code == 302
        assert page_client(cast.ana).get(address).status_code == 302


def test_no_table_of_content_has_an_admin_page():
    assert not [model for model in admin.site._registry if issubclass(model, Content)]
    assert Group not in admin.site._registry


def test_no_list_or_page_of_the_site_shows_content(cast, operator):
    build(cast.team, cast.ana)
    for model in admin.site._registry:
        name = f"/operators/{model._meta.app_label}/{model._meta.model_name}/"
        found = operator.get(name)
        assert found.status_code == 200 and CANARY not in found.content.decode(), name
        row = model._base_manager.first()
        if row is not None:
            found = operator.get(f"{name}{row.pk}/change/")
            assert found.status_code == 200 and CANARY not in found.content.decode(), name


def test_evidence_and_audit_can_be_looked_at_only(cast, operator):
    build(cast.team, cast.ana)
    for label in ("teams/auditevent", "teams/apitoken", "runs/experiment", "datasets/dataset", "agents/subject"):
        assert operator.get(f"/operators/{label}/add/").status_code == 403, label
        app, name = label.split("/")
        row = next(model for model in admin.site._registry if model._meta.label_lower == f"{app}.{name}")
        pk = row._base_manager.first().pk
        assert operator.post(f"/operators/{label}/{pk}/change/", {}).status_code == 403, label
        assert operator.post(f"/operators/{label}/{pk}/delete/", {"post": "yes"}).status_code == 403, label


def test_a_token_shows_no_digest(cast, operator):
    token, _ = actions.create_token(access=cast.access(cast.ana), name="gate", days=1)
    body = operator.get(f"/operators/teams/apitoken/{token.pk}/change/").content.decode()
    assert ApiToken.objects.get(pk=token.pk).digest not in body


def test_a_team_begins_with_an_owner(cast, operator):
    found = operator.post("/operators/teams/team/add/", {"slug": "fresh", "name": "Fresh", "owner": cast.ben.pk})
    assert found.status_code == 302
    team = Team.objects.get(slug="fresh")
    assert Membership.objects.get(team=team).role.name == "Owner"
    assert AuditEvent.objects.get(action="team.created", team=team).actor == cast.operator


def test_a_role_is_given_through_the_same_verb_as_on_the_page(cast, operator):
    membership = Membership.objects.get(team=cast.team, user=cast.ben)
    manager = actions.preset("Manager")
    operator.post(f"/operators/teams/membership/{membership.pk}/change/", {"role": manager.pk})
    assert cast.access(cast.ben).role == "Manager"
    assert AuditEvent.objects.filter(action="member.role_set", actor=cast.operator, object_id=cast.ben.pk).exists()


def test_also_an_operator_leaves_a_team_its_last_owner(cast, operator):
    membership = Membership.objects.get(team=cast.team, user=cast.ana)
    viewer = actions.preset("Viewer")
    found = operator.post(f"/operators/teams/membership/{membership.pk}/change/", {"role": viewer.pk}, follow=True)
    assert "without a member who may manage it" in found.content.decode()
    assert "was changed successfully" not in found.content.decode()
    assert cast.access(cast.ana).role == "Owner"


def test_an_account_is_closed_and_never_deleted(cast, operator):
    assert operator.post(f"/operators/teams/user/{cast.ben.pk}/delete/", {"post": "yes"}).status_code == 403
    assert User.objects.filter(pk=cast.ben.pk).exists()


def test_the_health_page_names_each_part_and_survives_what_is_down(operator, settings):
    settings.CELERY_BROKER_URL = ""
    body = operator.get("/operators/health/").content.decode()
    for part in ("Database", "Cache", "Broker", "Workers", "Imports", "Experiments", "Disk"):
        assert part in body
    assert "CELERY_BROKER_URL is not set" in body and "needs attention" in body


def test_the_refusal_page_lists_the_catalogue(operator):
    body = operator.get("/operators/refusals/").content.decode()
    for code in CATALOGUE:
        assert f"<code>{code}</code>" in body


def test_the_queues_page_shows_what_waits_and_whose_claim_ran_out(cast, operator, settings):
    assert "Nothing waits" in operator.get("/operators/queues/").content.decode()
    waiting = Import.objects.create(team=cast.team, by=cast.ana, state="queued")
    gone = timezone.now() - timedelta(minutes=2)
    Import.objects.create(
        team=cast.team, by=cast.ana, state="running", claimed_by="worker-7", lease_until=gone, started_at=gone
    )
    Import.objects.create(team=cast.team, by=cast.ana, state="completed")
    current_app.send_task("intake.tasks.advance_imports")
    page = operator.get("/operators/queues/").content.decode()
    assert str(waiting.pk) in page and "worker-7" in page and page.count("expired") == 1
    assert page.count('scope="row"') == 2 and "in the broker" in page
    settings.CELERY_BROKER_URL = ""
    assert "does not answer" in operator.get("/operators/queues/").content.decode()
