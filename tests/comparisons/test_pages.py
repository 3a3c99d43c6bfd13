"""The comparison page: what it says, its lists in the address, and what readers without content see."""

from __future__ import annotations

import gzip
import re

import numpy as np
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from analysis.observations import FailureKind, Outcome
from analysis.results import Change
from comparisons import cases
from comparisons.cases import Listing
from comparisons.lenses import paired as lens
from comparisons.models import KeptResult
from runs.models import Execution
from teams.refusals import Refusal
from tests.factories import evidence
from tests.factories.arms import random_cases

CANARY = "Xylophone"


@pytest.fixture
def ana(page_client, cast):
    return page_client(cast.ana)


@pytest.fixture
def ben(page_client, cast):
    return page_client(cast.ben)


@pytest.fixture
def secret(compare):
    """Content everywhere that content can be."""
    mine = random_cases(30, 2, rate=0.5, seed=1)
    mine["case-1"] = [FailureKind.TIMED_OUT, 1.0]
    mine["case-2"] = [Outcome.ABSTAINED, None]
    names = {name: f"{CANARY}-{name}" for name in mine}
    of = {names[name]: marks for name, marks in mine.items()}
    theirs = {names[name]: marks for name, marks in random_cases(30, 2, rate=0.7, seed=2).items()}
    theirs[f"{CANARY}-only"] = [1.0]
    said = lambda name, repetition: f"{CANARY} said {name} {repetition}"  # noqa: E731
    return compare(
        of,
        theirs,
        titles={name: f"{CANARY} title {name}" for name in theirs},
        tags={name: [f"{CANARY}-tag"] for name in theirs},
        answers=said,
        errors=said,
        reasoning=said,
    )


def text_of(answer) -> str:
    body = b"".join(answer.streaming_content) if answer.streaming else answer.content
    return body.decode()


def shown_items(answer) -> list[str]:
    return re.findall(r'<tr id="case-([0-9a-f-]{36})"', text_of(answer))


TABS = ("cases", "unmatched", "coverage", "changed", "ranges", "details")


def test_the_page_says_the_finding_and_all_six_cards(usual, cast, ana):
    page = text_of(ana.get(usual.url(cast.ana)))
    for title in (
        "Generation reliability",
        "Selected-pass completion",
        "Per-grader coverage",
        "Paired quality",
        "Full-run spend",
        "Paired latency",
    ):
        assert title in page
    assert usual.view(cast.ana).result.finding.segments[1].text in page
    assert "60 cases, 180 pairs" in page
    assert "Score interval, 60 cases" in page


@pytest.mark.parametrize("word", ["winner", "ship", "recommend"])
@pytest.mark.parametrize("tab", TABS)
def test_no_page_names_a_winner(usual, cast, ana, tab, word):
    page = text_of(ana.get(usual.url(cast.ana, tab=tab)))
    assert not re.search(rf"\b{word}", re.sub(r"<[^>]+>", " ", page), re.IGNORECASE)


def test_unknown_cost_reads_unknown_and_never_zero(usual, cast, ana):
    page = text_of(ana.get(usual.url(cast.ana)))
    assert "no cost was recorded" in page
    assert "$0" not in page


def test_a_generation_gap_stands_open_on_the_page(compare, cast, ana):
    mine = {f"c{i}": [FailureKind.HARNESS_ERROR if i < 34 else float(i % 2)] for i in range(100)}
    theirs = {f"c{i}": [float(i % 3 > 0)] for i in range(100)}
    page = text_of(ana.get(compare(mine, theirs).url(cast.ana)))
    assert "34 generation errors" in page
    assert "66/100" in page
    assert "generation_gap" in page


def test_categories_have_no_mean_and_nothing_better(compare, cast, ana):
    mine = {f"c{i}": ["refund" if i % 3 else "other"] for i in range(24)}
    theirs = {f"c{i}": ["refund" if i % 2 else "address"] for i in range(24)}
    found = compare(mine, theirs, metric=evidence.categorical())
    page = text_of(ana.get(found.url(cast.ana)))
    assert "labels have no mean" in page
    assert "Resolved" not in page
    assert "address" in text_of(ana.get(found.url(cast.ana, tab="ranges")))


