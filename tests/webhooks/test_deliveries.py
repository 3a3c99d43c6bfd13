"""What is told and signed; receivers that fail, are slow or lead elsewhere; workers that are lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from datetime import timedelta
from urllib.parse import urlsplit

import pytest
from django.core.management import call_command
from django.db import connection, connections
from django.utils import timezone

from runs import actions as run_actions
from runs.executors import addresses
from runs.models import Execution, Experiment
from teams.models import AuditEvent
from teams.refusals import Refusal
from tests.comparisons.groups.test_groups import started
from tests.conftest import ROOT
from tests.shape.world import CANARY, build
from webhooks import actions, outbox, sending, signing, working
from webhooks.models import Delivery, Event, Webhook, WebhookHost

pytestmark = pytest.mark.django_db(transaction=True)


def secret(webhook: Webhook) -> str:
    webhook.refresh_from_db()
    return signing.secret_of(webhook.pk, webhook.secret_revision)


def only_this(webhook: Webhook) -> None:
    """The world's own webhooks lead to a host that is not there."""
    Webhook.objects.exclude(pk=webhook.pk).update(disabled_at=timezone.now())


# --- what is told


def test_an_experiment_that_ended_is_told_once_and_signed(webhook, receiver, launched, work, tell, only):
    experiment = launched(cases=3)
    assert tell() == 0
    work()
    assert tell() == 1
    assert tell() == 0
    [heard] = receiver.heard
    assert heard.verified(secret(webhook))
    assert not heard.verified("whsec_other")
    told = only()
    assert heard.headers["evenhand-delivery"] == heard.body["id"] == str(told.pk)
    assert heard.headers["content-type"] == "application/json"
    experiment.refresh_from_db()
    assert heard.body["occurred_at"] == experiment.completed_at.isoformat().replace("+00:00", "Z")
    assert heard.body == {
        "id": str(told.pk),
        "event": "experiment.ended",
        "team": "support",
        "occurred_at": heard.body["occurred_at"],
        "object": {
            "type": "experiment",
            "id": str(experiment.pk),
            "link": f"http://127.0.0.1:8000/t/support/experiments/{experiment.pk}/",
        },
        "state": "completed",
        "counts": {"planned": 3, "completed": 3, "failed": 0, "other": 0},
    }
    assert (told.state, told.attempts, told.last_code) == ("delivered", 1, "")


def test_a_group_and_its_passes_are_told(webhook, receiver, access, given, work, tell):
    group = started(access, given)
    work()
    tell()
    told = {}
    for heard in receiver.heard:
        told.setdefault(heard.body["event"], []).append(heard.body)
    assert {event: len(bodies) for event, bodies in told.items()} == {
        "experiment.ended": 2,
        "grading_pass.ended": 2,
        "group.ended": 1,
    }
    [body] = told["group.ended"]
    assert (body["object"]["id"], body["state"]) == (str(group.pk), "completed")
    assert body["counts"] == {"arms": 2, "completed": 2, "cancelled": 0, "failed": 0}
    graded = told["grading_pass.ended"][0]
    assert graded["counts"] == {"judgments": 4, "scored": 4}
    assert graded["object"]["number"] == "1"


def test_a_cancelled_experiment_is_told_as_such(webhook, receiver, access, launched, tell):
    run_actions.cancel(access=access, experiment=launched(cases=2))
    assert tell() == 1
    assert receiver.heard[0].body["state"] == "cancelled"
    assert receiver.heard[0].body["counts"] == {"planned": 2, "completed": 0, "failed": 0, "other": 2}


def test_what_ends_again_after_a_retry_is_told_again(webhook, receiver, access, launched, work, tell):
    experiment = launched(model_id="fixture:fail/provider_rejected", cases=1)
    work()
    assert tell() == 1
    failed = Execution.objects.get(experiment=experiment)
    run_actions.retry(access=access, execution=failed)
    assert tell() == 0
    work()
    assert tell() == 1
    first, second = receiver.heard
    assert first.body["object"] == second.body["object"]
    assert first.body["id"] != second.body["id"] and first.body["occurred_at"] < second.body["occurred_at"]


