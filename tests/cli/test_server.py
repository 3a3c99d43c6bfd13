"""The command line as a client of the API: what it sends, what it makes of answers and of silence."""

from __future__ import annotations

import json

import httpx
import pytest
from typer.testing import CliRunner

from analysis.refusals import Refused
from cli import client
from cli.client import Api
from cli.main import app
from tests.cli.test_compare import LONG, arms  # noqa: F401


@pytest.fixture
def server(monkeypatch):
    """Answer every request with `answer(request)`; remember the requests."""
    seen: list[httpx.Request] = []

    def start(answer):
        def handle(request):
            request.read()
            seen.append(request)
            return answer(request)

        real = Api.__init__

        def made(self, server, token, transport=None):
            real(self, server, token, httpx.MockTransport(handle))

        monkeypatch.setattr(Api, "__init__", made)
        monkeypatch.setattr(client, "POLL_SECONDS", 0)
        return seen

    return start


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


ASK = ("--server", "http://127.0.0.1:1", "--token", "secret")


def test_comparing_on_a_server_gives_the_same_result_and_gate(server, arms):  # noqa: F811
    path = arms(a="1" * 40, b="10" * 20)
    local = run("compare", f"{path}#a", f"{path}#b", "--mapping", LONG, "--json")
    result = json.loads(local.stdout)
    verdict = result.pop("verdict")
    seen = server(lambda request: httpx.Response(200, json={"result": result, "verdict": verdict}))
    asked = run("compare", "base-id", "cand-id", "--metric", "score", "--fail-on", "regression", "--json", *ASK)
    assert asked.exit_code == 1
    assert json.loads(asked.stdout) == json.loads(local.stdout)
    [request] = seen
    assert request.url.path == "/api/v1/paired-comparison"
    assert dict(request.url.params) == {"candidate": "cand-id", "baseline": "base-id", "metric": "score"}
    assert request.headers["authorization"] == "Bearer secret"


def test_a_refusal_of_the_server_is_said_with_its_code(server):
    error = {"error": {"code": "selection_ambiguous", "message": "Choose a grader.", "place": "metric"}}
    server(lambda request: httpx.Response(422, json=error))
    done = run("compare", "a", "b", *ASK)
    assert done.exit_code == 2
    assert "metric: Choose a grader. [selection_ambiguous]" in done.stderr


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (httpx.Response(500, text="<html>"), "http_500"),
        (httpx.Response(302, headers={"location": "http://elsewhere/"}), "http_302"),
        (httpx.Response(200, json={"other": 1}), "cli_answer_unknown"),
        (httpx.Response(200, text='{"result": NaN}'), "http_200"),
    ],
)
def test_answers_that_are_none(server, answer, code):
    seen = server(lambda request: answer)
    done = run("compare", "a", "b", *ASK)
    assert done.exit_code == 2
    assert f"[{code}]" in done.stderr
    assert len(seen) == 1
    assert "secret" not in done.output


def test_silence_is_tried_three_times(server):
    def refuse(request):
        raise httpx.ConnectError("refused")

    seen = server(refuse)
    done = run("compare", "a", "b", *ASK)
    assert (done.exit_code, len(seen)) == (2, 3)
    done = run("compare", "a", "b", "--json", *ASK)
    assert json.loads(done.stdout)["error"]["code"] == "cli_server_unreachable"


def test_a_server_needs_an_address_and_a_token():
    for arguments, code in (
        (("ftp://x", "t"), "cli_server_invalid"),
        (("http://", "t"), "cli_server_invalid"),
        (("http://x", ""), "cli_token_missing"),
    ):
        with pytest.raises(Refused) as refused:
            Api(*arguments)
        assert refused.value.code == code


def test_an_import_is_posted_once_and_followed(server, arms):  # noqa: F811
    states = iter(["examining", "running", "completed"])

    def answer(request):
        if request.method == "POST":
            return httpx.Response(202, json={"id": "i1", "state": "examining"})
        return httpx.Response(200, json={"id": "i1", "state": next(states), "done": 1, "total": 2})

    seen = server(answer)
    done = run("import", arms(a="1"), "--dataset", "GPQA", "--mapping", LONG, *ASK)
    assert done.exit_code == 0
    assert "i1: completed" in done.stdout
    assert [request.url.path for request in seen] == ["/api/v1/imports", *["/api/v1/imports/i1"] * 3]
    body = seen[0].content.decode()
    for part in ('name="files"', "arms.csv", 'name="dataset"\r\n\r\nGPQA', 'name="dry_run"\r\n\r\nfalse', '"item_id"'):
        assert part in body
    assert len(seen[0].headers["idempotency-key"]) >= 8


