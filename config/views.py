"""Doors that belong to no app: the way home, the theme, the component gallery, the schema."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict
from urllib.parse import urlencode

from django.conf import settings
from django.db import connection
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.csp import CSP
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.csp import csp_override
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST, require_safe
from drf_spectacular.views import SpectacularAPIView

from comparisons.queries import newest_comparison
from teams.access import teams_of
from teams.gates import TeamRequest, team_page
from teams.models import Membership
from teams.permissions import Right
from teams.refusals import Refusal

LAST_TEAM = "team"
YEAR = 31_536_000  # seconds
API_DOCS_CSP: Mapping[str, Collection[str]] = {
    **settings.SECURE_CSP,
    "style-src": [CSP.SELF, CSP.UNSAFE_INLINE],
    "img-src": [CSP.SELF, "data:"],
}
"""The one exception: Swagger UI sets styles and draws icons inline. Its scripts are held as everywhere."""


@require_safe
def ping(request: HttpRequest) -> HttpResponse:
    """Alive, and the database answers."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return HttpResponse("ok", content_type="text/plain")


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """To the last team, else to signing in."""
    if not request.user.is_authenticated:
        return redirect("login")
    teams = list(teams_of(request.user))
    if not teams:
        return render(request, "teams/none.html")
    last = request.COOKIES.get(LAST_TEAM, "")
    first = Membership.objects.filter(user=request.user).order_by("joined_at").values_list("team__slug", flat=True)[0]
    return redirect("team_home", team=last if last in {team.slug for team in teams} else first)


@team_page(Right.EVALUATION_READ)
def team_home(request: TeamRequest) -> HttpResponse:
    """The newest comparison of the team, which is what people come for; else the comparisons page."""
    pair = newest_comparison(request.access.team)
    slug = request.access.team.slug
    if pair is None:
        address = reverse("comparisons:list", kwargs={"team": slug})
    else:
        address = f"{reverse('comparisons:paired', kwargs={'team': slug})}?{urlencode(asdict(pair))}"
    response = HttpResponseRedirect(address)
    response.set_cookie(LAST_TEAM, slug, max_age=YEAR, samesite="Lax", secure=not settings.EMBEDDED, httponly=True)
    return response


@require_POST
def theme(request: HttpRequest) -> HttpResponse:
    """Remember light, dark or the system's choice, and go back."""
    back = request.POST.get("next", "/")
    if not url_has_allowed_host_and_scheme(back, allowed_hosts={request.get_host()}):
        back = "/"
    response = HttpResponseRedirect(back)
    choice = request.POST.get("theme", "")
    if choice in ("light", "dark"):
        response.set_cookie("theme", choice, max_age=YEAR, samesite="Lax", secure=not settings.EMBEDDED)
    else:
        response.delete_cookie("theme")
    return response


@require_safe
def gallery(request: HttpRequest) -> HttpResponse:
    """Every component in every state."""
    return render(request, "gallery.html")


@require_safe
@csp_override(API_DOCS_CSP)
def api_docs(request: HttpRequest) -> HttpResponse:
    """The API's description to read and to try, served from here alone."""
    return render(request, "api_docs.html")


@csrf_exempt  # nothing is done here, and a missing address must say that it is missing
def no_such_endpoint(request: HttpRequest, rest: str) -> HttpResponse:
    raise Refusal("not_found")


class Schema(SpectacularAPIView):
    """The API's OpenAPI description; it says nothing about any team."""

    authentication_classes = ()
    permission_classes = ()
