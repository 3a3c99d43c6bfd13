"""Pages of templates: the list, one template with its versions, its name."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render

from agents.forms import NameForm
from comparisons.groups import templates
from comparisons.groups.naming import said_by
from comparisons.models import Template
from teams import lists
from teams.gates import READ_OR_POST, TeamRequest, team_page
from teams.permissions import Right
from teams.refusals import Refusal


def _template(request: TeamRequest, template: UUID) -> Template:
    found: Template = request.access.find(templates.templates_of(request.access, archived=None), pk=template)
    return found


@team_page(Right.EVALUATION_READ)
def template_list(request: TeamRequest) -> HttpResponse:
    """Templates that are not archived, or those that are."""
    archived = lists.chosen(request, "archived", ["1"]) == "1"
    rows = templates.templates_of(request.access, archived=archived)
    context = {"section": "comparisons", "page": lists.page_of(request, rows), "archived": archived}
    return render(request, "comparisons/templates/list.html", context)


@team_page(Right.EVALUATION_READ)
def template(request: TeamRequest, template: UUID) -> HttpResponse:
    """A template with its versions, and what one of them says."""
    found = _template(request, template)
    versions = templates.versions_of(found)
    number = request.GET.get("version", "")
    shown = versions.first()
    if number:
        shown = versions.filter(number=lists.whole(number)).first()
    if shown is None:
        raise Refusal("not_found")
    context: dict[str, Any] = {
        "section": "comparisons",
        "template": found,
        "versions": lists.page_of(request, versions),
        "shown": shown,
    }
    if request.access.reads_content:
        body = templates.body_of(shown)
        context |= {"said": said_by(request.access, body) if body is not None else None, "removed": body is None}
    return render(request, "comparisons/templates/template.html", context)


@team_page(*templates.EDIT, methods=READ_OR_POST)
def rename_template(request: TeamRequest, template: UUID) -> HttpResponse:
    access, found = request.access, _template(request, template)
    seen = {"name": found.name, "revision": found.revision}
    form = NameForm(request.POST if request.method == "POST" else None, initial=seen)
    if form.is_bound and form.is_valid():
        try:
            templates.rename_template(access=access, template=found, **form.cleaned_data)
        except Refusal as refusal:
            form.add_error(refusal.place or None, f"{refusal.message} {refusal.allowed}")
        else:
            messages.success(request, "Renamed. Groups that began from it keep its versions.")
            return redirect("comparisons:template", team=access.team.slug, template=found.pk)
    context = {"section": "comparisons", "template": found, "form": form}
    return render(request, "comparisons/templates/name.html", context, status=422 if form.is_bound else 200)


@team_page(*templates.EDIT, methods=("POST",))
def archive_template(request: TeamRequest, template: UUID) -> HttpResponse:
    return _put_away(request, _template(request, template), archived=True)


@team_page(*templates.EDIT, methods=("POST",))
def restore_template(request: TeamRequest, template: UUID) -> HttpResponse:
    return _put_away(request, _template(request, template), archived=False)


def _put_away(request: TeamRequest, found: Template, *, archived: bool) -> HttpResponse:
    templates.set_template_archived(access=request.access, template=found, archived=archived)
    text = f"{found.name} is archived. Groups that began from it keep what they say."
    messages.success(request, text if archived else f"{found.name} can be chosen again.")
    return redirect("comparisons:template", team=request.access.team.slug, template=found.pk)
