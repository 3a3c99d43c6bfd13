"""An engine in this process: the same claims and settlements as a worker's, on a real database."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from runs import actions
from runs.engine import wakes, working
from runs.models import Experiment
from tests.factories import agents as factory
from tests.provider.server import Provider


@pytest.fixture(autouse=True)
def quick(settings, monkeypatch):
    """No waiting for fixtures, and no messages: tests say themselves when a worker works."""
    settings.FIXTURE_PACE = 0
    monkeypatch.setattr(wakes, "send", lambda count, task="": None)


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as server:
        yield server


@pytest.fixture
def launched(cast) -> Callable[..., Experiment]:
    """A launched experiment of a new agent, over the echo fixture unless said otherwise."""

    def launch(by=None, *, model_id="fixture:echo", cases=3, name="Desk", route=None, **plan) -> Experiment:
        access = cast.access(by or cast.ana)
        over = route or factory.route(f"route-{name.lower()}", model_id)
        definition = plan.pop("definition", {})
        snapshot = factory.snapshot(cast.access(cast.ana), over, name, **definition)
        version = plan.pop("version", None) or factory.version(cast.access(cast.ana), cases, f"Questions of {name}")
        return actions.launch(access=access, snapshot=snapshot, plan=actions.Plan(version=version, **plan))

    return launch


@pytest.fixture
def work() -> Callable[..., int]:
    """Work until nothing is left, or so many steps."""

    def run(most: int = 1000) -> int:
        done = 0
        while done < most and working.step():
            done += 1
        return done

    return run
