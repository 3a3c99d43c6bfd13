"""Write docs/api-endpoints.md, the census of the API, from its addresses; a test holds the two together."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand
from django.urls import URLPattern, URLResolver
from drf_spectacular.generators import SchemaGenerator

from config import urls

PLACE = settings.BASE_DIR / "docs" / "api-endpoints.md"
HEAD = """# Endpoints

Every endpoint under `/api/v1/` with the rights it needs. *Key*: takes an `Idempotency-Key`. *Match*: takes an
`If-Match` with the ETag that was read. Written by `manage.py endpoint_docs`;
an endpoint that is missing here fails the build.

| method | address | operation | rights | |
|---|---|---|---|---|
"""


def _views(patterns: list[URLPattern | URLResolver]) -> Iterator[tuple[str, Any]]:
    for entry in patterns:
        if isinstance(entry, URLResolver):
            yield from _views(entry.url_patterns)
        else:
            yield re.sub(r"<\w+:(\w+)>", r"{\1}", str(entry.pattern)), entry.callback


def rows() -> list[str]:
    """One line per method, in the order of the addresses."""
    schema = SchemaGenerator().get_schema(public=True)["paths"]  # type: ignore[no-untyped-call]
    lines = []
    for address, view in sorted(_views(urls.api)):
        needed = getattr(view.view_class, "needed", None)
        for method in needed or ("GET",):
            described = schema.get(f"/api/v1/{address}", {}).get(method.lower(), {})
            headers = {one["name"] for one in described.get("parameters", ()) if one["in"] == "header"}
            marks = [mark for name, mark in (("Idempotency-Key", "key"), ("If-Match", "match")) if name in headers]
            rights = "none" if needed is None else ", ".join(f"`{one.value}`" for one in needed[method]) or "membership"
            operation = described.get("operationId", "")
            lines.append(f"| {method} | `{address}` | {operation} | {rights} | {', '.join(marks)} |\n")
    return lines


class Command(BaseCommand):
    help = "Write docs/api-endpoints.md."

    def handle(self, *args: Any, **options: Any) -> None:
        found = rows()
        PLACE.write_text(HEAD + "".join(found), encoding="utf-8")
        self.stdout.write(f"{len(found)} endpoints in {PLACE.relative_to(settings.BASE_DIR)}")
