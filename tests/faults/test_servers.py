"""PostgreSQL and the broker die, come back, forget, or are not there: work goes on, and nothing is asked twice."""

from __future__ import annotations

import signal
import time

import pytest
from django.db import OperationalError, connections
from django.test import Client

from config.celery import app
from runs.engine import wakes
from runs.models import Experiment
from teams import actions as team_actions
from teams.models import Receipt
from tests.faults.house import House
from tests.faults.proxy import Relay
from tests.faults.servers import point_django_at, until


@pytest.mark.parametrize("kind", ["celery", "polling"])
@pytest.mark.parametrize("how", ["killed", "restarted", "connections ended"])
def test_postgresql_while_a_call_is_held(opened, kind, how):
    """S12: a database that is back before the answer takes it; else nobody knows, and that is said."""
    house: House = opened(broker=kind == "celery")
    house.provider.rule("question 1", "hold")
    experiment = house.launch(4)
    house.worker(kind)
    house.provider.wait_held(1, 30)
    at = time.time()
    connections["default"].close()
    postgres = house.servers.postgres
    if how == "connections ended":
        house.end_connections()
    else:
        house.servers.stop(postgres, signal.SIGKILL if how == "killed" else signal.SIGINT)
        house.servers.start(postgres)
    house.provider.release()
    house.fault_is_over()
    house.ends(experiment)
    house.recovered(at)
    states = house.states(experiment)
    assert states[1] in ("completed", "indeterminate")
    assert states[:1] + states[2:] == ["completed"] * 3
    assert len(house.references) == 4
    house.settled()


def test_an_answer_survives_a_connection_that_was_cut_during_its_call(polled):
    polled.provider.rule("question 0", "hold")
    experiment = polled.launch(1)
    polled.worker("polling")
    polled.provider.wait_held(1, 30)
    polled.end_connections()
    polled.provider.release()
    polled.fault_is_over()
    polled.ends(experiment)
    assert polled.states(experiment) == ["completed"]
    polled.settled()


def test_a_lost_commit_at_launch(polled):
    """R1: the client hears nothing, asks again with the same key, and there is one experiment."""
    made = polled.prepared(3)
    _, secret = team_actions.create_token(access=polled.access(), name="faults", days=None)
    given = {"snapshot": str(made["snapshot"].pk), "version": str(made["version"].pk), "repetitions": 1}
    client = Client(headers={"Authorization": f"Bearer {secret}"}, raise_request_exception=False)
    url = polled.servers.postgres.url("app")
    relay = Relay(polled.servers.folder / "relay", polled.servers.sockets)
    try:
        point_django_at(url.replace(str(polled.servers.sockets), str(relay.folder)))
        relay.lose("experiment.launched")
        answers = []
        for _ in range(2):
            answers.append(
                client.post(
                    "/api/v1/experiments",
                    given,
                    content_type="application/json",
                    headers={"Idempotency-Key": "the-same-key"},
                )
            )
            connections["default"].close()
    finally:
        point_django_at(url)
        relay.close()
    assert relay.lost.is_set()
    assert answers[0].status_code >= 500 and answers[1].status_code == 200, answers[1].content
    experiment = Experiment.objects.get()
    assert Receipt.objects.filter(operation="experiment.launch").count() == 1
    polled.acknowledged.append(experiment.pk)
    polled.worker("polling")
    polled.fault_is_over()
    polled.ends(experiment)
    assert len(polled.references) == 3
    polled.settled()


def test_a_lost_commit_at_settle(polled):
    """The worker hears nothing, the answer stands, and it is not asked again."""
    experiment = polled.launch(3)
    relay = Relay(polled.servers.folder / "relay", polled.servers.sockets)
    polled.stack.callback(relay.close)
    relay.lose('INSERT INTO "runs_answer"')
    through = polled.environment["DATABASE_URL"].replace(str(polled.servers.sockets), str(relay.folder))
    polled.worker("polling", DATABASE_URL=through)
    polled.fault_is_over()
    polled.ends(experiment)
    assert relay.lost.is_set()
    assert polled.states(experiment) == ["completed"] * 3
    assert len(polled.references) == 3
    polled.settled()


