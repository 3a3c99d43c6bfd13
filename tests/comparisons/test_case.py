"""One case side by side: the pinned revisions, both answers, what was taken away, and who may read it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis import word_diff as words
from analysis.observations import FailureKind
from analysis.word_diff import diff
from datasets.models import Item, ItemContent
from runs.models import Answer
from tests.factories import evidence

NEVER = "01a22ef4-69ea-76c1-abb0-d7d50d7e0c74"


@pytest.fixture
def ana(page_client, cast):
    return page_client(cast.ana)


@pytest.fixture
def two(compare):
    return compare(
        {"a": [1, 0], "b": [FailureKind.TIMED_OUT], "mine": [1]},
        {"a": [1, 1], "b": [1], "theirs": [0]},
        of_candidate={"answers": lambda name, repetition: f"**New** answer {repetition}, see the rule."},
        of_baseline={"answers": lambda name, repetition: f"**Old** answer {repetition}, see the rule."},
        reasoning=lambda name, repetition: f"Because {name} {repetition}",
    )


def item(found, name):
    return str(Item.objects.filter(itemrevision__itemcontent__source_id=name).distinct().get().pk)


def page(client, found, cast, name, **more):
    answer = client.get(found.url(cast.ana, "case", item=item(found, name), **more))
    assert answer.status_code == 200
    return answer.content.decode()


def test_both_answers_stand_side_by_side_with_their_words_marked(two, cast, ana):
    text = page(ana, two, cast, "a", repetition=2)
    assert "<del>Old</del>" in text
    assert "<ins>New</ins>" in text
    assert "Question of a" in text
    assert "Expected of a" in text
    assert "Because a 2" in text
    assert "Raw JSON" in text


def test_the_first_repetition_that_differs_opens(two, cast, ana):
    assert "answer</" not in page(ana, two, cast, "a")
    assert re.search(r'aria-current="true">Repetition 2', page(ana, two, cast, "a"))


def test_formatted_answers_are_safe_markdown(two, cast, ana):
    text = page(ana, two, cast, "a", view="formatted")
    assert "<strong>New</strong>" in text
    assert "<ins>" not in text


def test_html_and_images_of_an_answer_are_not_rendered(compare, cast, ana):
    bad = "<img src=x onerror=alert(1)> ![p](http://x/y.png) <script>1</script> \u202eabc"
    found = compare({"a": [1]}, {"a": [1]}, answers=lambda name, repetition: bad)
    for view in ("words", "formatted"):
        text = page(ana, found, cast, "a", view=view)
        assert "<img" not in text
        assert "<script>1" not in text
        assert "RLO" in text


def test_a_failure_shows_its_error_text(two, cast, ana):
    text = page(ana, two, cast, "b")
    assert "Error in b, attempt 1" in text
    assert "timed out" in text


def test_a_case_of_one_side_is_inspected_alone(two, cast, ana):
    text = page(ana, two, cast, "theirs")
    assert "Only one of the two experiments holds this case" in text
    assert "This experiment has no such case" in text


def test_a_revised_case_shows_both_questions(compare, cast, ana):
    found = compare({"a": [1]}, {"a": [1]}, of_baseline={"bodies": {"a": {"input": "Older question"}}})
    text = page(ana, found, cast, "a")
    assert "Older question" in text
    assert "Question of a" in text
    assert "does not pair" in text


def test_the_original_revision_is_shown_after_the_item_changed(two, cast, ana):
    evidence.experiment(cast.team, cast.ana, {"a": [1]}, label="later", bodies={"a": {"input": "Changed since"}})
    text = page(ana, two, cast, "a")
    assert "Question of a" in text
    assert "Changed since" not in text


@pytest.mark.parametrize("state", ["expired", "deleted", "redacted"])
def test_content_that_was_taken_away_is_said(two, cast, ana, state):
    Answer.objects.filter(execution__experiment=two.candidate).update(
        availability=state, text=None, structured=None, error=None
    )
    ItemContent.objects.filter(source_id="a").update(
        availability=state, source_id=None, title=None, tags=None, metadata=None, body=None
    )
    found = Item.objects.filter(itemrevision__execution__experiment=two.candidate)
    texts = [ana.get(two.url(cast.ana, "case", item=str(one.pk))).content.decode() for one in found.distinct()]
    assert any(f"(answer {state})" in text and f"(content {state})" in text for text in texts)
    exported = ana.get(two.url(cast.ana, "export"))
    assert b"Title of a" not in b"".join(exported.streaming_content)


def test_neighbours_follow_the_listed_order(compare, cast, ana):
    found = compare({f"c{i}": [0] for i in range(4)}, {f"c{i}": [1] for i in range(4)})
    listed = re.findall(
        r'href="([^"]*case\?[^"]*)"', ana.get(found.url(cast.ana, filter="regressions")).content.decode()
    )
    first = ana.get(listed[0].replace("&amp;", "&")).content.decode()
    assert "1 of 4 regressions" in first
    assert 'rel="prev"' not in first
    following = re.search(r'rel="next"[^>]*href="([^"]*)"', first).group(1)
    assert re.search(r"item=([0-9a-f-]+)", following).group(1) in listed[1]


def test_P12_parts_are_read_by_themselves_and_never_kept(two, cast, ana):
    for part, has, hasnt in (
        ("head", "Question of a", "<ins>"),
        ("candidate", "<ins>New</ins>", "<del>"),
        ("baseline", "<del>Old</del>", "<ins>"),
    ):
        answer = ana.get(two.url(cast.ana, "case", item=item(two, "a"), repetition=1, part=part))
        text = answer.content.decode()
        assert has in text
        assert hasnt not in text
        assert "<html" not in text
        assert "no-store" in answer["Cache-Control"]


@pytest.mark.parametrize("bad", ["", "x", NEVER])
def test_what_is_no_case_here_is_not_found(two, cast, ana, bad):
    assert ana.get(two.url(cast.ana, "case", item=bad)).status_code == 404


def test_a_case_of_another_dataset_or_team_is_not_found(two, cast, ana):
    for team, by in ((cast.team, cast.ana), (cast.other_team, cast.cleo)):
        made = evidence.experiment(team, by, {"z": [1]}, label="z", in_dataset="Elsewhere")
        other = Item.objects.get(itemrevision__execution__experiment=made)
        assert ana.get(two.url(cast.ana, "case", item=str(other.pk))).status_code == 404


def test_a_repetition_that_is_not_there_is_not_found(two, cast, ana):
    assert ana.get(two.url(cast.ana, "case", item=item(two, "a"), repetition=9)).status_code == 404


# the difference itself


@given(st.text(max_size=300), st.text(max_size=300))
def test_pieces_are_exactly_the_texts(one, other):
    found = diff(one, other)
    assert "".join(piece.text for piece in found.before) == one
    assert "".join(piece.text for piece in found.after) == other
    assert found.same == (one == other)


def test_long_answers_are_compared_by_line_and_quickly():
    one = "\n".join(f"line {index} of the answer" for index in range(2_000))
    found = diff(one, one.replace("line 77 ", "row 77 "))
    assert found.by == "lines"
    assert [piece.text for piece in found.after if piece.differs] == ["row 77 of the answer\n"]


def test_what_is_too_long_even_by_line_is_marked_whole():
    lines = words.MOST_WORK // 1_000
    found = diff("a\n" * lines, "b\n" * lines)
    assert found.by == "whole"
    assert found.before[0].differs
