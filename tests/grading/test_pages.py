"""The console's pages of graders and metrics, as people fill them in."""

from __future__ import annotations

from typing import Any

import pytest
from django.http import QueryDict
from hypothesis import given

from grading import actions, assertions
from grading.forms import AssertionForm
from grading.models import Grader, GraderConfig, GraderVersion, MetricDefinition
from tests.comparisons.test_real_evidence import words_of
from tests.grading.test_assertions import CONFIGS
from tests.grading.test_graders import CONTAINS, VALIDATOR
from tests.shape.world import model_route

pytestmark = pytest.mark.django_db
CHECK = {"operator": "contains", "part": "text", "source": "case", "space": "keep"}


def rows(*checks: dict[str, str]) -> dict[str, str]:
    found = {"checks-TOTAL_FORMS": str(len(checks)), "checks-INITIAL_FORMS": "0", "match": "all"}
    for at, one in enumerate(checks):
        found |= {f"checks-{at}-{name}": value for name, value in one.items()}
    return found


@pytest.fixture
def here(cast) -> str:
    return f"/t/{cast.team.slug}/graders/"


def test_the_way_from_a_metric_to_a_second_version_by_forms(cast, page_client, here):
    ana = page_client(cast.ana)
    assert "Make a grader" in words_of(ana.get(here)) and "Make a metric" in words_of(ana.get(f"{here}metrics/"))
    form = {"name": "Correct", "key": "correct", "kind": "boolean", "direction": "higher_is_better", "low": "3"}
    back = ana.post(f"{here}metrics/new?for=assertion", form)["Location"]
    metric = MetricDefinition.objects.get()
    assert back == f"{here}new?kind=assertion&metric={metric.pk}"
    assert f'value="{metric.pk}" selected' in ana.get(back).content.decode()
    again = ana.post(f"{here}metrics/new", form)
    assert again.status_code == 422 and "with this meaning already" in words_of(again)
    page = ana.post(f"{here}new", {"name": "Says it", "metric": metric.pk, **rows(CHECK)})["Location"]
    assert GraderConfig.objects.get().body == assertions.checked(CONTAINS)
    shown = ana.get(page)
    assert "contains what the case expects" in words_of(shown) and "Try version 1" in words_of(shown)
    literal = {**CHECK, "source": "literal", "value": "Paris\r\nFrance", "negate": "on"}
    made = ana.post(f"{page}versions/new", {"revision": "1", **rows(literal, {"operator": ""})})
    assert made["Location"] == page
    assert GraderConfig.objects.get(version__number=2).body["checks"][0]["value"] == "Paris\nFrance"
    told = words_of(ana.get(f"{page}?version=2&against=1"))
    assert "Version 1 and version 2" in told and "does not contain" in told
    known = ana.post(f"{page}versions/new", {"revision": "2", **rows(CHECK)}, follow=True)
    assert "Version 1 says exactly this already" in words_of(known)
    stale = ana.post(f"{page}versions/new", {"revision": "1", **rows(CHECK)})
    assert stale.status_code == 422 and "at revision 2" in words_of(stale)
    assert ana.get(f"{page}?version=9").status_code == 404


def test_faults_stand_beside_their_fields_and_the_form_keeps_everything(cast, page_client, here, correct):
    ana = page_client(cast.ana)
    regex = {**CHECK, "operator": "regex", "source": "literal", "value": "(Paris"}
    schema = {**CHECK, "operator": "json_schema", "source": "literal", "value": '{"type": "object"}'}
    wrong = ana.post(f"{here}new", {"name": "Keeps this", "metric": correct.pk, **rows(schema, regex)})
    text = wrong.content.decode()
    assert wrong.status_code == 422 and "The pattern cannot be read" in text
    assert "Keeps this" in text and "(Paris" in text and "&quot;object&quot;" in text
    none = ana.post(f"{here}new", {"name": "X", "metric": correct.pk, **rows({"operator": ""})})
    assert none.status_code == 422 and "at least one check" in words_of(none)
    lost = ana.post(f"{here}new", {"name": "X", "metric": correct.pk, **rows(CHECK), "checks-5-operator": "equals"})
    assert lost.status_code == 400
    more = ana.post(f"{here}new", {"more": "1", **rows(CHECK)})
    assert more.status_code == 200 and "checks-1-operator" in more.content.decode()
    assert "required" not in words_of(more)
    assert not Grader.objects.exists()


