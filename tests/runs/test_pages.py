"""Experiments on pages and over the API: outcomes apart, unknown never zero, content only with the right."""

from __future__ import annotations

import re

import pytest
from django.db import ProgrammingError, connection, transaction
from django.test.utils import CaptureQueriesContext

from analysis.observations import CostCoverage, FailureKind, Generation, Outcome
from runs import actions, queries
from runs.models import Execution, Experiment
from teams.models import AuditEvent
from teams.refusals import Refusal
from tests.factories import evidence

CASES = {
    "a": [1, 0, FailureKind.TIMED_OUT],
    "b": [1, 1, FailureKind.HARNESS_ERROR],
    "c": [Outcome.ABSTAINED, Generation.BLOCKED, FailureKind.TIMED_OUT],
}


@pytest.fixture
def made(cast):
    return evidence.experiment(
        cast.team,
        cast.omar,
        CASES,
        label="ours",
        latency_ms=lambda name, repetition: 1000.0 * repetition if name != "b" else None,
        cost_micros=lambda name, repetition: 500 if name == "a" else None,
        answers=lambda name, repetition: f"**Answer** {repetition} to {name} <script>alert(1)</script>",
        reasoning=lambda name, repetition: f"Because of {name}",
    )


@pytest.fixture
def here(cast, made):
    return f"/t/{cast.team.slug}/experiments/{made.pk}/"


@pytest.fixture
def omar(cast, page_client):
    return page_client(cast.omar)


def text(response) -> str:
    """The words of a page, without its tags."""
    return " ".join(re.sub(r"<[^>]+>", " ", response.content.decode()).split())


def test_outcomes_stay_apart_and_a_part_of_the_cost_is_said_to_be_a_part(made):
    tally = queries.tallies([made])[made.pk]
    assert tally.states == {Generation.COMPLETED: 5, Generation.FAILED: 3, Generation.BLOCKED: 1}
    assert tally.failures == {FailureKind.TIMED_OUT: 2, FailureKind.HARNESS_ERROR: 1}
    assert (tally.completed, tally.failed, tally.other, tally.rows) == (5, 3, 1, 9)
    (spend,) = tally.spends
    assert (spend.known_micros, spend.coverage, spend.priced, spend.facts) == (1500, CostCoverage.PARTIAL, 3, 9)


def test_a_cost_that_nobody_knows_is_unknown(cast, omar):
    made = evidence.experiment(cast.team, cast.omar, {"a": [1]}, label="unpriced")
    (spend,) = queries.tallies([made])[made.pk].spends
    assert (spend.coverage, spend.priced) == (CostCoverage.NONE, 0)
    assert "$0" not in text(omar.get(f"/t/{cast.team.slug}/experiments/"))


def test_amounts_of_two_currencies_are_not_added(made):
    rows = [(2, 0, "USD", 2, "reported", 2, 100, False), (2, 0, "EUR", 2, "reported", 1, 70, False)]
    spends = queries._tally(rows).spends
    assert [(one.currency, one.known_micros, one.coverage) for one in spends] == [
        ("EUR", 70, CostCoverage.PARTIAL),
        ("USD", 100, CostCoverage.PARTIAL),
    ]


def test_latency_is_of_completed_executions_whose_duration_is_known(made):
    latency = queries.latency_of(made)
    assert (latency.known, latency.median_ms) == (3, 1000.0)


def test_the_list_shows_each_experiment_with_its_denominators(cast, omar, made):
    found = text(omar.get(f"/t/{cast.team.slug}/experiments/"))
    assert "ours Cases version 1 3 5/9 3 1 ≥ $0.0015 Completed Import" in found


def test_the_list_is_narrowed_and_sorted_in_the_address(cast, omar, made):
    other = evidence.experiment(cast.team, cast.omar, {"x": [1]}, in_dataset="Others", label="theirs")
    page = f"/t/{cast.team.slug}/experiments/"

    def rows(**query):
        return re.findall(r'row-link" href="[^"]+"><bdi>(\w+)', omar.get(page, query).content.decode())

    assert rows() == ["theirs", "ours"]
    assert rows(sort="number") == ["ours", "theirs"]
    assert rows(dataset=str(other.version.dataset_id)) == ["theirs"]
    assert rows(subject=str(made.subject_id)) == ["ours"]
    assert rows(state="running") == []
    assert rows(archived="1") == []


