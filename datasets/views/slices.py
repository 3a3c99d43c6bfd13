"""Slices of a dataset: the list, one slice with its versions, its filter."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render

from datasets import actions, filters, queries
from datasets.actions.slices import EDIT
from datasets.forms import SliceForms
from datasets.models import Dataset, Slice, SliceContent, Version
from teams import lists
from teams.gates import READ_OR_POST, TeamRequest, require, team_page
from teams.permissions import Right
from teams.refusals import Refusal

ITEMS = 50


def _dataset(request: TeamRequest, dataset: UUID) -> Dataset:
    return request.access.find(Dataset.objects.all(), pk=dataset)


def _slice(request: TeamRequest, dataset: Dataset, slice_: UUID) -> Slice:
    rows = Slice.objects.filter(dataset=dataset).select_related("dataset")
    return request.access.find(rows, team="dataset__team", pk=slice_)


@team_page(Right.EVALUATION_READ)
def slices(request: TeamRequest, dataset: UUID) -> HttpResponse:
    found = _dataset(request, dataset)
    archived = lists.chosen(request, "archived", ["1"]) == "1"
    rows: list[Any] = list(queries.slices_of(found, archived=archived))
    words = queries.words_of(row.newest for row in rows) if request.access.reads_content else {}
    context = {
        "section": "datasets",
        "dataset": found,
        "archived": archived,
        "rows": [(row, words.get(row.newest)) for row in rows],
        "versions": queries.versions_of(found).exists(),
    }
    return render(request, "datasets/slices.html", context)


@team_page(Right.EVALUATION_READ)
def slice_page(request: TeamRequest, dataset: UUID, slice: UUID) -> HttpResponse:  # noqa: A002 - the address says so
    """One slice: its filters by version, and the cases that the newest one takes from a version of the dataset."""
    found = _dataset(request, dataset)
    chosen = _slice(request, found, slice)
    versions = list(queries.slice_versions(chosen))
    context: dict[str, Any] = {"section": "datasets", "dataset": found, "slice": chosen, "newest": versions[0]}
    words = queries.words_of(one.pk for one in versions) if request.access.reads_content else {}
    context["versions"] = [(one, words.get(one.pk)) for one in versions]
    number = request.GET.get("version", "")
    if number:
        require(request.access, Right.EVALUATION_CONTENT_READ)
    if request.access.reads_content:
        lists_of = list(queries.versions_of(found))
        on = _version(request, found, number) if number else versions[0].counted_on
        content = words.get(versions[0].pk)
        rule = filters.read(content.filter) if content and content.filter else None
        entries = filters.entries(on, rule).select_related("revision") if rule else None
        page = lists.page_of(request, entries, ITEMS) if entries is not None else None
        context |= {
            "on": on,
            "on_choices": lists_of,
            "page": page,
            "rows": queries.item_rows(page.object_list, content=True) if page else [],
        }
    return render(request, "datasets/slice.html", context)


def _version(request: TeamRequest, dataset: Dataset, number: str) -> Version:
    if not (number.isascii() and number.isdecimal() and len(number) < 9):
        raise Refusal("invalid_field", "version is a number.", place="version")
    return request.access.find(queries.versions_of(dataset), team="dataset__team", number=int(number))


def _choices(dataset: Dataset) -> list[tuple[int, str]]:
    return [(one.number, f"version {one.number} ({one.count:,} cases)") for one in queries.versions_of(dataset)]


@team_page(*EDIT, methods=READ_OR_POST)
def new(request: TeamRequest, dataset: UUID) -> HttpResponse:
    found = _dataset(request, dataset)
    choices = _choices(found)
    forms = SliceForms(request.POST if request.method == "POST" else None, versions=choices, named=True)
    if request.method == "POST" and forms.is_valid():
        counted = _counted(request, found, forms)
        if counted is None and "count" not in request.POST:
            try:
                made = actions.create_slice(
                    access=request.access,
                    dataset=found,
                    name=forms.form.cleaned_data["name"],
                    given=forms.plain(),
                    version=_version(request, found, str(forms.form.cleaned_data["version"])),
                )
            except Refusal as refusal:
                forms.add(refusal)
            else:
                messages.success(request, f"The slice takes {made.count:,} of {made.scope:,} cases.")
                return redirect("datasets:slice", team=request.access.team.slug, dataset=found.pk, slice=made.slice_id)
        return _shown(request, found, None, forms, counted)
    return _shown(request, found, None, forms, None)


@team_page(*EDIT, methods=READ_OR_POST)
def edit(request: TeamRequest, dataset: UUID, slice: UUID) -> HttpResponse:  # noqa: A002
    """Another filter under the same name, as the next version of the slice."""
    found = _dataset(request, dataset)
    chosen = _slice(request, found, slice)
    newest = queries.slice_versions(chosen)[0]
    content = SliceContent.objects.filter(slice_version=newest).first()
    forms = SliceForms(
        request.POST if request.method == "POST" else None,
        versions=_choices(found),
        named=False,
        initial={"revision": chosen.revision, "version": queries.versions_of(found)[0].number},
        filter_=content.filter if content else None,
    )
    if request.method == "POST" and forms.is_valid():
        counted = _counted(request, found, forms)
        if counted is None and "count" not in request.POST:
            try:
                made = actions.new_slice_version(
                    access=request.access,
                    slice_=chosen,
                    given=forms.plain(),
                    version=_version(request, found, str(forms.form.cleaned_data["version"])),
                    revision=forms.form.cleaned_data["revision"] or 0,
                )
            except Refusal as refusal:
                forms.add(refusal)
            else:
                messages.success(request, f"Version {made.number} takes {made.count:,} of {made.scope:,} cases.")
                return redirect("datasets:slice", team=request.access.team.slug, dataset=found.pk, slice=chosen.pk)
        return _shown(request, found, chosen, forms, counted)
    return _shown(request, found, chosen, forms, None)


def _counted(request: TeamRequest, dataset: Dataset, forms: SliceForms) -> tuple[int, int] | None:
    """How many cases the filter takes, where the person only asked to count."""
    if "count" not in request.POST:
        return None
    try:
        version = _version(request, dataset, str(forms.form.cleaned_data["version"]))
        return filters.entries(version, filters.read(forms.plain())).count(), version.count
    except Refusal as refusal:
        forms.add(refusal)
        return None


def _shown(
    request: TeamRequest, dataset: Dataset, chosen: Slice | None, forms: SliceForms, counted: tuple[int, int] | None
) -> HttpResponse:
    context = {
        "section": "datasets",
        "dataset": dataset,
        "slice": chosen,
        "form": forms.form,
        "conditions": forms.conditions,
        "counted": counted,
        "allowed": filters.ALLOWED,
    }
    failed = request.method == "POST" and counted is None
    return render(request, "datasets/slice_form.html", context, status=422 if failed else 200)


@team_page(Right.EVALUATION_MANAGE, methods=("POST",))
def archive(request: TeamRequest, dataset: UUID, slice: UUID) -> HttpResponse:  # noqa: A002
    found = _dataset(request, dataset)
    kept = actions.archive_slice(access=request.access, slice_=_slice(request, found, slice))
    messages.success(request, f"{kept.name} is archived and can be restored.")
    return redirect("datasets:slices", team=request.access.team.slug, dataset=found.pk)


@team_page(Right.EVALUATION_MANAGE, methods=("POST",))
def restore(request: TeamRequest, dataset: UUID, slice: UUID) -> HttpResponse:  # noqa: A002
    found = _dataset(request, dataset)
    kept = actions.restore_slice(access=request.access, slice_=_slice(request, found, slice))
    messages.success(request, f"{kept.name} is back in the list.")
    return redirect("datasets:slice", team=request.access.team.slug, dataset=found.pk, slice=kept.pk)
