"""What every API endpoint shares: the strict parser, the one error form, throttling, paging."""

from __future__ import annotations

import logging
import math
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.core.exceptions import RequestDataTooBig, SuspiciousOperation, TooManyFieldsSent, TooManyFilesSent
from django.http import Http404, QueryDict
from django.http.multipartparser import MultiPartParserError
from rest_framework import exceptions, serializers
from rest_framework.parsers import BaseParser
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.throttling import SimpleRateThrottle

from analysis import strict_json
from analysis.refusals import Refused
from teams.lists import no_nul
from teams.refusals import Refusal, from_file

log = logging.getLogger(__name__)
MAX_PAGE = 200
DEFAULT_PAGE = 50


LIMITS = strict_json.JsonLimits(field_bytes=2 * 1024 * 1024)
"""A text may fill the body: actions say how many characters it may have, whatever the script."""


class StrictJSONParser(BaseParser):
    """JSON by the one strict reader: no duplicate keys, NaN, NUL, lone surrogates, abysses or floods."""

    media_type = "application/json"

    def parse(self, stream: Any, media_type: Any = None, parser_context: Any = None) -> Any:
        limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        body = stream.read(limit + 1)
        if len(body) > limit:
            raise Refusal("body_too_large", f"A JSON body may have {limit} bytes.")
        try:
            return strict_json.loads(body, limits=LIMITS)
        except Refused as refused:
            raise Refusal("malformed_request", refused.message, place=refused.place, reason=refused.code) from None


class TokenThrottle(SimpleRateThrottle):
    scope = "token"

    def get_cache_key(self, request: Request, view: Any) -> str | None:
        return f"throttle.token.{request.auth.pk}" if request.auth is not None else None


JSON_TYPES: tuple[tuple[type[Any], tuple[type, ...], str], ...] = (
    (serializers.BooleanField, (bool,), "True or false"),
    (serializers.IntegerField, (int,), "A whole number"),
    (serializers.FloatField, (int, float), "A number"),
    (serializers.CharField, (str,), "A text"),
    (serializers.ChoiceField, (str,), "A text"),
    (serializers.UUIDField, (str,), "An id in text"),
    (serializers.DateTimeField, (str,), "A time in text"),
    (serializers.ListField, (list,), "A list"),
    (serializers.DictField, (dict,), "An object"),
)
"""What a field takes in JSON. The fields' own reading is for forms, where everything is text."""


def _of_its_type(field: Any, value: Any, place: str) -> None:
    """Refuse a value whose JSON type is another than the field's: "2" is no number, 1 is not true."""
    if value is None:
        return
    for kind, types, what in JSON_TYPES:
        if isinstance(field, kind):
            if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
                raise Refusal("invalid_field", f"{what} is needed here.", place=place)
            break
    if isinstance(field, serializers.ListField):
        for at, inner in enumerate(value):
            _of_its_type(field.child, inner, f"{place}[{at}]")


