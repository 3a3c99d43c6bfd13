"""The engine on a real database: what is claimed, asked, settled, and what lost workers leave."""

from __future__ import annotations

import threading

import pytest
from django.db import connection, connections

from analysis.observations import CostCoverage, FailureKind, Generation
from runs import actions
from runs.engine import finishing, quantum, turns, working
from runs.models import Answer, Attempt, AttemptState, Deployment, Execution, Experiment, Span, State, Turn
from teams.refusals import Refusal
from tests.factories import agents as factory

pytestmark = pytest.mark.django_db(transaction=True)


def states(experiment: Experiment) -> list[int]:
    rows = Execution.objects.filter(experiment=experiment, superseded=False).order_by("position")
    return list(rows.values_list("state", flat=True))


def expire(execution: Execution | None = None) -> None:
    rows = Execution.objects.filter(state=Generation.RUNNING)
    if execution is not None:
        rows = rows.filter(pk=execution.pk)
    rows.update(lease_until="2020-01-01T00:00:00Z")


def test_an_experiment_is_done_from_launch_to_frozen_columns(launched, work):
    experiment = launched(cases=3, repetitions=2)
    assert (experiment.planned, experiment.state) == (6, State.RUNNING)
    assert work() == 6
    experiment.refresh_from_db()
    assert experiment.state == State.COMPLETED
    assert experiment.armcolumns.rows == 6
    assert states(experiment) == [Generation.COMPLETED] * 6
    first = Execution.objects.get(experiment=experiment, position=0)
    assert Answer.objects.get(execution=first).text == "question 0"
    turn = Turn.objects.get(execution=first)
    assert (turn.asked, turn.answered) == ("question 0", "question 0")
    attempt = Attempt.objects.get(execution=first)
    assert (attempt.state, attempt.number, attempt.epoch) == (AttemptState.SETTLED, 1, 1)
    assert attempt.admitted_at < attempt.settled_at
    assert experiment.batch.state == State.COMPLETED


def test_what_a_call_cost_comes_from_the_prices_of_its_route(launched, work):
    priced = factory.route("priced", input_micros=2_000_000, cached_input_micros=0, output_micros=8_000_000)
    experiment = launched(route=priced, cases=1)
    work()
    row = Execution.objects.get(experiment=experiment)
    attempt = Attempt.objects.get(execution=row)
    expected = round((attempt.input_tokens * 2_000_000 + attempt.output_tokens * 8_000_000) / 1_000_000)
    assert (row.cost_micros, row.cost_coverage, row.cost_basis) == (expected, CostCoverage.COMPLETE, "price table")
    assert attempt.price_revision == priced.active
    unknown = launched(name="Other", cases=1)
    work()
    row = Execution.objects.get(experiment=unknown)
    assert (row.cost_micros, row.cost_coverage, row.cost_basis, row.currency) == (0, CostCoverage.NONE, "", "")


def test_every_turn_of_a_conversation_is_asked_and_scripted_answers_are_history(launched, work):
    talk = [
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "written"},
        {"role": "user", "content": "two"},
        {"role": "user", "content": "three"},
    ]
    experiment = launched(cases=[{"turns": talk}])
    assert work() == 1
    row = Execution.objects.get(experiment=experiment)
    assert list(Turn.objects.filter(execution=row).order_by("index").values_list("asked", "answered")) == [
        ("two", "two"),
        ("three", "three"),
    ]
    assert list(Attempt.objects.filter(execution=row).values_list("number", "turn")) == [(1, 0), (2, 1)]
    assert Answer.objects.get(execution=row).text == "three"


def test_a_failure_keeps_its_code_and_nothing_of_what_the_provider_wrote(launched, work):
    experiment = launched(model_id="fixture:fail/provider_timed_out", cases=1)
    work()
    row = Execution.objects.get(experiment=experiment)
    assert (row.state, row.failure_kind, row.error_code) == (
        Generation.FAILED,
        FailureKind.TIMED_OUT,
        "provider_timed_out",
    )
    experiment.refresh_from_db()
    assert experiment.state == State.COMPLETED  # its work is done; that it failed stays apart


