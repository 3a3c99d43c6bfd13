"""API tokens: made once, kept as a digest, speaking for a member."""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta

from django.utils import timezone
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.request import Request

from teams.models import ApiToken, User
from teams.refusals import Refusal

PREFIX = "evh_"
TOUCH_EVERY = timedelta(minutes=1)  # last use is shown to people; a write per request would cost more than it tells


def digest(token: str) -> str:
    """Tokens carry 256 random bits, so a plain SHA-256 is enough: there is nothing to guess."""
    return hashlib.sha256(token.encode()).hexdigest()


def new_secret() -> str:
    """256 random bits as text that fits into an address."""
    return secrets.token_urlsafe(32)


def new_token() -> str:
    return PREFIX + new_secret()


class BearerAuthentication(BaseAuthentication):
    """`Authorization: Bearer evh_…`. Unknown, expired and revoked tokens are one answer."""

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        words = get_authorization_header(request).split()
        if not words:
            return None
        if len(words) != 2 or words[0].lower() != b"bearer":
            raise Refusal("not_authenticated", "Send the header as `Authorization: Bearer <token>`.")
        now = timezone.now()
        token = (
            ApiToken.objects.select_related("user")
            .filter(digest=digest(words[1].decode("latin-1")), revoked_at=None, user__is_active=True)
            .first()
        )
        if token is None or (token.expires_at is not None and token.expires_at <= now):
            raise Refusal("not_authenticated", "This token is unknown, expired or revoked.")
        if token.last_used_at is None or now - token.last_used_at > TOUCH_EVERY:
            ApiToken.objects.filter(pk=token.pk).update(last_used_at=now)
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"
