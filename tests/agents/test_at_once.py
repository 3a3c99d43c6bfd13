"""Many at once: what is numbered is dense, what is once is once, and nobody meets a fault."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connections

from agents import actions
from agents.models import AgentDeployment, Asset, AssetVersion, ConfigurationRevision, Release, Snapshot
from teams.refusals import Refusal
from tests.shape.world import model_route

pytestmark = pytest.mark.django_db(transaction=True)
MANY = 8


def at_once(act: Callable[[int], Any]) -> list[Any]:
    """What each of them got: a row, or the code of a refusal."""

    def one(number: int) -> Any:
        try:
            return act(number)
        except Refusal as refusal:
            return refusal.code
        finally:
            connections.close_all()

    with ThreadPoolExecutor(MANY) as pool:
        return list(pool.map(one, range(MANY)))


@pytest.fixture
def agent(cast):
    access = cast.access(cast.ana)
    model_route()
    model_route("fixture-small", "fixture:support-small")
    agent = actions.create_agent(access=access, name="Desk")
    body = {"instructions": "Help.", "route": "fixture-large"}
    actions.save_draft(access=access, agent=agent, definition=body, revision=1)
    return agent


def test_publishing_and_varying_make_one_of_each(cast, agent):
    access = cast.access(cast.ana)
    made = at_once(lambda number: actions.publish_draft(access=access, agent=agent, revision=2))
    assert len({one.pk for one in made}) == 1
    snapshot, small = Snapshot.objects.get(), model_route("fixture-small")
    at_once(lambda number: actions.make_variant(access=access, base=snapshot, route=small))
    assert (Snapshot.objects.count(), AgentDeployment.objects.count()) == (2, 1)


def test_of_many_editors_of_a_draft_one_wins_and_the_others_are_told(cast, agent):
    access = cast.access(cast.ana)

    def save(number: int) -> Any:
        body = {"instructions": f"Help {number}.", "route": "fixture-large"}
        return actions.save_draft(access=access, agent=agent, definition=body, revision=2)

    assert sorted(one if isinstance(one, str) else "saved" for one in at_once(save)) == [
        *["revision_stale"] * (MANY - 1),
        "saved",
    ]


def test_built_in_versions_are_dense_and_none_is_lost(cast, agent):
    for _ in range(2):
        at_once(
            lambda number: actions.create_built_in_asset(kind="settings", name="Calm", body={"seed": number}, by=None)
        )
    numbers = sorted(AssetVersion.objects.values_list("number", flat=True))
    assert Asset.objects.count() == 1 and numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) >= MANY

    def save(number: int) -> Any:
        roles = [{"role": "lead", "instructions": f"Plan {number}.", "slot": "main"}]
        body = {"root": "lead", "slots": ["main"], "roles": roles}
        return actions.save_built_in_configuration(name="Planner", body=body, by=None)

    at_once(save)
    numbers = sorted(ConfigurationRevision.objects.values_list("number", flat=True))
    assert numbers == list(range(1, MANY + 1))


def test_of_many_releases_one_is_active(cast, agent):
    access = cast.access(cast.ana)
    bodies = {"prompt_template": "Be kind.", "model": "fixture-large"}
    versions = {k: actions.create_asset(access=access, kind=k, name=k, body=body) for k, body in bodies.items()}
    for version in versions.values():
        actions.approve_asset_version(access=access, version=version)
    bindings = {kind: version.pk for kind, version in versions.items()}
    releases = [
        actions.create_release(access=access, agent=agent, name=str(number), bindings=bindings)
        for number in range(MANY)
    ]
    for release in releases:
        actions.move_release(access=access, release=release, to="approved", revision=1)
    found = at_once(
        lambda number: actions.move_release(access=access, release=releases[number], to="active", revision=2)
    )
    assert found.count("release_active_already") == MANY - 1
    assert Release.objects.filter(state="active").count() == 1