def test_only_what_was_chosen_and_ended_since_is_told(make, receiver, access, launched, work, tell):
    launched(cases=1, name="Before")
    work()
    webhook = make(events=[Event.GROUP_ENDED.value])
    other = make(name="Experiments", events=[Event.EXPERIMENT_ENDED.value])
    assert tell() == 0
    actions.disable_webhook(access=access, webhook=other)
    launched(cases=1, name="Meanwhile")
    work()
    assert tell() == 0
    actions.enable_webhook(access=access, webhook=other)
    assert tell() == 0
    launched(cases=1, name="After")
    work()
    assert tell() == 1
    assert not Delivery.objects.filter(webhook=webhook).exists()


def test_imports_and_other_teams_are_not_told(webhook, cast, tell, receiver):
    """The world holds imported experiments, and ones that ran; the foreign team's are its own business."""
    build(cast.other_team, cast.cleo)
    world = build(cast.team, cast.ana)
    only_this(webhook)
    tell()
    told = {heard.body["object"]["id"] for heard in receiver.heard}
    assert str(world.launched.pk) in told
    assert not told & {str(world.candidate.pk), str(world.baseline.pk)}
    assert {heard.body["team"] for heard in receiver.heard} == {"support"}


def test_no_content_leaves(webhook, cast, access, tell, work, receiver):
    """Every protected text of the world holds the canary."""
    build(cast.team, cast.ana)
    only_this(webhook)
    work()
    tell()
    assert {heard.body["event"] for heard in receiver.heard} == set(Event.values)
    for heard in receiver.heard:
        assert CANARY.encode() not in heard.raw
        assert CANARY not in str(heard.headers)


def test_a_ping_is_tried_once(webhook, access, receiver, tell, later, only):
    receiver.answers = [500]
    actions.ping(access=access, webhook=webhook)
    assert tell() == 1
    later()
    assert tell() == 0
    [heard] = receiver.heard
    assert heard.verified(secret(webhook))
    assert (heard.body["event"], heard.body["object"], heard.body["counts"]) == ("ping", None, {})
    told = only()
    assert (told.state, told.last_code, told.last_status) == ("given_up", "provider_server_error", 500)
    webhook.refresh_from_db()
    assert webhook.failures == 0


# --- receivers that fail


def test_what_fails_is_tried_again_with_the_same_id_and_body(webhook, receiver, launched, work, tell, later, only):
    receiver.answers = [500, 503, 429, 404, 200]
    launched(cases=1)
    work()
    seen = []
    for wait in (*sending.WAITS, None):
        assert tell() == 1
        assert tell() == 0, "it waits its time"
        told = only()
        seen.append((told.state, told.last_code, told.last_status))
        if wait is not None:
            assert abs((told.due_at - told.attempted_at).total_seconds() - wait) < 5
        later()
    assert seen == [
        ("waiting", "provider_server_error", 500),
        ("waiting", "provider_server_error", 503),
        ("waiting", "provider_rate_limited", 429),
        ("waiting", "provider_rejected", 404),
        ("delivered", "", None),
    ]
    assert len({heard.headers["evenhand-delivery"] for heard in receiver.heard}) == 1
    assert len({heard.raw for heard in receiver.heard}) == 1
    assert all(heard.verified(secret(webhook)) for heard in receiver.heard)


def test_after_five_attempts_it_is_given_up_and_after_five_of_those_disabled(
    webhook,
    receiver,
    access,
    launched,
    work,
    tell,
    later,
    page_client,
    cast,
):
    receiver.answers = [500]
    for at in range(sending.DISABLED_AFTER + 1):
        launched(cases=1, name=f"Desk {at}")
    work()
    while webhook.disabled_at is None:
        later()
        assert tell() >= 1
        webhook.refresh_from_db()
    states = list(Delivery.objects.values_list("state", flat=True))
    assert (webhook.disabled_code, webhook.failures) == ("webhook_unreachable", 5)
    assert (states.count("given_up"), states.count("dropped")) == (5, 1)
    event = AuditEvent.objects.get(action="webhook.disabled")
    assert (event.team, event.actor, event.code) == (cast.team, None, "webhook_unreachable")
    page = page_client(cast.ana).get(f"/t/support/team/webhooks/{webhook.pk}/").content.decode()
    assert "Disabled by itself." in page and "webhook_unreachable" in page
    later()
    assert tell() == 0
    actions.enable_webhook(access=access, webhook=webhook)
    webhook.refresh_from_db()
    assert (webhook.state, webhook.failures, webhook.disabled_code) == ("active", 0, "")