def test_a_refused_call_is_tried_again_as_an_attempt_of_its_own(launched, work, monkeypatch):
    slept = []
    monkeypatch.setattr(quantum, "Account", lambda *given: quantum.ledger.Account(*given, pause=slept.append))
    experiment = launched(model_id="fixture:fail/provider_server_error", cases=1)
    work()
    row = Execution.objects.get(experiment=experiment)
    assert list(Attempt.objects.filter(execution=row).order_by("number").values_list("number", "state")) == [
        (1, "failed"),
        (2, "failed"),
        (3, "failed"),
    ]
    assert slept == [1.0, 2.0]
    assert row.error_code == "provider_server_error"


def test_a_call_of_unknown_end_is_not_tried_again(launched, work):
    experiment = launched(model_id="fixture:fail/provider_cut_off", cases=1)
    work()
    assert Attempt.objects.filter(execution__experiment=experiment).count() == 1


def test_a_tool_that_is_called_is_evidence_and_ends_the_turn(launched, work):
    tool = {"name": "find", "description": "", "parameters": {"type": "object"}}
    experiment = launched(model_id="fixture:tool", cases=1, tool_policy="record", definition={"tools": [tool]})
    work()
    row = Execution.objects.get(experiment=experiment)
    span = Span.objects.get(attempt__execution=row)
    assert span.spancontent.body == {"name": "find", "arguments": {"asked": "question 0"}}
    assert Answer.objects.get(execution=row).structured == {
        "tool_calls": [{"name": "find", "arguments": {"asked": "question 0"}}]
    }
    without = launched(model_id="fixture:tool", cases=1, name="Bare", definition={"tools": [tool]})
    work()
    assert not Span.objects.filter(attempt__execution__experiment=without).exists()


def test_S1_batches_take_turns_and_arms_rotate(launched):
    long, short = launched(cases=4, name="Long"), launched(cases=2, name="Short")
    order = []
    while (taken := turns.claim_next()) is not None:
        order.append(taken.experiment)
        quantum.work_on(taken)
    assert order == [long.pk, short.pk, long.pk, short.pk, long.pk, long.pk]


def test_at_most_so_many_items_of_a_batch_are_under_way(launched):
    experiment = launched(cases=6)
    assert sum(turns.claim_next() is not None for _ in range(6)) == experiment.batch.parallel == 4
    assert turns.claimable() == 0


def test_a_route_takes_no_more_at_once_than_operators_say(launched):
    narrow = factory.route("narrow")
    narrow.most_at_once = 1
    narrow.save()
    launched(route=narrow, cases=3)
    assert turns.claim_next() is not None
    assert turns.claim_next() is None
    other = launched(name="Other", cases=1)
    assert turns.claim_next().experiment == other.pk


def test_a_route_takes_no_more_per_minute_than_operators_say(launched, work):
    slow = factory.route("slow")
    slow.most_per_minute = 2
    slow.save()
    experiment = launched(route=slow, cases=5)
    assert work() == 2
    Attempt.objects.filter(state="admitted").update(state="settled")
    assert states(experiment).count(Generation.COMPLETED) == 2


def test_F26_two_workers_never_hold_one_claim(launched):
    launched(cases=30)
    got, lock = [], threading.Lock()
    start = threading.Barrier(4)

    def worker() -> None:
        try:
            start.wait()
            for _ in range(12):
                taken = turns.claim_next()
                if taken is None:
                    continue
                with lock:
                    got.append(taken.claim.id)
                quantum.work_on(taken)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=worker) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == len(set(got)) == 30
    assert not Execution.objects.exclude(state=Generation.COMPLETED).exists()


