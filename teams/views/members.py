"""Pages of members and invitations."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from teams import actions, lists, mail, queries
from teams.forms import NewInvitation, RoleChoice
from teams.gates import READ_OR_POST, TeamRequest, team_page
from teams.models import Invitation, Membership
from teams.permissions import Right
from teams.refusals import Refusal


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


def _members(
    request: TeamRequest,
    form: NewInvitation | None = None,
    refusal: Refusal | None = None,
    link: mail.Link | None = None,
) -> HttpResponse:
    """The table and the open invitations. `link` is shown in this answer and never again."""
    access = request.access
    form = form or NewInvitation(access)
    context = {
        "section": "team",
        "members": queries.members_of(access.team),
        "roles": queries.roles_for(access.team),
        "page": lists.page_of(request, queries.invitations_of(access.team).open()),
        "form": form,
        "refusal": refusal,
        "link": link,
    }
    status = refusal.status if refusal else 422 if form.is_bound else 200
    return render(request, "teams/members.html", context, status=status)


def _invited(request: TeamRequest, invitation: Invitation, secret: str) -> HttpResponse:
    """By mail where a server is set, else as a link to hand over. Outside every transaction."""
    link = mail.send_invitation(invitation, secret)
    if link.sent:
        messages.success(request, f"The invitation was sent to {invitation.email}.")
        return redirect("teams:members", team=request.access.team.slug)
    return _members(request, link=link)


@team_page(Right.TEAM_MANAGE, methods=READ_OR_POST)
def members(request: TeamRequest) -> HttpResponse:
    if request.method != "POST":
        return _members(request)
    form = NewInvitation(request.access, request.POST)
    if not form.is_valid():
        return _members(request, form)
    try:
        invitation, secret = actions.invite(access=request.access, **form.cleaned_data)
    except Refusal as refusal:
        form.add_error(refusal.place or None, refusal.message)
        return _members(request, form)
    return _invited(request, invitation, secret)


def _membership(request: TeamRequest, user: UUID) -> Membership:
    return request.access.find(queries.members_of(request.access.team), user_id=user)


@team_page(Right.TEAM_MANAGE, methods=("POST",))
def change_role(request: TeamRequest, user: UUID) -> HttpResponse:
    access = request.access
    membership = _membership(request, user)
    form = RoleChoice(access, request.POST)
    if not form.is_valid():
        raise Refusal("invalid_field", "Choose one of the roles in the list.", place="role")
    role = form.cleaned_data["role"]
    try:
        actions.set_role(access=access, team=access.team, user=membership.user, role=role, by=access.user)
    except Refusal as refusal:
        return _members(request, refusal=refusal)
    messages.success(request, f"{membership.user} is {role.name} now.")
    return redirect("teams:members", team=access.team.slug)


@team_page(Right.TEAM_MANAGE, methods=("POST",))
def remove_member(request: TeamRequest, user: UUID) -> HttpResponse:
    access = request.access
    membership = _membership(request, user)
    try:
        actions.remove_member(access=access, user=membership.user)
    except Refusal as refusal:
        return _members(request, refusal=refusal)
    messages.success(request, f"{membership.user} is no longer a member, and their tokens for this team have ended.")
    if membership.user_id == access.user.pk:
        return redirect("home")
    return redirect("teams:members", team=access.team.slug)


@team_page(methods=("POST",))
def leave(request: TeamRequest) -> HttpResponse:
    """Everybody may go; only the last who may manage the team has to stay."""
    actions.leave_team(access=request.access)
    messages.success(request, f"You have left {request.access.team.name}.")
    return redirect("home")


def _invitation(request: TeamRequest, invitation: UUID) -> Invitation:
    return request.access.find(queries.invitations_of(request.access.team), pk=invitation)


@team_page(Right.TEAM_MANAGE, methods=("POST",))
def resend_invitation(request: TeamRequest, invitation: UUID) -> HttpResponse:
    found = _invitation(request, invitation)
    try:
        found, secret = actions.resend_invitation(access=request.access, invitation=found)
    except Refusal as refusal:
        return _members(request, refusal=refusal)
    return _invited(request, found, secret)


@team_page(Right.TEAM_MANAGE, methods=("POST",))
def revoke_invitation(request: TeamRequest, invitation: UUID) -> HttpResponse:
    found = _invitation(request, invitation)
    try:
        actions.revoke_invitation(access=request.access, invitation=found)
    except Refusal as refusal:
        return _members(request, refusal=refusal)
    messages.success(request, f"The invitation of {found.email} has ended.")
    return redirect(reverse("teams:members", kwargs={"team": request.access.team.slug}) + "#invitations")