def test_an_assertion_is_tried_without_storing_anything(cast, page_client, here, access, correct):
    ana, count = page_client(cast.ana), Grader.objects.count()
    loose = {**CHECK, "ignore_case": "on"}

    def tried(answer: str, expected: str, *checks: dict[str, str], **headers: str) -> str:
        sent = {"try": "1", "answer": answer, "expected": expected, **rows(*checks)}
        return ana.post(f"{here}new", sent, headers=headers).content.decode()

    assert "Passes" in tried("in PARIS", "Paris", loose) and "New grader" in tried("in PARIS", "Paris", loose)
    part = tried("in PARIS", "Paris", CHECK, **{"HX-Request": "true"})
    assert "Does not pass" in part and "New grader" not in part
    assert "Not applicable" in tried("in PARIS", "", CHECK)
    unread = {**CHECK, "operator": "regex", "source": "literal", "value": "("}
    assert "cannot be tried" in tried("a", "a", unread, **{"HX-Request": "true"})
    assert Grader.objects.count() == count
    version = actions.create_grader(access=access, metric=correct, kind="assertion", name="G", config=CONTAINS)
    page = f"{here}{version.grader_id}/"
    assert "Passes" in words_of(ana.post(f"{page}versions/1/try", {"answer": "a cat", "expected": "cat"}))
    listed = ana.post(f"{page}versions/1/try", {"answer": "a cat", "expected": '["dog", "cat"]'})
    assert "Passes" in words_of(listed)
    assert ana.post(f"{page}versions/2/try", {}).status_code == 404
    assert page_client(cast.ben).post(f"{page}versions/1/try", {}).status_code == 403


def test_a_judge_and_a_validator_are_written_in_forms_of_their_own(cast, page_client, here, correct):
    ana = page_client(cast.ana)
    model_route()
    judge = {"name": "Judge", "metric": correct.pk, "route": "fixture-large", "prompt": "{{answers}}"}
    wrong = ana.post(f"{here}new?kind=judge", {**judge, "evidence": ["generation"]})
    assert wrong.status_code == 422 and "Line 1: there is no {{answers}}" in words_of(wrong)
    said = {**judge, "prompt": "Is it right?\r\n{{answer}}", "evidence": ["generation", "enrichment"]}
    page = ana.post(f"{here}new?kind=judge", said)["Location"]
    assert GraderConfig.objects.get().body["prompt"] == "Is it right?\n{{answer}}"
    assert "fixture:support" in words_of(ana.get(page)) and "What a validator found" in words_of(ana.get(page))
    form = ana.get(f"{page}versions/new").content.decode()
    assert "Is it right?" in form and form.count(" checked") >= 2
    validator = {"name": "Checks", "metric": correct.pk, **VALIDATOR, "fee": "0.0025", "fee_currency": "eur"}
    assert "listed no host" in words_of(ana.get(f"{here}new?kind=validator"))
    assert ana.post(f"{here}new?kind=validator", validator).status_code == 422
    actions.list_host(host="checks.example.org", note="", by=None)
    page = ana.post(f"{here}new?kind=validator", {**validator, "enrichment": "#"})["Location"]
    made = GraderVersion.objects.get(grader__kind="validator")
    assert (made.fee_micros, made.fee_currency) == (2_500, "EUR")
    assert GraderConfig.objects.get(version=made).body["enrichment"] == ""
    form = ana.get(f"{page}versions/new").content.decode()
    assert 'value="0.0025"' in form and 'value="#"' in form
    unknown = {name: value for name, value in validator.items() if name != "fee"} | {"revision": "1"}
    ana.post(f"{page}versions/new", unknown)
    told = words_of(ana.get(f"{page}?version=2&against=1"))
    assert "Unknown" in told and "Fee per call" in told


