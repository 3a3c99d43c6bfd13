"""Error answers: one form for the API, one family of pages for people. Never raw exception text."""

from __future__ import annotations

from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent, TooManyFilesSent
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.csrf import requires_csrf_token

from teams.refusals import Refusal

API_PREFIX = "/api/"
PAGES = {400, 401, 403, 404, 405, 409, 413, 422, 429, 500}


def answer(request: HttpRequest, refusal: Refusal) -> HttpResponse:
    request_id = getattr(request, "request_id", "")
    response: HttpResponse
    if request.path.startswith(API_PREFIX):
        response = JsonResponse(refusal.body(request_id), status=refusal.status)
    else:
        page = refusal.status if refusal.status in PAGES else 400
        response = render(
            request, f"errors/{page}.html", {"refusal": refusal, "request_id": request_id}, status=refusal.status
        )
    if refusal.status == 405:
        response["Allow"] = ", ".join(refusal.extra.get("allow", []))
    if refusal.status == 401:
        response["WWW-Authenticate"] = "Bearer"
    response["Cache-Control"] = "no-store, private"
    return response


@requires_csrf_token
def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    if isinstance(exception, RequestDataTooBig):
        return answer(request, Refusal("body_too_large"))
    if isinstance(exception, TooManyFieldsSent | TooManyFilesSent):
        return answer(request, Refusal("body_too_large", "A form may hold at most 1,000 fields and 100 files."))
    return answer(request, Refusal("malformed_request"))


@requires_csrf_token
def permission_denied(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return answer(request, Refusal("missing_right", "You may not do this here."))


@requires_csrf_token
def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return answer(request, Refusal("not_found"))


@requires_csrf_token
def server_error(request: HttpRequest) -> HttpResponse:
    return answer(request, Refusal("server_error"))


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    return answer(request, Refusal("csrf_failed"))
