"""Writing cases in the console and over the API: forms that keep every word, and doors that agree."""

from __future__ import annotations

import html
import json
import re

import pytest

from datasets import actions, queries
from datasets.bodies import Case
from datasets.models import Dataset, ItemContent, ItemRevision, Version
from tests.comparisons.test_real_evidence import words_of

pytestmark = pytest.mark.django_db

ROWS = {
    **{"turns-TOTAL_FORMS": "1", "turns-INITIAL_FORMS": "0", "turns-0-role": "user", "turns-0-content": ""},
    **{"points-TOTAL_FORMS": "1", "points-INITIAL_FORMS": "0", "points-0-text": "", "points-0-points": ""},
}
WRITTEN = {
    **{"source_id": "refund-1", "title": "Refund", "kind": "input", "input": "Where is\r\nmy refund?"},
    **{"expected": "Asks for the number.", "language": "en", "tags": "refund\r\n\r\neasy", "group": "mail"},
    **{"metadata": '{"level": 3}', "more": "", "seen": "", **ROWS},
}


@pytest.fixture
def ana(cast, page_client):
    return page_client(cast.ana)


@pytest.fixture
def here(cast, ana):
    made = ana.post(f"/t/{cast.team.slug}/datasets/new", {"name": "Refunds"})
    return made["Location"]


def newest(dataset_page: str) -> ItemRevision:
    return ItemRevision.objects.filter(item__dataset=dataset_page.rstrip("/").rpartition("/")[2]).latest("made_at")


def test_a_dataset_is_made_renamed_archived_and_restored(cast, ana, here):
    assert "Add cases and make a version" in words_of(ana.get(here))
    taken = ana.post(f"/t/{cast.team.slug}/datasets/new", {"name": "refunds"})
    assert taken.status_code == 422
    assert "Choose another name" in words_of(taken)
    ana.post(f"{here}name", {"name": "Returns", "revision": "1"})
    assert Dataset.objects.get().name == "Returns"
    assert "revision 2" in words_of(ana.post(f"{here}name", {"name": "Other", "revision": "1"}))
    ana.post(f"{here}archive")
    assert "Returns" not in words_of(ana.get(f"/t/{cast.team.slug}/datasets/")).partition("Archived")[2]
    refused = ana.post(f"{here}cases/new", WRITTEN)
    assert "is archived" in words_of(refused)
    ana.post(f"{here}restore")
    assert Dataset.objects.get().archived_at is None


def test_a_written_case_joins_the_draft_and_a_version(cast, ana, here):
    seen = ana.post(f"{here}cases/new", WRITTEN, follow=True)
    assert "The case is in the draft" in words_of(seen)
    content = ItemContent.objects.get()
    assert content.body == {"input": "Where is\nmy refund?", "expected": "Asks for the number."}
    assert (content.tags, content.metadata, content.group_name) == (["refund", "easy"], {"level": 3}, "mail")
    draft = ana.get(f"{here}draft/")
    assert "would list 1 case: 1 added" in words_of(draft)
    revision = re.search(r'name="revision" value="(\d+)"', draft.content.decode())[1]
    version = ana.post(f"{here}draft/version", {"revision": revision}, follow=True)
    assert "Version 1 lists 1 cases" in words_of(version) or "Version 1 lists 1 case" in words_of(version)
    assert Version.objects.get().count == 1


def test_a_conversation_with_points_and_rows_that_grow(cast, ana, here):
    form = {**WRITTEN, "kind": "turns", "turns-0-content": "Hello", "points-0-text": "Is kind", "points-0-points": "2"}
    more = ana.post(f"{here}cases/new", {**form, "more_rows": "turns"})
    assert more.status_code == 200
    page = more.content.decode()
    assert 'name="turns-1-content"' in page
    assert "Hello" in page and "Is kind" in page and "refund-1" in page and "easy" in page
    assert not ItemRevision.objects.exists()
    total = re.search(r'name="turns-TOTAL_FORMS" value="(\d+)"', page)[1]
    form |= {
        "turns-TOTAL_FORMS": total,
        "turns-INITIAL_FORMS": "1",
        "turns-1-role": "assistant",
        "turns-1-content": "Hi",
    }
    ana.post(f"{here}cases/new", form)
    assert ItemContent.objects.get().body == {
        "turns": [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}],
        "expected": "Asks for the number.",
        "checklist": [{"id": "1", "text": "Is kind", "points": 2}],
    }


