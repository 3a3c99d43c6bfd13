"""The cast: ana holds all rights, ben sees metadata only, omar imports, cleo belongs to another team."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.conf import settings as django_settings
from django.test import Client
from hypothesis import settings as hypothesis_settings

from teams import actions
from teams.access import Access, current_access
from teams.models import Team, User
from teams.permissions import PRESETS

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"

# How long an example takes says more about the machine's other work than about ours.
hypothesis_settings.register_profile("unhurried", deadline=None)
hypothesis_settings.load_profile("unhurried")


@pytest.fixture(scope="session")
def shared() -> Path:
    """Real result files and reference numbers, beside the project; tests of them run wherever they are."""
    if not SHARED.is_dir():
        pytest.skip("the shared evidence folder does not lie beside the project")
    return SHARED


@pytest.fixture(scope="session", autouse=True)
def place_of_static_files():
    """WhiteNoise warns where the folder is missing, and a fresh clone has collected nothing yet."""
    Path(django_settings.STATIC_ROOT).mkdir(parents=True, exist_ok=True)


@pytest.fixture(autouse=True)
def quick_and_private(settings, tmp_path):
    """Fast password hashes, uploads in a folder of the test's own, no manifest needed for static files."""
    settings.FIXTURE_PACE = 0
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    settings.UPLOAD_DIR = tmp_path / "uploads"
    settings.STORAGES = {
        **settings.STORAGES,
        "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
    }


@dataclass(frozen=True)
class Cast:
    team: Team
    other_team: Team
    ana: User
    """Owner of the team."""
    omar: User
    """Analyst: imports and compares."""
    ben: User
    """Viewer: metadata only, no content."""
    cleo: User
    """Owner of another team, a stranger here."""
    operator: User
    """Operator and superuser without any membership."""

    def access(self, user: User, team: Team | None = None) -> Access:
        return current_access(user, (team or self.team).slug)


@pytest.fixture
def cast(db) -> Cast:
    for name in PRESETS:
        actions.preset(name)
    ana = User.objects.create_user("ana@example.org", "a-long-password", name="Ana")
    omar = User.objects.create_user("omar@example.org", "a-long-password", name="Omar")
    ben = User.objects.create_user("ben@example.org", "a-long-password", name="Ben")
    cleo = User.objects.create_user("cleo@example.org", "a-long-password", name="Cleo")
    operator = User.objects.create_superuser("operator@example.org", "a-long-password", name="Operator")
    team = actions.create_team(slug="support", name="Support quality", owner=ana, by=None)
    other = actions.create_team(slug="other", name="Another team", owner=cleo, by=None)
    actions.set_role(access=None, team=team, user=omar, role=actions.preset("Analyst"), by=None)
    actions.set_role(access=None, team=team, user=ben, role=actions.preset("Viewer"), by=None)
    return Cast(team, other, ana, omar, ben, cleo, operator)


@pytest.fixture
def page_client() -> Callable[[User], Client]:
    """A signed-in browser of a user."""

    def sign_in(user: User) -> Client:
        client = Client()
        client.force_login(user)
        return client

    return sign_in


@pytest.fixture
def api_client() -> Callable[[User, Team], Client]:
    """A client with a fresh API token of a user in a team."""

    def with_token(user: User, team: Team) -> Client:
        _, secret = actions.create_token(access=current_access(user, team.slug), name="test", days=None)
        return Client(headers={"Authorization": f"Bearer {secret}"})

    return with_token
