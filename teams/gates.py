"""Doorways: a page and an API call ask teams.access; each names the rights it needs."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, cast

from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from teams import audit
from teams.access import Access, current_access
from teams.lists import no_nul
from teams.models import ApiToken
from teams.permissions import Right
from teams.refusals import Refusal

if TYPE_CHECKING:
    from rest_framework.views import APIView


READ_OR_POST = ("GET", "HEAD", "POST")


class TeamRequest(HttpRequest):
    """A request that passed a team's door: who is asking, with which rights."""

    access: Access
    htmx: Any
    request_id: str


Page = Callable[..., HttpResponse]


def require(access: Access, *needed: Right) -> None:
    """Judge rights at a door; a denial is written to the audit log."""
    try:
        access.require(*needed)
    except Refusal as refusal:
        audit.record(
            "access.denied",
            team=access.team,
            by=access.user,
            code=refusal.code,
            request_id=access.request_id,
            rights=refusal.extra["rights"],
        )
        raise


def team_page(*needed: Right, methods: tuple[str, ...] = ("GET", "HEAD")) -> Callable[[Page], Page]:
    """A page of one team; `request.access` holds the caller's current rights."""

    def decorate(view: Page) -> Page:
        @wraps(view)
        def door(request: HttpRequest, team: str, **kwargs: Any) -> HttpResponse:
            if not request.user.is_authenticated:
                return redirect_to_login(request.get_full_path())
            page = cast(TeamRequest, request)
            page.access = current_access(request.user, team, request_id=getattr(request, "request_id", ""))
            if request.method not in methods:
                raise Refusal("method_not_allowed", f"This page answers {', '.join(methods)}.", allow=list(methods))
            require(page.access, *needed)
            no_nul(request.GET)
            response = view(page, **kwargs)
            response.setdefault("Cache-Control", "no-store, private")
            return response

        door.needed = needed  # type: ignore[attr-defined]
        door.methods = methods  # type: ignore[attr-defined]
        return door

    return decorate


class TokenRights(BasePermission):
    """DRF's side of the same door: the view names what it needs per method in `needed`."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        if request.auth is None:
            raise Refusal("not_authenticated")
        method = "GET" if request.method == "HEAD" else request.method or ""
        needed = cast(dict[str, tuple[Right, ...]], view.needed)  # type: ignore[attr-defined]
        if method not in needed:
            if method == "OPTIONS":
                return True
            raise Refusal("method_not_allowed", f"This address answers {', '.join(needed)}.", allow=list(needed))
        token = cast(ApiToken, request.auth)
        access = current_access(
            token.user, token.team_id, request_id=getattr(request._request, "request_id", ""), token=token
        )
        require(access, *needed[method])
        request.access = access  # type: ignore[attr-defined]
        return True
