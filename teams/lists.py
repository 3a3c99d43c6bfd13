"""Lists in the address: page, order and filters, each from a closed set of words."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any
from uuid import UUID

from django.core.paginator import Page, Paginator
from django.db import models
from django.http import HttpRequest, QueryDict

from teams.refusals import Refusal

PAGE = 50


def page_of(request: HttpRequest, rows: Any, size: int = PAGE) -> Page[Any]:
    """The page that the address names; a number beyond the end is the last page."""
    return Paginator(rows, size).get_page(request.GET.get("page"))


def chosen(request: HttpRequest, name: str, allowed: Collection[str], default: str = "") -> str:
    """One word of a closed set. Nothing a person types ever reaches a query as the name of a field."""
    value = request.GET.get(name, "") or default
    if value and value not in allowed:
        raise Refusal("invalid_field", f"{name} is one of {', '.join(sorted(allowed))}.", place=name)
    return value


def one_id(request: HttpRequest, name: str) -> str:
    """An id in the address, or nothing where there is none or it is no id."""
    try:
        return str(UUID(request.GET.get(name, "")))
    except ValueError:
        return ""


def whole(text: str) -> int:
    """A whole number of at most nine digits as a person types or an address holds it; 0 for anything else."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 9 else 0


def no_nul(given: QueryDict) -> None:
    """Refuse a NUL character in an address: no stored text holds one, and the database refuses to be asked."""
    for name, values in given.lists():
        if "\0" in name or any("\0" in value for value in values):
            raise Refusal("invalid_field", "An address holds no NUL character.", place=name.replace("\0", "")[:60])


class Batched:
    """Rows of which each page is read at once, such as rows together with their content."""

    def __init__(self, rows: models.QuerySet[Any] | Sequence[Any], read: Callable[[Any], Sequence[Any]]) -> None:
        self.rows = rows
        self.read = read

    def count(self) -> int:
        return self.rows.count() if isinstance(self.rows, models.QuerySet) else len(self.rows)

    def __getitem__(self, page: slice) -> Sequence[Any]:
        return self.read(self.rows[page])


def order_by(
    request: HttpRequest, rows: models.QuerySet[Any], keys: Mapping[str, str], default: str
) -> tuple[models.QuerySet[Any], str]:
    """Rows in the order the address names; ties are broken by id, so that pages never overlap."""
    sort = chosen(request, "sort", [*keys, *(f"-{key}" for key in keys)], default)
    field = models.F(keys[sort.removeprefix("-")])
    order = field.desc(nulls_last=True) if sort.startswith("-") else field.asc(nulls_last=True)
    return rows.order_by(order, "-pk" if sort.startswith("-") else "pk"), sort
