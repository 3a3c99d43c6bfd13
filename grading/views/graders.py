"""Graders: the list, one grader with its versions, its name, and trying an assertion."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render

from agents.forms import NameForm
from agents.queries import FieldDiff
from analysis.word_diff import diff
from grading import actions, assertions, queries
from grading.actions.graders import EDIT
from grading.forms import TryForm, example_of
from grading.models import Grader, GraderKind, GraderVersion
from grading.words import Said, parts_of
from teams import lists
from teams.gates import READ_OR_POST, TeamRequest, team_page
from teams.permissions import Right
from teams.refusals import Refusal

ORDERS = {
    "name": "name",
    "metric": "definition__key",
    "kind": "kind",
    "versions": "versions",
    "changed": "changed_at",
}


def found_grader(request: TeamRequest, grader: UUID) -> Grader:
    rows = queries.graders_of(request.access, archived=None)
    found: Grader = request.access.find(rows, team="definition__team", pk=grader)
    return found


@team_page(Right.EVALUATION_READ)
def grader_list(request: TeamRequest) -> HttpResponse:
    archived = lists.chosen(request, "archived", ["1"]) == "1"
    kind = lists.chosen(request, "kind", GraderKind.values)
    search = request.GET.get("q", "").strip()[:200]
    found = queries.graders_of(request.access, archived=archived, kind=kind, search=search)
    rows, sort = lists.order_by(request, found, ORDERS, "name")
    context = {
        "section": "graders",
        "page": lists.page_of(request, rows),
        "sort": sort,
        "q": search,
        "kind": kind,
        "kinds": GraderKind.choices,
        "archived": archived,
    }
    return render(request, "graders/list.html", context)


@team_page(Right.EVALUATION_READ)
def grader(request: TeamRequest, grader: UUID) -> HttpResponse:
    """A grader with its versions; one of them is shown, or what it does not share with another."""
    return _page(request, found_grader(request, grader))


def _page(request: TeamRequest, found: Grader, number: str = "", **more: Any) -> HttpResponse:
    versions = list(queries.grader_versions(found))
    shown = _chosen(versions, number or request.GET.get("version", "")) or versions[0]
    against = _chosen(versions, request.GET.get("against", ""))
    context: dict[str, Any] = {
        "section": "graders",
        "grader": found,
        "versions": versions,
        "shown": shown,
        "against": against,
        "authored": found.kind != GraderKind.IMPORTED,
    }
    if request.access.reads_content:
        said = queries.config_of(shown)
        parts = parts_of(found.kind, said.body)
        context |= {"parts": parts, "removed": said.removed}
        if against is not None:
            before = parts_of(found.kind, queries.config_of(against).body)
            context["fields"] = [*_differences(before, parts), *_beside(against, shown)]
        if found.kind == GraderKind.ASSERTION and parts:
            context["try_form"] = TryForm()
    return render(request, "graders/grader.html", {**context, **more})


def _chosen(versions: list[GraderVersion], number: str) -> GraderVersion | None:
    if not number:
        return None
    for one in versions:
        if str(one.number) == number:
            return one
    raise Refusal("not_found")


def _differences(before: list[Said], after: list[Said]) -> list[FieldDiff]:
    """The parts that differ, word by word."""
    old, new = ({one.name: one.text for one in parts} for parts in (before, after))
    names = [*old, *(name for name in new if name not in old)]
    told = [(name, diff(old.get(name, ""), new.get(name, ""))) for name in names if old.get(name) != new.get(name)]
    return [FieldDiff(name, one.before, one.after) for name, one in told]


def _beside(before: GraderVersion, after: GraderVersion) -> list[FieldDiff]:
    """What differs of what stands beside the configuration: evidence, the route's revision, the fee."""
    old, new = ([Said(name, text) for name, text in facts_of(one)] for one in (before, after))
    return _differences(old, new)


def facts_of(version: GraderVersion) -> list[tuple[str, str]]:
    """What a reader of metadata sees of a version."""
    found = [("Judges by", version.accepts)] if version.evidence else []
    if version.route_revision is not None:
        found.append(("Model", f"{version.route_revision.model_id}, {version.route_revision}"))
    if version.fee_micros is not None:
        found.append(("Fee per call", f"{version.fee_micros} millionths of {version.fee_currency}"))
    return found


@team_page(Right.EVALUATION_READ, Right.EVALUATION_CONTENT_READ, methods=("POST",))
def try_version(request: TeamRequest, grader: UUID, number: int) -> HttpResponse:
    """What a version says of a pasted answer. Nothing is stored."""
    found = found_grader(request, grader)
    version = queries.grader_versions(found).filter(number=number).first()
    if version is None or found.kind != GraderKind.ASSERTION:
        raise Refusal("not_found")
    config = queries.config_of(version).body
    form = TryForm(request.POST)
    judged = None
    if config is not None and form.is_valid():
        judged = assertions.judge(config, example_of(form.cleaned_data["answer"], form.cleaned_data["expected"]))
    if request.htmx:
        return render(request, "graders/_tried.html", {"judged": judged})
    return _page(request, found, number=str(number), judged=judged, try_form=form)


@team_page(*EDIT, methods=READ_OR_POST)
def rename(request: TeamRequest, grader: UUID) -> HttpResponse:
    access, found = request.access, found_grader(request, grader)
    seen = {"name": found.name, "revision": found.revision}
    form = NameForm(request.POST if request.method == "POST" else None, initial=seen)
    if form.is_bound and form.is_valid():
        try:
            actions.rename_grader(access=access, grader=found, **form.cleaned_data)
        except Refusal as refusal:
            form.add_error(refusal.place or None, f"{refusal.message} {refusal.allowed}")
        else:
            messages.success(request, "Renamed. Passes that hold its versions keep them.")
            return redirect("graders:grader", team=access.team.slug, grader=found.pk)
    context = {"section": "graders", "grader": found, "form": form}
    return render(request, "graders/name.html", context, status=422 if form.is_bound else 200)


@team_page(*EDIT, methods=("POST",))
def archive(request: TeamRequest, grader: UUID) -> HttpResponse:
    kept = actions.archive_grader(access=request.access, grader=found_grader(request, grader))
    messages.success(request, f"{kept.name} is archived. What it said stays.")
    return redirect("graders:list", team=request.access.team.slug)


@team_page(*EDIT, methods=("POST",))
def restore(request: TeamRequest, grader: UUID) -> HttpResponse:
    kept = actions.restore_grader(access=request.access, grader=found_grader(request, grader))
    messages.success(request, f"{kept.name} can be chosen again.")
    return redirect("graders:grader", team=request.access.team.slug, grader=kept.pk)
