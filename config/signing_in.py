"""The ways in and out: one door for everybody, a lock against guessing, new passwords. Each writes to the audit log."""

from __future__ import annotations

import hashlib
import logging
from typing import TYPE_CHECKING, Any

from celery import current_app
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import views as auth_views
from django.contrib.auth.forms import AuthenticationForm, PasswordResetForm
from django.contrib.auth.mixins import LoginRequiredMixin
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse
from django.urls import reverse_lazy
from django.views.generic import FormView

from config import waiting
from config.demo import demo_logins
from config.middleware import request_id
from teams import audit
from teams.models import User
from teams.refusals import Refusal
from teams.second_factor import factor_of

if TYPE_CHECKING:
    AnyFormView = FormView[PasswordResetForm]
else:  # it takes no parameter at run time
    AnyFormView = FormView

log = logging.getLogger(__name__)
LIMITS = {"pair": 8, "account": 40, "address": 80}
"""Failures within `LOCK_SECONDS`: of one account from one address, of one account, from one address."""
LOCK_SECONDS = 15 * 60
ASKED_PER_ADDRESS = 10
"""Times that one address may ask for a new password within `LOCK_SECONDS`."""
ASKED_PER_ACCOUNT = 3


def address_of(request: HttpRequest) -> str:
    """Who speaks: what the outermost of our own proxies saw. What a client claims itself is not believed."""
    seen = [part.strip() for part in request.META.get("HTTP_X_FORWARDED_FOR", "").split(",") if part.strip()]
    if settings.PROXIES and len(seen) >= settings.PROXIES:
        return str(seen[-settings.PROXIES])
    return str(request.META.get("REMOTE_ADDR", ""))


def _key(kind: str, *words: str) -> str:
    return f"sign-in.{kind}." + hashlib.sha256("|".join(words).encode()).hexdigest()


def _keys(request: HttpRequest, email: str) -> dict[str, str]:
    address = address_of(request)
    return {
        "pair": _key("pair", address, email),
        "account": _key("account", email),
        "address": _key("address", address),
    }


def _count(key: str) -> int:
    """One more, in the shared cache; the count begins again when the time is over."""
    cache.add(key, 0, LOCK_SECONDS)
    try:
        return cache.incr(key)
    except ValueError:  # it ran out in this moment
        cache.set(key, 1, LOCK_SECONDS)
        return 1


def _account(email: str) -> User | None:
    return User.objects.filter(email__iexact=email).first() if "\0" not in email else None


def _record(request: HttpRequest, action: str, user: User | None, *, code: str = "", by: User | None = None) -> None:
    audit.record(
        action,
        team=None,
        by=by,
        object_type="user" if user is not None else "",
        object_id=user.pk if user is not None else None,
        code=code,
        request_id=request_id(request),
    )


def _ask_worker(user: User) -> None:
    if not settings.CELERY_BROKER_URL:
        log.warning("a password link was not made: there is no broker; operators make links on the list of users")
        return
    try:
        current_app.send_task("teams.tasks.send_password_link", [str(user.pk)], expires=600, retry=False)
    except Exception:  # whatever the broker's fault is, the answer stays the same; the person asks again
        log.warning("a password link was not made: the broker cannot be reached")


def not_locked(request: HttpRequest, email: str) -> None:
    """Refuse before anything is looked at while there were too many failures."""
    keys = _keys(request, email)
    counted = cache.get_many(keys.values())
    if any(counted.get(key, 0) >= LIMITS[kind] for kind, key in keys.items()):
        raise Refusal("sign_in_locked", "Too many attempts. Wait fifteen minutes.")


def count_failure(request: HttpRequest, email: str) -> None:
    """One more failure, of a password or of a code; the audit log tells the one that locks."""
    counts = {kind: _count(key) for kind, key in _keys(request, email).items()}
    locked = any(counts[kind] == LIMITS[kind] for kind in LIMITS)
    code = "sign_in_locked" if locked else "not_authenticated"
    _record(request, "session.refused", _account(email), code=code)


def started(request: HttpRequest, user: User) -> None:
    """A session begins: failures of this account from this address are forgotten."""
    cache.delete(_keys(request, user.email)["pair"])
    _record(request, "session.started", user, by=user)


class SignIn(auth_views.LoginView):
    """Signing in, with a lock after repeated failures per account, per address and per both."""

    template_name = "registration/login.html"
    redirect_authenticated_user = True

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        logins = demo_logins() if settings.EMBEDDED else []
        sso = settings.OIDC_NAME if settings.OIDC_SERVER_URL else ""
        return super().get_context_data(demo_logins=logins, sso=sso, **kwargs)

    @property
    def email(self) -> str:
        return self.request.POST.get("username", "").strip().lower()

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        not_locked(request, self.email)
        return super().post(request, *args, **kwargs)

    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        count_failure(self.request, self.email)
        return super().form_invalid(form)

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        user = form.get_user()
        if factor_of(user) is not None:
            return waiting.wait_for_code(self.request, user, self.get_success_url())
        started(self.request, user)
        return super().form_valid(form)


class SignOut(auth_views.LogoutView):
    """Ends the session and forgets what it held."""

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        user = request.user
        if isinstance(user, User):
            _record(request, "session.ended", user, by=user)
        return super().post(request, *args, **kwargs)


class ForgottenPassword(AnyFormView):
    """Asks a worker to mail a link. The answer, and how long it takes, are the same whether the account exists."""

    template_name = "registration/password_forgotten.html"
    form_class = PasswordResetForm
    success_url = reverse_lazy("login")

    def form_valid(self, form: PasswordResetForm) -> HttpResponse:
        email = form.cleaned_data["email"].lower()
        if _count(_key("asked", address_of(self.request))) > ASKED_PER_ADDRESS:
            raise Refusal("too_many_requests", "Too many requests for a new password. Wait fifteen minutes.")
        user = _account(email)
        if user is not None and user.is_active and _count(_key("asked-for", email)) <= ASKED_PER_ACCOUNT:
            _record(self.request, "password.asked", user)
            _ask_worker(user)
        messages.info(
            self.request,
            "If there is an account with this address, a link is on its way. It works once, within the hour. "
            "If none arrives, an operator can make one for you.",
        )
        return super().form_valid(form)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(mail=settings.MAIL_SENDS, **kwargs)


class NewPassword(auth_views.PasswordResetConfirmView):
    """Behind the link: a new password. It signs nobody in, and ends every session of the old one."""

    template_name = "registration/password_new.html"
    success_url = reverse_lazy("login")
    post_reset_login = False

    def form_valid(self, form: Any) -> HttpResponse:
        _record(self.request, "password.changed", form.user, by=form.user)
        answer = super().form_valid(form)
        messages.success(self.request, "Your password is changed. Sign in with it.")
        return answer


class ChangePassword(LoginRequiredMixin, auth_views.PasswordChangeView):
    """With the present password; every other session ends."""

    template_name = "registration/password_new.html"
    success_url = reverse_lazy("home")
    extra_context = {"validlink": True, "title": "Change your password"}

    def form_valid(self, form: Any) -> HttpResponse:
        _record(self.request, "password.changed", form.user, by=form.user)
        answer = super().form_valid(form)
        messages.success(self.request, "Your password is changed, and your other sessions have ended.")
        return answer