def test_opening_and_saving_a_case_changes_nothing(cast, ana, here):
    """Whatever a case holds: what the fields cannot hold stays in `more`, and line ends stay."""
    access = cast.access(cast.ana)
    dataset = Dataset.objects.get()
    bodies = [
        {"input": "a\r\nb\rc\n", "expected": ["x", {"y": 1.0}], "choices": {"A": 1}},
        {"input": [{"role": "user", "content": "hi"}], "checklist": [{"id": "a", "text": "t", "points": 1.5}]},
        {"turns": [{"role": "user", "content": " hi\r\n"}, {"role": "tool", "content": "x"}], "expected": " padded "},
        {"turns": [{"role": "user", "content": "hi", "name": "n"}]},
        {"input": "q", "checklist": [{"id": "a", "text": "t", "points": 2, "variant": "v"}]},
    ]
    for number, body in enumerate(bodies):
        edited = actions.add_case(
            access=access,
            dataset=dataset,
            case=Case(f"c{number}", body, tags=["x, y"], metadata={"a": [1, {"b": None}]}),
        )
        page = ana.get(f"{here}cases/{edited.item.pk}/").content.decode()
        saved = ana.post(f"{here}cases/{edited.item.pk}/", fields(page), follow=True)
        assert "Nothing was changed" in words_of(saved), number
    assert ItemRevision.objects.count() == len(bodies)


def fields(page: str) -> dict[str, str]:
    """What a browser would send of the form as it was shown."""
    form = re.search(r'<form method="post" class="stack case-form".*?</form>', page, re.DOTALL)[0]
    found = {}
    for name, text in re.findall(r'<textarea name="([^"]+)"[^>]*>\n?(.*?)</textarea>', form, re.DOTALL):
        found[name] = html.unescape(text).replace("\r\n", "\n").replace("\r", "\n").replace("\n", "\r\n")
    for tag in re.findall(r"<input[^>]*>", form):
        name, value = re.search(r'name="([^"]+)"', tag), re.search(r'value="([^"]*)"', tag)
        if name and ('type="radio"' not in tag or "checked" in tag):
            found[name[1]] = html.unescape(value[1]) if value else ""
    for name, options in re.findall(r'<select name="([^"]+)".*?>(.*?)</select>', form, re.DOTALL):
        chosen = re.search(r'value="([^"]*)" selected', options)
        found[name] = chosen[1] if chosen else re.search(r'value="([^"]*)"', options)[1]
    return found


def test_an_edit_shows_its_difference_and_an_old_one_is_not_overwritten(cast, ana, here):
    ana.post(f"{here}cases/new", WRITTEN)
    first = newest(here)
    page = f"{here}cases/{first.item_id}/"
    shown = fields(ana.get(page).content.decode())
    assert "source_id" not in shown
    saved = ana.post(page, {**shown, "input": "Where is my money?"}, follow=True)
    assert "Saved as revision 2" in words_of(saved)
    stale = ana.post(page, {**shown, "input": "Where is my parcel?"})
    assert stale.status_code == 422
    assert "Somebody changed this case meanwhile" in words_of(stale)
    assert "my parcel" in stale.content.decode()  # what was written is not lost
    second = newest(here)
    told = ana.get(f"{here}revisions/{second.pk}/?against={first.pk}").content.decode()
    assert "<ins>" in told and "<del>" in told
    assert "What revision 2 changed since revision 1" in words_of(
        ana.get(f"{here}revisions/{second.pk}/?against={first.pk}")
    )
    assert ana.get(f"{here}revisions/{second.pk}/?against={second.item_id}").status_code == 404


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"input": " "}, "Say what is asked"),
        ({"source_id": ""}, "required"),
        ({"metadata": "{"}, "Metadata"),
        ({"metadata": "[1]"}, "Write one JSON object"),
        ({"metadata": '{"a": 1, "a": 2}'}, "a"),
        ({"more": '{"turns": []}', "input": ""}, "Say what is asked"),
        ({"language": "no such tag"}, "A language is a tag"),
        ({"points-0-text": "x", "points-0-points": "-1"}, "greater than or equal to 0"),
        ({"kind": "turns"}, "Say what is asked"),
    ],
)
def test_a_fault_stands_beside_its_field_and_nothing_is_lost(cast, ana, here, changes, said):
    found = ana.post(f"{here}cases/new", {**WRITTEN, **changes})
    assert found.status_code == 422
    assert said in words_of(found)
    assert "Asks for the number." in found.content.decode()
    assert not ItemRevision.objects.exists()