def test_what_has_ended_is_sent_once_more_with_the_same_id_and_body(
    webhook, receiver, access, launched, work, tell, later, only
):
    receiver.answers = [500] * sending.ATTEMPTS + [503, 200, 200]
    launched(cases=1)
    work()
    for _ in range(sending.ATTEMPTS):
        tell()
        later()
    assert (only().state, only().attempts) == ("given_up", 5)
    webhook.refresh_from_db()
    assert webhook.failures == 1
    for state, attempts, failures in (("given_up", 6, 1), ("delivered", 7, 0), ("delivered", 8, 0)):
        actions.send_again(access=access, webhook=webhook, delivery=only())
        assert only().ended_at is None
        assert tell() == 1
        later()
        assert tell() == 0, "once"
        webhook.refresh_from_db()
        assert (only().state, only().attempts, webhook.failures) == (state, attempts, failures)
    assert len({(heard.raw, heard.headers["evenhand-delivery"]) for heard in receiver.heard}) == 1
    assert all(heard.verified(secret(webhook)) for heard in receiver.heard)


def test_a_worker_that_is_lost_while_sending_again_counts_nothing_twice(
    webhook, receiver, access, launched, work, tell, later, only
):
    launched(cases=1)
    work()
    tell()
    actions.send_again(access=access, webhook=webhook, delivery=only())
    assert sending.claim_next("lost") is not None
    later()
    assert tell() == 0
    webhook.refresh_from_db()
    assert (only().state, only().last_code, webhook.failures) == ("given_up", "webhook_worker_lost", 0)


def test_what_waits_is_a_ping_or_leads_to_a_webhook_that_is_off_is_not_sent_again(
    webhook, make, receiver, access, launched, work, tell, later, only, monkeypatch
):
    def refused(delivery, of=webhook) -> str:
        with pytest.raises(Refusal) as found:
            actions.send_again(access=access, webhook=of, delivery=delivery)
        return found.value.message or found.value.code

    receiver.answers = [500, 200]
    launched(cases=1)
    work()
    tell()
    assert refused(only()) == "It is on its way already."
    later()
    tell()
    told = only()
    monkeypatch.setattr(actions, "MOST_ATTEMPTS", 2)
    assert "enough" in refused(told)
    ping = actions.ping(access=access, webhook=webhook)
    tell()
    assert "another ping" in refused(ping)
    actions.disable_webhook(access=access, webhook=webhook)
    assert refused(told) == "A disabled webhook is told nothing."
    actions.archive_webhook(access=access, webhook=webhook)
    assert "archived" in refused(told)


def test_two_who_send_it_again_at_once_send_it_once(webhook, receiver, access, launched, work, tell, only):
    launched(cases=1)
    work()
    tell()
    told, barrier, said = only(), threading.Barrier(4), []

    def again() -> None:
        try:
            barrier.wait()
            actions.send_again(access=access, webhook=webhook, delivery=told)
            said.append("sent")
        except Refusal as refusal:
            said.append(refusal.code)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=again) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(said) == ["conflict", "conflict", "conflict", "sent"]
    assert tell() == 1 and len(receiver.heard) == 2


def test_a_wait_follows_every_attempt_but_the_last():
    assert len(sending.WAITS) == sending.ATTEMPTS - 1


def test_a_success_begins_the_count_anew(webhook, receiver, launched, work, tell):
    Webhook.objects.update(failures=4)
    launched(cases=1)
    work()
    tell()
    webhook.refresh_from_db()
    assert webhook.failures == 0


def test_a_slow_receiver_is_not_waited_for(webhook, receiver, access, tell, only, monkeypatch):
    monkeypatch.setattr(sending, "SECONDS", 0.3)
    receiver.hold = threading.Event()
    actions.ping(access=access, webhook=webhook)
    began = time.monotonic()
    assert tell() == 1
    assert time.monotonic() - began < 5
    assert only().last_code == "provider_timed_out"


def test_a_redirect_is_not_followed(webhook, receiver, access, tell, only):
    receiver.answers, receiver.location = [302], f"{receiver.url}/elsewhere"
    actions.ping(access=access, webhook=webhook)
    assert tell() == 1
    assert [heard.path for heard in receiver.heard] == ["/told"]
    assert only().last_code == "provider_redirected"


