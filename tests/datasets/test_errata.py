"""Checklists with variants, sub-items and validators; errata beside the revision that they correct."""

from __future__ import annotations

import json

import pytest

from datasets import actions, queries
from datasets.bodies import Case, checked
from datasets.models import Erratum, ItemRevision
from runs.models import Execution
from teams.refusals import Refusal
from tests.comparisons.test_real_evidence import words_of
from tests.factories import evidence

pytestmark = pytest.mark.django_db

POINT = {"id": "1", "text": "Greets", "points": 1}
PARTS = [{"id": "a", "text": "day", "points": 2}, {"id": "b", "text": "hour", "points": 1}]
SPLIT = {"id": "2", "text": "Says when", "points": 3, "sub_items": PARTS}
HARD = {"name": "hard", "input": "And why?", "checklist": [{"id": "3", "text": "Says why", "points": 4}]}
WHOLE = {
    "input": "When?",
    "checklist": [POINT, SPLIT],
    "variants": [HARD],
    "validators": [{"name": "check_day", "points": ["2", "3"]}],
    "engines": ["web"],
    "validator_rated": True,
}


def test_a_whole_case_is_taken_as_it_is():
    assert checked(Case("q1", WHOLE)).body == WHOLE


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"checklist": [{**SPLIT, "sub_items": [PARTS[0]]}]}, "body.checklist[0].sub_items"),
        ({"checklist": [{**SPLIT, "sub_items": [PARTS[0], PARTS[0]]}]}, "body.checklist[0].sub_items[1].id"),
        ({"checklist": [{**SPLIT, "sub_items": "a"}]}, "body.checklist[0].sub_items"),
        ({"variants": []}, "body.variants"),
        ({"variants": [{"name": "Hard"}]}, "body.variants[0].name"),
        ({"variants": [HARD, HARD]}, "body.variants[1].name"),
        ({"variants": [{"name": "x", "price": 3}]}, "body.variants[0]"),
        ({"variants": [{"name": "x", "input": 3}]}, "body.variants[0].input"),
        ({"variants": [{"name": "x", "checklist": [POINT]}]}, "body.variants[0].checklist[0].id"),
        ({"validators": [{"name": "v", "points": ["9"]}]}, "body.validators[0].points"),
        ({"validators": [{"name": "v", "points": []}]}, "body.validators[0].points"),
        ({"validators": [{"name": "v"}]}, "body.validators[0]"),
        ({"validators": [{"name": "", "points": ["1"]}]}, "body.validators[0].name"),
        ({"engines": "web"}, "body.engines"),
        ({"engines": ["web", "web"]}, "body.engines"),
        ({"validator_rated": 1}, "body.validator_rated"),
    ],
)
def test_a_fault_is_told_with_its_place(change, place):
    with pytest.raises(Refusal) as refused:
        checked(Case("q1", {**WHOLE, **change}))
    assert refused.value.place == place


@pytest.fixture
def revision(cast) -> ItemRevision:
    made = evidence.experiment(cast.team, cast.ana, {"q1": [1]}, label="ours", bodies={"q1": WHOLE})
    return Execution.objects.get(experiment=made).revision


@pytest.fixture
def page(cast, revision):
    return f"/t/{cast.team.slug}/datasets/{revision.item.dataset_id}/revisions/{revision.pk}/"


def test_an_erratum_excludes_points_and_leaves_the_case_as_it_is(cast, page_client, revision, page):
    ana, before = page_client(cast.ana), bytes(revision.content_digest)
    shown = words_of(ana.get(page))
    assert "Says when" in shown and "hour" in shown and "Variant hard" in shown and "Says why" in shown
    assert "No point was found wrong" in shown
    wrong = ana.post(page, {"points": ["2"], "reason": " "})
    assert wrong.status_code == 422 and not Erratum.objects.exists()
    ana.post(page, {"points": ["2", "3"], "reason": "The source\r\nsays otherwise."})
    shown = words_of(ana.get(page))
    assert "excluded" in shown and "says otherwise" in shown
    assert queries.excluded_points(revision) == {"2", "3"}
    revision.refresh_from_db()
    assert bytes(revision.content_digest) == before
    ana.post(page, {"points": ["1"], "reason": "Greeting is not asked."})
    assert queries.excluded_points(revision) == {"1", "2", "3"}
    assert [one.number for one in queries.errata_of(revision)] == [1, 2]


def test_an_erratum_names_points_that_there_are(cast, revision):
    access = cast.access(cast.ana)
    for points in ([], ["9"], ["1", "a"]):
        with pytest.raises(Refusal) as refused:
            actions.add_erratum(access=access, revision=revision, points=points, reason="x")
        assert refused.value.place == "points"
    bare = evidence.experiment(cast.team, cast.ana, {"q2": [1]}, label="bare")
    other = Execution.objects.get(experiment=bare).revision
    with pytest.raises(Refusal) as refused:
        actions.add_erratum(access=access, revision=other, points=["1"], reason="x")
    assert refused.value.code == "case_without_points"


def test_what_an_erratum_says_is_content_and_adding_one_is_the_managers(cast, page_client, api_client, revision, page):
    actions.add_erratum(access=cast.access(cast.ana), revision=revision, points=["1"], reason="A secret reason")
    ben = words_of(page_client(cast.ben).get(page))
    assert "Errata" in ben and "secret" not in ben
    assert page_client(cast.ben).post(page, {"points": ["1"], "reason": "x"}).status_code == 403
    assert page_client(cast.omar).post(page, {"points": ["1"], "reason": "x"}).status_code == 403
    address = f"/api/v1/datasets/{revision.item.dataset_id}/revisions/{revision.pk}/errata"
    row = api_client(cast.ben, cast.team).get(address).json()["items"][0]
    assert (row["number"], row["excluded"], row["reason"]) == (1, None, None)
    api = api_client(cast.ana, cast.team)
    body = json.dumps({"points": ["2"], "reason": "It asks for two things."})

    def send():
        return api.post(address, body, content_type="application/json", headers={"Idempotency-Key": "erratum-key-1"})

    first = send()
    assert (first.status_code, first.json()["excluded"]) == (201, ["2"])
    assert send().status_code == 200 and Erratum.objects.count() == 2