@pytest.mark.parametrize(
    "query",
    [
        {"sort": "starter__password"},
        {"sort": "-nothing"},
        {"dataset": "00000000-0000-0000-0000-000000000000"},
        {"state": "done"},
        {"archived": "yes"},
    ],
)
def test_words_outside_the_closed_sets_are_refused(cast, omar, made, query):
    found = omar.get(f"/t/{cast.team.slug}/experiments/", query)
    assert found.status_code == 400 and "invalid_field" in found.content.decode()


def test_passes_show_k_of_n_and_what_was_not_scored(omar, here):
    found = text(omar.get(here))
    assert "4/5 3/4 = 75 % of the scored 1 abstained" in found


def test_a_categorical_grader_shows_counts_and_no_mean(cast, omar):
    made = evidence.experiment(
        cast.team, cast.omar, {"a": ["refund"], "b": ["refund"], "c": ["other"]}, metric=evidence.categorical()
    )
    found = text(omar.get(f"/t/{cast.team.slug}/experiments/{made.pk}/"))
    assert "other 1 refund 2" in found and "mean of the scored" not in found


def test_executions_are_filtered_by_outcome_and_kind(omar, here):
    assert "1–3 of 3 executions" in text(omar.get(here, {"state": "failed"}))
    assert "1–2 of 2 executions" in text(omar.get(here, {"failure": "timed_out"}))
    assert "1–1 of 1 executions" in text(omar.get(here, {"state": "blocked"}))
    assert "No execution has this outcome" in text(omar.get(here, {"state": "running"}))
    assert omar.get(here, {"failure": "none"}).status_code == 400


def test_comparing_offers_finished_experiments_of_the_same_dataset(cast, omar, made, here):
    ours = evidence.experiment(cast.team, cast.omar, {"a": [1]}, label="same")
    evidence.experiment(cast.team, cast.omar, {"a": [1]}, label="elsewhere", in_dataset="Others")
    evidence.experiment(cast.team, cast.omar, {"a": [1]}, label="unfinished", finished=False)
    offered = re.search(r"<select name=\"baseline\".*?</select>", omar.get(here).content.decode(), re.S)[0]
    assert f'value="{ours.pk}"' in offered
    assert "elsewhere" not in offered and "unfinished" not in offered and f'value="{made.pk}"' not in offered


def test_an_execution_shows_asked_answered_and_judged_to_readers_of_content(omar, here):
    body = omar.get(f"{here}executions/0/").content.decode()
    assert "Question of a" in body and "<strong>Answer</strong> 1 to a" in body and "Because of a" in body
    assert "<script>alert" not in body
    failed = omar.get(f"{here}executions/2/").content.decode()
    assert "timed out" in failed and "Error in a, attempt 3" in failed


def test_an_execution_shows_outcomes_alone_to_others(cast, page_client, here):
    with CaptureQueriesContext(connection) as asked:
        found = page_client(cast.ben).get(f"{here}executions/0/")
    words = text(found)
    assert "completed" in words and "exact_answer" in words
    for secret in ("Question of", "Answer 1", "Because of", "Title of"):
        assert secret not in words
    for table in ("datasets_itemcontent", "runs_answer", "grading_reasoning"):
        assert not [query for query in asked if f'"{table}"' in query["sql"]], table


def test_an_answer_that_was_taken_away_says_so(omar, here, made):
    answer = Execution.objects.get(experiment=made, position=0).answer
    type(answer).objects.filter(pk=answer.pk).update(availability="redacted", text=None, structured=None, error=None)
    assert "(redacted)" in text(omar.get(f"{here}executions/0/"))


def test_a_position_beyond_the_end_is_missing(omar, here):
    assert omar.get(f"{here}executions/9/").status_code == 404
    assert omar.get(f"{here}executions/99999999999999999999/").status_code == 404


