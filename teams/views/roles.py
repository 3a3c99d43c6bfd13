"""Pages of roles: the product's presets, and the team's own."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render

from teams import actions, queries
from teams.forms import RoleForm
from teams.gates import READ_OR_POST, TeamRequest, team_page
from teams.models import Role
from teams.permissions import Right
from teams.refusals import Refusal


@team_page(Right.TEAM_MANAGE, methods=READ_OR_POST)
def roles(request: TeamRequest) -> HttpResponse:
    access = request.access
    form = RoleForm(access, request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        try:
            role = actions.create_role(
                access=access, name=form.cleaned_data["name"], rights=form.cleaned_data["rights"]
            )
        except Refusal as refusal:
            form.add_error(refusal.place or None, refusal.message)
        else:
            messages.success(request, f"The role {role.name} can be given now.")
            return redirect("teams:roles", team=access.team.slug)
    context = {"section": "team", "roles": queries.roles_with_counts(access.team), "form": form}
    return render(request, "teams/roles.html", context, status=422 if form.is_bound else 200)


def _own(request: TeamRequest, role: UUID) -> Role:
    return request.access.find(Role.objects.all(), pk=role)


@team_page(Right.TEAM_MANAGE, methods=READ_OR_POST)
def role(request: TeamRequest, role: UUID) -> HttpResponse:
    """Edit a role of the team's own; the form carries the revision that was seen."""
    access, found = request.access, _own(request, role)
    seen = {"name": found.name, "rights": found.rights, "revision": found.revision}
    form = RoleForm(access, request.POST if request.method == "POST" else None, initial=seen)
    if form.is_bound and form.is_valid():
        try:
            kept = actions.edit_role(access=access, role=found, **form.cleaned_data)
        except Refusal as refusal:
            form.add_error(refusal.place or None, f"{refusal.message} {refusal.allowed}")
        else:
            messages.success(request, f"{kept.name} holds these rights now, for everybody who has it.")
            return redirect("teams:roles", team=access.team.slug)
    context = {"section": "team", "role": found, "form": form}
    return render(request, "teams/role.html", context, status=422 if form.is_bound else 200)


@team_page(Right.TEAM_MANAGE, methods=("POST",))
def delete_role(request: TeamRequest, role: UUID) -> HttpResponse:
    found = _own(request, role)
    name = found.name
    actions.delete_role(access=request.access, role=found)
    messages.success(request, f"The role {name} is gone.")
    return redirect("teams:roles", team=request.access.team.slug)
