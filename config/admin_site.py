"""The operators' admin site. Operators are not team members by that fact."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse

from teams.refusals import CATALOGUE


class OperatorSite(admin.AdminSite):
    site_header = "Evenhand operators"
    site_title = "Evenhand operators"
    index_title = "Teams, members and evidence"
    index_template = "operators/index.html"
    enable_nav_sidebar = False

    def get_urls(self) -> list[Any]:
        ours: list[URLPattern] = [
            path("health/", self.admin_view(self.health), name="health"),
            path("queues/", self.admin_view(self.queues), name="queues"),
            path("refusals/", self.admin_view(self.refusals), name="refusals"),
        ]
        return [*ours, *super().get_urls()]

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """There is one way in, with one lock. Who is signed in and no operator goes home."""
        if request.user.is_authenticated:
            return redirect("admin:index" if self.has_permission(request) else "home")
        after = request.GET.get("next", "") or reverse("admin:index")
        return redirect(f"{reverse('login')}?{urlencode({'next': after})}")

    def health(self, request: HttpRequest) -> HttpResponse:
        """Database, cache, broker, workers, queue and disk, as they answer now."""
        # Models must be loaded before `config.health` is, and this module is read while they load.
        from config.health import findings  # noqa: PLC0415

        context = {**self.each_context(request), "title": "Health", "findings": findings()}
        return TemplateResponse(request, "operators/health.html", context)

    def queues(self, request: HttpRequest) -> HttpResponse:
        """What waits and what is being worked on, with its claims."""
        from config.queues import messages_waiting, unfinished  # noqa: PLC0415 - as above

        total, rows = unfinished()
        found = {"title": "Queues", "wake_ups": messages_waiting(), "total": total, "rows": rows}
        return TemplateResponse(request, "operators/queues.html", {**self.each_context(request), **found})

    def refusals(self, request: HttpRequest) -> HttpResponse:
        """Every stable code that a person or a program can meet."""
        context = {**self.each_context(request), "title": "Refusals", "codes": sorted(CATALOGUE.items())}
        return TemplateResponse(request, "operators/refusals.html", context)
