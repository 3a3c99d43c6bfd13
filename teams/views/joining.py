"""The page behind an invitation's link. The link is the key: it needs no account and no team."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth import login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from teams import actions, queries
from teams.forms import NewAccount
from teams.refusals import Refusal


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def join(request: HttpRequest, secret: str) -> HttpResponse:
    """Join as who is signed in, or make the account that was invited. Ended, used and unknown links are one answer."""
    found = queries.open_invitation(secret)
    if found is None or found.role is None:
        raise Refusal("invitation_ended")
    user = request.user if request.user.is_authenticated else None
    account = queries.account_of(found.email)
    makes_account = user is None and account is None
    form = NewAccount(found.email, request.POST if request.method == "POST" and makes_account else None)
    if request.method == "POST" and (user is not None or (makes_account and form.is_valid())):
        made = form.cleaned_data if makes_account else {}
        member = actions.accept_invitation(
            secret=secret, user=user, name=made.get("name", ""), password=made.get("password", "")
        )
        if makes_account:
            login(request, member.user, backend="django.contrib.auth.backends.ModelBackend")
        messages.success(request, f"Welcome to {member.team.name}. Your role is {member.role.name}.")
        return redirect("team_home", team=member.team.slug)
    context = {
        "invitation": found,
        "form": form,
        "makes_account": makes_account,
        "fits": user is not None and account is not None and user.pk == account.pk,
        "link": request.path,
    }
    return render(request, "teams/join.html", context, status=422 if form.is_bound else 200)
