"""Writes of teams: verbs with access, one transaction, an audit event."""

from __future__ import annotations

from datetime import timedelta

from django.contrib.auth.models import Group, Permission
from django.contrib.contenttypes.models import ContentType
from django.db import IntegrityError, transaction
from django.utils import timezone

from teams import audit, tokens
from teams.access import Access
from teams.models import ApiToken, Membership, Role, Team, TeamGroupPermission, User
from teams.permissions import PRESETS, Right
from teams.refusals import Refusal

MAX_TOKEN_DAYS = 366


def preset(name: str) -> Role:
    """A role of the product, kept in step with `permissions.PRESETS`."""
    role, _ = Role.objects.update_or_create(
        team=None, name=name, defaults={"rights": [right.value for right in PRESETS[name]]}
    )
    return role


def _group(team: Team, role: Role) -> Group:
    """The group that carries a role's rights in one team; its guardian rows are derived from the role."""
    group, _ = Group.objects.get_or_create(name=f"team:{team.pk}:role:{role.pk}")
    content_type = ContentType.objects.get_for_model(Team)
    permissions = Permission.objects.filter(content_type=content_type, codename__in=role.rights)
    TeamGroupPermission.objects.filter(group=group, content_object=team).exclude(permission__in=permissions).delete()
    held = set(
        TeamGroupPermission.objects.filter(group=group, content_object=team).values_list("permission_id", flat=True)
    )
    for permission in permissions:
        if permission.pk not in held:
            TeamGroupPermission.objects.create(group=group, content_object=team, permission=permission)
    return group


@transaction.atomic
def create_team(*, slug: str, name: str, owner: User, by: User | None) -> Team:
    """A new team with its first owner."""
    try:
        with transaction.atomic():
            team = Team.objects.create(slug=slug, name=name)
    except IntegrityError:
        raise Refusal("name_taken", f"The address {slug} is taken.", place="slug") from None
    role = preset("Owner")
    Membership.objects.create(team=team, user=owner, role=role, group=_group(team, role))
    audit.record("team.created", team=team, by=by, object_type="team", object_id=team.pk, owner=str(owner.pk))
    return team


@transaction.atomic
def set_role(*, access: Access | None, team: Team, user: User, role: Role, by: User | None) -> Membership:
    """Make someone a member with a role, or change the role of a member.

    `access` is None for operators and set-up commands alone; a member needs `team.manage`.
    """
    if access is not None:
        access.require(Right.TEAM_MANAGE)
    if role.team_id not in (None, team.pk):
        raise Refusal("not_found")
    Team.objects.select_for_update(no_key=True).get(pk=team.pk)  # two owners cannot demote each other at once
    before = Membership.objects.filter(team=team, user=user).select_related("role").first()
    if before is not None and Right.TEAM_MANAGE in before.role.rights and Right.TEAM_MANAGE not in role.rights:
        _keep_an_owner(team, without=user)
    membership, _ = Membership.objects.update_or_create(
        team=team, user=user, defaults={"role": role, "group": _group(team, role)}
    )
    audit.record(
        "member.role_set",
        team=team,
        by=by,
        object_type="user",
        object_id=user.pk,
        role=role.name,
        before=before.role.name if before else "",
    )
    return membership


@transaction.atomic
def remove_member(*, access: Access, user: User) -> None:
    access.require(Right.TEAM_MANAGE)
    Team.objects.select_for_update(no_key=True).get(pk=access.team.pk)
    membership = access.find(Membership.objects.select_related("role"), user=user)
    if Right.TEAM_MANAGE in membership.role.rights:
        _keep_an_owner(access.team, without=user)
    membership.delete()
    ApiToken.objects.filter(team=access.team, user=user, revoked_at=None).update(revoked_at=timezone.now())
    audit.record("member.removed", team=access.team, by=access.user, object_type="user", object_id=user.pk)


def _keep_an_owner(team: Team, *, without: User) -> None:
    others = Membership.objects.filter(team=team, role__rights__contains=[Right.TEAM_MANAGE], user__is_active=True)
    if not others.exclude(user=without).exists():
        raise Refusal("last_owner", "The team would be left without a member who may manage it.")


@transaction.atomic
def create_token(*, access: Access, name: str, days: int | None) -> tuple[ApiToken, str]:
    """A token that speaks for the caller. Returns the row and the token itself, which is never shown again."""
    name = name.strip()
    if not 1 <= len(name) <= 80:
        raise Refusal("invalid_field", "Name the token with 1 to 80 characters.", place="name")
    if days is not None and not 1 <= days <= MAX_TOKEN_DAYS:
        raise Refusal("invalid_field", f"A token lives 1 to {MAX_TOKEN_DAYS} days.", place="days")
    secret = tokens.new_token()
    token = ApiToken.objects.create(
        team=access.team,
        user=access.user,
        name=name,
        digest=tokens.digest(secret),
        expires_at=timezone.now() + timedelta(days=days) if days else None,
    )
    audit.record("token.created", team=access.team, by=access.user, object_type="token", object_id=token.pk)
    return token, secret


@transaction.atomic
def revoke_token(*, access: Access, token: ApiToken) -> None:
    """End a token at once: one's own, or anybody's with `team.manage`."""
    if token.user_id != access.user.pk:
        access.require(Right.TEAM_MANAGE)
    ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=timezone.now())
    audit.record("token.revoked", team=access.team, by=access.user, object_type="token", object_id=token.pk)
