"""Rights: asked fresh, from the team's own rows, and derived from roles alone."""

from __future__ import annotations

import threading

import pytest
from django.contrib.auth.models import Permission
from django.db import connection

from teams import actions, queries
from teams.access import current_access
from teams.models import ApiToken, AuditEvent, Membership, Role, Team, TeamGroupPermission, User
from teams.permissions import PRESETS, Right
from teams.refusals import Refusal


@pytest.mark.parametrize("name", PRESETS)
def test_a_presets_rights_are_exactly_its_list(cast, name):
    user = User.objects.create_user("new@example.org")
    actions.set_role(access=None, team=cast.team, user=user, role=actions.preset(name), by=None)
    assert cast.access(user).held == {right.value for right in PRESETS[name]}


def test_guardian_rows_follow_the_role_in_both_directions(cast):
    role = Role.objects.create(team=cast.team, name="Guest", rights=[Right.EVALUATION_READ])
    actions.set_role(access=None, team=cast.team, user=cast.cleo, role=role, by=None)
    assert cast.access(cast.cleo).held == {"evaluation.read"}
    role.rights = [Right.AGENT_READ]
    role.save(update_fields=["rights"])
    actions.set_role(access=None, team=cast.team, user=cast.cleo, role=role, by=None)
    assert cast.access(cast.cleo).held == {"agent.read"}
    group = Membership.objects.get(team=cast.team, user=cast.cleo).group
    rows = TeamGroupPermission.objects.filter(group=group)
    assert [(row.content_object_id, row.permission.codename) for row in rows] == [(cast.team.pk, "agent.read")]


def test_one_teams_rights_say_nothing_about_another(cast):
    actions.set_role(access=None, team=cast.other_team, user=cast.ben, role=actions.preset("Owner"), by=None)
    assert cast.access(cast.ben).held == {"evaluation.read", "agent.read"}
    assert cast.access(cast.ben, cast.other_team).allows(Right.TEAM_MANAGE)


def test_a_superuser_and_a_stranger_find_no_team(cast):
    permission = Permission.objects.get(codename="evaluation.read")
    cast.cleo.user_permissions.add(permission)  # a right by Django's own tables opens nothing
    for user in (cast.operator, cast.cleo):
        with pytest.raises(Refusal) as refused:
            current_access(user, cast.team.slug)
        assert refused.value.code == "not_found"


def test_a_closed_account_has_no_rights_at_once(cast, page_client):
    browser = page_client(cast.omar)
    assert browser.get(f"/t/{cast.team.slug}/datasets/").status_code == 200
    User.objects.filter(pk=cast.omar.pk).update(is_active=False)
    found = browser.get(f"/t/{cast.team.slug}/datasets/")
    assert (found.status_code, found["Location"].split("?")[0]) == (302, "/sign-in/")


def test_a_role_of_another_team_cannot_be_given(cast):
    role = Role.objects.create(team=cast.other_team, name="Theirs", rights=[Right.EVALUATION_READ])
    with pytest.raises(Refusal) as refused:
        actions.set_role(access=cast.access(cast.ana), team=cast.team, user=cast.ben, role=role, by=cast.ana)
    assert refused.value.code == "not_found"


def test_only_who_manages_the_team_changes_its_members(cast):
    for change in (
        lambda access: actions.set_role(
            access=access, team=cast.team, user=cast.omar, role=actions.preset("Owner"), by=cast.omar
        ),
        lambda access: actions.remove_member(access=access, user=cast.ben),
    ):
        with pytest.raises(Refusal) as refused:
            change(cast.access(cast.omar))
        assert refused.value.code == "missing_right"
    assert Membership.objects.filter(team=cast.team).count() == 3


def test_the_last_owner_stays(cast):
    access = cast.access(cast.ana)
    for change in (
        lambda: actions.set_role(
            access=access, team=cast.team, user=cast.ana, role=actions.preset("Viewer"), by=cast.ana
        ),
        lambda: actions.remove_member(access=access, user=cast.ana),
    ):
        with pytest.raises(Refusal) as refused:
            change()
        assert refused.value.code == "last_owner"
    assert cast.access(cast.ana).allows(Right.TEAM_MANAGE)


def test_an_owner_with_a_closed_account_does_not_count(cast):
    actions.set_role(access=None, team=cast.team, user=cast.omar, role=actions.preset("Owner"), by=None)
    User.objects.filter(pk=cast.omar.pk).update(is_active=False)
    with pytest.raises(Refusal, match="last_owner"):
        actions.remove_member(access=cast.access(cast.ana), user=cast.ana)


@pytest.mark.django_db(transaction=True)
def test_two_owners_cannot_demote_each_other_at_the_same_moment(cast):
    actions.set_role(access=None, team=cast.team, user=cast.omar, role=actions.preset("Owner"), by=None)
    viewer, start, refused = actions.preset("Viewer"), threading.Barrier(2), []

    def demote(user):
        try:
            start.wait(timeout=10)
            actions.set_role(access=None, team=cast.team, user=user, role=viewer, by=None)
        except Refusal as refusal:
            refused.append(refusal.code)
        finally:
            connection.close()

    threads = [threading.Thread(target=demote, args=[user]) for user in (cast.ana, cast.omar)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=20)
    assert refused == ["last_owner"]
    assert Membership.objects.filter(team=cast.team, role__name="Owner").count() == 1


def test_removing_a_member_ends_their_tokens_and_is_audited(cast, api_client):
    program = api_client(cast.omar, cast.team)
    assert program.get("/api/v1/me").status_code == 200
    actions.remove_member(access=cast.access(cast.ana), user=cast.omar)
    assert program.get("/api/v1/me").status_code == 401
    assert not ApiToken.objects.filter(user=cast.omar, revoked_at=None).exists()
    assert AuditEvent.objects.get(action="member.removed").object_id == cast.omar.pk


def test_every_preset_can_be_given_from_the_first_day(db):
    Role.objects.all().delete()
    owner = User.objects.create_user("first@example.org")
    team = actions.create_team(slug="first", name="First", owner=owner, by=None)
    assert [role.name for role in queries.roles_for(team)] == list(PRESETS)


def test_an_address_of_a_team_is_given_once(cast):
    with pytest.raises(Refusal) as refused:
        actions.create_team(slug=cast.team.slug, name="Again", owner=cast.cleo, by=None)
    assert refused.value.code == "name_taken"
    assert Team.objects.filter(slug=cast.team.slug).count() == 1
