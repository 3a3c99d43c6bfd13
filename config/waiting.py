"""Between password and code: what the session remembers of somebody who is not signed in yet."""

from __future__ import annotations

import time
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from teams.models import User

WAITING = "second_factor"
"""In the session: who has given the password, when, and where to go afterwards. It signs nobody in."""
WAITS_SECONDS = 300


def wait_for_code(request: HttpRequest, user: User, following: str) -> HttpResponse:
    """The password was right; a code is asked for next."""
    request.session.cycle_key()
    request.session[WAITING] = {"user": str(user.pk), "at": int(time.time()), "next": following}
    return redirect("second_factor_code")


def who_waits(request: HttpRequest) -> tuple[User | None, str]:
    kept = request.session.get(WAITING) or {}
    if not kept or time.time() - kept["at"] > WAITS_SECONDS:
        request.session.pop(WAITING, None)
        return None, ""
    user = User.objects.filter(pk=UUID(kept["user"]), is_active=True).first()
    return user, kept["next"]


def done(request: HttpRequest) -> None:
    request.session.pop(WAITING, None)
