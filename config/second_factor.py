"""The second step of signing in, and the page where a person sets it up."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from config import signing_in, waiting
from teams import second_factor
from teams.models import User
from teams.refusals import Refusal

BACKEND = "django.contrib.auth.backends.ModelBackend"


class CodeForm(forms.Form):
    code = forms.CharField(
        label="Code",
        max_length=20,
        help_text="Six digits from your app, or a recovery code.",
        widget=forms.TextInput(attrs={"autocomplete": "one-time-code", "inputmode": "text", "autofocus": True}),
    )


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def code(request: HttpRequest) -> HttpResponse:
    """The second step. Wrong codes count like wrong passwords, and lock the same door."""
    user, following = waiting.who_waits(request)
    if user is None:
        messages.info(request, "Sign in with your password first; a code is asked for after it.")
        return redirect("login")
    form = CodeForm(request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        signing_in.not_locked(request, user.email)
        try:
            second_factor.verify(user, form.cleaned_data["code"])
        except Refusal as refusal:
            signing_in.count_failure(request, user.email)
            form.add_error("code", refusal.message)
        else:
            waiting.done(request)
            login(request, user, backend=BACKEND)
            signing_in.started(request, user)
            safe = url_has_allowed_host_and_scheme(following, allowed_hosts={request.get_host()})
            return redirect(following if safe else reverse("home"))
    context = {"form": form}
    return render(request, "registration/second_factor_code.html", context, status=422 if form.is_bound else 200)


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def account(request: HttpRequest) -> HttpResponse:
    """Whether a code is asked for; setting it up, other recovery codes, turning it off."""
    user = request.user
    assert isinstance(user, User)
    factor = second_factor.factor_of(user)
    form = CodeForm(request.POST if request.method == "POST" else None)
    context: dict[str, Any] = {"form": form, "factor": factor}
    if form.is_bound and form.is_valid():
        signing_in.not_locked(request, user.email)
        typed, act = form.cleaned_data["code"], request.POST.get("act", "")
        try:
            if factor is None:
                context["codes"] = second_factor.confirm(user, typed)
            elif act == "off":
                second_factor.turn_off(user, typed)
                messages.success(request, "The second factor is off. Your password alone signs you in.")
                return redirect("second_factor")
            else:
                context["codes"] = second_factor.renew_recovery_codes(user, typed)
        except Refusal as refusal:
            signing_in.count_failure(request, user.email)
            form.add_error("code", refusal.message)
        else:
            context["factor"] = second_factor.factor_of(user)
            return render(request, "registration/second_factor.html", context)
    if factor is None:
        key, address = second_factor.key_of(second_factor.begin(user))
        groups = [key[at : at + 4] for at in range(0, len(key), 4)]
        context |= {"key": " ".join(groups), "picture": second_factor.picture_of(address)}
    else:
        context["left"] = second_factor.recovery_codes_left(factor)
    return render(request, "registration/second_factor.html", context, status=422 if form.is_bound else 200)
