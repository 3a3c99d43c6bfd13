"""Print the demo's people."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from config.demo import demo_logins


class Command(BaseCommand):
    help = "Print the demo's logins, as the sign-in page shows them."

    def handle(self, *args: Any, **options: Any) -> None:
        for login in demo_logins():
            self.stdout.write(f"{login.email:<22} {login.password}   {login.role}: {login.what}")
