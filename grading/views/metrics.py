"""Metrics: what a team's values mean."""

from __future__ import annotations

from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from analysis.observations import Kind
from grading import actions, queries
from grading.actions.graders import AUTHORED
from grading.actions.metrics import EDIT
from grading.forms import KINDS, MetricForm
from grading.models import GraderKind
from teams import lists
from teams.gates import READ_OR_POST, TeamRequest, team_page
from teams.permissions import Right
from teams.refusals import Refusal

KIND_CHOICES = [(kind.value, text) for kind, text in KINDS.items()]


@team_page(Right.EVALUATION_READ)
def metric_list(request: TeamRequest) -> HttpResponse:
    kind = lists.chosen(request, "kind", [kind.value for kind in Kind])
    search = request.GET.get("q", "").strip()[:200]
    rows = queries.metrics_of(request.access, search=search, kind=kind)
    context = {
        "section": "graders",
        "page": lists.page_of(request, rows),
        "q": search,
        "kind": kind,
        "kinds": KIND_CHOICES,
    }
    return render(request, "graders/metrics.html", context)


@team_page(*EDIT, methods=READ_OR_POST)
def new_metric(request: TeamRequest) -> HttpResponse:
    """A metric; whoever came from a grader's form goes back there with it."""
    grader = lists.chosen(request, "for", [kind.value for kind in AUTHORED])
    initial = {"kind": Kind.BOOLEAN.value if grader == GraderKind.ASSERTION else Kind.NUMERIC.value}
    form = MetricForm(request.POST if request.method == "POST" else None, initial=initial)
    if form.is_bound and form.is_valid():
        try:
            made = actions.create_metric(access=request.access, **form.said())
        except Refusal as refusal:
            form.add(refusal)
        else:
            messages.success(request, f"The metric {made.name} is there.")
            if grader:
                address = reverse("graders:new", kwargs={"team": request.access.team.slug})
                return redirect(f"{address}?{urlencode({'kind': grader, 'metric': str(made.pk)})}")
            return redirect("graders:metrics", team=request.access.team.slug)
    context = {"section": "graders", "form": form, "for": grader}
    return render(request, "graders/metric_form.html", context, status=422 if form.is_bound else 200)