def test_lists_find_filter_and_put_away(cast, page_client, here, access, correct):
    ana = page_client(cast.ana)
    version = actions.create_grader(access=access, metric=correct, kind="assertion", name="Says it", config=CONTAINS)
    imported = actions.grader_version(definition=correct, name="exact", identity="0" * 64, config={"a": 1})
    page = f"{here}{version.grader_id}/"
    assert "exact" not in words_of(ana.get(f"{here}?kind=assertion"))
    assert "Says it" not in words_of(ana.get(f"{here}?q=exact"))
    assert "No grader is like this" in words_of(ana.get(f"{here}?q=nothing"))
    assert ana.get(f"{here}?kind=choir").status_code == 400
    assert "correct" in words_of(ana.get(f"{here}metrics/?q=corr&kind=boolean"))
    theirs = words_of(ana.get(f"{here}{imported.grader_id}/"))
    assert "it came with imports" in theirs and "New version" not in theirs and "Rename" not in theirs
    assert ana.get(f"{here}{imported.grader_id}/versions/new").status_code == 409
    ana.post(f"{page}name", {"name": "Says so", "revision": "1"})
    assert "Says so" in words_of(ana.get(page))
    assert ana.post(f"{page}name", {"name": "X", "revision": "1"}).status_code == 422
    assert "is archived" in words_of(ana.post(f"{page}archive", follow=True))
    assert "Says so" not in words_of(ana.get(here)) and "Says so" in words_of(ana.get(f"{here}?archived=1"))
    ana.post(f"{page}restore")
    assert "Says so" in words_of(ana.get(here))
    viewer = words_of(page_client(cast.ben).get(page))
    assert "evaluation.content.read" in viewer and "/expected" not in viewer and "Try version" not in viewer


# the form of an assertion keeps what a configuration says


def as_a_browser_sends(form: AssertionForm) -> QueryDict:
    """Every field with its initial value, line ends as browsers write them."""
    data = QueryDict(mutable=True)
    data["checks-TOTAL_FORMS"], data["checks-INITIAL_FORMS"] = str(len(form.checks.forms)), "0"
    fields: list[Any] = [form["match"], *(field for row in form.checks.forms for field in row)]
    for field in fields:
        value = field.value()
        if field.widget_type == "checkbox":
            if value:
                data[field.html_name] = "on"
        else:
            data[field.html_name] = "" if value is None else str(value).replace("\r\n", "\n").replace("\n", "\r\n")
    return data


@given(CONFIGS)
def test_an_untouched_form_says_what_it_was_given(config):
    kept = assertions.checked(config)
    form = AssertionForm(None, metrics=MetricDefinition.objects.none(), named=False, config=kept)
    bound = AssertionForm(as_a_browser_sends(form), metrics=MetricDefinition.objects.none(), named=False)
    assert bound.is_valid(), (bound.errors, bound.checks.errors)
    said = assertions.checked(bound.config())
    assert said["match"] == kept["match"]
    for mine, other in zip(said["checks"], kept["checks"], strict=True):
        if _as_text(other):
            assert {**mine, "value": None} == {**other, "value": None}
        else:
            assert mine == other


def _as_text(check: dict[str, Any]) -> bool:
    """Whether a check compares texts with a value that is none or may be a list, or that a browser spells anew."""
    value = check.get("value", "")
    spelt_out = not isinstance(value, str) or value.strip()[:1] == "["
    return (check["at"] is None and check["operator"] in ("equals", "contains") and spelt_out) or "\r" in str(value)
