"""Releases: bound, approved, activated, retired."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render

from agents import actions, queries
from agents.actions.agents import EDIT
from agents.actions.releases import REQUIRED
from agents.governed_forms import ReleaseForm
from agents.models import TRANSITIONS, Release, ReleaseState
from agents.views.managing import agent_of
from teams import lists
from teams.gates import READ_OR_POST, TeamRequest, team_page
from teams.permissions import Right
from teams.refusals import Refusal

STEPS = {
    ReleaseState.APPROVED: "Approve",
    ReleaseState.ACTIVE: "Activate",
    ReleaseState.RETIRED: "Retire",
}


def _release(request: TeamRequest, release: UUID) -> Release:
    return request.access.find(queries.releases_of(request.access), team="agent__team", pk=release)


@team_page(Right.AGENT_READ)
def release_list(request: TeamRequest) -> HttpResponse:
    state = lists.chosen(request, "state", ReleaseState.values)
    rows = queries.releases_of(request.access).order_by("-created_at", "-pk")
    context = {
        "section": "agents",
        "page": lists.page_of(request, rows.filter(state=state) if state else rows),
        "state": state,
        "states": ReleaseState.choices,
    }
    return render(request, "agents/releases.html", context)


@team_page(*EDIT, methods=READ_OR_POST)
def new_release(request: TeamRequest, agent: UUID) -> HttpResponse:
    access, found = request.access, agent_of(request, agent)
    versions = list(queries.bindable_versions(access))
    form = ReleaseForm(request.POST if request.method == "POST" else None, versions=versions)
    if form.is_bound and form.is_valid():
        try:
            made = actions.create_release(
                access=access, agent=found, name=form.cleaned_data["name"], bindings=form.bindings()
            )
        except Refusal as refusal:
            _add(form, refusal)
        else:
            messages.success(request, "The release is a draft. Approve it when its bindings are right.")
            return redirect("agents:release", team=access.team.slug, release=made.pk)
    context = {"section": "agents", "agent": found, "form": form, "release": None, "none": not versions}
    return render(request, "agents/release_form.html", context, status=422 if form.is_bound else 200)


@team_page(*EDIT, methods=READ_OR_POST)
def bind_release(request: TeamRequest, release: UUID) -> HttpResponse:
    """Which version plays each role, while the release is a draft."""
    access, found = request.access, _release(request, release)
    if found.state != ReleaseState.DRAFT:
        raise Refusal("release_not_a_draft", f"The release is {found.state}.")
    initial = {one.role: one.version_id for one in queries.bindings_of(found)} | {"revision": found.revision}
    form = ReleaseForm(
        request.POST if request.method == "POST" else None,
        versions=list(queries.bindable_versions(access)),
        named=False,
        initial=initial,
    )
    if form.is_bound and form.is_valid():
        try:
            actions.bind_release(
                access=access,
                release=found,
                bindings=form.bindings(),
                revision=form.cleaned_data["revision"] or 0,
            )
        except Refusal as refusal:
            _add(form, refusal)
        else:
            messages.success(request, "Bound.")
            return redirect("agents:release", team=access.team.slug, release=found.pk)
    context = {"section": "agents", "agent": found.agent, "form": form, "release": found}
    return render(request, "agents/release_form.html", context, status=422 if form.is_bound else 200)


def _add(form: ReleaseForm, refusal: Refusal) -> None:
    name = refusal.place.removeprefix("bindings.")
    form.add_error(name if name in form.fields else None, f"{refusal.message} {refusal.allowed}")


@team_page(Right.AGENT_READ)
def release(request: TeamRequest, release: UUID) -> HttpResponse:
    """What a release binds, what it is, and the steps that it took and may take."""
    access, found = request.access, _release(request, release)
    bindings = queries.bindings_of(found)
    context: dict[str, Any] = {
        "section": "agents",
        "release": found,
        "agent": found.agent,
        "bindings": bindings,
        "transitions": list(queries.transitions_of(found)),
        "steps": [(after.value, STEPS[after]) for before, after in TRANSITIONS if before == found.state],
        "retire": [("revision", found.revision), ("to", ReleaseState.RETIRED.value)],
        "missing": [kind.label for kind in REQUIRED if kind not in {one.role for one in bindings}],
        "unapproved": [one.version for one in bindings if not hasattr(one.version, "assetapproval")],
    }
    if access.reads_content:
        try:
            body = actions.assembled({one.role: one.version for one in bindings})
        except Refusal as refusal:
            context["refused"] = refusal
        else:
            context["text"] = json.dumps(body, indent=2, ensure_ascii=False)
    return render(request, "agents/release.html", context)


@team_page(*EDIT, methods=("POST",))
def move_release(request: TeamRequest, release: UUID) -> HttpResponse:
    found = _release(request, release)
    given = request.POST.get("revision", "")
    revision = int(given) if given.isascii() and given.isdecimal() and len(given) < 9 else 0
    step = actions.move_release(access=request.access, release=found, to=request.POST.get("to", ""), revision=revision)
    messages.success(request, f"The release is {step.get_after_display().lower()}.")
    return redirect("agents:release", team=request.access.team.slug, release=found.pk)
