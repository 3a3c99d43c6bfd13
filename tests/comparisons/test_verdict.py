"""What may be said: four states, words that follow the verdict, the watermark in every export, rights."""

from __future__ import annotations

import csv
import io
import json
import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from analysis.comparability.conditions import State
from analysis.comparability.policy import Admissibility
from analysis.observations import FailureKind
from analysis.sentence import AS_OBSERVED
from analysis.verdicts import paired as judging
from analysis.verdicts.paired import WATERMARK, Tier
from comparisons.lenses import verdict
from runs.models import Answer, Experiment, TrustTier
from tests.factories import evidence
from tests.factories.arms import random_cases

CANARY = "Xylophone"
STRONG = {"candidate": 0.2, "baseline": 0.9}


@pytest.fixture
def ana(page_client, cast):
    return page_client(cast.ana)


@pytest.fixture
def apart(compare):
    """Forty cases on which the sides clearly differ."""

    def make(**more):
        return compare(
            random_cases(40, 1, rate=STRONG["candidate"], seed=1),
            random_cases(40, 1, rate=STRONG["baseline"], seed=2),
            **more,
        )

    return make


def said(found, cast):
    return verdict.verdicts(found.view(cast.ana))


def finding(verdicts, condition, claim=""):
    judged = next(one for one in verdicts.claims if one.claim.startswith(claim))
    return next(one for one in judged.verdict.extension.findings if one.id == condition)


def text_of(answer) -> str:
    return (b"".join(answer.streaming_content) if answer.streaming else answer.content).decode()


def table(answer) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text_of(answer).removeprefix("\ufeff"))))


def test_one_comparison_reaches_all_four_states(apart, cast):
    found = said(apart(), cast)
    assert found.of("reliability_comparison") is Admissibility.PARTIAL  # traces were not kept
    assert found.of("paired_difference") is Admissibility.PARTIAL
    assert found.of("causal") is Admissibility.INADMISSIBLE
    assert found.of("score_comparison") is Admissibility.INADMISSIBLE  # two models
    assert found.of("cost_comparison") is Admissibility.INCONCLUSIVE  # nobody recorded how it was paid
    assert found.of("latency_comparison") is Admissibility.PARTIAL  # under loads that nobody recorded


def test_a_claim_without_anything_against_it_is_admissible(apart, cast, monkeypatch):
    of_all = judging._facts
    known = {"ext.evidence_readable", "ext.primary_fixed_before_launch"}
    monkeypatch.setattr(
        judging,
        "_facts",
        lambda paired: [
            judging.Fact(fact.condition, State.SATISFIED) if fact.condition in known else fact
            for fact in of_all(paired)
        ],
    )
    found = said(apart(), cast)
    assert found.headline_claim.final is Admissibility.ADMISSIBLE
    assert (found.exploratory, found.watermark) == (False, "")


def test_what_is_not_recorded_is_unknown(apart, cast):
    found = said(apart(), cast)
    for condition in (
        *("ext.evidence_readable", "ext.revisions_known", "ext.run_window_overlap", "ext.auth_mode_equal"),
        *("ext.load_conditions_equal", "ext.primary_fixed_before_launch", "ext.margin_fixed_before_launch"),
    ):
        assert finding(found, condition).state is State.UNKNOWN, condition
        assert finding(found, condition).refs == ("nothing exists",)


@pytest.mark.parametrize(
    ("modes", "state"),
    [(("key", "key"), State.SATISFIED), (("key", "subscription"), State.VIOLATED), (("key", ""), State.UNKNOWN)],
)
def test_auth_modes(apart, cast, modes, state):
    sides = [{"facts": [("Auth mode", mode)] if mode else []} for mode in modes]
    found = said(apart(of_candidate=sides[0], of_baseline=sides[1]), cast)
    assert finding(found, "ext.auth_mode_equal", "cost").state is state


def test_one_changed_thing_needs_all_other_settings_known(apart, cast):
    facts = [(name, "same") for name in ("Provider", "Prompt", "Tools", "Tool schemas", "Context binding")]
    assert said(apart(), cast).of("single_variable_comparison(model)") is Admissibility.INCONCLUSIVE
    known = said(apart(facts=facts, in_dataset="Known"), cast)
    assert known.of("single_variable_comparison(model)") is Admissibility.PARTIAL  # revisions are not known
    other = {"facts": [*facts[:1], ("Prompt", "another"), *facts[2:]]}
    several = said(apart(facts=facts, of_candidate=other, in_dataset="Several"), cast)
    assert several.of("single_variable_comparison(model)") is Admissibility.INADMISSIBLE
    assert finding(several, "ext.declared_change_only", "single").detail["also_differ"] == ["prompt"]
    assert several.of("paired_difference") is Admissibility.PARTIAL  # as bundles


def test_another_grader_refuses_the_difference_and_keeps_the_numbers(apart, cast, ana):
    found = apart(of_candidate={"version": 5})
    assert said(found, cast).of("paired_difference") is Admissibility.INADMISSIBLE
    assert said(found, cast).of("reliability_comparison") is Admissibility.PARTIAL
    assert "40/40" in text_of(ana.get(found.url(cast.ana)))