def test_a_repeated_posting_keeps_its_key(server, arms):  # noqa: F811
    lost = iter([True, False])

    def answer(request):
        if request.method == "POST":
            if next(lost):
                raise httpx.ReadTimeout("lost")
            return httpx.Response(202, json={"id": "i1"})
        return httpx.Response(200, json={"id": "i1", "state": "ready"})

    seen = server(answer)
    done = run("import", arms(a="1"), "--dataset", "D", "--dry-run", *ASK)
    assert done.exit_code == 0
    keys = [request.headers["idempotency-key"] for request in seen if request.method == "POST"]
    assert len(keys) == 2
    assert len(set(keys)) == 1
    assert len({len(request.content) for request in seen if request.method == "POST"}) == 1


def test_a_refused_import_is_no_success(server, arms):  # noqa: F811
    refusal = {"code": "import_mapping_needed", "message": "This file needs a mapping.", "place": "a.csv"}
    state = {"id": "i1", "state": "refused", "refusal": refusal}
    server(lambda request: httpx.Response(200, json=state))
    done = run("import", arms(a="1"), "--dataset", "D", *ASK)
    assert done.exit_code == 2
    assert "Refused [import_mapping_needed]: This file needs a mapping. (a.csv)" in done.stdout
    assert "--mapping" in done.stdout


def test_an_import_that_waits_for_a_person_is_no_success(server, arms):  # noqa: F811
    server(lambda request: httpx.Response(200, json={"id": "i1", "state": "needs_mapping"}))
    assert run("import", arms(a="1"), "--dataset", "D", *ASK).exit_code == 2


@pytest.mark.parametrize(
    "server", ["http://[::1", "http://127.0.0.1:99999", "http://a:b", "nonsense", "ftp://x", "http://"]
)
def test_what_is_no_address_is_refused(server):
    result = run("compare", "a", "b", "--server", server, "--token", "secret")
    assert (result.exit_code, "cli_server_invalid" in result.stderr) == (2, True)


@pytest.mark.parametrize("token", ["é", "a\nb", "\ud800"])
def test_what_can_be_no_token_is_refused(token):
    result = run("compare", "a", "b", "--server", "http://127.0.0.1:1", "--token", token)
    assert (result.exit_code, "not_authenticated" in result.stderr) == (2, True)


def test_a_plan_comes_from_files_and_from_a_server_alike(server, arms):  # noqa: F811
    path = arms(a="1100" * 10, b="1010" * 10)
    local = run("compare", f"{path}#a", f"{path}#b", "--mapping", LONG, "--plan", "--difference", "0.1", "--json")
    result = json.loads(local.stdout)
    planned, verdict = result.pop("plan"), result.pop("verdict")
    assert (planned["code"], planned["plan"]["target"]) == ("planned", 0.1)

    def reply(request):
        body = {"answer": planned} if request.url.path.endswith("/plan") else {"result": result, "verdict": verdict}
        return httpx.Response(200, json=body)

    seen = server(reply)
    asked = run("compare", "base-id", "cand-id", "--plan", "--difference", "0.1", *ASK)
    assert asked.exit_code == 0
    assert "Plan\n" in asked.stdout
    assert f"{planned['plan']['options'][0]['cases']:,}" in asked.stdout
    assert "80 % power" in asked.stdout
    assert [request.url.path for request in seen] == [
        "/api/v1/paired-comparison",
        "/api/v1/paired-comparison/plan",
    ]
    assert seen[1].url.params["difference"] == "0.1"


def test_a_difference_without_a_plan_is_refused(arms):  # noqa: F811
    path = arms(a="1" * 20, b="1" * 20)
    done = run("compare", f"{path}#a", f"{path}#b", "--mapping", LONG, "--difference", "0.1")
    assert done.exit_code == 2
    assert "--plan" in done.stderr and "[cli_option_invalid]" in done.stderr