def test_nobody_there(make, dead, access, tell, only):
    webhook = make(url=dead)
    actions.ping(access=access, webhook=webhook)
    assert tell() == 1
    assert only().last_code == "provider_unreachable"


def test_a_failing_receiver_is_left_alone_for_a_while_and_holds_up_no_other(
    make,
    dead,
    receiver,
    launched,
    work,
    tell,
):
    make(name="Dead", url=dead)
    make(name="Living")
    for at in range(3):
        launched(cases=1, name=f"Desk {at}")
    work()
    assert tell() == 4
    assert len(receiver.heard) == 3
    waiting = Delivery.objects.filter(state="waiting")
    assert sorted(waiting.values_list("attempts", flat=True)) == [0, 0, 1]
    assert all(one.due_at > timezone.now() + timedelta(seconds=30) for one in waiting)


def test_a_host_that_was_taken_off_the_list_is_not_called(webhook, listed, access, receiver, tell, only):
    from agents.actions import hosts

    actions.ping(access=access, webhook=webhook)
    hosts.set_host_listed(row=listed, listed=False, by=None)
    assert tell() == 1
    assert receiver.heard == []
    assert only().last_code == "webhook_host_not_listed"


def test_a_name_that_leads_inside_is_not_called(make, access, tell, only, monkeypatch):
    from agents.actions import hosts

    hosts.list_host(WebhookHost, host="hooks.example.org", note="", by=None)
    webhook = make(url="https://hooks.example.org/told")
    inside = [(2, 1, 6, "", ("10.0.0.7", 443))]
    monkeypatch.setattr(addresses.socket, "getaddrinfo", lambda *_, **named: inside)
    actions.ping(access=access, webhook=webhook)
    assert tell() == 1
    assert only().last_code == "address_forbidden"


# --- workers


def test_a_lost_worker_leaves_an_attempt_that_is_made_again(webhook, receiver, launched, work, tell, later, only):
    launched(cases=1)
    work()
    working.tick()
    claim = sending.claim_next("lost")
    assert claim is not None
    assert sending.claim_next() is None, "the claim holds"
    later()
    assert tell() == 1
    assert (only().state, only().attempts) == ("delivered", 2)
    sending._delivered(claim)  # the lost one comes back, and changes nothing
    sending._failed(claim, "provider_timed_out", None)
    assert (only().state, only().last_code) == ("delivered", "")


def test_a_worker_that_is_lost_at_the_last_attempt_ends_the_delivery(webhook, launched, work, later, tell, only):
    launched(cases=1)
    work()
    working.tick()
    Delivery.objects.update(attempts=sending.ATTEMPTS - 1)
    assert sending.claim_next("lost") is not None
    later()
    assert tell() == 0
    assert (only().state, only().last_code) == ("given_up", "webhook_worker_lost")
    webhook.refresh_from_db()
    assert webhook.failures == 1


