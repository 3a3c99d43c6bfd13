"""Fresh memory for each test, and the two experiments that most of them compare."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode

import pytest
from django.urls import reverse

from comparisons import selection
from comparisons.lenses import paired as lens
from comparisons.selection import Asked
from teams.access import current_access
from tests.factories import evidence
from tests.factories.arms import random_cases


@pytest.fixture(autouse=True)
def nothing_remembered():
    lens.forget()
    yield
    lens.forget()


@pytest.fixture(autouse=True)
def static_root(settings, tmp_path):
    settings.STATIC_ROOT = tmp_path  # WhiteNoise warns about a folder that is missing


@dataclass
class Compared:
    """Two experiments of a team and the ways to look at them."""

    team: object
    candidate: object
    baseline: object

    def asked(self, **more) -> Asked:
        return Asked.of({"candidate": str(self.candidate.pk), "baseline": str(self.baseline.pk), **more})

    def resolved(self, user, **more):
        return selection.resolve(current_access(user, self.team.slug), self.asked(**more))

    def view(self, user, **more):
        return lens.view(self.team, self.resolved(user, **more))

    def url(self, user, name="paired", /, **more):
        chosen = self.resolved(user)
        address = reverse(f"comparisons:{name}", kwargs={"team": self.team.slug})
        return f"{address}?{chosen.selection.query(**more)}"

    def api(self, name="paired_comparison", /, **more):
        query = {"candidate": self.candidate.pk, "baseline": self.baseline.pk, **more}
        return f"{reverse(f'api:{name}')}?{urlencode(query)}"


@pytest.fixture
def compare(cast):
    """Two experiments from marks: compare(candidate marks, baseline marks, **of both)."""

    def make(candidate, baseline, *, of_candidate=None, of_baseline=None, **both):
        one = evidence.experiment(cast.team, cast.ana, candidate, **{"label": "nano", **both, **(of_candidate or {})})
        other = evidence.experiment(cast.team, cast.ana, baseline, **{"label": "mini", **both, **(of_baseline or {})})
        return Compared(cast.team, one, other)

    return make


@pytest.fixture
def usual(compare):
    """Sixty cases, three repetitions, boolean."""
    return compare(random_cases(60, 3, rate=0.55, seed=1), random_cases(60, 3, rate=0.7, seed=2))


def query_of(url: str) -> dict[str, str]:
    return dict(parse_qsl(url.partition("?")[2]))
