"""Roles: the product's presets, and named sets of rights that a team adds."""

from __future__ import annotations

from collections.abc import Collection

from django.contrib.auth.models import Group, Permission
from django.contrib.contenttypes.models import ContentType
from django.db import IntegrityError, transaction
from django.db.models import F

from teams import audit
from teams.access import Access
from teams.given import readable
from teams.models import Invitation, Membership, Role, Team, TeamGroupPermission
from teams.permissions import PRESETS, Right
from teams.refusals import Refusal

MAX_ROLES = 50
LONGEST_NAME = 60


def preset(name: str) -> Role:
    """A role of the product, kept in step with `permissions.PRESETS`."""
    role, _ = Role.objects.update_or_create(
        team=None, name=name, defaults={"rights": [right.value for right in PRESETS[name]]}
    )
    return role


def group_of(team: Team, role: Role) -> Group:
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


def nothing_above_own(access: Access, rights: Collection[str], place: str = "") -> None:
    """Nobody gives, takes or changes a right that they do not hold themselves."""
    above = sorted(set(rights) - access.held)
    if above:
        raise Refusal("right_above_own", f"You do not hold {', '.join(above)} yourself.", place=place, rights=above)


def keep_a_manager(team: Team) -> None:
    """Refuse what the transaction has just done if nobody could manage the team afterwards."""
    kept = Membership.objects.filter(team=team, role__rights__contains=[Right.TEAM_MANAGE], user__is_active=True)
    if not kept.exists():
        raise Refusal("last_owner", "The team would be left without a member who may manage it.")


def _checked(name: str, rights: Collection[str]) -> tuple[str, list[str]]:
    name = " ".join(name.split())
    if not 1 <= len(name) <= LONGEST_NAME or not readable(name):
        raise Refusal("invalid_field", f"Name the role with 1 to {LONGEST_NAME} printable characters.", place="name")
    if name.casefold() in {one.casefold() for one in PRESETS}:
        raise Refusal("name_taken", f"{name} is a role of the product.", place="name")
    known = [right.value for right in Right if right.value in rights]
    if not known or len(known) != len(set(rights)):
        raise Refusal("invalid_field", f"rights holds one or more of {', '.join(Right.values)}.", place="rights")
    return name, known


def _own(access: Access, role: Role) -> Role:
    """The team's own role, locked until the transaction ends. A preset of the product is changed by nobody."""
    if role.team_id is None:
        raise Refusal("role_is_preset")
    Team.objects.select_for_update(no_key=True).get(pk=access.team.pk)
    return access.find(Role.objects.select_for_update(), pk=role.pk)


@transaction.atomic
def create_role(*, access: Access, name: str, rights: Collection[str]) -> Role:
    """A named set of rights for this team; none of them is above the rights of who makes it."""
    access.require(Right.TEAM_MANAGE)
    name, rights = _checked(name, rights)
    nothing_above_own(access, rights, "rights")
    if Role.objects.filter(team=access.team).count() >= MAX_ROLES:
        raise Refusal("too_many_roles", f"A team has at most {MAX_ROLES} roles of its own.")
    try:
        with transaction.atomic():
            role = Role.objects.create(team=access.team, name=name, rights=rights)
    except IntegrityError:
        raise Refusal("name_taken", f"The team has a role {name} already.", place="name") from None
    audit.by("role.created", access, role, name=name, rights=rights)
    return role


@transaction.atomic
def edit_role(*, access: Access, role: Role, name: str, rights: Collection[str], revision: int) -> Role:
    """Another name or other rights, for everybody who has the role, at once.

    `revision` is the one that the editor saw; if the role was changed since, nothing happens.
    """
    access.require(Right.TEAM_MANAGE)
    kept = _own(access, role)
    if kept.revision != revision:
        raise Refusal("revision_stale", f"The role is at revision {kept.revision}.", current=kept.revision)
    name, rights = _checked(name, rights)
    before = set(kept.rights)
    nothing_above_own(access, {*rights, *before}, "rights")
    kept.name, kept.rights, kept.revision = name, rights, F("revision") + 1
    try:
        with transaction.atomic():
            kept.save(update_fields=["name", "rights", "revision"])
    except IntegrityError:
        raise Refusal("name_taken", f"The team has a role {name} already.", place="name") from None
    kept.refresh_from_db()
    group_of(access.team, kept)
    keep_a_manager(access.team)
    audit.by(
        "role.changed",
        access,
        kept,
        name=name,
        added=sorted(set(rights) - before),
        removed=sorted(before - set(rights)),
    )
    return kept


@transaction.atomic
def delete_role(*, access: Access, role: Role) -> None:
    """Gone for good, once nobody has it and no open invitation offers it."""
    access.require(Right.TEAM_MANAGE)
    kept = _own(access, role)
    nothing_above_own(access, kept.rights)
    members = Membership.objects.filter(role=kept).count()
    invited = Invitation.objects.filter(role=kept).open().count()
    if members or invited:
        raise Refusal("role_in_use", f"{members} members and {invited} open invitations have the role {kept.name}.")
    Group.objects.filter(name=f"team:{access.team.pk}:role:{kept.pk}").delete()
    audit.by("role.deleted", access, kept, name=kept.name)
    kept.delete()
