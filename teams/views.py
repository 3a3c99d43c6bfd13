"""Pages of a team: who is in it, what they may do, its tokens, its audit log."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render

from teams import actions, lists, queries
from teams.forms import NewMember, NewToken, RoleChoice
from teams.gates import TeamRequest, team_page
from teams.models import ApiToken, Membership
from teams.permissions import Right
from teams.refusals import Refusal

READ_OR_POST = ("GET", "HEAD", "POST")


@team_page(Right.EVALUATION_READ)
def overview(request: TeamRequest) -> HttpResponse:
    roles = queries.roles_for(request.access.team)
    return render(
        request,
        "teams/overview.html",
        {
            "section": "team",
            "members": queries.members_of(request.access.team),
            "roles": roles,
            "rights": queries.rights_table(request.access, roles),
        },
    )


def _members(request: TeamRequest, form: NewMember, refusal: Refusal | None = None) -> HttpResponse:
    context = {
        "section": "team",
        "members": queries.members_of(request.access.team),
        "roles": queries.roles_for(request.access.team),
        "form": form,
        "refusal": refusal,
    }
    status = refusal.status if refusal else 422 if form.is_bound else 200
    return render(request, "teams/members.html", context, status=status)


@team_page(Right.TEAM_MANAGE, methods=READ_OR_POST)
def members(request: TeamRequest) -> HttpResponse:
    access = request.access
    if request.method != "POST":
        return _members(request, NewMember(access.team))
    form = NewMember(access.team, request.POST)
    if not form.is_valid():
        return _members(request, form)
    user, role = form.cleaned_data["email"], form.cleaned_data["role"]
    actions.set_role(access=access, team=access.team, user=user, role=role, by=access.user)
    messages.success(request, f"{user} is a member now: {role.name}.")
    return redirect("teams:members", team=access.team.slug)


def _membership(request: TeamRequest, user: UUID) -> Membership:
    return request.access.find(queries.members_of(request.access.team), user_id=user)


@team_page(Right.TEAM_MANAGE, methods=("POST",))
def change_role(request: TeamRequest, user: UUID) -> HttpResponse:
    access = request.access
    membership = _membership(request, user)
    form = RoleChoice(access.team, request.POST)
    if not form.is_valid():
        raise Refusal("invalid_field", "Choose one of the roles in the list.", place="role")
    role = form.cleaned_data["role"]
    try:
        actions.set_role(access=access, team=access.team, user=membership.user, role=role, by=access.user)
    except Refusal as refusal:
        return _members(request, NewMember(access.team), refusal)
    messages.success(request, f"{membership.user} is {role.name} now.")
    return redirect("teams:members", team=access.team.slug)


@team_page(Right.TEAM_MANAGE, methods=("POST",))
def remove_member(request: TeamRequest, user: UUID) -> HttpResponse:
    access = request.access
    membership = _membership(request, user)
    try:
        actions.remove_member(access=access, user=membership.user)
    except Refusal as refusal:
        return _members(request, NewMember(access.team), refusal)
    messages.success(request, f"{membership.user} is no longer a member, and their tokens for this team have ended.")
    if membership.user_id == access.user.pk:
        return redirect("home")
    return redirect("teams:members", team=access.team.slug)


@team_page(Right.EVALUATION_READ, methods=READ_OR_POST)
def tokens(request: TeamRequest) -> HttpResponse:
    """Own tokens, and for owners everybody's. A new one is shown in this answer and never again."""
    access = request.access
    form, secret = NewToken(), ""
    if request.method == "POST":
        form = NewToken(request.POST)
        if form.is_valid():
            _, secret = actions.create_token(
                access=access, name=form.cleaned_data["name"], days=form.cleaned_data["days"]
            )
            form = NewToken()
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


@team_page(Right.TEAM_MANAGE)
def audit_log(request: TeamRequest) -> HttpResponse:
    team = request.access.team
    actors = queries.audit_actors(team)
    names = queries.audit_actions(team)
    action = lists.chosen(request, "action", names)
    actor = lists.chosen(request, "actor", [str(user.pk) for user in actors])
    events = queries.audit_events(team, action=action, actor=UUID(actor) if actor else None)
    page = lists.page_of(request, events)
    context = {
        "section": "team",
        "page": page,
        "events": [(event, queries.event_facts(event)) for event in page],
        "actions": names,
        "actors": actors,
        "action": action,
        "actor": actor,
    }
    return render(request, "teams/audit.html", context)
