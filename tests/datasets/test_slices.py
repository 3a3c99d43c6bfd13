"""Slices: filters over what cases say, in immutable versions, counted when they are made."""

from __future__ import annotations

import json

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from datasets import actions, filters, queries
from datasets.bodies import Case
from datasets.models import SliceVersion, VersionEntry
from teams.refusals import Refusal

pytestmark = pytest.mark.django_db

MAIL = "mail 1"
CASES = [
    Case(
        "a-1",
        {"input": "Where is my refund?"},
        title="Refund",
        language="en",
        tags=["refund", "easy"],
        metadata={"level": 3, "source": {"file": "one"}},
        group=MAIL,
    ),
    Case("a-2", {"input": "أين طلبي؟"}, "طلب", "ar", ["order"], {"level": "3"}, MAIL),
    Case("b-3", {"turns": [{"role": "user", "content": "100% wrong_answer"}]}, language="en", tags=["refund"]),
    Case("b-4", {"input": "Nothing", "expected": "says refund"}, metadata={"level": None, "input": True}),
]


@pytest.fixture
def access(cast):
    return cast.access(cast.ana)


@pytest.fixture
def version(access):
    dataset = actions.create_dataset(access=access, name="Mixed")
    for case in CASES:
        actions.add_case(access=access, dataset=dataset, case=case)
    return actions.make_version(access=access, dataset=dataset, revision=queries.draft_of(dataset).revision)


def taken(version, *conditions, match="all") -> str:
    """The numbers of the cases that a filter takes, in the version's order."""
    chosen = filters.read({"match": match, "conditions": [dict(one) for one in conditions]})
    entries = filters.entries(version, chosen).select_related("revision__itemcontent")
    return "".join(entry.revision.itemcontent.source_id[-1] for entry in entries)


def one(field, operator, value=None, key=None):
    given = {"field": field, "operator": operator, "value": value, "key": key}
    return {name: said for name, said in given.items() if said is not None}


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (one("tag", "is", "refund"), "13"),
        (one("tag", "is_not", "refund"), "24"),
        (one("tag", "is_set"), "123"),
        (one("tag", "is_not_set"), "4"),
        (one("language", "is", "en"), "13"),
        (one("language", "is_not", "en"), "24"),
        (one("language", "is_not_set"), "4"),
        (one("source_id", "contains", "A-"), "12"),
        (one("source_id", "contains_not", "a-"), "34"),
        (one("title", "is", "طلب"), "2"),
        (one("title", "is_set"), "12"),
        (one("text", "contains", "REFUND"), "14"),
        (one("text", "contains", "input"), ""),
        (one("text", "contains", "أين"), "2"),
        (one("text", "contains", "100%"), "3"),
        (one("text", "contains", "g_a"), "3"),
        (one("text", "contains", "%"), "3"),
        (one("text", "contains_not", "refund"), "23"),
        (one("group", "is", "mail 1"), "12"),
        (one("group", "is_not_set"), "34"),
        (one("metadata", "is", "3", "level"), "12"),
        (one("metadata", "is_not", "3", "level"), "34"),
        (one("metadata", "is_set", key="level"), "12"),
        (one("metadata", "is_set", key="source.file"), "1"),
        (one("metadata", "is", "one", "source.file"), "1"),
        (one("metadata", "contains", "ON", "source.file"), "1"),
        (one("metadata", "is", "true", "input"), "4"),
        (one("metadata", "is_not_set", key="contains"), "1234"),
        (one("metadata", "is", "x", "level__gt"), ""),
        (one("metadata", "is", "x", "a'b\"c%s\\"), ""),
    ],
)
def test_a_condition_takes_what_it_says(version, condition, expected):
    assert taken(version, condition) == expected


def test_all_and_any(version):
    english, refund = one("language", "is", "en"), one("text", "contains", "refund")
    assert taken(version, english, refund) == "1"
    assert taken(version, english, refund, match="any") == "134"


def test_content_that_is_gone_meets_nothing(version):
    entry = VersionEntry.objects.filter(version=version).order_by("position")[3]
    content = entry.revision.itemcontent
    type(content).objects.filter(pk=content.pk).update(
        availability="redacted", source_id=None, title=None, tags=None, metadata=None, body=None, group_name=None
    )
    chosen = filters.read({"conditions": [one("tag", "is_not", "refund")]})
    assert filters.entries(version, chosen).count() == 1


