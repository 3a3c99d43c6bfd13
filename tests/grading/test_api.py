"""Metrics and graders over the API."""

from __future__ import annotations

import json

import pytest

from grading import actions
from tests.grading.test_graders import CONTAINS, EQUALS
from tests.shape.world import model_route

pytestmark = pytest.mark.django_db


def test_metrics_and_graders_over_the_api(cast, api_client, access):
    api = api_client(cast.ana, cast.team)

    def send(method: str, address: str, body: object, **headers: str):
        return api.generic(
            method, f"/api/v1/{address}", json.dumps(body), content_type="application/json", headers=headers
        )

    def key(text: str) -> dict[str, str]:
        return {"Idempotency-Key": f"grader-key-{text}"}

    meaning = {"key": "correct", "name": "Correct", "kind": "boolean", "direction": "higher_is_better"}
    metric = send("POST", "metrics", meaning, **key("a"))
    assert (metric.status_code, metric.json()["high"], metric.json()["categories"]) == (201, 1.0, [])
    assert send("POST", "metrics", meaning, **key("a")).status_code == 200
    assert send("POST", "metrics", meaning, **key("b")).json()["error"]["code"] == "metric_exists"
    wrong = send("POST", "metrics", {**meaning, "direction": "up"}, **key("c"))
    assert (wrong.status_code, wrong.json()["error"]["place"]) == (400, "direction")
    pk = metric.json()["id"]
    assert api.get(f"/api/v1/metrics/{pk}").json()["key"] == "correct"
    assert api.get("/api/v1/metrics", {"kind": "numeric"}).json()["count"] == 0

    grader = {"metric": pk, "kind": "assertion", "name": "Says it", "config": CONTAINS}
    made = send("POST", "graders", grader, **key("d"))
    assert (made.status_code, made.json()["number"], made.json()["evidence"]) == (201, 1, ["generation"])
    assert made.json()["config"]["checks"][0]["pointer"] == "/expected"
    bad = send("POST", "graders", {**grader, "config": {"checks": [{"operator": "is"}]}}, **key("e"))
    assert bad.json()["error"]["place"] == "config.checks[0].operator"
    elsewhere = actions.create_metric(access=cast.access(cast.cleo, cast.other_team), **meaning)
    foreign = send("POST", "graders", {**grader, "metric": str(elsewhere.pk)}, **key("f"))
    assert (foreign.status_code, foreign.json()["error"]["place"]) == (400, "metric")

    address = f"graders/{made.json()['grader']}"
    later = {"grader_revision": 1, "config": EQUALS}
    second = send("POST", f"{address}/versions", later, **key("g"))
    assert (second.status_code, second.json()["number"]) == (201, 2)
    assert send("POST", f"{address}/versions", later, **key("g")).status_code == 200
    stale = send("POST", f"{address}/versions", {**later, "config": CONTAINS}, **key("h"))
    assert stale.json()["error"]["code"] == "revision_stale"
    shown = api.get(f"/api/v1/{address}/versions").json()["items"]
    assert [one["number"] for one in shown] == [2, 1] and "config" not in shown[0]
    unread = api_client(cast.ben, cast.team).get(f"/api/v1/{address}/versions/1").json()
    assert (unread["config"], unread["availability"]) == (None, "available")

    found = api.get(f"/api/v1/{address}")
    assert (found["ETag"], found.json()["versions"], found.json()["metric_key"]) == ('"2"', 2, "correct")
    kept = send("PATCH", address, {"name": "Says so", "archived": True}, **{"If-Match": '"2"'})
    assert (kept.json()["name"], kept.json()["revision"]) == ("Says so", 4)
    assert send("PATCH", address, {"archived": False}, **{"If-Match": '"2"'}).status_code == 409
    assert api.get("/api/v1/graders", {"kind": "assertion"}).json()["count"] == 0
    assert api.get("/api/v1/graders", {"kind": "choir"}).status_code == 400

    model_route()
    judge = {"metric": pk, "kind": "judge", "name": "J", "config": {"route": "fixture-large", "prompt": "{{answer}}"}}
    pinned = send("POST", "graders", {**judge, "evidence": ["enrichment"]}, **key("i")).json()
    assert (pinned["route"], pinned["route_revision"], pinned["evidence"]) == ("fixture-large", 1, ["enrichment"])
