"""I10: what is shown is the sum of all attempts, also of what comes late and of what was done again."""

from __future__ import annotations

import pytest

from analysis.observations import CostCoverage, Generation, Spend
from runs import actions, queries
from runs.engine import finishing, ledger, quantum, turns, working
from runs.models import Attempt, AttemptState, Execution, Experiment, State
from tests.factories import agents as factory

pytestmark = pytest.mark.django_db(transaction=True)


def spends(experiment: Experiment) -> tuple[Spend, ...]:
    experiment.refresh_from_db()
    return queries.tallies([experiment])[experiment.pk].spends


@pytest.fixture
def wire(provider):
    return factory.route("wire", "plain", kind="openai", base_url=provider.url, output_micros=1_000_000, input_micros=0)


@pytest.mark.parametrize(("behaviour", "coverage"), [("ok", CostCoverage.COMPLETE), ("400", CostCoverage.NONE)])
def test_a_cost_that_comes_late_is_shown_with_its_item(launched, provider, wire, monkeypatch, behaviour, coverage):
    """The item was judged and its experiment frozen; the outcome stays, and sums that were kept are counted anew."""
    monkeypatch.setattr(queries, "WORTH_KEEPING", 1)
    provider.rule("question", behaviour)
    experiment = launched(route=wire, cases=1)
    taken = turns.claim_next()
    real = ledger._connect_anew

    def judged_meanwhile() -> None:
        Execution.objects.filter(state=Generation.RUNNING).update(lease_until="2020-01-01T00:00:00Z")
        assert finishing.sweep() == 1
        assert finishing.finish(experiment.pk)
        (before,) = spends(experiment)
        assert (before.known_micros, before.coverage, before.facts) == (0, CostCoverage.NONE, 1)
        real()

    monkeypatch.setattr(ledger, "_connect_anew", judged_meanwhile)
    quantum.work_on(taken)
    row = Execution.objects.get(pk=taken.claim.id)
    attempt = Attempt.objects.get(execution=row)
    assert attempt.state == AttemptState.SETTLED_LATE
    assert (row.state, row.error_code) == (Generation.INDETERMINATE, "invocation_indeterminate")
    assert (row.cost_micros, row.cost_coverage, row.cost_basis) == (
        attempt.cost_micros,
        coverage.value,
        attempt.cost_basis,
    )
    assert (row.cost_micros > 0) == (coverage is CostCoverage.COMPLETE)
    assert row.output_tokens == attempt.output_tokens
    (after,) = spends(experiment)
    assert (after.known_micros, after.coverage) == (attempt.cost_micros, coverage)
    assert experiment.state == State.COMPLETED


def test_what_was_done_again_was_paid_for_as_well(launched, cast, provider, wire, work):
    provider.rule("second", "400,ok")
    talk = [{"role": "user", "content": "first"}, {"role": "user", "content": "second"}]
    experiment = launched(route=wire, cases=[{"turns": talk}])
    work()
    first = Execution.objects.get(experiment=experiment)
    (alone,) = spends(experiment)
    assert alone.known_micros == first.cost_micros > 0
    actions.retry(access=cast.access(cast.ana), execution=first)
    work()
    (both,) = spends(experiment)
    paid = sum(Attempt.objects.filter(execution__experiment=experiment).values_list("cost_micros", flat=True))
    assert both.known_micros == paid > alone.known_micros
    assert (both.facts, both.coverage) == (2, CostCoverage.PARTIAL)  # nobody knows what the refused call cost
    assert queries.tallies([experiment])[experiment.pk].states == {Generation.COMPLETED: 1}


def test_an_item_that_is_cancelled_between_its_turns_keeps_what_they_cost(launched, cast, provider, wire, monkeypatch):
    """It lost its worker after the first turn, and waits again."""
    talk = [{"role": "user", "content": "first"}, {"role": "user", "content": "second"}]
    experiment = launched(route=wire, cases=[{"turns": talk}])
    taken = turns.claim_next()
    item = quantum.Item(taken)
    real = item._may_go_on

    def lost() -> None:
        if Attempt.objects.exists():
            raise SystemExit
        real()

    monkeypatch.setattr(item, "_may_go_on", lost)
    with pytest.raises(SystemExit):
        item.run()
    Execution.objects.filter(state=Generation.RUNNING).update(lease_until="2020-01-01T00:00:00Z")
    finishing.sweep()
    row = Execution.objects.get(pk=taken.claim.id)
    assert row.state == Generation.PLANNED
    actions.cancel(access=cast.access(cast.ana), experiment=experiment)
    row.refresh_from_db()
    assert row.state == Generation.CANCELLED
    assert row.cost_micros == Attempt.objects.get().cost_micros > 0
    (shown,) = spends(experiment)
    assert shown.known_micros == row.cost_micros


def test_an_item_that_lost_its_worker_after_the_cancellation_does_not_wait_for_ever(launched, cast):
    experiment = launched(cases=2)
    taken = turns.claim_next()
    actions.cancel(access=cast.access(cast.ana), experiment=experiment)
    Execution.objects.filter(state=Generation.RUNNING).update(lease_until="2020-01-01T00:00:00Z")
    working.tick()
    experiment.refresh_from_db()
    assert experiment.state == State.CANCELLED
    assert Execution.objects.get(pk=taken.claim.id).state == Generation.CANCELLED