TYPED = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=20).filter(
    str.strip
)
CONDITIONS = st.builds(
    lambda field, at, value, key: one(
        field,
        operator := filters.ALLOWED[field][at % len(filters.ALLOWED[field])],
        None if operator in filters.WITHOUT_VALUE else value,
        key if field == "metadata" else None,
    ),
    st.sampled_from(list(filters.FIELDS)),
    st.integers(0, 20),
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=20).filter(
        str.strip
    ),
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=20).filter(
        str.strip
    ),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(condition=CONDITIONS)
def test_a_condition_and_its_opposite_part_the_cases(version, condition):
    """Whatever a person types is a value: no lookup, no field, no SQL."""
    opposite = {"is": "is_not", "contains": "contains_not", "is_set": "is_not_set"}
    back = {new: old for old, new in opposite.items()}
    other = {**opposite, **back}[condition["operator"]]
    if other not in filters.ALLOWED[condition["field"]]:
        return
    both = taken(version, condition) + taken(version, {**condition, "operator": other})
    assert sorted(both) == list("1234")


@pytest.mark.parametrize(
    ("given_filter", "place"),
    [
        ("x", "filter"),
        ({"conditions": []}, "filter.conditions"),
        ({"conditions": "tag"}, "filter.conditions"),
        ({"match": "some", "conditions": [one("tag", "is", "a")]}, "filter.match"),
        ({"conditions": [one("tag", "is", "a")] * 21}, "filter.conditions"),
        ({"conditions": ["tag"]}, "filter.conditions[0]"),
        ({"conditions": [one("colour", "is", "a")]}, "filter.conditions[0].field"),
        ({"conditions": [one("tag", "contains", "a")]}, "filter.conditions[0].operator"),
        ({"conditions": [one("tag", "is")]}, "filter.conditions[0].value"),
        ({"conditions": [one("tag", "is_set", "a")]}, "filter.conditions[0].value"),
        ({"conditions": [one("tag", "is", "a", "k")]}, "filter.conditions[0].key"),
        ({"conditions": [one("metadata", "is", "a")]}, "filter.conditions[0].key"),
        ({"conditions": [one("tag", "is", "a\0")]}, "filter.conditions[0].value"),
        ({"conditions": [{**one("tag", "is", "a"), "also": 1}]}, "filter.conditions[0].also"),
        ({"conditions": [one("tag", "is", "a")], "also": 1}, "filter.also"),
    ],
)
def test_a_filter_is_refused_with_its_place(given_filter, place):
    with pytest.raises(Refusal) as refused:
        filters.read(given_filter)
    assert refused.value.place == place


def made(access, version, name="English", value="en"):
    return actions.create_slice(
        access=access,
        dataset=version.dataset,
        name=name,
        given={"conditions": [one("language", "is", value)]},
        version=version,
    )


def test_a_slice_keeps_its_counts_and_its_earlier_filters(access, version):
    first = made(access, version)
    assert (first.number, first.count, first.scope) == (1, 2, 4)
    assert first.slicecontent.words == "Language is “en”"
    wider = {"match": "any", "conditions": [one("language", "is", "en"), one("tag", "is", "order")]}
    second = actions.new_slice_version(
        access=access, slice_=first.slice, given=wider, version=version, revision=first.slice.revision
    )
    assert (second.number, second.count) == (2, 3)
    assert SliceVersion.objects.get(pk=first.pk).count == 2
    again = actions.new_slice_version(access=access, slice_=first.slice, given=wider, version=version, revision=2)
    assert again == second  # nothing changed


def test_slices_are_named_once_edited_by_revision_archived_and_restored(access, version):
    first = made(access, version)

    def code(action):
        with pytest.raises(Refusal) as refused, transaction.atomic():
            action()
        return refused.value.code

    assert code(lambda: made(access, version)) == "name_taken"
    renamed = actions.rename_slice(access=access, slice_=first.slice, name="In English", revision=1)
    stale = {"access": access, "slice_": renamed, "name": "Other", "revision": 1}
    assert code(lambda: actions.rename_slice(**stale)) == "revision_stale"
    actions.archive_slice(access=access, slice_=renamed)
    assert not queries.slices_of(version.dataset).exists()
    actions.restore_slice(access=access, slice_=renamed)
    assert queries.slices_of(version.dataset).get().count == 2


