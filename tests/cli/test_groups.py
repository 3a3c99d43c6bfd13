"""`evenhand group` against a server that runs: readiness, start, lost answers, following, cancelling."""

from __future__ import annotations

import json
import threading
import uuid

import httpx
import pytest
from django.db import connections
from typer.testing import CliRunner

from cli import client, following
from cli.client import Api
from cli.main import app
from comparisons.models import Group
from grading.engine import working as grading_work
from runs.engine import working
from runs.models import Execution, State
from teams import actions as team_actions
from tests.comparisons.groups.conftest import access, given, quiet  # noqa: F401
from tests.comparisons.groups.test_groups import judge
from tests.factories import agents as factory

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def connections_end(monkeypatch):
    monkeypatch.setitem(connections.settings["default"], "CONN_MAX_AGE", 0)
    monkeypatch.setattr(client, "POLL_SECONDS", 0.05)


@pytest.fixture
def token(cast):
    return lambda user: team_actions.create_token(access=cast.access(user), name="cli", days=None)[1]


@pytest.fixture
def evenhand(live_server, cast, token):
    """evenhand(*arguments) as ana, on a server that runs."""
    own = token(cast.ana)

    def run(*arguments, stdin=None, as_=None):
        words = [str(one) for one in arguments] + ["--server", live_server.url, "--token", as_ or own]
        return CliRunner().invoke(app, ["group", *words], input=stdin)

    return run


@pytest.fixture
def intent(tmp_path, given):  # noqa: F811
    path = tmp_path / "intent.json"

    def write(**change):
        path.write_text(json.dumps(given | change), encoding="utf-8")
        return path

    return write


def work_to_the_end():
    for _ in range(20):
        while working.step():
            pass
        working.tick()
        grading_work.tick()
        while grading_work.step():
            pass
        grading_work.tick()


@pytest.fixture
def worker():
    """Works in a thread of its own until the test is over."""
    over = threading.Event()

    def loop():
        try:
            while not over.wait(0.05):
                work_to_the_end()
        finally:
            connections.close_all()

    thread = threading.Thread(target=loop)
    yield thread.start
    over.set()
    if thread.is_alive():
        thread.join()


def test_readiness_is_a_table(evenhand, intent):
    done = evenhand("check", intent())
    assert done.exit_code == 0, done.output
    said = done.stdout
    assert said.startswith("Ready\n")
    assert "Arm" in said and "fixture:tool" in said and "new variant over" in said
    assert "Nothing differs beyond the model." in said
    assert "8 of at most 1,000" in said
    assert "Expected cost  Unknown: no earlier answer" in said
    assert "Provider revision" in said and "Unknown" in said
    assert not Group.objects.exists()


def test_standard_input_and_json(evenhand, given):  # noqa: F811
    done = evenhand("check", "-", "--json", stdin=json.dumps(given))
    assert done.exit_code == 0
    found = json.loads(done.stdout)
    assert found["ready"] and found["invocations"] == 8 and len(found["sha256"]) == 64


def test_what_differs_beyond_the_model_is_named(evenhand, intent, given, access):  # noqa: F811
    other = factory.snapshot(access, factory.route("small", "fixture:tool"), "Other", instructions="Otherwise.")
    done = evenhand("check", intent(arms=[given["arms"][0], {"snapshot": str(other.pk)}]))
    assert "Differs beyond the model:\n  Instructions hash: A " in done.stdout


def test_a_blocked_check_exits_with_2_and_its_code(evenhand, intent, access):  # noqa: F811
    path = intent(primary=str(judge(access).pk))
    for command in ("check", "start"):
        done = evenhand(command, path)
        assert done.exit_code == 2
        assert "Not ready" in done.stdout and "[comparison_primary_invalid]" in done.stdout
    assert not Group.objects.exists()
    forced = evenhand("start", path, "--key", "a-key-of-mine")
    assert forced.exit_code == 2 and "[comparison_primary_invalid]" in forced.stderr


@pytest.mark.parametrize(
    ("text", "code"),
    [("[]", "cli_intent_invalid"), ('{"name": ', "import_json_invalid"), ('{"name": "x"}', "invalid_field")],
)
def test_what_is_no_intent_is_refused(evenhand, tmp_path, text, code):
    path = tmp_path / "broken.json"
    path.write_text(text)
    done = evenhand("check", path)
    assert done.exit_code == 2
    assert f"[{code}]" in done.stderr


def test_a_file_that_is_not_there_and_an_id_that_is_none(evenhand, tmp_path):
    assert "[import_not_a_file]" in evenhand("check", tmp_path / "none.json").stderr
    for command in ("status", "cancel"):
        done = evenhand(command, "../imports")
        assert (done.exit_code, "[cli_option_invalid]" in done.stderr) == (2, True)


def test_a_group_starts_once_under_its_key(evenhand, intent):
    first = evenhand("start", intent(), "--json")
    assert first.exit_code == 0, first.output
    key = first.stderr.partition("--key ")[2].split()[0]
    again = evenhand("start", intent(), "--key", key, "--json")
    assert again.exit_code == 0
    assert json.loads(again.stdout)["id"] == json.loads(first.stdout)["id"]
    other = evenhand("start", intent(name="Another"), "--key", key)
    assert (other.exit_code, "[request_key_conflict]" in other.stderr) == (2, True)
    assert Group.objects.count() == 1


