"""Datasets on pages and over the API: lists, versions, cases, what is content and what is not."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from datasets.models import Dataset, ItemContent
from datasets.queries import parts, preview
from tests.factories import evidence

CASES = {f"case-{number:03d}": [1] for number in range(120)}


@pytest.fixture
def made(cast):
    return evidence.experiment(
        cast.team, cast.omar, CASES, bodies={"case-007": {"input": "Wo ist mein Paket?"}}, tags={"case-009": ["refund"]}
    )


@pytest.fixture
def here(cast, made):
    return f"/t/{cast.team.slug}/datasets/{made.version.dataset_id}/"


@pytest.fixture
def omar(cast, page_client):
    return page_client(cast.omar)


def test_the_list_counts_cases_versions_and_experiments(cast, omar, made):
    body = omar.get(f"/t/{cast.team.slug}/datasets/").content.decode()
    assert "Cases" in body and '<td class="num">120</td><td class="num">1</td>' in body


def test_an_empty_team_is_told_the_next_step(cast, page_client):
    body = page_client(cast.cleo).get(f"/t/{cast.other_team.slug}/datasets/").content.decode()
    assert "A dataset appears when you import the first results" in body
    assert f'href="/t/{cast.other_team.slug}/imports/new/"' in body


def test_archived_datasets_stand_apart(cast, omar, made):
    Dataset.objects.filter(pk=made.version.dataset_id).update(archived_at="2026-01-01T00:00:00Z")
    page = f"/t/{cast.team.slug}/datasets/"
    assert "row-link" not in omar.get(page).content.decode()
    assert "row-link" in omar.get(f"{page}?archived=1").content.decode()


@pytest.mark.parametrize(("page", "first", "last"), [("1", 1, 50), ("3", 101, 120), ("99", 101, 120), ("x", 1, 50)])
def test_cases_are_paged_by_position(omar, here, page, first, last):
    body = omar.get(here, {"page": page}).content.decode()
    assert f"{first}–{last} of 120 cases" in body
    assert f"case-{first - 1:03d}" in body and f"case-{last - 1:03d}" in body
    assert f"case-{last:03d}" not in body


@pytest.mark.parametrize("words", ["case-007", "Title of case-007", "mein Paket", "CASE-007"])
def test_a_case_is_found_by_its_words(omar, here, words):
    body = omar.get(here, {"q": words}).content.decode()
    assert "1 of 120 cases hold" in body


def test_a_case_is_found_by_its_tag(omar, here):
    assert "1 of 120 cases hold" in omar.get(here, {"q": "refund"}).content.decode()


def test_a_search_that_finds_nothing_says_so(omar, here):
    assert "No case holds these words" in omar.get(here, {"q": "100%_"}).content.decode()


def test_searching_content_needs_the_right_to_it(cast, page_client, api_client, here, made):
    """Otherwise the number of hits would tell a metadata reader what cases say."""
    assert page_client(cast.ben).get(here, {"q": "Paket"}).status_code == 403
    address = f"/api/v1/datasets/{made.version.dataset_id}/versions/1/items?q=Paket"
    assert api_client(cast.ben, cast.team).get(address).status_code == 403
    assert api_client(cast.omar, cast.team).get(address).json()["count"] == 1


def test_content_is_not_even_asked_for_without_the_right(cast, page_client, api_client, made, here):
    ben, program = page_client(cast.ben), api_client(cast.ben, cast.team)
    revision = evidence.ItemRevision.objects.first()
    for who, address in (
        (ben, here),
        (ben, f"{here}versions/1/"),
        (ben, f"{here}revisions/{revision.pk}/"),
        (program, f"/api/v1/datasets/{made.version.dataset_id}/versions/1/items"),
    ):
        with CaptureQueriesContext(
            connection,
        ) as asked:
            assert who.get(address).status_code == 200
        assert not [query for query in asked if "datasets_itemcontent" in query["sql"]], address


def test_the_number_of_queries_does_not_grow_with_the_cases(omar, here, django_assert_max_num_queries):
    with django_assert_max_num_queries(16):
        omar.get(here)


@pytest.mark.parametrize("state", ["expired", "deleted", "redacted"])
def test_what_was_taken_away_says_so_and_keeps_its_fingerprint(omar, here, state):
    content = ItemContent.objects.get(source_id="case-007")
    ItemContent.objects.filter(pk=content.pk).update(
        availability=state, source_id=None, title=None, tags=None, metadata=None, body=None
    )
    body = omar.get(f"{here}revisions/{content.pk}/").content.decode()
    assert f"Content {state}" in body and "Paket" not in body
    assert bytes(content.revision.content_digest).hex() in body
    assert f"({state})" in omar.get(here).content.decode()


def test_a_case_whose_content_was_never_captured_is_marked(cast, omar):
    made = evidence.experiment(cast.team, cast.omar, {"a": [1]}, in_dataset="Bare", bodies={"a": None})
    revision = evidence.ItemRevision.objects.get(item__dataset__name="Bare")
    body = omar.get(f"/t/{cast.team.slug}/datasets/{made.version.dataset_id}/revisions/{revision.pk}/").content.decode()
    assert "never captured" in body and "revision unknown" in body


def test_hostile_text_stays_text(cast, omar):
    hostile = "<img src=x onerror=alert(1)> \u202egnp.exe [x](javascript:alert(1))"
    made = evidence.experiment(
        cast.team, cast.omar, {hostile: [1]}, in_dataset="Hostile", bodies={hostile: {"input": hostile}}
    )
    revision = evidence.ItemRevision.objects.get(item__dataset__name="Hostile")
    here = f"/t/{cast.team.slug}/datasets/{made.version.dataset_id}/"
    for address in (here, f"{here}revisions/{revision.pk}/"):
        body = omar.get(address).content.decode()
        assert "<img src=x" not in body and "\u202e" not in body
        assert 'class="bidi"' in body


def test_the_api_tells_the_same(cast, api_client, made):
    program = api_client(cast.omar, cast.team)
    address = f"/api/v1/datasets/{made.version.dataset_id}"
    assert program.get(address).json()["cases"] == 120
    version = program.get(f"{address}/versions").json()["items"][0]
    assert (version["number"], version["cases"], version["sha256"]) == (1, 120, made.version.sha256)
    page = program.get(f"{address}/versions/1/items?page_size=100&page=2").json()
    assert [row["position"] for row in page["items"]] == list(range(100, 120))
    assert page["items"][0]["content"]["source_id"] == "case-100"
    assert page["next"] is None


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"input": "Hello\n  there"}, "Hello there"),
        ({"input": [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]}, "b"),
        ("plain", "plain"),
        (None, ""),
        ({"input": None}, ""),
        ({"input": "x" * 500}, "x" * 159 + "…"),
    ],
)
def test_a_preview_is_what_was_asked_last(body, said):
    assert preview(body) == said


def test_parts_are_in_reading_order():
    names = [part.name for part in parts({"zeta": 1, "expected": "e", "alpha": [], "input": "i"})]
    assert names == ["Input", "Expected", "Alpha", "Zeta"]
    assert parts([{"role": "user", "content": "hi"}])[0].turns == (("user", "hi"),)
    assert parts({"input": {"q": "؟"}})[0].json == '{\n  "q": "؟"\n}'
