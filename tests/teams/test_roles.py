"""Custom roles: a named set of rights, never above its maker, changed for everybody at once."""

from __future__ import annotations

import pytest

from teams import actions
from teams.models import ApiToken, AuditEvent, Membership, Role
from teams.refusals import Refusal


@pytest.fixture
def here(cast):
    return f"/t/{cast.team.slug}/team/"


@pytest.fixture
def helper(cast):
    """Omar manages the team and holds little else."""
    role = Role.objects.create(team=cast.team, name="Helper", rights=["evaluation.read", "team.manage"])
    actions.set_role(access=None, team=cast.team, user=cast.omar, role=role, by=None)
    return cast.access(cast.omar)


def refused(call) -> Refusal:
    with pytest.raises(Refusal) as fault:
        call()
    return fault.value


def auditor(cast, rights=("evaluation.read", "agent.read")):
    return actions.create_role(access=cast.access(cast.ana), name="Auditor", rights=list(rights))


def test_a_role_is_made_given_changed_and_deleted_on_the_page(cast, page_client, here):
    ana = page_client(cast.ana)
    made = ana.post(f"{here}roles/", {"name": "  Night   auditor ", "rights": ["evaluation.read"]})
    assert made.status_code == 302
    role = Role.objects.get(team=cast.team)
    assert (role.name, role.rights, role.revision) == ("Night auditor", ["evaluation.read"], 1)
    ana.post(f"{here}members/{cast.ben.pk}/role", {"role": role.pk})
    assert cast.access(cast.ben).held == {"evaluation.read"}
    edit = {"name": "Auditor", "rights": ["evaluation.read", "agent.read"], "revision": "1"}
    assert ana.post(f"{here}roles/{role.pk}/", edit).status_code == 302
    assert cast.access(cast.ben).held == {"evaluation.read", "agent.read"}
    late = ana.post(f"{here}roles/{role.pk}/", {**edit, "name": "Late"})
    assert late.status_code == 422 and "revision 2" in late.content.decode()
    assert ana.post(f"{here}roles/{role.pk}/delete").status_code == 409
    ana.post(f"{here}members/{cast.ben.pk}/role", {"role": actions.preset("Viewer").pk})
    assert ana.post(f"{here}roles/{role.pk}/delete").status_code == 302
    assert not Role.objects.filter(team=cast.team).exists()
    acts = AuditEvent.objects.filter(object_type="role", actor=cast.ana).values_list("action", flat=True)
    assert set(acts) == {"role.created", "role.changed", "role.deleted"}


@pytest.mark.parametrize(
    ("name", "rights", "sentence"),
    [
        ("", ["evaluation.read"], "This field is required."),
        ("Odd", [], "This field is required."),
        ("Odd", ["made.up"], "made.up is not one of the available choices"),
        ("viewer", ["evaluation.read"], "viewer is a role of the product."),
    ],
)
def test_a_wrong_role_is_said_at_its_field(cast, page_client, here, name, rights, sentence):
    found = page_client(cast.ana).post(f"{here}roles/", {"name": name, "rights": rights})
    assert found.status_code == 422 and sentence in found.content.decode()
    assert not Role.objects.filter(team=cast.team).exists()


def test_a_name_is_taken_once_per_team(cast):
    auditor(cast)
    assert refused(lambda: auditor(cast)).code == "name_taken"
    actions.create_role(access=cast.access(cast.cleo, cast.other_team), name="Auditor", rights=["agent.read"])


def test_a_team_has_a_bounded_number_of_roles(cast, monkeypatch):
    monkeypatch.setattr("teams.actions.roles.MAX_ROLES", 0)
    assert refused(lambda: auditor(cast)).code == "too_many_roles"


def test_nobody_makes_changes_gives_or_takes_a_right_above_their_own(cast, helper):
    made = auditor(cast)
    for call in (
        lambda: actions.create_role(access=helper, name="Mine", rights=["evaluation.execute"]),
        lambda: actions.edit_role(access=helper, role=made, name="Auditor", rights=["evaluation.read"], revision=1),
        lambda: actions.delete_role(access=helper, role=made),
        lambda: actions.set_role(
            access=helper, team=cast.team, user=cast.omar, role=actions.preset("Owner"), by=cast.omar
        ),
        lambda: actions.set_role(access=helper, team=cast.team, user=cast.ana, role=helper_role(cast), by=cast.omar),
        lambda: actions.remove_member(access=helper, user=cast.ana),
    ):
        assert refused(call).code == "right_above_own"
    assert cast.access(cast.ana).role == "Owner"
    assert actions.create_role(access=helper, name="Reader", rights=["evaluation.read"]).rights == ["evaluation.read"]


