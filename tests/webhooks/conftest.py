"""A receiver, a webhook that tells it, and workers that tests start themselves."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator

import pytest
from django.db import connection

from agents.actions import hosts
from grading.engine import working as grading_work
from runs.engine import wakes
from runs.engine import working as runs_work
from tests.comparisons.groups.conftest import given  # noqa: F401
from tests.runs.conftest import launched  # noqa: F401
from tests.webhooks.receiver import Receiver
from webhooks import actions, working
from webhooks.models import Delivery, Event, Webhook, WebhookHost


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    monkeypatch.setattr(wakes, "send", lambda count, task="": None)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as server:
        yield server


@pytest.fixture
def dead() -> Iterator[str]:
    """An address where nobody listens."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{bound.getsockname()[1]}/told"


@pytest.fixture
def access(cast):
    return cast.access(cast.ana)


@pytest.fixture
def listed(db) -> WebhookHost:
    return hosts.list_host(WebhookHost, host="127.0.0.1", note="", by=None)


@pytest.fixture
def webhook(access, receiver, listed) -> Webhook:
    return actions.create_webhook(access=access, name="Pipeline", url=receiver.url, events=Event.values)


@pytest.fixture
def make(access, receiver, listed) -> Callable[..., Webhook]:
    def made(name: str = "Another", url: str = "", events=Event.values) -> Webhook:
        return actions.create_webhook(access=access, name=name, url=url or receiver.url, events=events)

    return made


@pytest.fixture
def tell() -> Callable[[], int]:
    """One tick, and every attempt that is due. Returns how many attempts were made."""

    def run() -> int:
        working.tick()
        made = 0
        while working.step():
            made += 1
        return made

    return run


@pytest.fixture
def work() -> Callable[[], None]:
    """Experiments and passes, to their end."""

    def run() -> None:
        for _ in range(4):
            while runs_work.step():
                pass
            runs_work.tick()
            grading_work.tick()
            while grading_work.step():
                pass
        grading_work.tick()

    return run


@pytest.fixture
def later() -> Callable[[], None]:
    """Time passes: what waits is due, and claims have run out."""

    def pass_() -> None:
        with connection.cursor() as cursor:
            cursor.execute(
                "UPDATE webhooks_delivery SET due_at = clock_timestamp() - interval '1 second', "
                "lease_until = lease_until - interval '1 day' "
                "WHERE state = 'waiting'"
            )

    return pass_


@pytest.fixture
def only(db) -> Callable[[], Delivery]:
    return lambda: Delivery.objects.get()