def test_archive_and_restore_are_audited_and_change_nothing_else(cast, page_client, made, here):
    ana, before = page_client(cast.ana), Experiment.objects.values().get(pk=made.pk)
    assert ana.post(f"{here}archive").status_code == 302
    assert "row-link" not in ana.get(f"/t/{cast.team.slug}/experiments/").content.decode()
    assert "row-link" in ana.get(f"/t/{cast.team.slug}/experiments/?archived=1").content.decode()
    assert ana.get(here).status_code == 200
    again = ana.post(f"{here}archive")
    assert again.status_code == 409 and "conflict" in again.content.decode()
    assert ana.post(f"{here}restore").status_code == 302
    assert Experiment.objects.values().get(pk=made.pk) == before
    assert [event.action for event in AuditEvent.objects.filter(object_id=made.pk).order_by("at")] == [
        "experiment.archived",
        "experiment.restored",
    ]


def test_archiving_needs_the_right_also_below_the_page(cast, made):
    with pytest.raises(Refusal) as refused:
        actions.archive(access=cast.access(cast.omar), experiment=made.pk)
    assert refused.value.code == "missing_right"
    with pytest.raises(Refusal) as refused:
        actions.archive(access=cast.access(cast.cleo, cast.other_team), experiment=made.pk)
    assert refused.value.code == "not_found"


@pytest.mark.parametrize("column", ["manifest_sha256", "planned", "number", "repetitions", "state"])
def test_what_a_finished_experiment_is_cannot_be_rewritten(made, column):
    values = {"manifest_sha256": "f" * 64, "state": "running"}
    with pytest.raises(ProgrammingError), transaction.atomic():
        Experiment.objects.filter(pk=made.pk).update(**{column: values.get(column, 77)})


def test_the_api_tells_the_same_figures(cast, api_client, made):
    program = api_client(cast.omar, cast.team)
    listed = program.get("/api/v1/experiments").json()["items"][0]
    single = program.get(f"/api/v1/experiments/{made.pk}").json()
    assert {name: single[name] for name in listed} == listed
    assert single["outcomes"] == {"completed": 5, "failed": 3, "blocked": 1}
    assert single["failures"] == {"timed_out": 2, "harness_error": 1}
    assert single["generation_cost"][0]["known_micros"] == 1500
    grader = single["passes"][0]["graders"][0]
    assert (grader["outcomes"], grader["scored"], grader["mean"]) == ({"scored": 4, "abstained": 1}, 4, 0.75)


def test_the_api_never_spells_an_unknown_cost_as_zero(cast, api_client, made):
    rows = api_client(cast.omar, cast.team).get(f"/api/v1/experiments/{made.pk}/executions").json()["items"]
    assert {row["cost"]["known_micros"] for row in rows} == {500, None}
    assert all(row["cost"]["coverage"] == "none" for row in rows if row["cost"]["known_micros"] is None)


def test_the_api_gives_content_to_its_readers_alone(cast, api_client, made):
    address = f"/api/v1/experiments/{made.pk}/executions?state=failed"
    rows = api_client(cast.omar, cast.team).get(address).json()["items"]
    assert rows[0]["content"]["error"] == "Error in a, attempt 3"
    assert {row["content"] for row in api_client(cast.ben, cast.team).get(address).json()["items"]} == {None}


def test_the_number_of_queries_does_not_grow_with_the_rows(cast, omar, made, here, django_assert_max_num_queries):
    for number in range(6):
        evidence.experiment(cast.team, cast.omar, {"a": [1]}, label=f"more-{number}")
    with django_assert_max_num_queries(16):
        omar.get(f"/t/{cast.team.slug}/experiments/")
    with django_assert_max_num_queries(22):
        omar.get(here)


def test_a_large_finished_experiment_is_counted_once(made, monkeypatch):
    monkeypatch.setattr(queries, "WORTH_KEEPING", 1)
    first = queries.tallies([made])
    monkeypatch.setattr(queries, "_count", lambda rows: pytest.fail("counted again"))
    assert queries.tallies([made]) == first