def test_withheld_is_said_and_observed_values_stay(compare, cast, ana):
    some = random_cases(30, 1, rate=0.6, seed=3)
    found = compare(some, some, of_candidate={"version": 5})
    page = text_of(ana.get(found.url(cast.ana)))
    assert "Better, worse and intervals are withheld" in page
    assert "different_grader" in page
    assert "30/30" in page


# lists


def test_regressions_come_first_and_the_largest_ahead(usual, cast, ana):
    shown = usual.view(cast.ana)
    order = cases.ordered(shown, Listing())
    worse = int((shown.cases.change == Change.WORSE).sum())
    assert (shown.cases.change[order[:worse]] == Change.WORSE).all()
    assert (np.diff(shown.cases.delta[order[:worse]]) >= 0).all()
    assert len(shown_items(ana.get(usual.url(cast.ana)))) == cases.PAGE


@pytest.mark.parametrize("name", cases.FILTERS)
def test_a_filter_keeps_what_its_chip_counts_and_leaves_the_summary(compare, cast, ana, name):
    mine = random_cases(40, 2, rate=0.5, seed=5)
    mine["case-0"] = [FailureKind.TIMED_OUT, 1.0]
    mine["case-1"] = [Outcome.GRADER_ERROR, Outcome.ABSTAINED]
    found = compare(mine, random_cases(40, 2, rate=0.6, seed=6))
    shown = found.view(cast.ana)
    count = cases.counts(shown.result.filters)[name]
    assert len(cases.ordered(shown, Listing(filter=name))) == count
    page = text_of(ana.get(found.url(cast.ana, filter=name)))
    plain = text_of(ana.get(found.url(cast.ana)))
    cards = re.compile(r'<section class="cards".*?</section>', re.DOTALL)
    assert cards.search(page).group() == cards.search(plain).group()


def test_only_regressions_takes_precedence(usual, cast, ana):
    both = ana.get(usual.url(cast.ana, filter="improvements", only_regressions=1))
    assert shown_items(both) == shown_items(ana.get(usual.url(cast.ana, filter="regressions")))
    assert shown_items(both) != shown_items(ana.get(usual.url(cast.ana, filter="improvements")))


@pytest.mark.parametrize("sort", cases.SORTS)
def test_every_order_is_by_its_column_with_unknown_last(compare, cast, sort):
    latency = lambda name, repetition: None if name == "case-3" else 100.0 * len(name) + repetition  # noqa: E731
    price = lambda name, repetition: None if name == "case-4" else 7 * repetition  # noqa: E731
    found = compare(
        random_cases(30, 2, rate=0.5, seed=5),
        random_cases(30, 2, rate=0.6, seed=6),
        of_candidate={"latency_ms": latency, "cost_micros": price},
        of_baseline={"cost_micros": 1},
    ).view(cast.ana)
    column = {
        "difference": found.cases.delta,
        "candidate": found.cases.candidate_mean,
        "baseline": found.cases.baseline_mean,
        "latency": found.cases.latency_delta_ms,
        "cost": found.cases.cost_delta_micros,
    }[sort]
    for name, sign in ((sort, 1), (f"-{sort}", -1)):
        values = sign * column[cases.ordered(found, Listing(sort=name))]
        known = values[np.isfinite(values)]
        assert (np.diff(known) >= 0).all()
        assert np.isnan(values[len(known) :]).all()


def test_pages_hold_every_case_once(usual, cast, ana):
    seen = [item for page in (1, 2, 3) for item in shown_items(ana.get(usual.url(cast.ana, page=page)))]
    assert len(seen) == len(set(seen)) == 60
    assert shown_items(ana.get(usual.url(cast.ana, page=99))) == shown_items(ana.get(usual.url(cast.ana, page=3)))