def test_S4_a_lost_worker_with_a_call_under_way_leaves_an_indeterminate_item(launched, work):
    experiment = launched(cases=2)
    taken = turns.claim_next()
    Attempt.objects.create(
        execution_id=taken.claim.id, number=1, epoch=1, state="admitted", admitted_at="2026-01-01T00:00:00Z"
    )
    expire()
    assert finishing.sweep() == 1
    row = Execution.objects.get(pk=taken.claim.id)
    assert (row.state, row.error_code) == (Generation.INDETERMINATE, "invocation_indeterminate")
    assert row.cost_coverage == CostCoverage.NONE  # nobody knows what it cost, and that is not nothing
    attempt = Attempt.objects.get(execution=row)
    assert (attempt.state, attempt.failure_code) == ("indeterminate", "invocation_indeterminate")
    work()
    assert states(experiment) == [Generation.INDETERMINATE, Generation.COMPLETED]
    assert Attempt.objects.filter(execution=row).count() == 1  # never replayed
    experiment.refresh_from_db()
    assert experiment.state == State.COMPLETED


def test_S7_a_lost_worker_without_a_call_leaves_the_item_to_the_next(launched, work):
    experiment = launched(cases=1)
    turns.claim_next()
    expire()
    assert finishing.sweep() == 1
    assert states(experiment) == [Generation.PLANNED]
    assert work() == 1
    assert Execution.objects.get(experiment=experiment).epoch == 2


def test_completed_turns_are_not_asked_again(launched, provider, work):
    """S2: the worker is lost between two turns; the next one goes on with the second."""
    wire = factory.route("wire", "plain", kind="openai", base_url=provider.url)
    turns_ = [{"role": "user", "content": "first"}, {"role": "user", "content": "second"}]
    experiment = launched(route=wire, cases=[{"turns": turns_}])
    taken = turns.claim_next()
    item = quantum.Item(taken)
    go_on, asked = item._may_go_on, []

    def die_before_the_second() -> None:
        asked.append(1)
        if len(asked) == 3:  # before the input, before the first call, before the second
            raise SystemExit
        go_on()

    item._may_go_on = die_before_the_second
    with pytest.raises(SystemExit):
        item.run()
    assert [call.body["messages"][-1]["content"] for call in provider.calls] == ["first"]
    expire()
    finishing.sweep()
    work()
    said = [[one["content"] for one in call.body["messages"] if one["role"] != "system"] for call in provider.calls]
    assert said == [["first"], ["first", "echo: first", "second"]]
    assert states(experiment) == [Generation.COMPLETED]


def test_I5_a_stale_epoch_writes_nothing_and_its_late_answer_is_kept(launched, provider):
    """F10: a pause longer than the lease. The item is indeterminate; what comes back late stays with its attempt."""
    wire = factory.route("wire", "plain", kind="openai", base_url=provider.url, output_micros=1_000_000, input_micros=0)
    provider.rule("question", "hold")
    launched(route=wire, cases=1)
    taken = turns.claim_next()

    def worker() -> None:
        try:
            quantum.work_on(taken)
        finally:
            connections.close_all()

    thread = threading.Thread(target=worker)
    thread.start()
    provider.wait_held(1, 30)
    expire()
    assert finishing.sweep() == 1
    provider.release()
    thread.join()
    row = Execution.objects.get(pk=taken.claim.id)
    assert (row.state, row.error_code) == (Generation.INDETERMINATE, "invocation_indeterminate")
    assert not Answer.objects.filter(execution=row).exists()
    attempt = Attempt.objects.get(execution=row)
    assert attempt.state == AttemptState.SETTLED_LATE
    assert attempt.cost_coverage == CostCoverage.COMPLETE and attempt.cost_micros > 0
    assert Turn.objects.get(execution=row).answered.startswith("echo")


def test_a_lease_that_ran_out_with_nobody_looking_still_writes_no_end(launched, work, monkeypatch):
    """The last turn came back and was kept; the next worker writes the end without asking again."""
    experiment = launched(cases=1)
    taken = turns.claim_next()
    real = quantum.Account.close

    def late(account, *given, **more) -> None:
        expire()
        real(account, *given, **more)

    monkeypatch.setattr(quantum.Account, "close", late)
    quantum.work_on(taken)
    monkeypatch.setattr(quantum.Account, "close", real)
    assert states(experiment) == [Generation.RUNNING]
    finishing.sweep()
    work()
    assert states(experiment) == [Generation.COMPLETED]
    assert Attempt.objects.filter(execution__experiment=experiment).count() == 1


