"""The demo's people, as printed by `make run` and shown on its sign-in page."""

from __future__ import annotations

from dataclasses import dataclass

PASSWORD = "evenhand-demo-only"  # noqa: S105 - the demo exists on the loopback address alone


@dataclass(frozen=True, slots=True)
class DemoLogin:
    email: str
    name: str
    role: str
    what: str
    password: str = PASSWORD


LOGINS = (
    DemoLogin("ana@demo.example", "Ana Haddad", "Owner", "everything"),
    DemoLogin("omar@demo.example", "Omar Nasser", "Analyst", "imports and compares"),
    DemoLogin("ben@demo.example", "Ben Ilves", "Viewer", "figures only, no content"),
)


def demo_logins() -> tuple[DemoLogin, ...]:
    return LOGINS
