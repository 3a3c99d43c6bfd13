"""Pages of datasets: the list, one dataset, one version, one item revision."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render

from datasets import queries
from datasets.models import Dataset, Version
from teams import lists
from teams.gates import TeamRequest, require, team_page
from teams.permissions import Right

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
    context = {"section": "datasets", "dataset": found, "versions": versions}
    return render(request, "datasets/detail.html", context | _items(request, versions[0] if versions else None))


@team_page(Right.EVALUATION_READ)
def version(request: TeamRequest, dataset: UUID, number: int) -> HttpResponse:
    found = request.access.find(Dataset.objects.all(), pk=dataset)
    chosen = request.access.find(queries.versions_of(found), team="dataset__team", number=number)
    return render(request, "datasets/version.html", {"section": "datasets", "dataset": found} | _items(request, chosen))


@team_page(Right.EVALUATION_READ)
def revision(request: TeamRequest, dataset: UUID, revision: UUID) -> HttpResponse:
    """What a case said at one time; without the right to content, that it exists and its fingerprint."""
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
        context |= {
            "content": content,
            "removed": found_content.removed,
            "parts": found_content.parts,
            "metadata": json.dumps(metadata, indent=2, ensure_ascii=False) if metadata else "",
        }
    return render(request, "datasets/revision.html", context)