@pytest.mark.parametrize(
    ("q", "count"),
    [("case-17", 1), ("title of CASE-17", 1), ("urgent", 2), ("nothing", 0), ("%", 0), ("Question of", 0)],
)
def test_search_looks_into_titles_source_ids_and_tags(compare, cast, ana, q, count):
    tags = {"case-3": ["urgent"], "case-4": ["Urgent", "late"]}
    found = compare(random_cases(30, 1, rate=0.5, seed=1), random_cases(30, 1, rate=0.5, seed=2), tags=tags)
    assert len(shown_items(ana.get(found.url(cast.ana, q=q)))) == count


def test_a_part_of_the_page_answers_htmx(usual, cast, ana):
    headers = {"HX-Request": "true", "HX-Target": "evidence"}
    part = text_of(ana.get(usual.url(cast.ana, filter="regressions"), headers=headers))
    assert "<html" not in part
    assert part.strip().startswith('<section id="evidence"')


def test_unmatched_rows_are_listed_with_their_reason(compare, cast, ana):
    mine = {"a": [1, 0], "b": [1], "c": [FailureKind.TIMED_OUT], "n": [1]}
    theirs = {"a": [1], "b": [1], "c": [1], "o": [0]}
    found = compare(mine, theirs, of_baseline={"bodies": {"b": {"input": "changed"}}}, of_candidate={"duplicates": 2})
    page = text_of(ana.get(found.url(cast.ana, tab="unmatched")))
    for reason in (
        "missing on the other side",
        "revised content",
        "no such repetition",
        "generation error",
        "duplicate",
    ):
        assert reason in page
    narrowed = text_of(ana.get(found.url(cast.ana, tab="unmatched", side="baseline", reason="missing")))
    assert narrowed.count("Inspect case") == 1


@pytest.mark.parametrize(
    "bad",
    [{"filter": "x"}, {"sort": "title"}, {"page": "0"}, {"page": "x"}, {"only_regressions": "yes"}, {"q": "\0"}],
)
def test_what_no_list_has_is_refused(cast, bad):
    with pytest.raises(Refusal) as caught:
        Listing.of(cast.access(cast.ana), bad)
    assert caught.value.code == "invalid_field"


def test_fault_7_pictures_cover_all_cases_not_the_page(usual, cast, ana):
    page = text_of(ana.get(usual.url(cast.ana, page=2, filter="regressions")))
    result = usual.view(cast.ana).result
    strip = re.search(r'<figcaption class="strip-legend">(.*?)</figcaption>', page, re.DOTALL).group(1)
    counts = [int(one) for one in re.findall(r"(\d+)\s+(?:worse|the same|better)", re.sub(r"<[^>]+>", "", strip))]
    assert counts == [result.quality.worse, result.quality.same, result.quality.better]
    assert sum(counts) == 60


# rights


@pytest.mark.parametrize("tab", TABS)
def test_P10_a_reader_of_metadata_sees_no_content(secret, cast, ben, ana, tab):
    page = text_of(ben.get(secret.url(cast.ben, tab=tab)))
    assert CANARY not in page
    assert 'type="search"' not in page
    if tab in ("cases", "unmatched", "ranges"):
        assert CANARY in text_of(ana.get(secret.url(cast.ana, tab=tab)))


@pytest.mark.parametrize("format_", ["json", "csv"])
def test_P10_an_export_without_the_right_has_no_content(secret, cast, ben, ana, format_):
    answer = ben.get(secret.url(cast.ben, "export", format=format_))
    assert CANARY not in text_of(answer) + answer["Content-Disposition"]
    theirs = ana.get(secret.url(cast.ana, "export", format=format_))
    assert CANARY in text_of(theirs)
    assert CANARY not in theirs["Content-Disposition"]


def test_P10_content_is_not_even_asked_for(secret, cast, ben):
    with CaptureQueriesContext(connection) as asked:
        ben.get(secret.url(cast.ben))
    statements = [one["sql"] for one in asked.captured_queries]
    assert not any("itemcontent" in sql for sql in statements)
    [counted] = [sql for sql in statements if "runs_answer" in sql]  # how many were taken away, and no more
    assert not any(f'"{column}"' in counted for column in ("text", "structured", "error"))


