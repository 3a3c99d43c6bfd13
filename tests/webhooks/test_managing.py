"""Webhooks as people and programs set them up: pages, API, rights, teams, hosts, operators."""

from __future__ import annotations

import json
import re
import uuid

import pytest

from agents.actions import hosts
from config import health, queues
from teams.models import AuditEvent
from teams.refusals import Refusal
from webhooks import actions, signing
from webhooks.models import Delivery, Event, Webhook, WebhookHost

pytestmark = pytest.mark.django_db(transaction=True)
W = "/t/support/team/webhooks/"


def post(program, address: str, body=None, key: str = ""):
    return program.post(
        f"/api/v1/{address}",
        json.dumps(body if body is not None else {}),
        content_type="application/json",
        headers={"Idempotency-Key": key or str(uuid.uuid4())},
    )


def code(answer) -> str:
    return answer.json()["error"]["code"]


def shown_secret(page: str) -> str:
    found = re.search(r"whsec_[\w-]{43}", page)
    return found[0] if found else ""


# --- pages


def test_a_person_makes_tries_rotates_and_puts_away(cast, listed, receiver, page_client, tell):
    ana = page_client(cast.ana)
    assert "Nobody is told anything yet." in ana.get(W).content.decode()
    made = ana.post(f"{W}new", {"name": "Pipeline", "url": receiver.url, "events": ["group.ended"]})
    webhook = Webhook.objects.get()
    first = shown_secret(made.content.decode())
    assert made.status_code == 200 and first == signing.secret_of(webhook.pk, 1)
    here = f"{W}{webhook.pk}/"
    page = ana.get(here).content.decode()
    assert first not in page and not shown_secret(page) and receiver.url in page
    ana.post(f"{here}ping")
    assert 'data-terminal="false"' in ana.get(f"{here}deliveries").content.decode()
    assert tell() == 1
    assert receiver.heard[0].verified(first)
    part = ana.get(f"{here}deliveries").content.decode()
    assert 'data-terminal="true"' in part and "Delivered" in part
    second = shown_secret(ana.post(f"{here}rotate").content.decode())
    assert second and second != first
    ana.post(f"{here}edit", {"name": "Chat", "url": receiver.url, "events": ["group.ended"], "revision": "2"})
    webhook.refresh_from_db()
    assert (webhook.name, webhook.revision) == ("Chat", 3)
    stale = ana.post(f"{here}edit", {"name": "X", "url": receiver.url, "events": ["group.ended"], "revision": "2"})
    assert stale.status_code == 422 and "revision 3" in stale.content.decode()
    ana.post(f"{here}steer", {"step": "disable"})
    assert "Enable" in ana.get(here).content.decode()
    assert ana.post(f"{here}ping").status_code == 409
    ana.post(f"{here}steer", {"step": "enable"})
    ana.post(f"{here}steer", {"step": "archive"})
    assert "Chat" not in ana.get(W).content.decode()
    assert "Chat" in ana.get(f"{W}?archived=1").content.decode()
    assert ana.post(f"{here}steer", {"step": "enable"}).status_code == 409
    ana.post(f"{here}steer", {"step": "restore"})
    webhook.refresh_from_db()
    assert webhook.state == "disabled"
    assert ana.post(f"{here}steer", {"step": "explode"}).status_code == 400
    done = set(AuditEvent.objects.filter(object_id=webhook.pk).values_list("action", flat=True))
    words = ("created", "pinged", "rotated", "edited", "disabled", "enabled", "archived", "restored")
    assert done == {f"webhook.{word}" for word in words}
    assert receiver.url not in str(list(AuditEvent.objects.values_list("detail", flat=True)))


def test_faults_stand_beside_their_fields(cast, page_client, listed, webhook):
    ana = page_client(cast.ana)
    for change, says in (
        ({"url": "https://elsewhere.example.org/x"}, "Webhooks may not reach this host"),
        ({"url": "http://example.org/x"}, "An https address"),
        ({"url": "https://127.1/x"}, "A host is named"),
        ({"events": []}, "This field is required"),
        ({"name": "PIPELINE"}, "has a webhook PIPELINE already"),
    ):
        said = {"name": "New", "url": webhook.url, "events": ["group.ended"], **change}
        answer = ana.post(f"{W}new", said)
        assert answer.status_code == 422 and says in answer.content.decode(), change
    assert Webhook.objects.count() == 1


def test_without_a_host_the_page_says_who_helps(cast, page_client):
    page = page_client(cast.ana).get(W).content.decode()
    assert "Operators have not allowed a host" in page and "New webhook" not in page


