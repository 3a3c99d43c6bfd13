"""Pages of datasets: the list, one dataset, one version, one item revision."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render

from datasets import queries
from datasets.actions.drafts import EDIT, current
from datasets.actions.errata import add_erratum
from datasets.forms import ErratumForm
from datasets.models import Dataset, Draft, ItemRevision, Version
from teams import lists
from teams.gates import READ_OR_POST, TeamRequest, require, team_page
from teams.permissions import Right
from teams.refusals import Refusal

ORDERS = {"name": "name", "versions": "versions", "items": "items", "changed": "changed_at"}
ITEMS = 50


@team_page(Right.EVALUATION_READ)
def dataset_list(request: TeamRequest) -> HttpResponse:
    archived = lists.chosen(request, "archived", ["1"]) == "1"
    rows, sort = lists.order_by(request, queries.datasets_of(request.access.team, archived=archived), ORDERS, "name")
    context = {"section": "datasets", "page": lists.page_of(request, rows), "sort": sort, "archived": archived}
    return render(request, "datasets/list.html", context)


def _items(request: TeamRequest, version: Version | None) -> dict[str, Any]:
    """The item list of a version, paged; searching it needs the right to content."""
    search = request.GET.get("q", "").strip()
    if search:
        require(request.access, Right.EVALUATION_CONTENT_READ)
    if version is None:
        return {"version": None, "rows": [], "page": None, "q": search}
    page = queries.entry_pages(version, ITEMS, search=search).get_page(request.GET.get("page"))
    rows = queries.item_rows(page.object_list, content=request.access.reads_content)
    return {"version": version, "rows": rows, "page": page, "q": search}


@team_page(Right.EVALUATION_READ)
def detail(request: TeamRequest, dataset: UUID) -> HttpResponse:
    """A dataset, its versions, and the items of the newest one."""
    found = request.access.find(Dataset.objects.all(), pk=dataset)
    versions = list(queries.versions_of(found))
    context = {"section": "datasets", "dataset": found, "versions": versions, **_drafted(request, found)}
    return render(request, "datasets/detail.html", context | _items(request, versions[0] if versions else None))


def _drafted(request: TeamRequest, dataset: Dataset) -> dict[str, Any]:
    """The open draft with its counts, and how many slices there are."""
    draft = queries.draft_of(dataset)
    return {
        "draft": draft,
        "counts": queries.counts_of(draft) if draft else None,
        "slices": queries.slices_of(dataset).count(),
    }


@team_page(Right.EVALUATION_READ)
def compare(request: TeamRequest, dataset: UUID) -> HttpResponse:
    """Which cases two versions do not share: added, revised, removed."""
    found = request.access.find(Dataset.objects.all(), pk=dataset)
    versions = list(queries.versions_of(found))
    older, newer = (_version_named(request, versions, name) for name in ("from", "to"))
    context: dict[str, Any] = {"section": "datasets", "dataset": found, "versions": versions}
    if len(versions) >= 2:
        newer = newer or versions[0]
        older = older or next((one for one in versions if one.number < newer.number), versions[-1])
        kind = lists.chosen(request, "kind", queries.KINDS)
        rows = queries.compared(older, newer)
        counts = {name: sum(1 for row in rows if row[0] == name) for name in queries.KINDS}
        page = lists.page_of(request, [row for row in rows if not kind or row[0] == kind], ITEMS)
        context |= {
            "older": older,
            "newer": newer,
            "kind": kind,
            "counts": counts,
            "shared": newer.count - counts["added"] - counts["revised"],
            "page": page,
            "rows": queries.version_differences(page.object_list, content=request.access.reads_content),
        }
    return render(request, "datasets/compare.html", context)


def _version_named(request: TeamRequest, versions: list[Version], name: str) -> Version | None:
    number = request.GET.get(name, "")
    if not number:
        return None
    for one in versions:
        if str(one.number) == number:
            return one
    raise Refusal("not_found")


@team_page(Right.EVALUATION_READ)
def version(request: TeamRequest, dataset: UUID, number: int) -> HttpResponse:
    found = request.access.find(Dataset.objects.all(), pk=dataset)
    chosen = request.access.find(queries.versions_of(found), team="dataset__team", number=number)
    others = queries.versions_of(found).count()
    context = {"section": "datasets", "dataset": found, "others": others, "draft": queries.draft_of(found)}
    return render(request, "datasets/version.html", context | _items(request, chosen))


@team_page(Right.EVALUATION_READ, methods=READ_OR_POST)
def revision(request: TeamRequest, dataset: UUID, revision: UUID) -> HttpResponse:
    """What a case said at one time; without the right to content, that it exists and its fingerprint.

    Sending the form adds an erratum, which needs the rights to edit cases.
    """
    if request.method == "POST":
        require(request.access, *EDIT)
    found = request.access.find(Dataset.objects.all(), pk=dataset)
    chosen = request.access.find(queries.revisions_of(found), team="item__dataset__team", pk=revision)
    context: dict[str, Any] = {
        "section": "datasets",
        "dataset": found,
        "revision": chosen,
        "fingerprint": bytes(chosen.content_digest).hex(),
        "siblings": queries.siblings_of(chosen),
        "versions": queries.versions_with(chosen),
    }
    if request.access.reads_content:
        found_content = queries.content_of(chosen.pk)
        content = found_content.content
        metadata = content.metadata if content else None
        against = _against(request, found, chosen)
        if against is not None:
            other = queries.content_of(against.pk).content
            context |= {
                "against": against,
                "diffs": queries.field_diffs(other, content) if other and content else [],
            }
        context |= {
            "content": content,
            "removed": found_content.removed,
            "parts": found_content.parts,
            "metadata": json.dumps(metadata, indent=2, ensure_ascii=False) if metadata else "",
        }
    errata = list(queries.errata_of(chosen))
    context["errata"] = errata
    if request.access.allows(*EDIT) and context.get("content") is not None:
        points = _points(context["parts"])
        form = ErratumForm(request.POST if request.method == "POST" else None, points=points)
        context["form"] = form if points else None
        if form.is_bound and form.is_valid():
            try:
                add_erratum(access=request.access, revision=chosen, **form.cleaned_data)
            except Refusal as refusal:
                form.add_error(refusal.place if refusal.place in form.fields else None, refusal.message)
            else:
                messages.success(request, "The points do not count any more. The case itself stays as it is.")
                slug = request.access.team.slug
                return redirect("datasets:revision", team=slug, dataset=found.pk, revision=chosen.pk)
    if request.access.reads_content:
        context["excluded"] = queries.excluded_points(chosen)
    draft = queries.draft_of(found)
    newest = context["versions"].first()
    context |= {"draft": draft, "newest": newest, "listed": _is_listed(chosen, draft, newest)}
    status = 422 if request.method == "POST" else 200
    return render(request, "datasets/revision.html", context, status=status)


def _points(parts: list[queries.Part]) -> list[tuple[str, str]]:
    """A case's points to choose from, with the beginning of what they say."""
    points = {point.id: point.text for part in parts for point in part.points if not point.inside}
    return [(name, text if len(text) <= 90 else f"{text[:89]}…") for name, text in points.items()]


def _is_listed(revision: ItemRevision, draft: Draft | None, newest: Version | None) -> bool:
    """Whether an edit would start from this revision."""
    listed = current(draft, revision.item_id, base=newest)
    return listed is not None and listed.pk == revision.pk


def _against(request: TeamRequest, dataset: Dataset, revision: ItemRevision) -> ItemRevision | None:
    """The revision of the same case to tell the difference to."""
    given = request.GET.get("against", "")
    if not given:
        return None
    rows = queries.revisions_of(dataset).filter(item=revision.item_id)
    return request.access.find(rows, team="item__dataset__team", pk=given)