def test_taken_away_content_cannot_be_edited(cast, ana, here):
    ana.post(f"{here}cases/new", WRITTEN)
    revision = newest(here)
    ItemContent.objects.filter(revision=revision).update(
        availability="deleted", source_id=None, title=None, tags=None, metadata=None, body=None, group_name=None
    )
    refused = ana.get(f"{here}cases/{revision.item_id}/")
    assert refused.status_code == 409
    assert "case_content_gone" in refused.content.decode()


def test_versions_are_compared_on_page_and_api_alike(cast, ana, here, api_client):
    access, dataset = cast.access(cast.ana), Dataset.objects.get()

    def publish():
        actions.make_version(access=access, dataset=dataset, revision=queries.draft_of(dataset).revision)

    made = [actions.add_case(access=access, dataset=dataset, case=Case(f"c{n}", {"input": f"{n}?"})) for n in range(4)]
    publish()
    assert "fewer than two versions" in words_of(ana.get(f"{here}compare"))
    actions.remove_case(access=access, dataset=dataset, item=made[0].item.pk)
    actions.revise_case(
        access=access,
        dataset=dataset,
        item=made[1].item.pk,
        case=Case("-", {"input": "other?"}),
        seen_revision=made[1].revision.pk,
    )
    actions.add_case(access=access, dataset=dataset, case=Case("c9", {"input": "9?"}))
    publish()
    page = words_of(ana.get(f"{here}compare"))
    assert "Version 2 against version 1" in page
    assert "2 cases stand the same in both. 1 added, 1 revised, 1 removed" in page
    assert "c9" not in words_of(ana.get(f"{here}compare?kind=removed")).partition("Asks")[2]
    api = api_client(cast.ana, cast.team)
    rows = api.get(f"/api/v1/datasets/{dataset.pk}/differences?from=1&to=2").json()["items"]
    assert [(row["kind"], row["content"]["source_id"]) for row in rows] == [
        ("added", "c9"),
        ("revised", "c1"),
        ("removed", "c0"),
    ]
    blind = api_client(cast.ben, cast.team)
    hidden = blind.get(f"/api/v1/datasets/{dataset.pk}/differences?from=1&to=2").json()["items"]
    assert [row["content"] for row in hidden] == [None, None, None]
    assert api.get(f"/api/v1/datasets/{dataset.pk}/differences?from=1&to=9").status_code == 404