def test_doubled_wake_ups_send_once(make, receiver, launched, work, tell):
    for at in range(3):
        make(name=f"Webhook {at}")
    for at in range(4):
        launched(cases=1, name=f"Desk {at}")
    work()
    working.tick()
    barrier = threading.Barrier(8)

    def worker() -> None:
        try:
            barrier.wait()
            while working.step():
                pass
        finally:
            connections.close_all()

    threads = [threading.Thread(target=worker) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    tell()  # what a worker left because another attempt of its webhook was under way
    ids = [heard.headers["evenhand-delivery"] for heard in receiver.heard]
    assert len(ids) == len(set(ids)) == 12
    assert set(Delivery.objects.values_list("state", "attempts")) == {("delivered", 1)}


def test_two_ticks_at_once_write_one_delivery(webhook, launched, work):
    launched(cases=1)
    work()
    barrier = threading.Barrier(4)

    def look() -> None:
        try:
            barrier.wait()
            outbox.fill()
        finally:
            connections.close_all()

    threads = [threading.Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Delivery.objects.count() == 1


def test_no_transaction_is_open_while_the_receiver_is_called(webhook, access, tell, monkeypatch):
    seen = []
    monkeypatch.setattr(
        sending.posting.EXECUTOR.__class__, "call", lambda self, post, admit: seen.append(connection.in_atomic_block)
    )
    actions.ping(access=access, webhook=webhook)
    assert tell() == 1
    assert seen == [False]


def test_a_webhook_that_is_archived_meanwhile_is_told_nothing_more(
    webhook, receiver, access, launched, work, tell, only
):
    launched(cases=1)
    work()
    working.tick()
    claim = sending.claim_next()
    actions.archive_webhook(access=access, webhook=webhook)
    sending.send(claim)  # what has left is not held back
    assert only().state == "dropped"
    assert tell() == 0


def test_the_polling_worker_tells(webhook, receiver, launched, settings):
    settings.CELERY_BROKER_URL = ""
    launched(cases=1)
    call_command("work", once=True)
    call_command("work", once=True)
    assert [heard.body["event"] for heard in receiver.heard] == ["experiment.ended"]


# --- secrets and time


def test_rotating_ends_the_earlier_secret(webhook, receiver, access, tell):
    before = secret(webhook)
    actions.rotate_secret(access=access, webhook=webhook)
    after = secret(webhook)
    actions.ping(access=access, webhook=webhook)
    tell()
    assert receiver.heard[0].verified(after) and not receiver.heard[0].verified(before)


def test_a_fallback_of_the_servers_secret_signs_too(webhook, receiver, access, tell, settings):
    before = secret(webhook)
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another secret of the server, long enough for everything"
    after = secret(webhook)
    assert before != after
    actions.ping(access=access, webhook=webhook)
    tell()
    assert receiver.heard[0].verified(before) and receiver.heard[0].verified(after)


def test_the_documented_check_refuses_what_is_old_changed_or_none(webhook):
    from tests.webhooks.receiver import documented

    verified, key, body = documented(), secret(webhook), b'{"a":1}'
    now = int(time.time())
    good = signing.signature(webhook.pk, webhook.secret_revision, body, now)
    assert verified(key, good, body)
    assert not verified(key, good, body + b" ")
    assert not verified(key, signing.signature(webhook.pk, webhook.secret_revision, body, now - 400), body)
    for nonsense in ("", "t=", "t=x,v1=y", f"t={now}", f"t={now},v1="):
        assert not verified(key, nonsense, body)


def test_secrets_differ_by_webhook_and_are_stored_nowhere(webhook, make):
    other = make()
    assert secret(webhook) != secret(other)
    with connection.cursor() as cursor:
        cursor.execute("SELECT w::text FROM webhooks_webhook w")
        assert all(
            secret(one).removeprefix("whsec_") not in row[0] for row in cursor.fetchall() for one in (webhook, other)
        )


def test_what_was_forgotten_is_not_told_again(webhook, receiver, launched, work, tell):
    launched(cases=1)
    work()
    tell()
    Webhook.objects.update(since=timezone.now() - timedelta(days=200))
    long_ago = timezone.now() - timedelta(days=outbox.KEEPS_DAYS + 1)
    Experiment.objects.update(completed_at=long_ago)
    Delivery.objects.update(ended_at=long_ago, occurred_at=long_ago)
    assert working.expire() == 1
    assert tell() == 0 and not Delivery.objects.exists()


def test_kill_9_during_the_call_leaves_a_delivery_that_is_made_again(webhook, receiver, access, later, tell, only):
    """A worker in a process of its own, killed while the receiver has not answered; the receiver sees one id twice."""
    receiver.hold = threading.Event()
    actions.ping(access=access, webhook=webhook)
    Delivery.objects.update(event="group.ended", most_attempts=sending.ATTEMPTS)  # a ping is tried once
    address = urlsplit(os.environ["DATABASE_URL"])
    database = address._replace(path="/" + connection.settings_dict["NAME"]).geturl()
    worker = subprocess.Popen(
        [sys.executable, "manage.py", "work"],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": database},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until = time.monotonic() + 30
        while not receiver.heard and time.monotonic() < until:
            time.sleep(0.02)
    finally:
        worker.send_signal(signal.SIGKILL)
        worker.wait()
    receiver.hold.set()
    told = only()
    assert (len(receiver.heard), told.state, told.attempts) == (1, "waiting", 1)
    assert told.lease_until is not None
    assert tell() == 0, "its claim holds until the lease runs out"
    later()
    assert tell() == 1
    assert (only().state, only().attempts) == ("delivered", 2)
    assert len({heard.headers["evenhand-delivery"] for heard in receiver.heard}) == 1
    assert all(heard.verified(secret(webhook)) for heard in receiver.heard)