def test_the_console_makes_counts_and_changes_a_slice(cast, page_client, access, version):
    ana = page_client(cast.ana)
    here = f"/t/{cast.team.slug}/datasets/{version.dataset_id}/slices/"
    form = {
        **{"name": "English", "match": "all", "version": "1"},
        **{"conditions-TOTAL_FORMS": "1", "conditions-INITIAL_FORMS": "0"},
        **{"conditions-0-field": "language", "conditions-0-operator": "is", "conditions-0-value": "en"},
    }
    counted = ana.post(f"{here}new", {**form, "count": "1"})
    assert counted.status_code == 200
    assert "<b>2</b> of 4 cases meet it" in counted.content.decode()
    assert 'name="conditions-1-value"' in counted.content.decode()  # one more row
    kept = ana.post(f"{here}new", form, follow=True)
    assert "The slice takes 2 of 4 cases" in kept.content.decode()
    chosen = queries.slices_of(version.dataset).get()
    filter_page = f"{here}{chosen.pk}/filter"
    change = {**form, "revision": "1", "conditions-INITIAL_FORMS": "1", "conditions-0-value": "ar"}
    changed = ana.post(filter_page, change, follow=True).content.decode()
    assert "Version 2 takes 1 of 4 cases" in changed
    assert "a-2" in changed
    stale = ana.post(filter_page, change)
    assert stale.status_code == 422
    assert "revision 2" in stale.content.decode()
    wrong = ana.post(f"{here}new", {**form, "name": "Other", "conditions-0-operator": "contains"})
    assert "operator is one of is, is_not" in wrong.content.decode()
    empty = ana.post(f"{here}new", {**form, "name": "Other", "conditions-0-value": ""})
    assert "at least one condition" in empty.content.decode()


def test_a_reader_of_metadata_sees_names_and_counts_and_no_filter(cast, page_client, api_client, access, version):
    chosen = made(access, version).slice
    ben = page_client(cast.ben)
    here = f"/t/{cast.team.slug}/datasets/{version.dataset_id}/slices/"
    for page in (ben.get(here), ben.get(f"{here}{chosen.pk}/")):
        text = page.content.decode()
        assert "English" in text
        assert "Language is" not in text
        assert "refund" not in text
    api = api_client(cast.ben, cast.team)
    address = f"/api/v1/datasets/{version.dataset_id}"
    [shown] = api.get(f"{address}/slices/{chosen.pk}/versions").json()["items"]
    assert (shown["filter"], shown["cases"]) == (None, 2)
    given_filter = json.dumps({"conditions": [one("language", "is", "en")]})
    assert api.get(f"{address}/versions/1/items", {"filter": given_filter}).status_code == 403


def test_the_api_does_the_same_and_holds_its_keys_and_etags(cast, api_client, access, version):
    api = api_client(cast.ana, cast.team)
    address = f"/api/v1/datasets/{version.dataset_id}/slices"
    body = {"name": "English", "filter": {"conditions": [one("language", "is", "en")]}, "version": 1}

    def send(method, path, body, **headers):
        return getattr(api, method)(path, json.dumps(body), content_type="application/json", headers=headers)

    first = send("post", address, body, **{"Idempotency-Key": "slice-key-1"})
    again = send("post", address, body, **{"Idempotency-Key": "slice-key-1"})
    assert (first.status_code, again.status_code, first.json()) == (201, 200, again.json())
    assert first.json()["filter"]["conditions"] == body["filter"]["conditions"]
    chosen = f"{address}/{first.json()['slice']}"
    items = api.get(f"{chosen}/items").json()
    assert [row["content"]["source_id"] for row in items["items"]] == ["a-1", "b-3"]
    filtered = api.get(
        f"/api/v1/datasets/{version.dataset_id}/versions/1/items", {"filter": json.dumps(body["filter"])}
    )
    assert filtered.json()["items"] == items["items"]
    seen = api.get(chosen)["ETag"]
    assert send("patch", chosen, {"name": "In English"}, **{"If-Match": seen}).json()["name"] == "In English"
    assert send("patch", chosen, {"archived": True}, **{"If-Match": seen}).json()["error"]["code"] == "revision_stale"
    wrong = {**body, "filter": {"conditions": [one("tag", "contains", "x")]}, "name": "Other"}
    refused = send("post", address, wrong, **{"Idempotency-Key": "slice-key-2"}).json()["error"]
    assert refused["place"] == "filter.conditions[0].operator"
    newer = {"filter": {"conditions": [one("language", "is", "ar")]}, "version": 1, "slice_revision": 2}
    made_ = send("post", f"{chosen}/versions", newer, **{"Idempotency-Key": "slice-key-3"}).json()
    assert (made_["number"], made_["cases"]) == (2, 1)
