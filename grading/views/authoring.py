"""Writing graders: a new one of a chosen kind, another version of one, and trying an assertion before it is saved."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render

from agents.queries import routes
from grading import actions, assertions, queries
from grading.actions.graders import AUTHORED, EDIT_CONTENT
from grading.forms import FORMS, AssertionForm, GraderForm
from grading.judging import Judged
from grading.models import GraderKind, GraderVersion
from grading.views.graders import found_grader
from teams import lists
from teams.gates import READ_OR_POST, TeamRequest, team_page
from teams.refusals import Refusal

KINDS = [(kind.value, kind.label) for kind in AUTHORED]


def _form(request: TeamRequest, kind: str, *, named: bool, **more: Any) -> GraderForm:
    return FORMS[kind](
        request.POST if request.method == "POST" else None,
        metrics=queries.metrics_of(request.access),
        named=named,
        routes=routes(),
        hosts=queries.validator_hosts(),
        **more,
    )


@team_page(*EDIT_CONTENT, methods=READ_OR_POST)
def new(request: TeamRequest) -> HttpResponse:
    access = request.access
    kind = lists.chosen(request, "kind", [kind.value for kind in AUTHORED], GraderKind.ASSERTION.value)
    form = _form(request, kind, named=True, initial={"metric": request.GET.get("metric", "")})
    context: dict[str, Any] = {"grader": None, "kind": kind, "kinds": KINDS}
    if form.is_bound and not _asked_only(request):
        if form.is_valid():
            given = form.cleaned_data
            try:
                made = actions.create_grader(
                    access=access, metric=given["metric"], kind=kind, name=given["name"], **form.said()
                )
            except Refusal as refusal:
                form.add(refusal)
            else:
                messages.success(request, "It is there. What you change later becomes its next version.")
                return redirect("graders:grader", team=access.team.slug, grader=made.grader_id)
        return _shown(request, form, context, status=422)
    return _shown(request, form, context)


@team_page(*EDIT_CONTENT, methods=READ_OR_POST)
def new_version(request: TeamRequest, grader: UUID) -> HttpResponse:
    """Another version, starting from what the newest one says."""
    access, found = request.access, found_grader(request, grader)
    if found.kind == GraderKind.IMPORTED:
        raise Refusal("grader_imported", f"{found.name} came with an import.")
    newest: GraderVersion = queries.grader_versions(found)[0]
    form = _form(
        request,
        found.kind,
        named=False,
        version=newest,
        config=queries.config_of(newest).body,
        initial={"revision": found.revision},
    )
    context: dict[str, Any] = {"grader": found, "kind": found.kind, "newest": newest}
    if form.is_bound and not _asked_only(request):
        if form.is_valid():
            try:
                made = actions.add_grader_version(
                    access=access, grader=found, revision=form.cleaned_data["revision"] or 0, **form.said()
                )
            except Refusal as refusal:
                form.add(refusal)
            else:
                known = made.number <= newest.number
                said = (
                    f"Version {made.number} says exactly this already." if known else f"Version {made.number} is there."
                )
                messages.success(request, said)
                return redirect("graders:grader", team=access.team.slug, grader=found.pk)
        return _shown(request, form, context, status=422)
    return _shown(request, form, context)


def _asked_only(request: TeamRequest) -> bool:
    """Whether the form was sent to try it or for one more row, and nothing is to be saved."""
    return "try" in request.POST or "more" in request.POST


def _shown(request: TeamRequest, form: GraderForm, context: dict[str, Any], status: int = 200) -> HttpResponse:
    tried = "try" in request.POST and isinstance(form, AssertionForm)
    judged = _tried(form) if tried and isinstance(form, AssertionForm) else None
    if tried and request.htmx:
        return render(request, "graders/_tried.html", {"judged": judged, "form": form})
    context |= {"section": "graders", "form": form, "judged": judged}
    return render(request, "graders/form.html", context, status=status)


def _tried(form: AssertionForm) -> Judged | None:
    """What the checks as they are written say of the pasted answer; None where they cannot be read."""
    form.is_valid()
    if not form.checks_are_valid():
        return None
    try:
        return assertions.judge(assertions.checked(form.config()), form.example())
    except Refusal as refusal:
        form.add(refusal)
        return None