def test_P3_whoever_lost_a_right_has_nothing_new_begun(launched, cast, work):
    from teams import actions as team_actions

    experiment = launched(cast.omar, cases=2)
    work(1)
    viewer = team_actions.preset("Viewer")
    team_actions.set_role(access=None, team=cast.team, user=cast.omar, role=viewer, by=None)
    assert work() == 0
    experiment.refresh_from_db()
    assert experiment.pause_code == "starter_unauthorized"
    assert states(experiment) == [Generation.COMPLETED, Generation.PLANNED]
    with pytest.raises(Refusal, match="starter_unauthorized"):
        actions.resume(access=cast.access(cast.ana), experiment=experiment)
    analyst = team_actions.preset("Analyst")
    team_actions.set_role(access=None, team=cast.team, user=cast.omar, role=analyst, by=None)
    actions.resume(access=cast.access(cast.ana), experiment=experiment)
    work()
    assert states(experiment) == [Generation.COMPLETED] * 2


@pytest.mark.parametrize(("after", "kept"), [(1, 1), (2, 2)])
def test_P4_a_refused_later_turn_fails_the_item_and_keeps_what_was_said(launched, cast, provider, after, kept):
    from teams import actions as team_actions

    wire = factory.route("wire", "plain", kind="openai", base_url=provider.url)
    said = [{"role": "user", "content": f"turn {at}"} for at in range(3)]
    provider.rule(f"turn {after - 1}", "hold")
    experiment = launched(cast.omar, route=wire, cases=[{"turns": said}])
    taken = turns.claim_next()

    def worker() -> None:
        try:
            quantum.work_on(taken)
        finally:
            connections.close_all()

    thread = threading.Thread(target=worker)
    thread.start()
    provider.wait_held(1, 30)
    viewer = team_actions.preset("Viewer")
    team_actions.set_role(access=None, team=cast.team, user=cast.omar, role=viewer, by=None)
    provider.release()
    thread.join()
    row = Execution.objects.get(experiment=experiment)
    assert (row.state, row.failure_kind, row.error_code) == (
        Generation.FAILED,
        FailureKind.RIGHTS_LOST,
        "starter_unauthorized",
    )
    assert Turn.objects.filter(execution=row).count() == kept
    assert set(Attempt.objects.filter(execution=row).values_list("state", flat=True)) == {"settled"}
    assert len(provider.calls) == kept


def test_P6_a_call_that_left_settles_after_a_cancel(launched, cast, provider):
    wire = factory.route("wire", "plain", kind="openai", base_url=provider.url)
    provider.rule("question", "hold")
    experiment = launched(route=wire, cases=3)
    taken = turns.claim_next()

    def worker() -> None:
        try:
            quantum.work_on(taken)
            finishing.finish(taken.experiment)
        finally:
            connections.close_all()

    thread = threading.Thread(target=worker)
    thread.start()
    provider.wait_held(1, 30)
    actions.cancel(access=cast.access(cast.ana), experiment=experiment)
    assert states(experiment) == [Generation.RUNNING, Generation.CANCELLED, Generation.CANCELLED]
    provider.release()
    thread.join()
    assert states(experiment) == [Generation.COMPLETED, Generation.CANCELLED, Generation.CANCELLED]
    experiment.refresh_from_db()
    assert experiment.state == State.CANCELLED
    assert Answer.objects.filter(execution__experiment=experiment).count() == 1


def test_a_pause_lets_what_is_under_way_end_and_begins_nothing(launched, cast, work):
    experiment = launched(cases=3)
    work(1)
    actions.pause(access=cast.access(cast.ana), experiment=experiment)
    assert work() == 0
    actions.resume(access=cast.access(cast.ana), experiment=experiment)
    assert work() == 2


