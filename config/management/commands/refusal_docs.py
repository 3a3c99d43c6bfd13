"""Write docs/refusals.md from the catalogue; a test holds the two together."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from teams.refusals import CATALOGUE

PLACE = settings.BASE_DIR / "docs" / "refusals.md"
HEAD = """# Refusals

Every refusal changes nothing, carries a stable code and says what is allowed. The API answers
`{"error": {"code", "message", "place", "allowed", "request_id"}}`; pages show the same sentence with the code
small beside it; the command line prints `code: sentence`. Written by `manage.py refusal_docs`.

| code | status | what is allowed |
|---|---|---|
"""


def rendered() -> str:
    rows = (f"| `{name}` | {code.status} | {code.allowed} |\n" for name, code in sorted(CATALOGUE.items()))
    return HEAD + "".join(rows)


class Command(BaseCommand):
    help = "Write docs/refusals.md."

    def handle(self, *args: Any, **options: Any) -> None:
        PLACE.write_text(rendered(), encoding="utf-8")
        self.stdout.write(f"{len(CATALOGUE)} codes in {PLACE.relative_to(settings.BASE_DIR)}")