def test_too_few_cases_leave_counts_only(compare, cast):
    found = said(compare({f"c{i}": [1] for i in range(12)}, {f"c{i}": [0] for i in range(12)}), cast)
    assert found.headline_claim.final is Admissibility.INCONCLUSIVE
    assert found.headline_claim.verdict.extension.may_say == ("paired counts, descriptive",)


def test_outcomes_and_coverage_split_the_claim(compare, cast):
    mine = random_cases(40, 1, rate=0.5, seed=1)
    for number in range(6):
        mine[f"case-{number}"] = [FailureKind.TIMED_OUT]
    found = said(compare(mine, random_cases(40, 1, rate=0.7, seed=2)), cast)
    assert finding(found, "ext.missingness_balanced").state is State.VIOLATED
    assert finding(found, "ext.paired_share").state is State.SATISFIED
    assert found.headline_claim.final is Admissibility.PARTIAL


def test_content_that_was_not_captured_is_a_split_with_its_number(compare, cast):
    cases = random_cases(30, 1, rate=0.5, seed=1)
    found = said(compare(cases, cases, of_candidate={"bodies": dict.fromkeys([*cases][:3])}), cast)
    one = finding(found, "ext.item_revisions_identical")
    assert (one.state, one.weight, one.detail["numerator"]) == (State.UNKNOWN, Admissibility.PARTIAL, 3)


@pytest.mark.parametrize(
    ("tier", "final"),
    [
        (TrustTier.AGENT_CLAIMED, Admissibility.INADMISSIBLE),
        (TrustTier.INSUFFICIENT, Admissibility.INCONCLUSIVE),
        (TrustTier.SOURCE_VERIFIER, Admissibility.PARTIAL),
    ],
)
def test_trust_decides_and_is_shown(apart, cast, ana, api_client, tier, final):
    found = apart()
    Experiment.objects.filter(pk=found.candidate.pk).update(trust=tier)
    assert said(found, cast).headline_claim.final is final
    answer = api_client(cast.ana, cast.team).get(found.api()).json()["verdict"]
    assert answer["trust"] == {"candidate": tier.value, "baseline": "source_verifier"}
    for tab in ("changed", "details"):
        assert f"candidate {tier.label.lower()}" in text_of(ana.get(found.url(cast.ana, tab=tab)))


def test_the_tiers_of_a_verdict_are_those_of_the_store():
    assert [tier.value for tier in Tier] == list(TrustTier.values)


@pytest.mark.parametrize("how", ["expired", "deleted", "redacted"])
def test_evidence_that_was_taken_away_is_missing_and_not_merely_uncaptured(apart, cast, ana, how):
    found = apart()
    before = said(found, cast)
    assert finding(before, "ext.evidence_readable").state is State.UNKNOWN
    gone = Answer.objects.filter(execution__experiment=found.candidate).order_by("pk")[:2].values("pk")
    Answer.objects.filter(pk__in=gone).update(availability=how, text=None, structured=None, error=None)
    after = said(found, cast)
    one = finding(after, "ext.evidence_readable")
    assert (one.state, one.detail["taken_away"]) == (State.VIOLATED, {"candidate": 2, "baseline": 0})
    assert one.refs == tuple(sorted(f"experiment:{side.pk}" for side in (found.candidate, found.baseline)))
    assert after.headline_claim.final is Admissibility.INCONCLUSIVE
    assert after.of("score_comparison") is Admissibility.INCONCLUSIVE
    assert after.of("reliability_comparison") is Admissibility.PARTIAL  # what ended is counted all the same
    page = text_of(ana.get(found.url(cast.ana)))
    assert "taken away candidate 2" in page
    assert "40/40" in page


def test_non_inferiority_cannot_be_told_without_a_margin_set_beforehand(apart, cast, ana):
    found = apart()
    assert said(found, cast).of("non_inferiority") is Admissibility.INCONCLUSIVE
    page = text_of(ana.get(found.url(cast.ana)))
    row = re.search(r"<tr><th[^>]*>Not known whether the margin was fixed.*?</tr>", page, re.DOTALL).group()
    assert "no margin was given" in row
    assert "Fix the margin in the template and launch again." in row


def test_a_model_only_difference_is_served_although_the_base_policy_refuses_it(apart, cast):
    names = ("Provider", "Provider revision", "Runtime", "Prompt", "Tools", "Tool schemas", "Context binding")
    found = said(apart(facts=[(name, "same") for name in names]), cast)
    [scores] = [one for one in found.claims if one.claim == "score_comparison"]
    assert scores.final is Admissibility.INADMISSIBLE
    assert scores.verdict.cdr.violated_conditions == ("same_model",)
    for claim in ("single_variable_comparison(model)", "paired_difference"):
        assert found.of(claim) is Admissibility.PARTIAL, claim
        [one] = [one for one in found.claims if one.claim == claim]
        assert {finding.id for finding in one.weighing} <= {
            *("ext.evidence_readable", "ext.run_window_overlap", "ext.primary_fixed_before_launch")
        }


