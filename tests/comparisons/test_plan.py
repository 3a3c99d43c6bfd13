"""What would settle a comparison: page and API give one answer, and a faulty difference is told in its place."""

from __future__ import annotations

import json

import pytest

from analysis.planning import answer
from analysis.results import plain


def test_page_and_api_give_the_same_plan(usual, cast, api_client, page_client):
    expected = answer(usual.view(cast.ana).result)
    links = api_client(cast.ana, cast.team).get(usual.api()).json()["links"]
    given = api_client(cast.ana, cast.team).get(links["plan"]).json()
    assert given["answer"] == json.loads(json.dumps(plain(expected)))
    page = page_client(cast.ana).get(usual.url(cast.ana, tab="plan")).text
    assert expected.text in page
    for text in expected.plan.assumptions:
        assert text in page
    for option in expected.plan.options:
        assert f'<td class="num">{option.cases:,}</td>' in page


def test_the_difference_stands_in_the_address(usual, cast, api_client, page_client):
    expected = answer(usual.view(cast.ana).result, 0.2)
    given = api_client(cast.ana, cast.team).get(usual.api("paired_comparison_plan", difference="0.2")).json()
    assert given["answer"]["plan"]["target"] == 0.2
    short = page_client(cast.ana).get(
        f"/t/support/comparisons/paired?candidate={usual.candidate.pk}&baseline={usual.baseline.pk}"
        "&metric=correct&tab=plan&difference=0.2",
        follow=True,
    )
    assert expected.text in short.text
    assert 'name="difference" type="text" inputmode="decimal" value="0.2"' in short.text


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "1e400", "five", "٥", "1e-12"])
def test_a_difference_that_is_none_is_told_beside_its_field(usual, cast, text, api_client, page_client):
    page = page_client(cast.ana).get(usual.url(cast.ana, tab="plan", difference=text))
    assert page.status_code == 200
    assert 'aria-invalid="true"' in page.text
    assert "The difference is a number above 0" in page.text
    assert "Assumed" not in page.text
    refused = api_client(cast.ana, cast.team).get(usual.api("paired_comparison_plan", difference=text))
    assert refused.status_code == 400
    assert (refused.json()["error"]["code"], refused.json()["error"]["place"]) == ("invalid_field", "difference")
