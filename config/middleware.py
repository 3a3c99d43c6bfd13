"""What every request passes: a request id, the sessions' idle limit, and refusals turned into answers."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from typing import cast

from django.conf import settings
from django.contrib.auth import logout
from django.http import Http404, HttpRequest, HttpResponse

from config.errors import answer
from teams.refusals import Refusal

Handler = Callable[[HttpRequest], HttpResponse]
SEEN = "seen_at"
REFUSED = "evenhand.refused"  # in the environ: the code of what the web server could not hand over
SEEN_EVERY = 60  # seconds between writes of the session's last use


class RequestIdMiddleware:
    """A fresh id per request, in logs, errors and audit. Ids sent from outside are not trusted."""

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        request_id = uuid.uuid4().hex
        request.request_id = request_id  # type: ignore[attr-defined]
        response = self.get_response(request)
        response["X-Request-Id"] = request_id
        response.setdefault("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
        return response


class SessionAgeMiddleware:
    """Ends a session that lay idle; its absolute age is the cookie's and the session row's."""

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.user.is_authenticated:
            now = int(time.time())
            seen = int(request.session.get(SEEN, now))
            if now - seen > settings.SESSION_IDLE_SECONDS:
                logout(request)
            elif now - seen >= SEEN_EVERY or SEEN not in request.session:
                request.session[SEEN] = now
        return self.get_response(request)


class RefusalMiddleware:
    """A Refusal raised by a page becomes its error page, or a fragment for htmx."""

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if code := request.META.get(REFUSED):
            return answer(request, Refusal(code))
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        if isinstance(exception, Refusal):
            return answer(request, exception)
        if isinstance(exception, Http404):
            return answer(request, Refusal("not_found"))
        return None


def request_id(request: HttpRequest) -> str:
    return cast(str, getattr(request, "request_id", ""))