def helper_role(cast) -> Role:
    return Role.objects.get(team=cast.team, name="Helper")


def test_the_page_offers_only_rights_and_roles_within_ones_own(cast, helper, page_client, here):
    body = page_client(cast.omar).get(f"{here}roles/").content.decode()
    assert 'value="team.manage"' in body and 'value="evaluation.execute"' not in body
    offered = page_client(cast.omar).get(f"{here}members/").content.decode().split("Invite somebody")[1]
    assert "Helper" in offered and "Owner" not in offered


def test_a_change_leaves_somebody_who_manages_the_team(cast):
    role = actions.create_role(access=cast.access(cast.ana), name="Chief", rights=list(cast.access(cast.ana).held))
    actions.set_role(access=cast.access(cast.ana), team=cast.team, user=cast.ana, role=role, by=cast.ana)
    call = lambda: actions.edit_role(  # noqa: E731
        access=cast.access(cast.ana), role=role, name="Chief", rights=["evaluation.read"], revision=1
    )
    assert refused(call).code == "last_owner"
    assert "team.manage" in cast.access(cast.ana).held


def test_everybody_may_leave_but_the_last_owner(cast, page_client, here):
    ben = page_client(cast.ben)
    assert ben.post(f"{here}leave")["Location"] == "/"
    assert not Membership.objects.filter(team=cast.team, user=cast.ben).exists()
    assert AuditEvent.objects.get(action="member.left").actor == cast.ben
    found = page_client(cast.ana).post(f"{here}leave")
    assert found.status_code == 409 and "last_owner" in found.content.decode()
    assert cast.access(cast.ana).role == "Owner"


def test_roles_over_the_api_with_keys_and_etags(cast, api_client):
    program = api_client(cast.ana, cast.team)
    body = {"name": "Auditor", "rights": ["evaluation.read"]}

    def send(method, address, body, **headers):
        return getattr(program, method)(address, body, content_type="application/json", headers=headers)

    key = {"Idempotency-Key": "make-auditor"}
    first, again = send("post", "/api/v1/roles", body, **key), send("post", "/api/v1/roles", body, **key)
    assert (first.status_code, again.status_code, first["ETag"]) == (201, 200, '"1"')
    assert first.json() == again.json()
    one = f"/api/v1/roles/{first.json()['id']}"
    wider = {"name": "Auditor", "rights": ["evaluation.read", "agent.read"]}
    assert send("patch", one, wider).json()["error"]["code"] == "revision_missing"
    assert send("patch", one, wider, **{"If-Match": '"1"'})["ETag"] == '"2"'
    stale = send("patch", one, wider, **{"If-Match": '"1"'})
    assert (stale.status_code, stale.json()["error"]["code"]) == (409, "revision_stale")
    assert program.get(one).json()["rights"] == ["evaluation.read", "agent.read"]
    preset = actions.preset("Viewer")
    fixed = send("patch", f"/api/v1/roles/{preset.pk}", wider, **{"If-Match": '"1"'})
    assert fixed.json()["error"]["code"] == "role_is_preset"
    assert [role["name"] for role in program.get("/api/v1/roles").json()["items"]][-1] == "Auditor"
    member = f"/api/v1/members/{cast.ben.pk}"
    seen = program.get(member)
    changed = send("patch", member, {"role": first.json()["id"]}, **{"If-Match": seen["ETag"]})
    assert changed.json()["role"] == "Auditor"
    event = AuditEvent.objects.filter(action="member.role_set", object_id=cast.ben.pk).latest("at")
    assert event.detail["token"] == str(ApiToken.objects.get(user=cast.ana).pk) and event.request_id
    late = send("patch", member, {"role": str(preset.pk)}, **{"If-Match": seen["ETag"]})
    assert late.json()["error"]["code"] == "revision_stale"
    assert program.delete(one).json()["error"]["code"] == "role_in_use"
    assert program.get(f"/api/v1/members?role={first.json()['id']}").json()["count"] == 1
    assert program.delete(member).status_code == 204
    assert program.get(member).status_code == 404
    assert program.delete(one).status_code == 204