class StrictSerializer(serializers.Serializer[Any]):
    """Input of a documented form: unknown fields and values of another type are refused, not dropped or turned."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, dict):
            unknown = sorted(set(data) - set(self.fields))
            if unknown:
                raise Refusal(
                    "unknown_field",
                    f"The documented fields are {', '.join(self.fields)}.",
                    place=", ".join(str(name)[:60] for name in unknown[:5]),
                )
        if isinstance(data, dict) and not isinstance(data, QueryDict):
            for name, field in self.fields.items():
                _of_its_type(field, data.get(name), name)
        return super().to_internal_value(data)


def valid(shape: type[StrictSerializer], request: Request) -> dict[str, Any]:
    """The body in its documented form, or a refusal that names the place."""
    given = shape(data=request.data)
    given.is_valid(raise_exception=True)
    return dict(given.validated_data)


def _first_error(detail: Any, place: str = "") -> tuple[str, str]:
    if isinstance(detail, dict) and detail:
        name, inner = next(iter(detail.items()))
        return _first_error(inner, f"{place}.{name}".strip(".") if name != "non_field_errors" else place)
    if isinstance(detail, list) and detail:
        return _first_error(detail[0], place)
    return place, str(detail)


def as_refusal(exception: Exception) -> Refusal | None:
    """Whatever a view raised, as one of our refusals; None for a fault of ours."""
    match exception:
        case Refusal():
            return exception
        case Refused():
            return from_file(exception)
        case Http404() | exceptions.NotFound():
            return Refusal("not_found")
        case exceptions.ValidationError():
            place, message = _first_error(exception.detail)
            return Refusal("invalid_field", message, place=place)
        case exceptions.ParseError():
            return Refusal("malformed_request")
        case exceptions.NotAuthenticated() | exceptions.AuthenticationFailed():
            return Refusal("not_authenticated")
        case exceptions.PermissionDenied():
            return Refusal("missing_right")
        case exceptions.MethodNotAllowed():
            return Refusal("method_not_allowed")
        case exceptions.UnsupportedMediaType():
            return Refusal("unsupported_media_type")
        case exceptions.NotAcceptable():
            return Refusal("not_acceptable")
        case exceptions.Throttled():
            wait = getattr(exception, "wait", None)
            return Refusal("too_many_requests", **({"retry_after_seconds": math.ceil(wait)} if wait else {}))
        case RequestDataTooBig():
            return Refusal("body_too_large")
        case TooManyFieldsSent() | TooManyFilesSent():
            return Refusal("body_too_large", "A form may hold at most 1,000 fields and 100 files.")
        case SuspiciousOperation() | MultiPartParserError():
            return Refusal("malformed_request")
    return None


def refuse(exception: Exception, context: dict[str, Any]) -> Response:
    """DRF's exception handler: every error of the API has one form."""
    request = context["request"]
    request.accepted_renderer, request.accepted_media_type = JSONRenderer(), JSONRenderer.media_type
    request_id = getattr(request._request, "request_id", "")
    refusal = as_refusal(exception)
    if refusal is None:
        log.exception("fault in %s, request %s", type(context["view"]).__name__, request_id)
        refusal = Refusal("server_error")
    response = Response(refusal.body(request_id), status=refusal.status)
    if refusal.status == 405:
        response["Allow"] = ", ".join(refusal.extra.get("allow", []))
    if refusal.status == 401:
        response["WWW-Authenticate"] = "Bearer"
    if "retry_after_seconds" in refusal.extra:
        response["Retry-After"] = str(refusal.extra["retry_after_seconds"])
    return response


def positive(request: Request, name: str, default: int, most: int) -> int:
    """A whole number of the query string between 1 and `most`."""
    text = request.query_params.get(name, "")
    if not text:
        return default
    if not (text.isascii() and text.isdecimal() and len(text) <= 9 and 1 <= int(text) <= most):
        raise Refusal("invalid_field", f"{name} is a whole number from 1 to {most}.", place=name)
    return int(text)


def known_parameters(request: Request, *names: str) -> None:
    """Refuse query parameters that are not documented, or given twice."""
    for name, values in request.query_params.lists():
        if name not in names:
            allowed = f"The documented parameters are {', '.join(names)}." if names else "It takes no parameters."
            raise Refusal("unknown_field", allowed, place=name[:60])
        if len(values) > 1:
            raise Refusal("invalid_field", "Give this parameter once.", place=name)
    no_nul(request.query_params)


def page_of(request: Request, rows: Any, shape: Any) -> Response:
    """One page of a list: `items`, `count`, `page`, `pages`, `next`."""
    size = positive(request, "page_size", DEFAULT_PAGE, MAX_PAGE)
    count = rows.count()
    pages = max(1, -(-count // size))
    page = min(positive(request, "page", 1, 1_000_000), pages)
    items = [shape(row) for row in rows[(page - 1) * size : page * size]]
    following = None
    if page < pages:
        query = {**dict(request.query_params.items()), "page": page + 1}
        following = f"{request.path}?{urlencode(query)}"
    return Response({"items": items, "count": count, "page": page, "pages": pages, "next": following})
