"""Pages."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse

from teams.gates import TeamRequest, team_page
from teams.permissions import Right


@team_page(Right.EVALUATION_READ)
def dataset_list(request: TeamRequest, **where: Any) -> HttpResponse:
    return HttpResponse("")


@team_page(Right.EVALUATION_READ)
def detail(request: TeamRequest, **where: Any) -> HttpResponse:
    return HttpResponse("")


@team_page(Right.EVALUATION_READ)
def version(request: TeamRequest, **where: Any) -> HttpResponse:
    return HttpResponse("")


@team_page(Right.EVALUATION_READ)
def revision(request: TeamRequest, **where: Any) -> HttpResponse:
    return HttpResponse("")
