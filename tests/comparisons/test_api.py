"""Page, API, exports and command line render one result object."""

from __future__ import annotations

import csv
import io
import json

import pytest

from analysis.results import plain
from comparisons import cases
from comparisons.cases import Listing
from teams import csv_export
from tests.factories import evidence
from tests.factories.arms import random_cases


@pytest.fixture
def api(api_client, cast):
    return api_client(cast.ana, cast.team)


def test_api_and_exports_hold_the_result_of_the_page(usual, cast, api, page_client):
    result = plain(usual.view(cast.ana).result)
    result = json.loads(json.dumps(result))
    answer = api.get(usual.api()).json()
    exported = page_client(cast.ana).get(usual.url(cast.ana, "export"))
    file = json.loads(b"".join(exported.streaming_content))
    for field, value in result.items():
        assert answer["result"][field] == value, field
        assert file["result"][field] == value, field
    assert answer["result"].keys() == file["result"].keys() == result.keys()
    assert answer["selection"] == file["selection"]
    assert answer["selection"]["fingerprint"] == usual.resolved(cast.ana).selection.fingerprint


def test_the_links_lead_to_the_same_selection(usual, cast, api, page_client):
    links = api.get(usual.api()).json()["links"]
    assert api.get(links["self"]).json()["links"] == links
    assert api.get(links["swapped"]).json()["selection"]["candidate"] == str(usual.baseline.pk)
    assert api.get(links["cases"]).json()["count"] == 60
    for name in ("page", "export_json", "export_csv"):
        answer = page_client(cast.ana).get(links[name])
        assert answer.status_code == 200
        if answer.streaming:
            b"".join(answer.streaming_content)


def test_cases_are_paged_filtered_and_sorted_like_the_page(usual, cast, api):
    shown = usual.view(cast.ana)
    listing = Listing(filter="regressions", sort="-latency")
    wanted = [cases.plain_row(row) for row in cases.rows(shown, cases.ordered(shown, listing), cast.access(cast.ana))]
    found, address = [], usual.api("paired_comparison_cases", filter="regressions", sort="-latency", page_size=7)
    while address:
        answer = api.get(address).json()
        found += answer["items"]
        address = answer["next"]
    assert found == json.loads(json.dumps(wanted))
    assert len(found) == shown.result.filters.regressions


def test_the_csv_matches_the_screen_row_by_row(usual, cast, page_client):
    answer = page_client(cast.ana).get(usual.url(cast.ana, "export", format="csv", filter="regressions"))
    text = b"".join(answer.streaming_content).decode("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(text)))
    shown = usual.view(cast.ana)
    order = cases.ordered(shown, Listing(filter="regressions"))
    assert [float(row["delta"]) for row in rows] == shown.cases.delta[order].tolist()
    assert {row["change"] for row in rows} == {"worse"}
    assert all(row["candidate_item_revision_id"] for row in rows)
    assert {row["candidate_generation_cost_coverage"] for row in rows} == {"none"}
    assert {row["candidate_generation_cost_micros"] for row in rows} == {""}


def test_a_title_that_would_run_as_a_formula_does_not(compare, cast, page_client):
    marks = {"=cmd()": [1], "-b": [0]}
    found = compare(marks, marks, titles={"=cmd()": "@sum(1)"})
    answer = page_client(cast.ana).get(found.url(cast.ana, "export", format="csv"))
    text = b"".join(answer.streaming_content).decode("utf-8-sig")
    cells = {cell for row in csv.reader(io.StringIO(text)) for cell in row}
    assert {"'@sum(1)", "'=cmd()", "'-b"} <= cells
    assert not any(cell.startswith(("=", "@", "+")) for cell in cells)


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        (None, ""),
        (-0.5, "-0.5"),
        (True, "true"),
        ("=1+1", "'=1+1"),
        ("  =1", "'  =1"),
        ("\tx", "'\tx"),
        ("＝1", "'＝1"),
        ("plain", "plain"),
        ("a\0b", "ab"),
    ],
)
def test_cells(value, cell):
    assert csv_export.safe_cell(value) == cell


def test_unknown_and_doubled_parameters_are_refused(usual, api):
    for address, code in (
        (usual.api(reps=1), "unknown_field"),
        (f"{usual.api()}&metric=a&metric=b", "invalid_field"),
        (usual.api("paired_comparison_cases", sort="title"), "invalid_field"),
        (usual.api("paired_comparison_cases", page_size=1000), "invalid_field"),
    ):
        answer = api.get(address)
        assert answer.status_code == 400
        assert answer.json()["error"]["code"] == code


def test_an_ambiguous_selection_is_refused_with_its_choices(compare, cast, api):
    one = {"a": [1], "b": [0]}
    found = compare(one, one, more=[evidence.Graded(one, grader="judge", version=1)])
    answer = api.get(found.api())
    assert answer.status_code == 409
    error = answer.json()["error"]
    assert (error["code"], error["place"]) == ("comparison_ambiguous", "candidate_grader")
    assert {choice["label"] for choice in error["extra"]["choices"]} == {"exact_answer v4", "judge v1"}


def test_without_the_content_right_rows_have_no_content(compare, cast, api_client):
    found = compare(random_cases(20, 1, rate=0.5, seed=1), random_cases(20, 1, rate=0.5, seed=2))
    ben = api_client(cast.ben, cast.team)
    [row, *_] = ben.get(found.api("paired_comparison_cases")).json()["items"]
    assert not {"title", "source_id", "tags"} & row.keys()
    assert ben.get(found.api("paired_comparison_cases", q="x")).status_code == 403
    assert ben.get(found.api()).status_code == 200


@pytest.mark.parametrize("side", ["candidate", "baseline"])
def test_a_side_that_is_not_named_is_said(usual, api, side):
    answer = api.get(usual.api(**{side: ""}))
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["place"]) == (400, "invalid_field", side)
