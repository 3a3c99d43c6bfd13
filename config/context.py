"""What every console page knows: the teams one may switch to, the theme, the menu's section."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from teams.access import teams_of
from teams.models import Team

THEMES = ("light", "dark")


def console(request: HttpRequest) -> dict[str, Any]:
    theme = request.COOKIES.get("theme", "")

    def my_teams() -> list[Team]:
        # Asked only where a page shows the menu: the error pages must not need the database.
        user = getattr(request, "user", None)
        return list(teams_of(user)) if user is not None and user.is_authenticated else []

    return {
        "theme": theme if theme in THEMES else "",
        "my_teams": SimpleLazyObject(my_teams),
        "embedded": settings.EMBEDDED,
    }
