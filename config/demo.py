"""The demo: its people, as printed by `make run` and shown on its sign-in page, its teams, its files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

PASSWORD = "evenhand-demo-only"  # noqa: S105 - the demo exists on the loopback address alone
DATA = Path(__file__).parent / "demo_data"
DATASET = "Support, English and Arabic"


@dataclass(frozen=True, slots=True)
class DemoLogin:
    email: str
    name: str
    role: str
    """In the demo's first team."""
    what: str
    password: str = PASSWORD


@dataclass(frozen=True, slots=True)
class DemoTeam:
    slug: str
    name: str
    members: tuple[tuple[str, str], ...]
    """E-mail address and role; the first one founds the team as its owner."""


LOGINS = (
    DemoLogin("ana@demo.example", "Ana Haddad", "Owner", "everything, and a second team"),
    DemoLogin("omar@demo.example", "Omar Nasser", "Analyst", "imports and compares"),
    DemoLogin("rana@demo.example", "Rana Saleh", "Reviewer", "reads and reviews cases"),
    DemoLogin("ben@demo.example", "Ben Ilves", "Viewer", "figures only, no content"),
)

TEAMS = (
    DemoTeam("support", "Support quality", tuple((login.email, login.role) for login in LOGINS)),
    DemoTeam("returns", "Returns desk", (("rana@demo.example", "Owner"), ("ana@demo.example", "Analyst"))),
)
"""The evidence belongs to the first team; the second one is there to switch to, and is empty."""

FILES = ("helpdesk-1.3.jsonl", "helpdesk-2.0-small.jsonl", "helpdesk-2.0.jsonl")
"""In the order of import: the first is the baseline and the last the candidate of the newest comparison."""


FOUNDER = TEAMS[0].members[0][0]
"""Whose agents the demo has."""

IMPORTER = "omar@demo.example"
"""Whose rights and name the evidence is imported with."""


def demo_logins() -> tuple[DemoLogin, ...]:
    return LOGINS