def test_two_passes_over_the_same_runs_are_no_two_configurations(compare, cast):
    cases = random_cases(30, 1, rate=0.5, seed=1)
    found = compare(cases, cases)
    evidence.add_pass(found.candidate, cast.ana, evidence.Graded(cases))
    found.baseline = found.candidate
    judged = verdict.verdicts(found.view(cast.ana, candidate_pass="2", baseline_pass="1"))
    assert finding(judged, "ext.cells_distinct").state is State.VIOLATED
    assert judged.headline_claim.final is Admissibility.INADMISSIBLE


# words


def test_the_headline_claims_only_what_it_may(apart, cast, ana):
    found = apart()
    page = text_of(ana.get(found.url(cast.ana)))
    assert AS_OBSERVED not in page
    assert f"{WATERMARK}: worse" in page
    assert "Resolved" not in page  # the claim is limited, so nothing is coloured as settled
    Experiment.objects.filter(pk=found.candidate.pk).update(trust=TrustTier.AGENT_CLAIMED)
    page = text_of(ana.get(found.url(cast.ana)))
    assert AS_OBSERVED in page
    assert f"{WATERMARK}: observed worse" in page
    assert "the evidence puts" not in page


def test_the_figures_of_the_headline_never_change(apart, cast):
    found = apart()
    before = said(found, cast)
    Experiment.objects.filter(pk=found.candidate.pk).update(trust=TrustTier.AGENT_CLAIMED)
    after = said(found, cast)
    assert [one.text for one in before.headline if one.strong] == [one.text for one in after.headline if one.strong]
    assert before.headline != after.headline


def test_the_forbidden_sentence_stands_under_you_may_not_say(apart, cast, ana):
    page = text_of(ana.get(apart().url(cast.ana)))
    forbidden = re.search(r'id="verdict-not".*?</section>', page, re.DOTALL).group()
    allowed = re.search(r'id="verdict-may".*?</section>', page, re.DOTALL).group()
    assert "One variable caused the difference" in forbidden
    assert "One variable caused the difference" not in allowed
    assert "A saving" not in allowed


def test_every_condition_says_its_repair_and_leads_to_its_evidence(apart, cast, ana):
    page = text_of(ana.get(apart(of_candidate={"version": 5}).url(cast.ana)))
    row = re.search(r"<tr><th[^>]*>The sides were graded by different graders.*?</tr>", page, re.DOTALL).group()
    assert "Grade all sides with one grader version." in row
    assert "tab=changed" in row
    assert "The models differ, or one is not known." in page  # of the base policy
    assert "nothing exists" in page  # of what was never recorded


# exports


def test_the_watermark_survives_into_every_export(apart, cast, ana, api_client):
    found = apart()
    assert f">{WATERMARK}: " in text_of(ana.get(found.url(cast.ana)))
    answer = api_client(cast.ana, cast.team).get(found.api()).json()["verdict"]
    file = json.loads(text_of(ana.get(found.url(cast.ana, "export"))))["verdict"]
    assert answer == file == json.loads(json.dumps(said(found, cast).to_dict()))
    assert answer["watermark"] == WATERMARK
    rows = table(ana.get(found.url(cast.ana, "export", format="csv")))
    assert {row["watermark"] for row in rows} == {WATERMARK}
    assert {(row["claim"], row["claim_verdict"]) for row in rows} == {("paired_difference", "PARTIAL")}
    for part in ("paired_comparison_cases", "paired_comparison_plan"):
        assert api_client(cast.ana, cast.team).get(found.api(part)).json()["watermark"] == WATERMARK
    item = rows[0]["item_id"]
    for part in ("", "head"):
        assert WATERMARK in text_of(ana.get(found.url(cast.ana, "case", item=item, part=part)))


# rights and cost


def test_a_reader_of_metadata_sees_the_verdict_without_content(compare, cast, page_client, api_client):
    names = {name: f"{CANARY}-{name}" for name in random_cases(30, 1, rate=0.5, seed=1)}
    sides = [
        {names[name]: marks for name, marks in random_cases(30, 1, rate=0.5, seed=seed).items()} for seed in (1, 2)
    ]
    found = compare(*sides, titles=dict.fromkeys(sides[0], f"{CANARY} title"))
    ben = page_client(cast.ben)
    for text in (
        text_of(ben.get(found.url(cast.ben))),
        text_of(ben.get(found.url(cast.ben, "export"))),
        text_of(api_client(cast.ben, cast.team).get(found.api())),
    ):
        assert CANARY not in text
        assert "paired_difference" in text or "What may be said" in text


def test_judging_asks_the_database_nothing(usual, cast):
    paired = usual.view(cast.ana)
    with CaptureQueriesContext(connection) as asked:
        verdict.verdicts(paired)
    assert len(asked) == 0