def test_rights_and_teams(cast, webhook, page_client, api_client):
    here = f"{W}{webhook.pk}/"
    for person in (cast.ben, cast.omar):
        client = page_client(person)
        assert [client.get(one).status_code for one in (W, f"{W}new", here)] == [403] * 3
        assert client.post(f"{here}ping").status_code == 403
        assert "Webhooks" not in client.get("/t/support/team/").content.decode()
        program = api_client(person, cast.team)
        assert code(program.get("/api/v1/webhooks")) == "missing_right"
    stranger = page_client(cast.cleo)
    assert stranger.get(here).status_code == 404
    assert stranger.get(f"/t/other/team/webhooks/{webhook.pk}/").status_code == 404
    foreign = api_client(cast.cleo, cast.other_team)
    for address in (f"webhooks/{webhook.pk}", f"webhooks/{webhook.pk}/deliveries"):
        assert code(foreign.get(f"/api/v1/{address}")) == "not_found"
    for address in ("pings", "steps"):
        assert code(post(foreign, f"webhooks/{webhook.pk}/{address}", {"step": "disable"})) == "not_found"
    assert not Delivery.objects.exists()
    with pytest.raises(Refusal):
        actions.ping(access=cast.access(cast.omar), webhook=webhook)


# --- API


def test_a_program_sets_one_up(cast, listed, receiver, api_client, tell):
    program = api_client(cast.ana, cast.team)
    body = {"name": "Pipeline", "url": receiver.url, "events": ["experiment.ended", "group.ended"]}
    made = post(program, "webhooks", body, "make-it-once")
    assert made.status_code == 201
    secret, pk = made.json()["secret"], made.json()["id"]
    again = post(program, "webhooks", body, "make-it-once")
    assert (again.status_code, again.json()["id"], again.json()["secret"]) == (200, pk, None)
    assert code(post(program, "webhooks", body | {"name": "Other"}, "make-it-once")) == "request_key_conflict"
    assert program.get("/api/v1/webhooks").json()["count"] == 1
    read = program.get(f"/api/v1/webhooks/{pk}")
    assert "secret" not in read.json() and read.json()["state"] == "active"
    edited = program.patch(
        f"/api/v1/webhooks/{pk}",
        json.dumps({"events": ["group.ended"]}),
        content_type="application/json",
        headers={"If-Match": read["ETag"]},
    )
    assert edited.json()["events"] == ["group.ended"]
    stale = program.patch(
        f"/api/v1/webhooks/{pk}",
        json.dumps({"name": "Late"}),
        content_type="application/json",
        headers={"If-Match": read["ETag"]},
    )
    assert code(stale) == "revision_stale"
    ping = post(program, f"webhooks/{pk}/pings", key="ping-it-once")
    assert (ping.status_code, ping.json()["state"]) == (201, "waiting")
    assert tell() == 1
    assert receiver.heard[0].verified(secret)
    repeated = post(program, f"webhooks/{pk}/pings", key="ping-it-once")
    assert (repeated.status_code, repeated.json()["state"]) == (200, "delivered")
    listed_ = program.get(f"/api/v1/webhooks/{pk}/deliveries", {"state": "delivered"}).json()
    assert [one["id"] for one in listed_["items"]] == [ping.json()["id"]]
    assert code(program.get(f"/api/v1/webhooks/{pk}/deliveries", {"state": "lost"})) == "invalid_field"
    rotated = post(program, f"webhooks/{pk}/steps", {"step": "rotate"}, "rotate-it-once")
    assert rotated.json()["secret"] not in (None, secret) and rotated.json()["secret_revision"] == 2
    assert post(program, f"webhooks/{pk}/steps", {"step": "rotate"}, "rotate-it-once").json()["secret"] is None
    assert post(program, f"webhooks/{pk}/steps", {"step": "disable"}).json()["state"] == "disabled"
    assert code(post(program, f"webhooks/{pk}/pings")) == "webhook_disabled"
    assert post(program, f"webhooks/{pk}/steps", {"step": "archive"}).json()["state"] == "archived"
    for step in ("enable", "rotate"):
        assert code(post(program, f"webhooks/{pk}/steps", {"step": step})) == "webhook_archived"
    assert program.get("/api/v1/webhooks").json()["count"] == 0
    assert program.get(f"/api/v1/webhooks/{pk}").json()["state"] == "archived"


