"""Pages."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse

from teams.gates import TeamRequest, team_page
from teams.permissions import Right


@team_page(Right.EVALUATION_READ)
def overview(request: TeamRequest, **where: Any) -> HttpResponse:
    return HttpResponse("")


@team_page(Right.EVALUATION_READ)
def members(request: TeamRequest, **where: Any) -> HttpResponse:
    return HttpResponse("")


@team_page(Right.EVALUATION_READ)
def change_role(request: TeamRequest, **where: Any) -> HttpResponse:
    return HttpResponse("")


@team_page(Right.EVALUATION_READ)
def remove_member(request: TeamRequest, **where: Any) -> HttpResponse:
    return HttpResponse("")


@team_page(Right.EVALUATION_READ)
def tokens(request: TeamRequest, **where: Any) -> HttpResponse:
    return HttpResponse("")


@team_page(Right.EVALUATION_READ)
def revoke_token(request: TeamRequest, **where: Any) -> HttpResponse:
    return HttpResponse("")


@team_page(Right.EVALUATION_READ)
def audit_log(request: TeamRequest, **where: Any) -> HttpResponse:
    return HttpResponse("")
