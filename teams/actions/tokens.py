"""API tokens: made once, never above who makes them, ended at once."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from teams import audit, tokens
from teams.access import Access
from teams.actions.roles import nothing_above_own
from teams.models import ApiToken
from teams.permissions import Right
from teams.refusals import Refusal

MAX_TOKEN_DAYS = 366


@transaction.atomic
def create_token(
    *, access: Access, name: str, days: int | None, rights: Collection[str] | None = None
) -> tuple[ApiToken, str]:
    """A token that speaks for the caller. Returns the row and the token itself, which is never shown again.

    `rights` keeps the token below its member: it may do what both hold. None follows the member. A token made
    with a token is never wider and never lives longer than that one.
    """
    name = name.strip()
    if not 1 <= len(name) <= 80:
        raise Refusal("invalid_field", "Name the token with 1 to 80 characters.", place="name")
    if days is not None and not 1 <= days <= MAX_TOKEN_DAYS:
        raise Refusal("invalid_field", f"A token lives 1 to {MAX_TOKEN_DAYS} days.", place="days")
    expires = timezone.now() + timedelta(days=days) if days else None
    maker = access.token
    if maker is not None:
        if rights is None and maker.rights is not None:
            rights = maker.rights
        if maker.expires_at is not None and (expires is None or expires > maker.expires_at):
            expires = maker.expires_at
    if rights is not None:
        if not rights or not set(rights) <= set(Right.values):
            raise Refusal("invalid_field", f"rights holds one or more of {', '.join(Right.values)}.", place="rights")
        nothing_above_own(access, rights, "rights")
    secret = tokens.new_token()
    token = ApiToken.objects.create(
        team=access.team,
        user=access.user,
        name=name,
        digest=tokens.digest(secret),
        rights=None if rights is None else [right for right in Right.values if right in rights],
        expires_at=expires,
    )
    audit.by("token.created", access, token)
    return token, secret


@transaction.atomic
def revoke_token(*, access: Access, token: ApiToken) -> None:
    """End a token at once: one's own, or anybody's with `team.manage`."""
    if token.user_id != access.user.pk:
        access.require(Right.TEAM_MANAGE)
    ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=timezone.now())
    audit.by("token.revoked", access, token)
