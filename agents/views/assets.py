"""Assets: governed parts, their versions and approvals."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import redirect, render

from agents import actions, queries
from agents.actions.agents import EDIT, EDIT_CONTENT
from agents.actions.assets import APPROVE, PARTS, not_built_in
from agents.forms import NameForm
from agents.governed_forms import AssetForm
from agents.models import Asset, AssetKind, AssetVersion
from analysis.word_diff import diff
from teams import lists
from teams.gates import READ_OR_POST, TeamRequest, team_page
from teams.permissions import Right
from teams.refusals import Refusal

ORDERS = {"name": "name", "kind": "kind", "versions": "versions", "changed": "changed_at"}


def _asset(request: TeamRequest, asset: UUID) -> Asset:
    rows: QuerySet[Asset] = queries.assets_of(request.access, archived=None)
    found = rows.filter(pk=asset).first()
    if found is None:
        raise Refusal("not_found")
    return found


@team_page(Right.AGENT_READ)
def asset_list(request: TeamRequest) -> HttpResponse:
    archived = lists.chosen(request, "archived", ["1"]) == "1"
    kind = lists.chosen(request, "kind", AssetKind.values)
    search = request.GET.get("q", "").strip()[:200]
    found = queries.assets_of(request.access, archived=archived, kind=kind, search=search)
    rows, sort = lists.order_by(request, found, ORDERS, "name")
    context = {
        "section": "agents",
        "page": lists.page_of(request, rows),
        "sort": sort,
        "q": search,
        "kind": kind,
        "kinds": AssetKind.choices,
        "archived": archived,
    }
    return render(request, "agents/assets.html", context)


@team_page(*EDIT_CONTENT, methods=READ_OR_POST)
def new_asset(request: TeamRequest) -> HttpResponse:
    access = request.access
    kind = lists.chosen(request, "kind", AssetKind.values, AssetKind.PROMPT_TEMPLATE.value)
    form = AssetForm(request.POST if request.method == "POST" else None, kind=kind, routes=queries.routes())
    if form.is_bound and form.is_valid():
        try:
            made = actions.create_asset(access=access, kind=kind, name=form.cleaned_data["name"], body=form.part())
        except Refusal as refusal:
            _add(form, refusal)
        else:
            messages.success(request, "It is there. An owner approves versions that releases may bind.")
            return redirect("agents:asset", team=access.team.slug, asset=made.asset_id)
    context = {"section": "agents", "form": form, "kind": kind, "kinds": AssetKind.choices, "asset": None}
    return render(request, "agents/asset_form.html", context, status=422 if form.is_bound else 200)


@team_page(*EDIT_CONTENT, methods=READ_OR_POST)
def new_asset_version(request: TeamRequest, asset: UUID) -> HttpResponse:
    """Another version, starting from what the newest one says."""
    access, found = request.access, _asset(request, asset)
    not_built_in(found)
    newest = queries.asset_versions(found)[0]
    form = AssetForm(
        request.POST if request.method == "POST" else None,
        kind=found.kind,
        routes=queries.routes(),
        named=False,
        body=queries.part_of(newest).body,
        initial={"revision": found.revision},
    )
    if form.is_bound and form.is_valid():
        try:
            made = actions.add_asset_version(
                access=access, asset=found, body=form.part(), revision=form.cleaned_data["revision"] or 0
            )
        except Refusal as refusal:
            _add(form, refusal)
        else:
            same = made.pk == newest.pk
            messages.success(request, "Nothing was changed." if same else f"Version {made.number} is there.")
            return redirect("agents:asset", team=access.team.slug, asset=found.pk)
    context = {"section": "agents", "form": form, "kind": found.kind, "asset": found, "newest": newest}
    return render(request, "agents/asset_form.html", context, status=422 if form.is_bound else 200)


def _add(form: AssetForm, refusal: Refusal) -> None:
    """Put a refusal beside the body, with the place inside it, or beside the name."""
    if refusal.place == "name":
        form.add_error("name", f"{refusal.message} {refusal.allowed}")
        return
    inside = refusal.place.removeprefix(PARTS[form.kind])
    form.add_error("body" if refusal.place else None, f"{inside.lstrip('.')} {refusal.message}".strip())


@team_page(Right.AGENT_READ)
def asset(request: TeamRequest, asset: UUID) -> HttpResponse:
    """An asset with its versions; one of them is shown, or what it does not share with another."""
    access, found = request.access, _asset(request, asset)
    versions = list(queries.asset_versions(found))
    shown = _chosen(request, versions, "version") or versions[0]
    against = _chosen(request, versions, "against")
    context: dict[str, Any] = {
        "section": "agents",
        "asset": found,
        "versions": versions,
        "shown": shown,
        "against": against,
        "may_approve": access.allows(*APPROVE) and found.team_id is not None,
    }
    if access.reads_content:
        part = queries.part_of(shown)
        context |= {"text": _text(part.body), "removed": part.removed, "is_text": isinstance(part.body, str)}
        if against is not None:
            told = diff(_text(queries.part_of(against).body), _text(part.body))
            context["fields"] = [queries.FieldDiff(found.get_kind_display(), told.before, told.after)]
    return render(request, "agents/asset.html", context)


def _text(body: Any) -> str:
    if body is None:
        return ""
    return body if isinstance(body, str) else json.dumps(body, indent=2, ensure_ascii=False)


def _chosen(request: TeamRequest, versions: list[AssetVersion], name: str) -> AssetVersion | None:
    number = request.GET.get(name, "")
    if not number:
        return None
    for one in versions:
        if str(one.number) == number:
            return one
    raise Refusal("not_found")


@team_page(*APPROVE, methods=("POST",))
def approve_asset(request: TeamRequest, asset: UUID, number: int) -> HttpResponse:
    found = _asset(request, asset)
    version = queries.asset_versions(found).filter(number=number).first()
    if version is None:
        raise Refusal("not_found")
    actions.approve_asset_version(access=request.access, version=version)
    messages.success(request, f"Version {number} is approved. Releases may bind it.")
    return redirect("agents:asset", team=request.access.team.slug, asset=found.pk)


@team_page(*EDIT, methods=READ_OR_POST)
def rename_asset(request: TeamRequest, asset: UUID) -> HttpResponse:
    access, found = request.access, _asset(request, asset)
    not_built_in(found)
    seen = {"name": found.name, "revision": found.revision}
    form = NameForm(request.POST if request.method == "POST" else None, initial=seen)
    if form.is_bound and form.is_valid():
        try:
            actions.rename_asset(access=access, asset=found, **form.cleaned_data)
        except Refusal as refusal:
            form.add_error(refusal.place or None, f"{refusal.message} {refusal.allowed}")
        else:
            messages.success(request, "Renamed. Releases that bind its versions keep them.")
            return redirect("agents:asset", team=access.team.slug, asset=found.pk)
    context = {"section": "agents", "asset": found, "form": form}
    return render(request, "agents/asset_name.html", context, status=422 if form.is_bound else 200)


@team_page(*EDIT, methods=("POST",))
def archive_asset(request: TeamRequest, asset: UUID) -> HttpResponse:
    kept = actions.archive_asset(access=request.access, asset=_asset(request, asset))
    messages.success(request, f"{kept.name} is archived. Releases that bind a version keep it.")
    return redirect("agents:assets", team=request.access.team.slug)


@team_page(*EDIT, methods=("POST",))
def restore_asset(request: TeamRequest, asset: UUID) -> HttpResponse:
    kept = actions.restore_asset(access=request.access, asset=_asset(request, asset))
    messages.success(request, f"{kept.name} can be bound again.")
    return redirect("agents:asset", team=request.access.team.slug, asset=kept.pk)
