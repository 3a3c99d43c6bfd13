"""What may be compared, what resolves, and what is refused with its choices."""

from __future__ import annotations

import pytest
from django.utils import timezone

from comparisons import selection
from comparisons.selection import Asked
from runs.models import Experiment
from teams.records import new_id
from teams.refusals import Refusal
from tests.factories import evidence
from tests.factories.arms import metric

ONE = {"a": [1], "b": [0]}
NEVER = "01a22ef4-69ea-76c1-abb0-d7d50d7e0c74"
PAGE = "/t/support/comparisons/paired"


def refused(call, code):
    with pytest.raises(Refusal) as caught:
        call()
    assert caught.value.code == code
    return caught.value


def test_one_measurement_on_each_side_resolves_by_itself(compare, cast):
    found = compare(ONE, ONE).resolved(cast.ana).selection
    assert (found.metric, found.candidate_pass, found.baseline_pass, found.target) == ("correct", 1, 1, "0.05")


def test_the_canonical_address_leads_to_the_same_selection(usual, cast):
    found = usual.resolved(cast.ana, target="0.0500").selection
    again = selection.resolve(
        cast.access(cast.ana), Asked.of(dict(pair.split("=") for pair in found.query().split("&")))
    )
    assert again.selection == found
    assert again.selection.fingerprint == found.fingerprint
    assert "target" not in found.query()


def test_swapping_twice_is_the_same_selection_and_once_another(usual, cast):
    found = usual.resolved(cast.ana).selection
    assert found.swapped.swapped == found
    assert found.swapped.fingerprint != found.fingerprint
    assert (found.swapped.candidate, found.swapped.baseline_grader) == (found.baseline, found.candidate_grader)


def test_two_metrics_are_refused_with_both_named(compare, cast):
    more = [evidence.Graded(ONE, metric=metric(key="polite", name="Polite"), grader="tone")]
    refusal = refused(lambda: compare(ONE, ONE, more=more).resolved(cast.ana), "comparison_ambiguous")
    assert refusal.place == "metric"
    assert [choice["value"] for choice in refusal.extra["choices"]] == ["correct", "polite"]


def test_two_graders_of_one_metric_are_never_merged(compare, cast):
    found = compare(ONE, ONE, of_candidate={"more": [evidence.Graded(ONE, grader="judge", version=1)]})
    refusal = refused(lambda: found.resolved(cast.ana), "comparison_ambiguous")
    assert refusal.place == "candidate_grader"
    versions = [choice["value"] for choice in refusal.extra["choices"]]
    assert len(versions) == 2
    assert str(found.resolved(cast.ana, candidate_grader=versions[0]).selection.candidate_grader) == versions[0]


def test_two_passes_of_one_metric_need_a_choice(compare, cast):
    found = compare(ONE, ONE)
    evidence.add_pass(found.candidate, cast.ana, evidence.Graded(ONE))
    refusal = refused(lambda: found.resolved(cast.ana), "comparison_ambiguous")
    assert refusal.place == "candidate_pass"
    assert found.resolved(cast.ana, candidate_pass="2").selection.candidate_pass == 2


def test_a_version_that_the_pass_does_not_hold_is_never_switched(compare, cast):
    found = compare(ONE, ONE)
    other = evidence.grader_version(cast.team, metric(), "exact_answer", 5)
    refusal = refused(lambda: found.resolved(cast.ana, candidate_grader=str(other.pk)), "comparison_unavailable")
    assert refusal.place == "candidate_grader"
    offer = selection.offer(cast.access(cast.ana), found.asked(candidate_grader=str(other.pk)))
    kept = [choice for choice in offer.grader_choices("candidate") if choice.chosen]
    assert [choice.label for choice in kept] == ["exact_answer v5 (unavailable)"]


def test_no_shared_metric(compare, cast):
    found = compare(ONE, ONE, of_candidate={"metric": metric(key="polite", name="Polite")})
    refused(lambda: found.resolved(cast.ana), "comparison_no_shared_metric")


def test_unfinished_archived_and_other_datasets_are_refused(compare, cast):
    found = compare(ONE, ONE)
    open_ = evidence.experiment(cast.team, cast.ana, ONE, label="open", finished=False)
    elsewhere = evidence.experiment(cast.team, cast.ana, ONE, label="elsewhere", in_dataset="Others")
    refused(lambda: found.resolved(cast.ana, candidate=str(open_.pk)), "comparison_not_finished")
    refused(lambda: found.resolved(cast.ana, baseline=str(elsewhere.pk)), "comparison_other_dataset")
    Experiment.objects.filter(pk=found.baseline.pk).update(archived_at=timezone.now())
    refused(lambda: found.resolved(cast.ana), "comparison_archived")


