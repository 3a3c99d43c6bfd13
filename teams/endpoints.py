"""What endpoints share: the reader's rights, and what the API's description says of errors and pages."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar, cast
from uuid import UUID

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from teams import receipts
from teams.access import Access
from teams.permissions import Right
from teams.refusals import Refusal


class TeamView(APIView):
    """An endpoint of one team. `needed` names the rights of each method; the door judges them first."""

    needed: ClassVar[Mapping[str, tuple[Right, ...]]]

    @property
    def access(self) -> Access:
        return cast(Access, self.request.access)  # type: ignore[attr-defined]  # set by the door


class BearerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # registers itself
    target_class = "teams.tokens.BearerAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "description": "A token made on the page Team, API tokens."}


class ErrorDetail(serializers.Serializer[Any]):
    code = serializers.CharField(help_text="Stable; every code is listed in docs/refusals.md.")
    message = serializers.CharField(help_text="What was wrong, for a person.")
    place = serializers.CharField(help_text="The field, header or line, where there is one.")
    allowed = serializers.CharField(help_text="What is allowed instead.")
    request_id = serializers.CharField()
    extra = serializers.DictField(required=False)


class Error(serializers.Serializer[Any]):
    """The one form of every error of the API."""

    error = ErrorDetail()


ERRORS: dict[int, OpenApiResponse] = {
    400: OpenApiResponse(Error, "Malformed, or an unknown parameter."),
    401: OpenApiResponse(Error, "No valid token."),
    403: OpenApiResponse(Error, "The member lacks the right that the message names."),
    404: OpenApiResponse(Error, "Missing, or of another team: the same answer."),
    429: OpenApiResponse(Error, "Too many requests."),
}

PAGING = [
    OpenApiParameter("page", int, description="From 1. Beyond the end: the last page."),
    OpenApiParameter("page_size", int, description="1 to 200, 50 unless given."),
]


REQUEST_KEY = OpenApiParameter(
    "Idempotency-Key",
    str,
    OpenApiParameter.HEADER,
    required=True,
    description="8 to 100 printable characters. The same key and body give the first result again.",
)
IF_MATCH = OpenApiParameter(
    "If-Match", str, OpenApiParameter.HEADER, required=True, description="The ETag that was read."
)
WRITE_ERRORS: dict[int, OpenApiResponse] = {
    **ERRORS,
    409: OpenApiResponse(Error, "The state, the request key or the revision does not allow it; the code says which."),
}


def request_key(request: Request) -> str:
    return receipts.valid_key(request.headers.get("Idempotency-Key"))


def uuid_of(text: str, place: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise Refusal("invalid_field", f"{place} is an id.", place=place) from None


def expected(request: Request) -> str:
    """What the caller saw, from `If-Match`; without it nobody edits."""
    given = request.headers.get("If-Match", "").removeprefix("W/")
    if len(given) < 3 or given[0] != '"' or given[-1] != '"':
        message = "If-Match holds one ETag as it was read, with its quotes." if given else ""
        raise Refusal("revision_missing", message, place="If-Match")
    return given[1:-1]


def with_etag(data: Any, revision: object, status: int = 200) -> Response:
    return Response(data, status=status, headers={"ETag": f'"{revision}"'})


@cache
def page_shape(item: type[serializers.Serializer[Any]]) -> type[serializers.Serializer[Any]]:
    """The shape of one page of a list."""
    return type(
        f"PageOf{item.__name__}",
        (serializers.Serializer,),
        {
            "items": item(many=True),
            "count": serializers.IntegerField(),
            "page": serializers.IntegerField(),
            "pages": serializers.IntegerField(),
            "next": serializers.CharField(allow_null=True),
        },
    )


def listed(item: type[serializers.Serializer[Any]]) -> dict[int, Any]:
    return {200: page_shape(item), **ERRORS}


def one(item: type[serializers.Serializer[Any]]) -> dict[int, Any]:
    return {200: item, **ERRORS}


def created(item: type[serializers.Serializer[Any]]) -> dict[int, Any]:
    return {200: item, 201: item, **WRITE_ERRORS}
