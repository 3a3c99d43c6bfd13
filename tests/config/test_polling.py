"""The worker that needs no broker."""

from __future__ import annotations

import pytest
from celery import current_app
from django.core.management import call_command
from django.db import OperationalError

from config import polling
from runs.engine import wakes
from runs.models import State
from tests.runs.conftest import launched  # noqa: F401

pytestmark = pytest.mark.django_db(transaction=True)


def test_once_does_everything_that_waits_and_sends_nothing(launched, settings, monkeypatch):  # noqa: F811
    settings.CELERY_BROKER_URL = ""
    monkeypatch.setattr(current_app, "send_task", lambda *given, **named: pytest.fail("something was sent"))
    experiment = launched(cases=3)
    wakes.send(4)
    call_command("work", once=True)
    experiment.refresh_from_db()
    assert experiment.state == State.COMPLETED


def test_a_fault_of_one_part_keeps_no_other_waiting_and_a_lost_database_is_waited_for(monkeypatch):
    poller, did = polling.Poller(), []

    def broken() -> bool:
        raise ValueError

    def gone() -> bool:
        raise OperationalError

    def last() -> bool:
        did.append(1)
        poller.stop()
        return True

    monkeypatch.setattr(polling, "TICKS", ())
    monkeypatch.setattr(polling, "HOURLY", ())
    monkeypatch.setattr(polling, "EVERY", 0.01)
    monkeypatch.setattr(polling, "STEPS", (broken, last))
    poller.run()
    assert did == [1]
    poller = polling.Poller()
    monkeypatch.setattr(polling, "STEPS", (lambda: gone() if len(did) < 3 and not did.append(1) else last(),))
    poller.run()
    assert len(did) == 4