def test_a_delivery_is_sent_again_from_the_page_and_over_the_api(
    cast, webhook, make, launched, work, receiver, api_client, page_client, tell
):
    launched(cases=1)
    work()
    tell()
    told = Delivery.objects.get()
    here = f"{W}{webhook.pk}/"
    ana, program = page_client(cast.ana), api_client(cast.ana, cast.team)
    assert ana.get(here).content.decode().count("Send again</button>") == 1
    gone = ana.post(f"{here}deliveries/{told.pk}/again?state=delivered")
    assert gone.status_code == 302 and gone["Location"] == f"{here}?state=delivered"
    assert "Send again</button>" not in ana.get(here).content.decode(), "it is on its way"
    assert ana.post(f"{here}deliveries/{told.pk}/again").status_code == 409
    assert tell() == 1
    address = f"webhooks/{webhook.pk}/deliveries/{told.pk}/attempts"
    first = post(program, address, key="send-it-once-more")
    said = first.json()
    assert (first.status_code, said["state"], said["attempts"], said["most_attempts"]) == (201, "waiting", 2, 3)
    assert tell() == 1
    again = post(program, address, key="send-it-once-more")
    assert (again.status_code, again.json()["state"], again.json()["attempts"]) == (200, "delivered", 3)
    assert len(receiver.heard) == 3 and len({heard.raw for heard in receiver.heard}) == 1
    done = AuditEvent.objects.filter(action="webhook.sent_again", object_id=webhook.pk)
    assert {one.detail["delivery"] for one in done} == {str(told.pk)} and done.count() == 2
    other = make()
    assert code(post(program, f"webhooks/{other.pk}/deliveries/{told.pk}/attempts")) == "not_found"
    assert ana.post(f"{W}{other.pk}/deliveries/{told.pk}/again").status_code == 404
    assert page_client(cast.omar).post(f"{here}deliveries/{told.pk}/again").status_code == 403
    actions.disable_webhook(access=cast.access(cast.ana), webhook=webhook)
    assert "Send again</button>" not in ana.get(here).content.decode()
    assert code(post(program, address)) == "webhook_disabled"


@pytest.mark.parametrize(
    "body",
    [
        {"name": "", "url": "https://hooks.example.org/x", "events": ["group.ended"]},
        {"name": "x", "url": "https://elsewhere.example.org/x", "events": ["group.ended"]},
        {"name": "x", "url": "https://hooks.example.org/x", "events": []},
        {"name": "x", "url": "https://hooks.example.org/x", "events": ["ping"]},
        {"name": "x", "url": "https://hooks.example.org/x?a=b", "events": ["group.ended"]},
        {"name": "x", "url": "https://a:b@hooks.example.org/x", "events": ["group.ended"]},
        {"name": "x", "url": "http://169.254.169.254/latest", "events": ["group.ended"]},
    ],
)
def test_what_is_no_webhook_is_refused(cast, api_client, body):
    hosts.list_host(WebhookHost, host="hooks.example.org", note="", by=None)
    assert code(post(api_client(cast.ana, cast.team), "webhooks", body)) == "invalid_field"
    assert not Webhook.objects.exists()


def test_a_team_has_so_many(access, make, monkeypatch):
    monkeypatch.setattr(actions, "MOST_WEBHOOKS", 1)
    make()
    with pytest.raises(Refusal) as refused:
        make(name="One more")
    assert refused.value.place == "name"


# --- operators


def test_operators_list_hosts_and_look_at_deliveries(cast, page_client, webhook, access):
    operator = page_client(cast.operator)
    add = "/operators/webhooks/webhookhost/add/"
    assert operator.get(add).status_code == 200
    assert operator.post(add, {"host": "Hooks.Example.org.", "note": "chat"}).status_code == 302
    row = WebhookHost.objects.get(host="hooks.example.org")
    assert "host" in operator.post(add, {"host": "10.0.0.1"}).content.decode()
    operator.post(
        "/operators/webhooks/webhookhost/", {"action": "archive", "_selected_action": [str(row.pk)]}, follow=True
    )
    row.refresh_from_db()
    assert row.archived_at is not None
    names = AuditEvent.objects.filter(object_id=row.pk).order_by("at").values_list("action", flat=True)
    assert list(names) == ["webhook_host.listed", "webhook_host.archived"]
    told = actions.ping(access=access, webhook=webhook)
    shown = operator.get("/operators/webhooks/delivery/").content.decode()
    assert str(told.pk) in shown
    assert operator.post(f"/operators/webhooks/delivery/{told.pk}/change/", {"state": "delivered"}).status_code == 403
    assert webhook.url not in operator.get(f"/operators/webhooks/webhook/{webhook.pk}/change/").content.decode()


def test_queues_and_health_show_what_waits_and_was_given_up(webhook, access, receiver, tell):
    actions.ping(access=access, webhook=webhook)
    assert [one.what for one in queues.unfinished()[1]] == ["delivery"]
    receiver.answers = [500]
    tell()
    assert queues.unfinished()[0] == 0
    found = next(one for one in health.findings() if one.name == "Webhooks")
    assert "0 waiting" in found.says and "1 given up" in found.says
    assert set(webhook.events) == set(Event.values)
