"""Writes of teams: verbs with access, one transaction, an audit event."""

from teams.actions.invitations import accept_invitation, invite, resend_invitation, revoke_invitation
from teams.actions.members import leave_team, remove_member, set_role
from teams.actions.roles import create_role, delete_role, edit_role, preset
from teams.actions.teams import create_team
from teams.actions.tokens import MAX_TOKEN_DAYS, create_token, revoke_token

__all__ = [
    "MAX_TOKEN_DAYS",
    "accept_invitation",
    "create_role",
    "create_team",
    "create_token",
    "delete_role",
    "edit_role",
    "invite",
    "leave_team",
    "preset",
    "remove_member",
    "resend_invitation",
    "revoke_invitation",
    "revoke_token",
    "set_role",
]