def test_the_api_writes_what_the_console_writes(cast, api_client, ana, here):
    api, dataset = api_client(cast.ana, cast.team), Dataset.objects.get()
    address = f"/api/v1/datasets/{dataset.pk}"

    def send(method, path, body=None, **headers):
        return getattr(api, method)(
            f"{address}{path}", json.dumps(body), content_type="application/json", headers=headers
        )

    body = {"source_id": "q1", "body": {"input": "What?"}, "tags": ["a"]}
    first = send("post", "/draft/cases", body, **{"Idempotency-Key": "case-key-1"})
    again = send("post", "/draft/cases", body, **{"Idempotency-Key": "case-key-1"})
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json()
    item = first.json()["item"]
    other = send("post", "/draft/cases", {**body, "tags": ["b"]}, **{"Idempotency-Key": "case-key-1"})
    assert other.json()["error"]["code"] == "request_key_conflict"
    taken = send("post", "/draft/cases", body, **{"Idempotency-Key": "case-key-2"})
    assert taken.json()["error"]["code"] == "case_exists"
    unknown = send("post", "/draft/cases", {**body, "colour": "red"}, **{"Idempotency-Key": "case-key-3"})
    assert unknown.json()["error"]["code"] == "unknown_field"
    wrong = send("post", "/draft/cases", {**body, "body": {"turns": [{"role": "x", "content": "y"}]}},
                 **{"Idempotency-Key": "case-key-4"})  # fmt: skip
    assert wrong.json()["error"]["place"] == "body.turns[0].role"

    seen = api.get(f"{address}/draft/cases/{item}")["ETag"]
    assert (
        send("put", f"/draft/cases/{item}", {"body": {"input": "Why?"}}).json()["error"]["code"] == "revision_missing"
    )
    revised = send("put", f"/draft/cases/{item}", {"body": {"input": "Why?"}}, **{"If-Match": seen})
    assert (revised.status_code, revised.json()["number"]) == (200, 2)
    stale = send("put", f"/draft/cases/{item}", {"body": {"input": "Who?"}}, **{"If-Match": seen})
    assert stale.json()["error"]["code"] == "revision_stale"
    assert [row["kind"] for row in api.get(f"{address}/draft/changes").json()["items"]] == ["added"]
    draft = api.get(f"{address}/draft")
    given = {"draft_revision": draft.json()["revision"]}
    version = send("post", "/versions", given, **{"Idempotency-Key": "version-key-1"})
    assert (version.status_code, version.json()["cases"]) == (201, 1)
    assert send("post", "/versions", given, **{"Idempotency-Key": "version-key-1"}).json() == version.json()
    assert api.get(f"{address}/draft").status_code == 404
    assert send("delete", f"/draft/cases/{item}").status_code == 204
    assert send("delete", f"/draft/changes/{item}").status_code == 204
    etag = api.get(f"{address}/draft")["ETag"]
    assert send("delete", "/draft", **{"If-Match": etag}).status_code == 204
    revision = api.get(f"{address}/revisions/{revised.json()['id']}").json()
    assert revision["content"]["body"] == {"input": "Why?"}
    assert api_client(cast.ben, cast.team).get(f"{address}/revisions/{revised.json()['id']}").json()["content"] is None
    edited = send("patch", "", {"name": "By program", "archived": True}, **{"If-Match": api.get(address)["ETag"]})
    assert (edited.json()["name"], edited.json()["archived_at"] is not None) == ("By program", True)


def test_lists_ask_the_database_as_often_for_many_as_for_few(cast, ana, here, django_assert_max_num_queries):
    access, dataset = cast.access(cast.ana), Dataset.objects.get()
    for number in range(60):
        actions.add_case(access=access, dataset=dataset, case=Case(f"c{number}", {"input": "?"}))
    with django_assert_max_num_queries(24):
        ana.get(f"{here}draft/")
    actions.make_version(access=access, dataset=dataset, revision=queries.draft_of(dataset).revision)
    condition = {"conditions": [{"field": "source_id", "operator": "contains", "value": "c"}]}
    for number in range(30):
        actions.create_slice(
            access=access, dataset=dataset, name=f"s{number}", given=condition, version=Version.objects.get()
        )
    with django_assert_max_num_queries(20):
        ana.get(f"{here}slices/")


@pytest.mark.parametrize("total", ["x", "", "0", "-1", "9" * 30])
def test_a_form_that_lost_rows_on_its_way_drops_none_without_a_word(cast, ana, here, total):
    sent = {**WRITTEN, "points-TOTAL_FORMS": total, "points-0-text": "Asks", "points-0-points": "1"}
    for more in ({}, {"more_rows": "points"}):
        refused = ana.post(f"{here}cases/new", {**sent, **more})
        assert refused.status_code == 400 and "without all of its rows" in words_of(refused)
    assert not ItemRevision.objects.exists()
