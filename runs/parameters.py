"""Query parameters of the API: one word of a closed set, one id."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from rest_framework.request import Request

from teams.refusals import Refusal


def word(request: Request, name: str, allowed: Collection[str]) -> str:
    value: str = request.query_params.get(name, "")
    if value and value not in allowed:
        raise Refusal("invalid_field", f"{name} is one of {', '.join(allowed)}.", place=name)
    return value


def one_id(request: Request, name: str) -> str:
    value: str = request.query_params.get(name, "")
    try:
        return str(UUID(value)) if value else ""
    except ValueError:
        raise Refusal("invalid_field", f"{name} is an id such as 01922f5e-….", place=name) from None
