"""Many cases from a table into the draft: checked first, then brought."""

from __future__ import annotations

from typing import Any, BinaryIO, cast
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render

from datasets import actions, queries, tables
from datasets.actions.drafts import EDIT
from datasets.models import Dataset
from teams.gates import READ_OR_POST, TeamRequest, team_page
from teams.refusals import Refusal


@team_page(*EDIT, methods=READ_OR_POST)
def bring(request: TeamRequest, dataset: UUID) -> HttpResponse:
    """Add and revise cases from a CSV, JSON Lines or Excel file."""
    access = request.access
    found = access.find(Dataset.objects.all(), pk=dataset)
    context: dict[str, Any] = {
        "section": "datasets",
        "dataset": found,
        "draft": queries.draft_of(found),
        "columns": tables.COLUMNS,
        "most": tables.MOST_ROWS,
        "leave_out": request.POST.get("leave_out") == "1",
    }
    status = 200
    if request.method == "POST":
        try:
            rows = _rows(request)
            if "check" in request.POST:
                context["report"] = actions.look_at_table(access=access, dataset=found, rows=rows)
            else:
                report = actions.bring_table(access=access, dataset=found, rows=rows, leave_out=context["leave_out"])
                messages.success(request, _said(report))
                return redirect("datasets:draft", team=access.team.slug, dataset=found.pk)
        except Refusal as refusal:
            context |= {"refusal": refusal, "faults": refusal.extra.get("faults", [])}
            status = refusal.status
    if request.htmx and request.htmx.target == "report":
        # What htmx shows must be a success to it; what was refused is said in the part itself.
        return render(request, "datasets/bring.html#report", context)
    return render(request, "datasets/bring.html", context, status=status)


def _rows(request: TeamRequest) -> list[tables.Row]:
    file = request.FILES.get("file")
    if file is None or not file.name:
        raise Refusal("table_format_unknown", "Choose a file first.", place="file")
    return tables.read(file.name, cast(BinaryIO, file), file.size or 0)


def _said(report: actions.Report) -> str:
    left_out = f", {report.faulty:,} rows left out" if report.faulty else ""
    if not report.changes:
        return f"Nothing differs: {report.unchanged:,} cases stand as the table says{left_out}."
    return f"{report.added:,} cases added, {report.revised:,} revised, {report.unchanged:,} unchanged{left_out}."