def test_searching_and_opening_cases_need_the_right(secret, cast, ben):
    assert ben.get(secret.url(cast.ben, q="x")).status_code == 403
    item = Execution.objects.filter(experiment=secret.candidate).first().revision.item_id
    assert ben.get(secret.url(cast.ben, "case", item=str(item))).status_code == 403


def test_rights_are_asked_again_for_a_remembered_result(usual, cast, page_client, ana):
    ana.get(usual.url(cast.ana))
    cleo = page_client(cast.cleo)
    for name in ("paired", "case", "export"):
        assert cleo.get(usual.url(cast.ana, name)).status_code == 404


def test_P13_reading_writes_only_the_kept_result(usual, cast, ana):
    with CaptureQueriesContext(connection) as asked:
        for name in ("paired", "export"):
            answer = ana.get(usual.url(cast.ana, name))
            text_of(answer)
    writes = [one["sql"] for one in asked.captured_queries if re.match(r"\s*(INSERT|UPDATE|DELETE)", one["sql"])]
    assert all("comparisons_keptresult" in sql or "django_session" in sql for sql in writes)
    assert KeptResult.objects.count() == 1


# cost of a page


def test_queries_and_bytes_do_not_grow_with_the_cases(compare, cast, ana):
    asked, sizes = [], []
    for size in (50, 1_000):
        found = compare(
            random_cases(size, 1, rate=0.5, seed=1),
            random_cases(size, 1, rate=0.6, seed=2),
            in_dataset=f"Of {size}",
            answers=None,
        )
        address = found.url(cast.ana)
        ana.get("/t/support/comparisons/")  # what the process learns once, such as content types
        lens.forget()
        counts = []
        for _ in ("computed", "remembered"):
            with CaptureQueriesContext(connection) as queries:
                answer = ana.get(address)
            counts.append(len(queries))
        asked.append(counts)
        sizes.append(len(gzip.compress(answer.content)))
    assert asked[0] == asked[1]
    assert asked[0][0] <= 20
    assert asked[0][1] <= 12
    assert max(sizes) < 60_000
    assert sizes[1] < sizes[0] * 1.5


# the chooser


def test_without_experiments_the_page_says_the_next_step(cast, ana, ben):
    page = text_of(ana.get("/t/support/comparisons/"))
    assert "Import two runs" in page
    assert "Import two runs" not in text_of(ben.get("/t/support/comparisons/"))


def test_the_chooser_lists_finished_experiments_of_one_dataset(usual, cast, ana):
    evidence.experiment(cast.team, cast.ana, {"a": [1]}, label="unfinished", finished=False)
    other = evidence.experiment(cast.team, cast.ana, {"a": [1]}, label="elsewhere", in_dataset="Other")
    page = text_of(ana.get(f"/t/support/comparisons/?dataset={usual.candidate.version.dataset_id}"))
    assert "nano" in page
    assert "unfinished" not in page
    assert "elsewhere" not in page
    assert "second run" in text_of(ana.get(f"/t/support/comparisons/?dataset={other.version.dataset_id}"))


def test_an_ambiguous_selection_shows_the_form_with_its_choices(compare, cast, ana):
    one = {"a": [1], "b": [0]}
    found = compare(one, one, of_candidate={"more": [evidence.Graded(one, grader="judge", version=1)]})
    answer = ana.get(
        f"/t/support/comparisons/paired?candidate={found.candidate.pk}&baseline={found.baseline.pk}&metric=correct"
    )
    assert answer.status_code == 409
    page = text_of(answer)
    assert "comparison_ambiguous" in page
    assert "judge v1" in page


def test_an_incomplete_address_is_completed_and_keeps_its_list(usual, cast, ana):
    chosen = usual.resolved(cast.ana).selection
    asked = f"candidate={chosen.candidate}&baseline={chosen.baseline}&metric=correct&filter=flaky&tab=ranges"
    answer = ana.get(f"/t/support/comparisons/paired?{asked}")
    assert answer.status_code == 302
    assert answer["Location"] == usual.url(cast.ana, tab="ranges", filter="flaky")
