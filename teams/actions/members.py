"""Who is in a team, with which role."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from teams import audit
from teams.access import Access
from teams.actions.roles import group_of, keep_a_manager, nothing_above_own
from teams.models import ApiToken, Membership, Role, Team, User
from teams.permissions import Right
from teams.refusals import Refusal


def give_role(*, team: Team, user: User, role: Role, by: User | None, access: Access | None = None) -> Membership:
    """Write a membership and its audit event. The caller has judged whether this role may be given."""
    before = Membership.objects.filter(team=team, user=user).select_related("role").first()
    membership, _ = Membership.objects.update_or_create(
        team=team, user=user, defaults={"role": role, "group": group_of(team, role)}
    )
    if before is not None and Right.TEAM_MANAGE in before.role.rights:
        keep_a_manager(team)
    facts = {"role": role.name, "before": before.role.name if before else ""}
    if access is not None:
        audit.by("member.role_set", access, user, **facts)
    else:
        audit.record("member.role_set", team=team, by=by, object_type="user", object_id=user.pk, **facts)
    return membership


@transaction.atomic
def set_role(
    *, access: Access | None, team: Team, user: User, role: Role, by: User | None, seen: Role | None = None
) -> Membership:
    """Make someone a member with a role, or change the role of a member.

    `access` is None for operators and set-up commands alone; a member needs `team.manage` and every right
    that is given or taken. `seen` is the role that the editor saw: if it changed since, nothing happens.
    """
    if role.team_id not in (None, team.pk):
        raise Refusal("not_found")
    Team.objects.select_for_update(no_key=True).get(pk=team.pk)  # two owners cannot demote each other at once
    if access is not None:
        access.require(Right.TEAM_MANAGE)
        nothing_above_own(access, role.rights, "role")
        kept = Membership.objects.filter(team=team, user=user).select_related("role").first()
        if kept is not None:
            if seen is not None and kept.role_id != seen.pk:
                raise Refusal("revision_stale", f"The member is {kept.role.name} by now.")
            nothing_above_own(access, kept.role.rights, "role")
    return give_role(team=team, user=user, role=role, by=by, access=access)


@transaction.atomic
def remove_member(*, access: Access, user: User) -> None:
    """End somebody's membership, with every token that speaks for them here."""
    access.require(Right.TEAM_MANAGE)
    Team.objects.select_for_update(no_key=True).get(pk=access.team.pk)
    membership = access.find(Membership.objects.select_related("role"), user=user)
    nothing_above_own(access, membership.role.rights)
    _end(access, membership)
    audit.by("member.removed", access, user)


@transaction.atomic
def leave_team(*, access: Access) -> None:
    """End one's own membership, which needs no right; the last who may manage the team stays."""
    Team.objects.select_for_update(no_key=True).get(pk=access.team.pk)
    _end(access, access.find(Membership.objects.select_related("role"), user=access.user))
    audit.by("member.left", access, access.user)


def _end(access: Access, membership: Membership) -> None:
    managed = Right.TEAM_MANAGE in membership.role.rights
    user = membership.user_id
    membership.delete()
    if managed:
        keep_a_manager(access.team)
    ApiToken.objects.filter(team=access.team, user_id=user, revoked_at=None).update(revoked_at=timezone.now())
