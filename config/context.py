"""What every console page knows: the teams one may switch to, the theme, the menu's section."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from teams.access import teams_of

THEMES = ("light", "dark")


def console(request: HttpRequest) -> dict[str, Any]:
    theme = request.COOKIES.get("theme", "")
    user = getattr(request, "user", None)
    signed_in = user is not None and user.is_authenticated
    return {
        "theme": theme if theme in THEMES else "",
        "my_teams": SimpleLazyObject(lambda: list(teams_of(user)) if signed_in else []),  # type: ignore[arg-type]
        "embedded": settings.EMBEDDED,
    }
