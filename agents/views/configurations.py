"""Configurations and harnesses: the list, one of them, saved by revision, judged for launching."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render

from agents import actions, queries
from agents.actions.agents import EDIT, EDIT_CONTENT
from agents.capability_forms import ConfigurationForms
from agents.models import Configuration, ConfigurationRevision
from teams import lists
from teams.gates import READ_OR_POST, TeamRequest, team_page
from teams.permissions import Right
from teams.refusals import Refusal


def _configuration(request: TeamRequest, configuration: UUID) -> Any:
    found = queries.configurations_of(request.access, deleted=None).filter(pk=configuration).first()
    if found is None:
        raise Refusal("not_found")
    return found


@team_page(Right.AGENT_READ)
def configuration_list(request: TeamRequest) -> HttpResponse:
    deleted = lists.chosen(request, "deleted", ["1"]) == "1"
    rows = queries.configurations_of(request.access, deleted=deleted).order_by("name", "pk")
    context = {
        "section": "agents",
        "page": lists.page_of(request, rows),
        "deleted": deleted,
        "harnesses": list(queries.harnesses()),
    }
    return render(request, "agents/configurations.html", context)


def _forms(request: TeamRequest, body: Any = None, revision: int | None = None) -> ConfigurationForms:
    posted = request.method == "POST" and "more_rows" not in request.POST
    forms = ConfigurationForms(
        request.POST if posted else None,
        body,
        agents=queries.agents_of(request.access).order_by("name"),
        routes=queries.routes(),
        revision=revision,
    )
    if request.method == "POST" and not posted:
        forms.more_rows(request.POST)
    return forms


@team_page(*EDIT_CONTENT, methods=READ_OR_POST)
def new_configuration(request: TeamRequest) -> HttpResponse:
    access, forms = request.access, _forms(request)
    bound = forms.form.is_bound
    if bound and forms.is_valid():
        try:
            made = actions.create_configuration(access=access, name=forms.form.cleaned_data["name"], body=forms.body())
        except Refusal as refusal:
            forms.add(refusal)
        else:
            messages.success(request, f"{made.configuration.name} is saved.")
            return redirect("agents:configuration", team=access.team.slug, configuration=made.configuration_id)
    context = {"section": "agents", "configuration": None, "forms": forms, "form": forms.form}
    return render(request, "agents/configuration_form.html", context, status=422 if bound else 200)


@team_page(*EDIT_CONTENT, methods=READ_OR_POST)
def edit_configuration(request: TeamRequest, configuration: UUID) -> HttpResponse:
    """Another revision; saved agents are taken over as they stand now."""
    access, found = request.access, _configuration(request, configuration)
    newest = queries.configuration_revisions(found)[0]
    kept = queries.capability_set_of(newest)
    forms = _forms(request, kept.body or {"root": "", "roles": [], "delegation": []}, found.revision)
    bound = forms.form.is_bound
    if bound and forms.is_valid():
        try:
            made = actions.save_configuration(
                access=access,
                configuration=found,
                body=forms.body(),
                revision=forms.form.cleaned_data["revision"] or 0,
            )
        except Refusal as refusal:
            forms.add(refusal)
        else:
            same = made.pk == newest.pk
            messages.success(request, "Nothing was changed." if same else f"Revision {made.number} is saved.")
            return redirect("agents:configuration", team=access.team.slug, configuration=found.pk)
    context = {"section": "agents", "configuration": found, "forms": forms, "form": forms.form}
    return render(request, "agents/configuration_form.html", context, status=422 if bound else 200)


@team_page(Right.AGENT_READ)
def configuration(request: TeamRequest, configuration: UUID) -> HttpResponse:
    """What a configuration is, and, for models that are chosen here, whether it could be launched."""
    access, found = request.access, _configuration(request, configuration)
    revisions = list(queries.configuration_revisions(found))
    shown = _chosen(request, revisions) or revisions[0]
    bound = {slot: request.GET.get(f"slot-{slot}", "")[:80] for slot in shown.slots}
    context: dict[str, Any] = {
        "section": "agents",
        "configuration": found,
        "revisions": revisions,
        "shown": shown,
        "imported": list(shown.importedagent_set.select_related("agent")),
        "bound": list(bound.items()),
        "asked": any(bound.values()) or not shown.slots,
        "obstacles": queries.unlaunchable(shown, bound),
        "routes": list(queries.routes(active=True)),
    }
    if access.reads_content:
        kept = queries.capability_set_of(shown)
        context |= {"body": kept.body, "removed": kept.removed}
        context["text"] = json.dumps(kept.body, indent=2, ensure_ascii=False) if kept.body else ""
    return render(request, "agents/configuration.html", context)


def _chosen(request: TeamRequest, revisions: list[ConfigurationRevision]) -> ConfigurationRevision | None:
    number = request.GET.get("revision", "")
    if not number:
        return None
    for one in revisions:
        if str(one.number) == number:
            return one
    raise Refusal("not_found")


@team_page(*EDIT, methods=("POST",))
def delete_configuration(request: TeamRequest, configuration: UUID) -> HttpResponse:
    found: Configuration = _configuration(request, configuration)
    kept = actions.delete_configuration(access=request.access, configuration=found)
    messages.success(request, f"{kept.name} is deleted. What was run with it stays.")
    return redirect("agents:configurations", team=request.access.team.slug)


@team_page(Right.AGENT_READ)
def harness(request: TeamRequest, harness: UUID) -> HttpResponse:
    found = queries.harnesses().filter(pk=harness).first()
    if found is None:
        raise Refusal("not_found")
    context = {"section": "agents", "harness": found, "revisions": list(queries.harness_revisions(found))}
    return render(request, "agents/harness.html", context)
