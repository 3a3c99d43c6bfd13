"""Signing in through an organisation's own server (OpenID Connect), where operators have set one up.

The protocol is django-allauth's. What it leads to is ours: nobody is signed up by it, a person is found by
the identity that was bound before or by a verified e-mail address, and a second factor is asked for as ever.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Never

from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialAccount, SocialLogin
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.openid_connect import views
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST
from requests import RequestException

from config import signing_in, waiting
from teams.models import User
from teams.refusals import Refusal
from teams.second_factor import factor_of

PROVIDER = "sso"
FAILED = "Signing in through your organisation did not work. Try again, or use your password."
log = logging.getLogger(__name__)
BACKEND = "django.contrib.auth.backends.ModelBackend"


@never_cache
@require_POST
def start(request: HttpRequest) -> HttpResponse:
    """To the organisation's server, and back with what it says."""
    if not settings.OIDC_SERVER_URL:
        raise Refusal("not_found")
    return _told(request, lambda: views.login(request, PROVIDER))


@never_cache
@require_GET
def callback(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Where the organisation's server sends people back to."""
    if not settings.OIDC_SERVER_URL or provider_id != PROVIDER:
        raise Refusal("not_found")
    return _told(request, lambda: views.callback(request, provider_id))


def _told(request: HttpRequest, ask: Callable[[], HttpResponse]) -> HttpResponse:
    """What the other server leads to; one that is down, or says what the protocol does not know, leads back."""
    try:
        return ask()
    except (RequestException, OAuth2Error, KeyError, TypeError, ValueError) as fault:
        log.warning("signing in through the organisation failed: %s", type(fault).__name__)
        signing_in.count_failure(request, "")
        messages.error(request, FAILED)
        return redirect("login")


class Adapter(DefaultSocialAccountAdapter):  # type: ignore[misc]  # the library carries no types
    """Decides what an identity of the organisation's server opens here."""

    def is_open_for_signup(self, request: HttpRequest, sociallogin: SocialLogin) -> bool:
        return False

    def on_authentication_error(self, request: HttpRequest, provider: Any, **kwargs: Any) -> None:
        signing_in.count_failure(request, "")
        _back(request, FAILED)

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        """The end of the way, always: signed in, asked for a code, or back at the door with the reason."""
        user = _account_of(sociallogin)
        if user is None or not user.is_active:
            signing_in.count_failure(request, "")
            _back(request, "There is no account here for what your organisation says about you. Ask to be invited.")
        following = sociallogin.get_redirect_url(request) or ""
        if not url_has_allowed_host_and_scheme(following, allowed_hosts={request.get_host()}):
            following = reverse("home")
        if factor_of(user) is not None:
            raise ImmediateHttpResponse(waiting.wait_for_code(request, user, following))
        login(request, user, backend=BACKEND)
        signing_in.started(request, user)
        raise ImmediateHttpResponse(redirect(following))


def _account_of(sociallogin: SocialLogin) -> User | None:
    """Who it is: by the identity that was bound before, else by a verified address, which binds it."""
    identity = sociallogin.account
    with transaction.atomic():
        bound = SocialAccount.objects.filter(provider=identity.provider, uid=identity.uid).first()
        if bound is not None:
            found: User = bound.user
            return found
        verified = [one.email for one in sociallogin.email_addresses if one.verified]
        wanted = [email.strip().lower() for email in verified]
        user = User.objects.select_for_update(no_key=True).filter(email__in=wanted, is_active=True).first()
        if user is None:
            return None
        # two at once wait for each other at the account; the second finds it bound, to itself or to another
        kept, _ = SocialAccount.objects.get_or_create(
            provider=identity.provider, user=user, defaults={"uid": identity.uid, "extra_data": {}}
        )
        return user if kept.uid == identity.uid else None


def _back(request: HttpRequest, why: str) -> Never:
    messages.error(request, why)
    raise ImmediateHttpResponse(redirect("login"))
