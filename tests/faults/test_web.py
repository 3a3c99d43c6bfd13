"""F11: the web server dies in the middle of a launch; the same request again makes one experiment in all."""

from __future__ import annotations

import contextlib
import json
import time
from http.client import HTTPException
from urllib.error import URLError
from urllib.request import Request, urlopen

import pytest

from runs.models import Experiment
from teams import actions as team_actions
from teams.models import Receipt
from tests.faults.servers import until
from tests.faults.worker import LAUNCHING


@pytest.mark.parametrize("point", LAUNCHING)
def test_F11_kill_9_of_the_web_server(polled, point):
    made = polled.prepared(3)
    _, secret = team_actions.create_token(access=polled.access(), name="faults", days=None)
    address, server = polled.web(dies=point)
    headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
    until(lambda: answers(Request(f"{address}/api/v1/experiments", headers=headers)) is not None, "the server answers")
    given = {"snapshot": str(made["snapshot"].pk), "version": str(made["version"].pk), "repetitions": 1}
    launch = Request(
        f"{address}/api/v1/experiments",
        json.dumps(given).encode(),
        headers | {"Idempotency-Key": "the-same-key"},
    )
    assert answers(launch) is None
    assert server.died.exists()
    at = time.time()
    status = until(lambda: answers(launch), "the server answers again")
    polled.figures["recovery"] = round(time.time() - at, 2)
    assert status == (201 if point == "in the middle of a launch" else 200)
    experiment = Experiment.objects.get()
    assert Receipt.objects.filter(operation="experiment.launch").count() == 1
    polled.acknowledged.append(experiment.pk)
    polled.freeze()
    polled.worker("polling")
    polled.fault_is_over()
    polled.ends(experiment)
    assert len(polled.references) == 3
    polled.settled()


def answers(request: Request) -> int | None:
    """The status, or nothing where the connection ended without one."""
    with contextlib.suppress(URLError, HTTPException, ConnectionError), urlopen(request, timeout=30) as answer:
        return int(answer.status)
    return None