def test_a_lost_answer_starts_no_second_group(evenhand, intent, monkeypatch):
    """The server does the work, and the answer is lost on the way; the key is on stderr before anything is sent."""
    real, seen = Api.__init__, []

    class Losing(httpx.HTTPTransport):
        def handle_request(self, request):
            answer = super().handle_request(request)
            if request.method == "POST":
                seen.append(request.headers["idempotency-key"])
                if len(seen) <= losses:
                    answer.read()
                    raise httpx.ReadError("lost")
            return answer

    monkeypatch.setattr(Api, "__init__", lambda self, server, token: real(self, server, token, Losing()))
    losses = 1
    assert evenhand("start", intent()).exit_code == 0
    assert len(seen) == 2 and len(set(seen)) == 1
    assert Group.objects.count() == 1
    seen.clear()
    losses = client.RETRIES
    lost = evenhand("start", intent(name="Lost for good"))
    assert (lost.exit_code, "[cli_server_unreachable]" in lost.stderr) == (2, True)
    assert f"--key {seen[0]}" in lost.stderr
    assert evenhand("start", intent(name="Lost for good"), "--key", seen[0]).exit_code == 0
    assert Group.objects.count() == 2


def test_waiting_follows_to_the_end(evenhand, intent, worker):
    worker()
    done = evenhand("start", intent(), "--wait")
    assert done.exit_code == 0, done.output
    assert "4/4" in done.stderr and "4/4 judged" in done.stderr
    assert "\x1b" not in done.stderr  # no terminal: plain lines
    assert done.stdout.count("completed") == 4
    assert "Unknown" in done.stdout or "USD" in done.stdout


def test_the_state_says_unknown_where_nothing_is_known(evenhand, intent):
    started = json.loads(evenhand("start", intent(), "--json").stdout)
    done = evenhand("status", started["id"])
    assert done.exit_code == 0
    rows = [line for line in done.stdout.splitlines() if " running " in line]
    assert len(rows) == 2
    assert all(row.endswith("Unknown") and "0/4" in row for row in rows)


def test_cancelling_asks_first(evenhand, intent):
    pk = json.loads(evenhand("start", intent(), "--json").stdout)["id"]
    done = evenhand("cancel", pk)
    assert (done.exit_code, "[cli_confirmation_needed]" in done.stderr) == (2, True)
    assert set(Group.objects.get().arm_set.values_list("experiment__state", flat=True)) == {State.RUNNING}
    done = evenhand("cancel", pk, "--yes")
    assert done.exit_code == 0, done.output
    work_to_the_end()
    watched = evenhand("status", pk, "--watch", "--json")
    assert watched.exit_code == 3  # what did not end graded is no pass
    assert {arm["state"] for arm in json.loads(watched.stdout)["states"]} == {"cancelled"}
    again = evenhand("cancel", pk, "--yes")
    assert (again.exit_code, "[experiment_not_running]" in again.stderr) == (2, True)


def test_a_person_who_says_no_cancels_nothing(evenhand, intent, monkeypatch):
    pk = json.loads(evenhand("start", intent(), "--json").stdout)["id"]
    monkeypatch.setattr("cli.groups._terminal", lambda: True)
    done = evenhand("cancel", pk, stdin="n\n")
    assert (done.exit_code, "[cli_not_confirmed]" in done.stderr) == (2, True)
    assert "Arms that run: 2" in done.stderr
    assert evenhand("cancel", pk, stdin="y\n").exit_code == 0


def test_a_paused_group_is_not_waited_for(evenhand, intent, cast):
    pk = json.loads(evenhand("start", intent(), "--json").stdout)["id"]
    team_actions.set_role(access=None, team=cast.team, user=cast.ben, role=team_actions.preset("Owner"), by=None)
    team_actions.set_role(access=None, team=cast.team, user=cast.ana, role=team_actions.preset("Viewer"), by=None)
    working.step()
    done = evenhand("status", pk, "--watch")
    assert done.exit_code == 3
    assert "paused (starter_unauthorized)" in done.stdout
    assert "Paused: nothing goes on" in done.stderr


def test_rights_and_teams(evenhand, intent, cast, token):
    reader = evenhand("check", intent(), as_=token(cast.ben))
    assert (reader.exit_code, "[missing_right]" in reader.stderr) == (2, True)
    pk = json.loads(evenhand("start", intent(), "--json").stdout)["id"]
    assert evenhand("status", pk, as_=token(cast.ben)).exit_code == 0
    stranger = team_actions.create_token(access=cast.access(cast.cleo, cast.other_team), name="cli", days=None)[1]
    for command in (("status", pk), ("cancel", pk, "--yes")):
        done = evenhand(*command, as_=stranger)
        assert (done.exit_code, "[not_found]" in done.stderr) == (2, True)
    missing = evenhand("status", uuid.uuid4())
    assert "[not_found]" in missing.stderr


def test_bars_are_drawn_on_a_terminal(evenhand, intent, worker, monkeypatch):
    monkeypatch.setattr(following, "_terminal", lambda: True)
    worker()
    done = evenhand("start", intent(), "--wait")
    assert done.exit_code == 0
    assert "A  " in done.stderr and "4/4" in done.stderr and "completed" in done.stderr
    assert Execution.objects.count() == 8


def test_an_answer_of_another_form_is_no_state(evenhand, monkeypatch):
    monkeypatch.setattr(Api, "group", lambda self, pk: {"other": 1})
    done = evenhand("status", uuid.uuid4())
    assert (done.exit_code, "[cli_answer_unknown]" in done.stderr) == (2, True)