@pytest.mark.parametrize("how", ["killed with a queue", "down at publish", "data lost"])
def test_the_broker(house, how):
    valkey = house.servers.valkey
    if how == "down at publish":
        house.servers.stop(valkey, signal.SIGKILL)
        began = time.monotonic()
        experiment = house.launch(4)
        assert time.monotonic() - began < 10
        house.servers.start(valkey)
    else:
        experiment = house.launch(4)
        house.servers.stop(valkey, signal.SIGKILL)
        if how == "data lost":
            for path in sorted(valkey.data.rglob("*"), reverse=True):
                path.rmdir() if path.is_dir() else path.unlink()
        house.servers.start(valkey)
    at = house.worker().ready_at
    house.fault_is_over()
    house.ends(experiment)
    house.recovered(at)
    assert len(house.references) == 4
    house.settled()


def test_the_broker_dies_below_a_worker(house):
    house.provider.rule("question 1", "hold")
    experiment = house.launch(4)
    house.worker()
    house.provider.wait_held(1, 30)
    house.servers.stop(house.servers.valkey, signal.SIGKILL)
    at = time.time()
    house.provider.release()
    house.servers.start(house.servers.valkey)
    house.fault_is_over()
    house.ends(experiment)
    house.recovered(at)
    assert len(house.references) == 4
    house.settled()


def test_F30_a_broker_that_is_full_takes_no_message(house):
    """What is under way goes on, a launch succeeds, and both are found when there is space."""
    house.provider.rule("question 1", "hold,ok", key="the first of both experiments")
    experiment = house.launch(4)
    worker = house.worker()
    house.provider.wait_held(1, 30)
    with house.broker() as broker:
        broker.config_set("maxmemory", 1)
        began = time.monotonic()
        other = house.launch(2, name="Other")
        assert time.monotonic() - began < 10
        house.provider.release()
        time.sleep(3)
        broker.config_set("maxmemory", 0)
    at = time.time()
    house.fault_is_over()
    house.ends(experiment, other)
    house.recovered(at)
    assert worker.process.poll() is None
    assert len(house.references) == 6
    house.settled()


def test_F19_a_broker_that_accepts_and_says_nothing(house):
    """A launch does not wait for it for longer than its socket's patience."""
    house.worker()
    process = house.servers.running[house.servers.valkey.name]
    process.send_signal(signal.SIGSTOP)
    began = time.monotonic()
    experiment = house.launch(4)
    assert time.monotonic() - began < 25
    process.send_signal(signal.SIGCONT)
    at = time.time()
    house.fault_is_over()
    house.ends(experiment)
    house.recovered(at)
    assert len(house.references) == 4
    house.settled()


def test_no_broker_at_all(polled):
    began = time.monotonic()
    experiment = polled.launch(4)
    wakes.send(32)
    assert time.monotonic() - began < 10
    polled.worker("polling")
    polled.fault_is_over()
    polled.ends(experiment)
    assert polled.states(experiment) == ["completed"] * 4
    polled.settled()


def test_wake_ups_ten_times_over_and_for_nothing(house):
    """S10: messages that repeat, and messages for what does not exist."""
    experiment = house.launch(4)
    for _ in range(10):
        wakes.send(4)
    app.send_task("intake.tasks.advance_import", ["0198c0de-0000-7000-8000-000000000001"], retry=False)
    house.worker()
    house.worker()
    house.fault_is_over()
    house.ends(experiment)
    assert len(house.references) == 4
    house.settled()


def test_F26_four_workers_two_hundred_items(polled):
    polled.launch(100, name="One")
    polled.launch(100, name="Two")
    for _ in range(4):
        polled.worker("polling")
    polled.fault_is_over()
    polled.ends(*Experiment.objects.all(), within=120)
    assert len(polled.references) == len(set(polled.references)) == 200
    polled.settled()


def test_every_connection_is_refused_for_a_while(polled):
    """A polling worker waits for a database that is not there, and goes on with it."""
    worker = polled.worker("polling")
    connections["default"].close()
    polled.servers.stop(polled.servers.postgres)
    time.sleep(2.5)
    with pytest.raises(OperationalError):
        connections["default"].ensure_connection()
    polled.servers.start(polled.servers.postgres)
    experiment = polled.launch(2)
    polled.fault_is_over()
    polled.ends(experiment)
    assert worker.process.poll() is None
    until(lambda: len(polled.references) == 2, "both were asked")
    polled.settled()
