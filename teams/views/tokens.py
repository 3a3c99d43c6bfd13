"""Pages of API tokens."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render

from teams import actions, lists, queries
from teams.forms import NewToken
from teams.gates import READ_OR_POST, TeamRequest, team_page
from teams.models import ApiToken
from teams.permissions import Right
from teams.refusals import Refusal


@team_page(Right.EVALUATION_READ, methods=READ_OR_POST)
def tokens(request: TeamRequest) -> HttpResponse:
    """Own tokens, and for owners everybody's. A new one is shown in this answer and never again."""
    access = request.access
    form, secret = NewToken(access), ""
    if request.method == "POST":
        form = NewToken(access, request.POST)
        if form.is_valid():
            try:
                _, secret = actions.create_token(access=access, **form.cleaned_data)
            except Refusal as refusal:
                form.add_error(refusal.place, refusal.message)
            else:
                form = NewToken(access)
    rows = lists.page_of(request, queries.tokens_seen_by(access))
    context: dict[str, Any] = {
        "section": "team",
        "form": form,
        "secret": secret,
        "page": rows,
        "tokens": [(token, queries.token_state(token)) for token in rows],
    }
    return render(request, "teams/tokens.html", context, status=422 if form.is_bound else 200)


@team_page(Right.EVALUATION_READ, methods=("POST",))
def revoke_token(request: TeamRequest, token: UUID) -> HttpResponse:
    """A token of somebody else looks missing to who may not see it."""
    access = request.access
    found: ApiToken = access.find(queries.tokens_seen_by(access), pk=token)
    actions.revoke_token(access=access, token=found)
    messages.success(request, f"The token “{found.name}” has ended.")
    return redirect("teams:tokens", team=access.team.slug)