def test_S2_one_provisioning_per_arm(launched, work):
    experiment = launched(cases=3)
    work(1)
    first = Deployment.objects.get(experiment=experiment)
    work()
    deployment = Deployment.objects.get(experiment=experiment)
    assert deployment.provisioned_at == first.provisioned_at
    assert first.ended_at is None and deployment.ended_at is not None


def test_S6_an_explicit_retry_takes_the_place_of_what_failed(launched, cast, work):
    experiment = launched(model_id="fixture:fail/provider_timed_out", cases=2)
    work()
    experiment.refresh_from_db()
    sha = experiment.manifest_sha256
    old = Execution.objects.get(experiment=experiment, position=0)
    made = actions.retry(access=cast.access(cast.ana), execution=old)
    experiment.refresh_from_db()
    assert (experiment.state, experiment.manifest_sha256) == (State.RUNNING, sha)
    work()
    old.refresh_from_db()
    made.refresh_from_db()
    assert old.superseded and old.state == Generation.FAILED and made.retry_of == old
    assert made.state == Generation.FAILED
    experiment.refresh_from_db()
    assert experiment.state == State.COMPLETED and experiment.armcolumns.rows == 2
    with pytest.raises(Refusal, match="retry_not_possible"):
        actions.retry(access=cast.access(cast.ana), execution=old)


def test_no_transaction_is_open_while_the_outside_is_called(launched, provider):
    """S8: seen from the database itself."""
    wire = factory.route("wire", "plain", kind="openai", base_url=provider.url)
    provider.rule("question", "hold")
    launched(route=wire, cases=1)
    taken = turns.claim_next()

    def worker() -> None:
        try:
            quantum.work_on(taken)
        finally:
            connections.close_all()

    thread = threading.Thread(target=worker)
    thread.start()
    provider.wait_held(1, 30)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
            "AND state LIKE 'idle in transaction%%' AND pid <> pg_backend_pid()"
        )
        assert cursor.fetchone() == (0,)
    provider.release()
    thread.join()


def test_a_case_whose_content_is_gone_is_blocked_by_itself(launched, work):
    from datasets.models import ItemContent

    experiment = launched(cases=2)
    gone = Execution.objects.get(experiment=experiment, position=0).revision_id
    ItemContent.objects.filter(revision=gone).update(
        availability="deleted", body=None, source_id=None, title=None, tags=None, metadata=None, group_name=None
    )
    work()
    assert states(experiment) == [Generation.BLOCKED, Generation.COMPLETED]


def test_a_route_that_operators_turned_off_pauses_the_arm(launched, work):
    from agents import actions as agent_actions

    experiment = launched(cases=2)
    agent_actions.deactivate_route(route=experiment.route_revision.route, by=None)
    work(3)
    experiment.refresh_from_db()
    assert experiment.pause_code == "route_inactive"
    assert states(experiment) == [Generation.PLANNED] * 2


def test_the_tick_ends_what_a_lost_worker_finished_and_wakes_the_rest(launched, monkeypatch):
    sent = []
    experiment = launched(cases=1)
    taken = turns.claim_next()
    quantum.work_on(taken)  # and then the worker is gone
    waiting = launched(name="Other", cases=9)
    monkeypatch.setattr(working.wakes, "send", sent.append)
    assert working.tick() == waiting.batch.parallel
    assert sent == [4]
    experiment.refresh_from_db()
    assert experiment.state == State.COMPLETED


def test_a_long_call_keeps_its_lease(launched, provider, settings):
    settings.LEASE_SECONDS = 0.6
    wire = factory.route("wire", "plain", kind="openai", base_url=provider.url)
    provider.rule("question", "slow:1.5")
    experiment = launched(route=wire, cases=1)
    taken = turns.claim_next()
    quantum.work_on(taken)
    assert states(experiment) == [Generation.COMPLETED]
