"""Datasets themselves: made, renamed, put away and brought back."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render

from datasets import actions
from datasets.forms import DatasetForm
from datasets.models import Dataset
from teams.gates import READ_OR_POST, TeamRequest, team_page
from teams.permissions import Right
from teams.refusals import Refusal


@team_page(Right.EVALUATION_MANAGE, methods=READ_OR_POST)
def new(request: TeamRequest) -> HttpResponse:
    access = request.access
    form = DatasetForm(request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        try:
            dataset = actions.create_dataset(access=access, name=form.cleaned_data["name"])
        except Refusal as refusal:
            form.add_error(refusal.place or None, f"{refusal.message} {refusal.allowed}")
        else:
            messages.success(request, f"The dataset {dataset.name} is there. Add its first case, or import results.")
            return redirect("datasets:detail", team=access.team.slug, dataset=dataset.pk)
    context = {"section": "datasets", "dataset": None, "form": form}
    return render(request, "datasets/name.html", context, status=422 if form.is_bound else 200)


@team_page(Right.EVALUATION_MANAGE, methods=READ_OR_POST)
def rename(request: TeamRequest, dataset: UUID) -> HttpResponse:
    access = request.access
    found = access.find(Dataset.objects.all(), pk=dataset)
    seen = {"name": found.name, "revision": found.revision}
    form = DatasetForm(request.POST if request.method == "POST" else None, initial=seen)
    if form.is_bound and form.is_valid():
        try:
            kept = actions.rename_dataset(access=access, dataset=found, **form.cleaned_data)
        except Refusal as refusal:
            form.add_error(refusal.place or None, f"{refusal.message} {refusal.allowed}")
        else:
            messages.success(request, f"It is called {kept.name} now; its address stays.")
            return redirect("datasets:detail", team=access.team.slug, dataset=kept.pk)
    context = {"section": "datasets", "dataset": found, "form": form}
    return render(request, "datasets/name.html", context, status=422 if form.is_bound else 200)


@team_page(Right.EVALUATION_MANAGE, methods=("POST",))
def archive(request: TeamRequest, dataset: UUID) -> HttpResponse:
    kept = actions.archive_dataset(
        access=request.access, dataset=request.access.find(Dataset.objects.all(), pk=dataset)
    )
    messages.success(request, f"{kept.name} is archived. It stands under Archived and can be restored at any time.")
    return redirect("datasets:list", team=request.access.team.slug)


@team_page(Right.EVALUATION_MANAGE, methods=("POST",))
def restore(request: TeamRequest, dataset: UUID) -> HttpResponse:
    kept = actions.restore_dataset(
        access=request.access, dataset=request.access.find(Dataset.objects.all(), pk=dataset)
    )
    messages.success(request, f"{kept.name} is back in the list.")
    return redirect("datasets:detail", team=request.access.team.slug, dataset=kept.pk)
