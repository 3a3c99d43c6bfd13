"""Invitations: a single-use link for one e-mail address, which makes its holder a member."""

from __future__ import annotations

from datetime import timedelta

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.utils import timezone

from teams import audit, tokens
from teams.access import Access, current_access
from teams.actions.members import give_role
from teams.actions.roles import nothing_above_own
from teams.models import Invitation, Membership, Role, Team, User
from teams.permissions import Right
from teams.refusals import Refusal

LIVES = timedelta(days=7)
MAX_OPEN = 200
LONGEST_ADDRESS = 254


def _address(text: str) -> str:
    email = text.strip().lower()
    try:
        validate_email(email)
    except ValidationError:
        raise Refusal("invalid_field", "Enter a valid e-mail address.", place="email") from None
    if len(email) > LONGEST_ADDRESS:
        raise Refusal("invalid_field", "This e-mail address is too long.", place="email")
    return email


def _may_give(access: Access, role: Role) -> None:
    access.require(Right.TEAM_MANAGE)
    if role.team_id not in (None, access.team.pk):
        raise Refusal("not_found")
    nothing_above_own(access, role.rights, "role")


@transaction.atomic
def invite(*, access: Access, email: str, role: Role) -> tuple[Invitation, str]:
    """Offer a role to an address. Returns the row and the secret of its link, which is never shown again."""
    _may_give(access, role)
    email = _address(email)
    Team.objects.select_for_update(no_key=True).get(pk=access.team.pk)
    if Membership.objects.filter(team=access.team, user__email__iexact=email).exists():
        raise Refusal("already_member", place="email")
    open_now = Invitation.objects.filter(team=access.team).open()
    for earlier in open_now.filter(email=email):
        if earlier.state == "open":
            raise Refusal("invitation_open", f"{email} has an open invitation.", place="email")
        earlier.revoked_at = timezone.now()
        earlier.save(update_fields=["revoked_at"])
    if open_now.count() >= MAX_OPEN:
        raise Refusal("too_many_invitations", f"A team has at most {MAX_OPEN} open invitations.")
    secret = tokens.new_secret()
    invitation = Invitation.objects.create(
        team=access.team,
        email=email,
        role=role,
        invited_by=access.user,
        digest=tokens.digest(secret),
        expires_at=timezone.now() + LIVES,
    )
    audit.by("invitation.created", access, invitation, role=role.name)
    return invitation, secret


def _locked(access: Access, invitation: Invitation) -> Invitation:
    kept = access.find(Invitation.objects.select_for_update(of=("self",)).select_related("role"), pk=invitation.pk)
    if kept.accepted_at is not None or kept.revoked_at is not None:
        raise Refusal("invitation_closed", f"The invitation is {kept.state}.")
    return kept


@transaction.atomic
def resend_invitation(*, access: Access, invitation: Invitation) -> tuple[Invitation, str]:
    """A new link with a new term; the earlier link ends at once."""
    access.require(Right.TEAM_MANAGE)
    kept = _locked(access, invitation)
    assert kept.role is not None  # a role is not deleted while an open invitation offers it
    _may_give(access, kept.role)
    secret = tokens.new_secret()
    kept.digest, kept.invited_by, kept.expires_at = tokens.digest(secret), access.user, timezone.now() + LIVES
    kept.save(update_fields=["digest", "invited_by", "expires_at"])
    audit.by("invitation.resent", access, kept)
    return kept, secret


@transaction.atomic
def revoke_invitation(*, access: Access, invitation: Invitation) -> Invitation:
    """End an invitation that nobody has accepted."""
    access.require(Right.TEAM_MANAGE)
    kept = _locked(access, invitation)
    kept.revoked_at = timezone.now()
    kept.save(update_fields=["revoked_at"])
    audit.by("invitation.revoked", access, kept)
    return kept


@transaction.atomic
def accept_invitation(*, secret: str, user: User | None = None, name: str = "", password: str = "") -> Membership:
    """Make the holder of a link a member: an account with the invited address, or a new one when there is none.

    Who invited must still be allowed to give the role now, or the invitation has ended.
    """
    invitation = (
        Invitation.objects.select_for_update(of=("self",))
        .select_related("team", "role", "invited_by")
        .filter(digest=tokens.digest(secret))
        .first()
    )
    if invitation is None or invitation.state != "open" or invitation.role is None:
        raise Refusal("invitation_ended")
    team = Team.objects.select_for_update(no_key=True).get(pk=invitation.team_id)
    try:
        _may_give(current_access(invitation.invited_by, team.pk), invitation.role)
    except Refusal:
        raise Refusal("invitation_ended") from None
    known = User.objects.filter(email__iexact=invitation.email).first()
    if known is None and user is None:
        user = User.objects.create_user(invitation.email, password, name=name)
        audit.record("account.created", team=None, by=user, object_type="user", object_id=user.pk)
    elif user is None or known is None or user.pk != known.pk or not known.is_active:
        raise Refusal("invitation_for_another")
    if Membership.objects.filter(team=team, user=user).exists():
        raise Refusal("already_member")
    membership = give_role(team=team, user=user, role=invitation.role, by=invitation.invited_by)
    invitation.accepted_at, invitation.accepted_by = timezone.now(), user
    invitation.save(update_fields=["accepted_at", "accepted_by"])
    audit.record("invitation.accepted", team=team, by=user, object_type="invitation", object_id=invitation.pk)
    return membership