def test_the_same_measurement_on_both_sides_is_refused(compare, cast):
    found = compare(ONE, ONE)
    refused(lambda: found.resolved(cast.ana, baseline=str(found.candidate.pk)), "comparison_same_side")


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"candidate": "no-uuid"}, id="no uuid"),
        pytest.param({"candidate": NEVER}, id="never existed"),
        pytest.param({"candidate_pass": "7"}, id="no such pass"),
        pytest.param({"candidate_grader": NEVER}, id="no such version"),
        pytest.param({"candidate_grader": "%00"}, id="no id"),
        pytest.param({"candidate_interpretation": NEVER}, id="no such interpretation"),
    ],
)
def test_what_is_not_there_is_not_found(compare, cast, change):
    refused(lambda: compare(ONE, ONE).resolved(cast.ana, **change), "not_found")


def test_P14_an_interpretation_of_another_pass_is_not_found(compare, cast):
    words = {"a": ["good"], "b": ["bad"]}
    found = compare(words, words, metric=evidence.categorical())
    theirs = evidence.interpretation(found.baseline.gradingpass_set.get(), cast.ana, {"good": 1, "bad": 0})
    found.resolved(cast.ana, baseline_interpretation=str(theirs.pk))
    refused(lambda: found.resolved(cast.ana, candidate_interpretation=str(theirs.pk)), "not_found")


@pytest.mark.parametrize("target", ["0", "-1", "nan", "inf", "1e99", "five", "0.0000001", "٥"])
def test_a_target_that_is_no_effect_is_refused(compare, cast, target):
    found = compare(ONE, ONE)
    for place in ("target", "margin"):
        assert refused(lambda name=place: found.resolved(cast.ana, **{name: target}), "invalid_field").place == place


def test_a_margin_is_part_of_the_selection_and_of_its_result(usual, cast, page_client, api_client):
    free, held = usual.resolved(cast.ana), usual.resolved(cast.ana, margin="0.50")
    assert (free.selection.margin, held.selection.margin, held.selection.swapped.margin) == (None, "0.5", "0.5")
    assert "margin" not in free.selection.query()
    assert "margin=0.5" in held.selection.query()
    assert free.selection.fingerprint != held.selection.fingerprint
    assert usual.view(cast.ana).result.non_inferiority is None
    found = usual.view(cast.ana, margin="0.5").result.non_inferiority
    assert (found.margin, found.passes) == (0.5, True)
    answer = api_client(cast.ana, cast.team).get(usual.api(margin="0.5")).json()
    assert answer["selection"]["margin"] == "0.5"
    assert answer["result"]["non_inferiority"] == {"margin": 0.5, "limit": found.limit, "passes": True}
    address = f"{PAGE}?{held.selection.query()}"
    assert "margin −50" in page_client(cast.ana).get(address).text
    details = page_client(cast.ana).get(f"{address}&tab=details").text
    assert f"held, the worse end is <code>{found.limit}</code>" in details


def test_P11_a_foreign_experiment_is_refused_like_a_missing_one(compare, cast, page_client, api_client):
    found = compare(ONE, ONE)
    foreign = evidence.experiment(cast.other_team, cast.cleo, ONE, label="foreign")
    for client, address in (
        (
            page_client(cast.ana),
            lambda pk: f"/t/support/comparisons/paired?candidate={pk}&baseline={found.baseline.pk}",
        ),
        (page_client(cast.ana), lambda pk: f"/t/support/comparisons/?candidate={pk}"),
        (api_client(cast.ana, cast.team), lambda pk: found.api(candidate=pk)),
    ):
        answers = [client.get(address(pk)) for pk in (foreign.pk, new_id())]
        assert [answer.status_code for answer in answers] == [404, 404]
        first, second = (answer.content.replace(answer["X-Request-Id"].encode(), b"") for answer in answers)
        assert len(first) == len(second)
        assert b"foreign" not in first


def test_the_first_page_preselects_the_first_shared_boolean_metric_in_its_address(compare, cast, page_client):
    more = [evidence.Graded({"a": [3], "b": [4]}, metric=metric(key="aaa", name="Length", low=0, high=10), grader="n")]
    found = compare(ONE, ONE, more=more)
    address = f"/t/support/comparisons/paired?candidate={found.candidate.pk}&baseline={found.baseline.pk}"
    answer = page_client(cast.ana).get(address)
    assert answer.status_code == 302
    assert "metric=aaa" in answer["Location"]  # both are boolean here, and the key decides
    page = page_client(cast.ana).get(answer["Location"]).content.decode()
    assert "Also measured" in page


def test_two_passes_of_one_experiment(compare, cast, page_client):
    found = compare({"a": [1], "b": [0]}, ONE)
    evidence.add_pass(found.candidate, cast.ana, evidence.Graded({"a": [1], "b": [1]}))
    same = f"candidate={found.candidate.pk}&baseline={found.candidate.pk}"
    answer = page_client(cast.ana).get(f"/t/support/comparisons/paired?{same}", follow=True)
    assert answer.status_code == 200
    location = answer.redirect_chain[-1][0]
    assert "candidate_pass=2&baseline_pass=1" in location
    assert "nano (pass 2)" in answer.content.decode()
