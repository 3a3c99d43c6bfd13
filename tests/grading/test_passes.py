"""Passes at work: assertions, judges and validators over answers as they come, on a real database."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from django.db import Error
from django.utils import timezone

from analysis.observations import CostCoverage, Outcome
from grading import actions
from grading.actions import GradingPlan, Planned
from grading.engine import asserting, claiming, expecting, judging, working
from grading.engine.work import JUDGMENTS
from grading.models import (
    Enrichment,
    EnrichmentOutput,
    GraderConfig,
    GradingPass,
    Judgment,
    JudgmentAttempt,
    PassOrigin,
    Reasoning,
    ValidatorHost,
)
from runs import actions as run_actions
from runs.engine import finishing as run_finishing
from runs.engine import turns, wakes
from runs.engine import working as running
from runs.models import Experiment, State
from teams import actions as team_actions
from teams.refusals import Refusal
from tests.factories import agents as factory
from tests.provider.server import Provider

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    monkeypatch.setattr(wakes, "send", lambda count, task="": None)


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as server:
        yield server


class Validator(BaseHTTPRequestHandler):
    """A program that says whether an answer is long, and what it counted."""

    def do_POST(self) -> None:
        given = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(given)
        length = len(given["answer"])
        if given["answer"] == "fail":
            self.send_response(500)
            self.end_headers()
            return
        body = json.dumps({"ok": length > 3, "why": f"{length} characters", "found": {"length": length}}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *given: object) -> None:
        pass


@pytest.fixture
def validator() -> Iterator[HTTPServer]:
    server = HTTPServer(("127.0.0.1", 0), Validator)
    server.asked = []
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def work():
    """Everything that workers and ticks would do, until nothing is left."""

    def run() -> None:
        for _ in range(20):
            while running.step():
                pass
            working.tick()
            if not working.step():
                break
            while working.step():
                pass
        working.tick()

    return run


def experiment(access, bodies, *, by=None, route=None) -> Experiment:
    over = route or factory.route()
    snapshot = factory.snapshot(access, over)
    version = factory.version(access, bodies)
    return run_actions.launch(access=by or access, snapshot=snapshot, plan=run_actions.Plan(version))


CASES = [{"input": "yes", "expected": "yes"}, {"input": "no", "expected": "yes"}, {"input": "nobody says"}]


def assertion(access, metric, **more):
    check = {"operator": "equals", "source": "case", "pointer": "/expected"} | more
    return actions.create_grader(
        access=access, metric=metric, kind="assertion", name="Equals", config={"checks": [check]}
    )


def judge(access, metric, route, prompt="{{input}} / {{answer}}", **more):
    config = {"route": route.key, "prompt": prompt, "rubric": ""}
    return actions.create_grader(access=access, metric=metric, kind="judge", name="Judge", config=config, **more)


def validating(access, metric, server, **more):
    actions.list_host(host="127.0.0.1", note="", by=None)
    config = {
        "url": f"http://127.0.0.1:{server.server_port}/check",
        "sends": ["answer"],
        "value": "/ok",
        "reason": "/why",
        "enrichment": "/found",
    }
    return actions.create_grader(access=access, metric=metric, kind="validator", name="Length", config=config, **more)


def outcomes(grading_pass: GradingPass) -> list[tuple[int, float | None]]:
    rows = Judgment.objects.filter(grading_pass=grading_pass).order_by("execution__position", "version__grader__name")
    return list(rows.values_list("outcome", "value"))


def test_assertions_judge_what_is_there_and_cost_nothing_that_is_known(access, correct, work):
    version = assertion(access, correct)
    done = experiment(access, CASES)
    made = actions.regrade(access=access, experiment=done, plan=GradingPlan([Planned(version)]))
    work()
    made.refresh_from_db()
    assert made.state == State.COMPLETED
    assert outcomes(made) == [(Outcome.SCORED, 1.0), (Outcome.SCORED, 0.0), (Outcome.NOT_APPLICABLE, None)]
    assert set(Judgment.objects.values_list("cost_coverage", "cost_micros")) == {(CostCoverage.COMPLETE, 0)}
    column = made.seriescolumn_set.get()
    assert column.rows == 3
    assert not JudgmentAttempt.objects.exists()


def test_judgments_begin_while_the_experiment_still_runs(access, correct):
    version = assertion(access, correct)
    running_one = experiment(access, CASES)
    made = actions.regrade(access=access, experiment=running_one, plan=GradingPlan([Planned(version)]))
    running.step()
    working.tick()
    assert asserting.judge_some() == 1
    working.tick()
    made.refresh_from_db()
    assert made.state == State.RUNNING
    assert len(outcomes(made)) == 1


def test_a_judge_is_asked_once_and_its_cost_stands_apart(access, correct, provider, work):
    wire = factory.route("wire", "plain", kind="openai", base_url=provider.url, input_micros=0, output_micros=1_000_000)
    said = {"reasoning": "Because it is so.", "abstain": False, "value": True}
    provider.rule("yes / yes", f"structured:{json.dumps(said)}")
    provider.rule("no / no", f"structured:{json.dumps(said | {'value': None, 'abstain': True})}")
    provider.rule("nobody", "500")
    done = experiment(access, CASES)
    made = actions.regrade(access=access, experiment=done, plan=GradingPlan([Planned(judge(access, correct, wire))]))
    monkey = judging.Account
    work_quickly(monkey, work)
    assert [outcome for outcome, _ in outcomes(made)] == [Outcome.SCORED, Outcome.ABSTAINED, Outcome.GRADER_ERROR]
    first, _, third = Judgment.objects.order_by("execution__position")
    assert first.cost_coverage == CostCoverage.COMPLETE and first.cost_basis == "price table"
    assert Reasoning.objects.get(judgment=first).text == "Because it is so."
    assert third.error_code == "provider_server_error" and third.cost_coverage == CostCoverage.NONE
    assert JudgmentAttempt.objects.filter(judgment=third).count() == 3
    assert JudgmentAttempt.objects.filter(judgment=first).count() == 1
    made.refresh_from_db()
    assert made.state == State.COMPLETED


def work_quickly(account, work) -> None:
    """Without the pauses between attempts."""
    real = account.__init__

    def init(self, *given, **more) -> None:
        real(self, *given, **more)
        self.pause = lambda seconds: None

    account.__init__ = init
    try:
        work()
    finally:
        account.__init__ = real


def test_an_answer_in_another_form_is_asked_for_again_as_another_attempt(access, correct, provider, work):
    wire = factory.route("wire", "plain", kind="openai", base_url=provider.url)
    good = json.dumps({"reasoning": "", "abstain": False, "value": False})
    provider.rule("yes / yes", f"structured:{{}},structured:{good}")
    done = experiment(access, CASES[:1])
    made = actions.regrade(access=access, experiment=done, plan=GradingPlan([Planned(judge(access, correct, wire))]))
    work_quickly(judging.Account, work)
    assert outcomes(made) == [(Outcome.SCORED, 0.0)]
    assert list(JudgmentAttempt.objects.order_by("number").values_list("state", "failure_code")) == [
        ("failed", "output_invalid"),
        ("settled", ""),
    ]
    assert len(provider.calls) == 2


def test_a_validator_is_asked_at_a_listed_host_and_its_fee_is_kept(access, correct, validator, work):
    """Q3: zero is a known fee, and none is unknown."""
    free = validating(access, correct, validator, fee_micros=0, fee_currency="EUR")
    done = experiment(access, [{"input": "long enough"}, {"input": "no"}])
    made = actions.regrade(access=access, experiment=done, plan=GradingPlan([Planned(free)]))
    work()
    assert outcomes(made) == [(Outcome.SCORED, 1.0), (Outcome.SCORED, 0.0)]
    assert set(Judgment.objects.values_list("cost_coverage", "cost_basis", "currency")) == {(2, "fee", "EUR")}
    assert Reasoning.objects.order_by("judgment")[0].text == "11 characters"
    actions.set_host_listed(row=ValidatorHost.objects.get(), listed=False, by=None)
    again = actions.regrade(access=access, experiment=done, plan=GradingPlan([Planned(free)]))
    work()
    assert {outcome for outcome, _ in outcomes(again)} == {Outcome.GRADER_ERROR}
    assert set(Judgment.objects.filter(grading_pass=again).values_list("error_code", flat=True)) == {
        "address_forbidden"
    }
    assert len(validator.asked) == 2


def test_judges_wait_for_what_a_validator_finds_which_is_asked_once(access, correct, provider, validator, work):
    wire = factory.route("wire", "plain", kind="openai", base_url=provider.url)
    good = json.dumps({"reasoning": "", "abstain": False, "value": True})
    provider.rule("length", f"structured:{good}")
    enrichment = validating(access, correct, validator)
    looks = judge(access, correct, wire, "{{answer}}: {{enrichment}}", evidence=["enrichment"])
    done = experiment(access, [{"input": "long enough"}, {"input": "fail"}])
    plan = GradingPlan([Planned(looks, "enrichment")], enrichment)
    made = actions.regrade(access=access, experiment=done, plan=plan)
    while running.step():
        pass
    expecting.expect()
    assert {outcome for outcome, _ in outcomes(made)} == {Outcome.WAITING_FOR_EVIDENCE}
    work_quickly(judging.Account, work)
    assert [outcome for outcome, _ in outcomes(made)] == [Outcome.SCORED, Outcome.GRADER_ERROR]
    assert EnrichmentOutput.objects.get().body == {"length": 11}
    assert Judgment.objects.get(outcome=Outcome.GRADER_ERROR).error_code == "enrichment_failed"
    assert "length" in provider.calls[0].body["messages"][-1]["content"]
    again = actions.regrade(access=access, experiment=done, plan=plan)
    work_quickly(judging.Account, work)
    again.refresh_from_db()
    assert again.state == State.COMPLETED
    assert Enrichment.objects.count() == 2
    assert sum(one["answer"] == "long enough" for one in validator.asked) == 1


def test_P8_only_original_passes_ask_for_every_right_of_launching(cast, access, correct, work):
    version = assertion(access, correct)
    omar = cast.access(cast.omar)
    made = experiment(access, CASES, by=omar)
    plan = GradingPlan([Planned(version)])
    regraded = actions.regrade(access=omar, experiment=made, plan=plan)
    original = actions.open_planned_pass(access=omar, experiment=made, plan=plan, origin=PassOrigin.ORIGINAL)
    while running.step():
        pass
    grader = team_actions.create_role(
        access=access, name="Grader", rights=["evaluation.read", "evaluation.execute", "evaluation.content.read"]
    )
    team_actions.set_role(access=None, team=cast.team, user=cast.omar, role=grader, by=None)
    work()
    original.refresh_from_db()
    regraded.refresh_from_db()
    assert (original.state, original.pause_code) == (State.RUNNING, "grading_creator_unauthorized")
    assert regraded.state == State.COMPLETED
    with pytest.raises(Refusal, match="grading_creator_unauthorized"):
        actions.resume_pass(access=access, grading_pass=original)
    analyst = team_actions.preset("Analyst")
    team_actions.set_role(access=None, team=cast.team, user=cast.omar, role=analyst, by=None)
    actions.resume_pass(access=access, grading_pass=original)
    work()
    original.refresh_from_db()
    assert original.state == State.COMPLETED


def test_a_lost_worker_leaves_an_indeterminate_judgment_that_is_not_asked_again(access, correct, provider, work):
    """S4, for judgments: a call had left."""
    wire = factory.route(
        "wire", "plain", kind="openai", base_url=provider.url, input_micros=1_000_000, output_micros=1_000_000
    )
    provider.rule("yes / yes", "hold")
    done = experiment(access, CASES[:1])
    actions.regrade(access=access, experiment=done, plan=GradingPlan([Planned(judge(access, correct, wire))]))
    while running.step():
        pass
    working.tick()
    claim = claiming.claim_next()

    def judge_it() -> None:
        from django.db import connections

        try:
            judging.work_on(claim)
        finally:
            connections.close_all()

    thread = threading.Thread(target=judge_it)
    thread.start()
    provider.wait_held(1)
    Judgment.objects.update(lease_until="2020-01-01T00:00:00Z")
    assert run_finishing.sweep(JUDGMENTS) == 1
    provider.release()
    thread.join()
    row = Judgment.objects.get()
    assert (row.outcome, row.value, row.error_code) == (Outcome.INDETERMINATE, None, "invocation_indeterminate")
    late = JudgmentAttempt.objects.get()
    assert late.state == "settled_late" and late.cost_coverage == CostCoverage.COMPLETE
    assert (row.cost_micros, row.cost_coverage) == (late.cost_micros, CostCoverage.COMPLETE)
    assert Experiment.objects.get().late_costs == 1
    work()
    assert len(provider.calls) == 1
    assert GradingPass.objects.get().state == State.COMPLETED


def test_what_was_under_way_when_a_pass_was_cancelled_keeps_its_cost(access, correct, provider, work):
    """A first answer in another form was paid for; the second is under way, and settles late."""
    prices = {"input_micros": 1_000_000, "output_micros": 1_000_000}
    wire = factory.route("wire", "plain", kind="openai", base_url=provider.url, **prices)
    provider.rule("yes / yes", "ok,hold")
    done = experiment(access, CASES[:1])
    made = actions.regrade(access=access, experiment=done, plan=GradingPlan([Planned(judge(access, correct, wire))]))
    while running.step():
        pass
    working.tick()
    claim = claiming.claim_next()

    def judge_it() -> None:
        from django.db import connections

        try:
            judging.work_on(claim)
        finally:
            connections.close_all()

    thread = threading.Thread(target=judge_it)
    thread.start()
    provider.wait_held(1)
    actions.cancel_pass(access=access, grading_pass=made)
    first, second = JudgmentAttempt.objects.order_by("number")
    row = Judgment.objects.get()
    assert (first.state, second.state) == ("failed", "indeterminate")
    assert row.cost_micros == first.cost_micros > 0 and row.cost_coverage == CostCoverage.PARTIAL
    provider.release()
    thread.join()
    second.refresh_from_db()
    row.refresh_from_db()
    assert (second.state, row.outcome) == ("settled_late", Outcome.CANCELLED)
    assert row.cost_micros == first.cost_micros + second.cost_micros > first.cost_micros
    assert row.cost_coverage == CostCoverage.COMPLETE


@pytest.mark.parametrize("column", ["value", "category", "outcome", "epoch", "error_code", "settled_at", "lease_until"])
def test_of_a_settled_judgment_only_the_cost_may_change(access, correct, work, column):
    version = assertion(access, correct)
    actions.regrade(access=access, experiment=experiment(access, CASES[:1]), plan=GradingPlan([Planned(version)]))
    work()
    row = Judgment.objects.get()
    given = {"category": "x", "error_code": "x"}.get(column, None if column in ("value", "settled_at") else 7)
    given = timezone.now() if column == "lease_until" else given
    with pytest.raises(Error, match="Cannot update"):
        Judgment.objects.filter(pk=row.pk).update(**{column: given})
    Judgment.objects.filter(pk=row.pk).update(cost_micros=5)


def test_a_lost_worker_without_a_call_leaves_the_judgment_to_the_next(access, correct, provider, work):
    wire = factory.route("wire", "plain", kind="openai", base_url=provider.url)
    good = json.dumps({"reasoning": "", "abstain": False, "value": True})
    provider.rule("yes / yes", f"structured:{good}")
    done = experiment(access, CASES[:1])
    made = actions.regrade(access=access, experiment=done, plan=GradingPlan([Planned(judge(access, correct, wire))]))
    while running.step():
        pass
    working.tick()
    assert claiming.claim_next() is not None and claiming.claim_next() is None
    Judgment.objects.update(lease_until="2020-01-01T00:00:00Z")
    work()
    assert outcomes(made) == [(Outcome.SCORED, 1.0)]


def test_a_cancelled_experiment_cancels_what_was_not_judged(cast, access, correct, work):
    version = assertion(access, correct)
    row = experiment(access, CASES)
    made = actions.regrade(access=access, experiment=row, plan=GradingPlan([Planned(version)]))
    running.step()
    working.tick()
    run_actions.cancel(access=access, experiment=row)
    working.tick()
    made.refresh_from_db()
    assert made.state == State.CANCELLED
    assert outcomes(made) == [(Outcome.CANCELLED, None)]


def test_a_plan_is_refused_whole_and_nothing_is_swapped(cast, access, correct, validator):
    version = assertion(access, correct)
    done = experiment(access, CASES)

    def refused(code: str, plan: GradingPlan) -> None:
        with pytest.raises(Refusal) as found:
            actions.regrade(access=access, experiment=done, plan=plan)
        assert found.value.code == code

    refused("plan_empty", GradingPlan([]))
    refused("plan_grader_unusable", GradingPlan([Planned(version), Planned(version)]))
    refused("plan_evidence_unfit", GradingPlan([Planned(version, "enrichment")]))
    refused("plan_evidence_unfit", GradingPlan([Planned(version)], version))
    looks = judge(access, correct, factory.route(), "{{enrichment}}", evidence=["enrichment"])
    refused("plan_evidence_unfit", GradingPlan([Planned(looks, "enrichment")]))
    GraderConfig.objects.filter(version=version).update(availability="redacted", body=None)
    refused("plan_grader_unusable", GradingPlan([Planned(version)]))
    assert not GradingPass.objects.exists()
    other = actions.create_metric(
        access=access, key="other", name="Other", kind="boolean", direction="higher_is_better"
    )
    plan = GradingPlan([Planned(assertion(access, other))])
    made = actions.regrade(access=access, experiment=done, plan=plan)
    actions.cancel_pass(access=access, grading_pass=made)
    with pytest.raises(Refusal, match="pass_not_running"):
        actions.cancel_pass(access=access, grading_pass=made)


def test_the_calls_of_a_plan_are_counted_with_their_allowance(access, correct, validator):
    """R6: five for each judgment that calls something; assertions add nothing; a free validator counts."""
    check = Planned(assertion(access, correct))
    free = validating(access, correct, validator, fee_micros=0, fee_currency="EUR")
    asks = Planned(judge(access, correct, factory.route()))
    assert GradingPlan([check]).invocations(100) == 0
    assert GradingPlan([check, asks]).invocations(100) == 500
    assert GradingPlan([asks, Planned(free)], free).invocations(10) == 150


def test_a_person_grades_answers_and_a_program_too(cast, access, correct, work, page_client, api_client):
    version = assertion(access, correct)
    done = experiment(access, CASES)
    while running.step():
        pass
    omar, address = page_client(cast.omar), f"/t/support/graders/of/{done.pk}/grade"
    page = omar.get(address)
    assert "Equals version 1 (Correct): assertion" in page.content.decode()
    assert omar.post(address, {"key": "grade-by-page"}).status_code == 422
    form = {"graders": [f"{version.pk}:generation"], "key": "grade-by-page", "name": "first"}
    assert omar.post(address, form).status_code == omar.post(address, form).status_code == 302
    assert GradingPass.objects.count() == 1
    working.tick()
    where = f"/t/support/experiments/{done.pk}/"
    assert "Pass 1 is grading" in omar.get(where).content.decode()
    work()
    part = omar.get(f"/t/support/graders/of/{done.pk}/passes").content.decode()
    assert 'data-terminal="true"' in part and "1/2" in part
    program = api_client(cast.omar, cast.team)

    def post(address: str, body: dict, key: str):
        return program.post(
            f"/api/v1/{address}", json.dumps(body), content_type="application/json", headers={"Idempotency-Key": key}
        )

    made = post(f"experiments/{done.pk}/passes", {"graders": [{"version": str(version.pk)}]}, "grade-by-api")
    assert (made.status_code, made.json()["number"], made.json()["origin"]) == (201, 2, "regrade")
    cancelled = post(f"experiments/{done.pk}/passes/2/steps", {"step": "cancel"}, "cancel-by-api")
    assert cancelled.json()["state"] == "cancelled"
    listed = program.get(f"/api/v1/experiments/{done.pk}/passes").json()
    assert [one["state"] for one in listed["items"]] == ["completed", "cancelled"]
    assert page_client(cast.ben).get(address).status_code == 403


def test_judges_obey_the_limits_of_their_model_route_and_count_for_everybody_else(access, correct, provider, work):
    """Two calls a minute, whoever makes them: the third judgment waits, and so does an experiment over the route."""
    wire = factory.route("wire", "plain", kind="openai", base_url=provider.url)
    wire.most_per_minute = 2
    wire.save()
    said = {"reasoning": "Because it is so.", "abstain": False, "value": True}
    provider.rule("/", f"structured:{json.dumps(said)}")
    done = experiment(access, CASES)
    made = actions.regrade(access=access, experiment=done, plan=GradingPlan([Planned(judge(access, correct, wire))]))
    work()
    assert sorted(outcome for outcome, _ in outcomes(made)) == [Outcome.PENDING, Outcome.SCORED, Outcome.SCORED]
    assert len(provider.calls) == 2 and not working.step()
    snapshot = factory.snapshot(access, wire, "Another")
    plan = run_actions.Plan(done.version)
    other = run_actions.launch(access=access, snapshot=snapshot, plan=plan)
    assert not running.step() and turns.claim_next() is None
    wire.most_per_minute = None
    wire.most_at_once = 1
    wire.save()
    assert turns.claim_next().experiment == other.pk
    assert not working.step()  # an item under way takes the only place
