"""Cases written by people: every edit a revision, a draft over a version, and versions that never change."""

from __future__ import annotations

import random
import threading

import pytest
from django.db import connection, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analysis.observations import source_digest
from comparisons.lenses import paired as lens
from comparisons.selection import Asked, resolve
from datasets import actions, bodies, queries
from datasets.actions import drafts
from datasets.bodies import Case
from datasets.models import Change, Draft, Item, ItemContent, ItemRevision, Version, VersionEntry
from intake.actions import import_now
from teams import bulk
from teams.models import AuditEvent
from teams.records import new_id
from teams.refusals import Refusal

pytestmark = pytest.mark.django_db


@pytest.fixture
def access(cast):
    return cast.access(cast.ana)


@pytest.fixture
def dataset(access):
    return actions.create_dataset(access=access, name="Refunds")


def written(number: int, question: str = "", **more) -> Case:
    return Case(f"case-{number}", {"input": question or f"What is {number}?"}, **more)


def add(access, dataset, *numbers: int):
    return [actions.add_case(access=access, dataset=dataset, case=written(number)) for number in numbers]


def publish(access, dataset) -> Version:
    draft = queries.draft_of(dataset)
    assert draft is not None
    return actions.make_version(access=access, dataset=dataset, revision=draft.revision)


def listed(version: Version) -> list[str]:
    entries = VersionEntry.objects.filter(version=version).order_by("position").select_related("revision__itemcontent")
    return [f"{entry.revision.itemcontent.source_id}/{entry.revision.number}" for entry in entries]


def code(action) -> str:
    with pytest.raises(Refusal) as refused, transaction.atomic():
        action()
    return refused.value.code


def test_cases_become_a_version_in_the_order_they_were_written(access, dataset):
    add(access, dataset, 3, 1, 2)
    version = publish(access, dataset)
    assert (version.number, version.count, listed(version)) == (1, 3, ["case-3/1", "case-1/1", "case-2/1"])
    assert not Draft.objects.exists()
    assert not Change.objects.exists()


def test_an_edit_is_a_new_revision_and_earlier_versions_keep_theirs(access, dataset):
    [one, *_] = add(access, dataset, 1, 2)
    first = publish(access, dataset)
    edited = actions.revise_case(
        access=access,
        dataset=dataset,
        item=one.item.pk,
        case=written(1, "What is one?", title="One", tags=["a", "a", "b"]),
        seen_revision=one.revision.pk,
    )
    assert edited.revision.number == 2
    assert ItemContent.objects.get(revision=edited.revision).tags == ["a", "b"]
    second = publish(access, dataset)
    assert listed(first) == ["case-1/1", "case-2/1"]
    assert listed(second) == ["case-1/2", "case-2/1"]
    [(kind, item, before, after)] = queries.compared(first, second)
    assert (kind, item, before, after) == ("revised", one.item.pk, one.revision.pk, edited.revision.pk)
    assert queries.compared(second, first)[0][0] == "revised"
    before, after = (ItemContent.objects.get(revision=pk) for pk in (one.revision.pk, edited.revision.pk))
    told = {diff.name: diff for diff in queries.field_diffs(before, after)}
    assert list(told) == ["Title", "Tags", "Input"]
    assert [piece.text for piece in told["Input"].after if piece.differs] == ["one"]


def test_a_description_alone_is_a_revision_that_still_pairs(access, dataset):
    [one] = add(access, dataset, 1)
    first = publish(access, dataset)
    edited = actions.revise_case(
        access=access,
        dataset=dataset,
        item=one.item.pk,
        case=written(1, language="ar", metadata={"level": 3}),
        seen_revision=one.revision.pk,
    )
    second = publish(access, dataset)
    assert bytes(edited.revision.content_digest) == bytes(one.revision.content_digest)
    assert first.sha256 != second.sha256


def test_saving_the_same_words_changes_nothing(access, dataset):
    [one] = add(access, dataset, 1)
    publish(access, dataset)
    again = actions.revise_case(
        access=access, dataset=dataset, item=one.item.pk, case=written(1), seen_revision=one.revision.pk
    )
    assert again.revision == one.revision
    assert not Change.objects.exists()
    assert ItemRevision.objects.count() == 1


def test_going_back_to_earlier_words_is_the_earlier_revision(access, dataset):
    [one] = add(access, dataset, 1)
    publish(access, dataset)

    def say(text, seen):
        return actions.revise_case(
            access=access, dataset=dataset, item=one.item.pk, case=written(1, text), seen_revision=seen
        ).revision

    other = say("Another?", one.revision.pk)
    assert Change.objects.count() == 1
    assert say("What is 1?", other.pk) == one.revision
    assert not Change.objects.exists()  # as in the base again


def test_a_removed_case_can_come_back_as_the_same_item(access, dataset):
    one, _ = add(access, dataset, 1, 2)
    first = publish(access, dataset)
    actions.remove_case(access=access, dataset=dataset, item=one.item.pk)
    second = publish(access, dataset)
    assert listed(second) == ["case-2/1"]
    assert [row[0] for row in queries.compared(first, second)] == ["removed"]
    assert [row[0] for row in queries.compared(second, first)] == ["added"]
    [back] = add(access, dataset, 1)
    assert (back.item, back.revision) == (one.item, one.revision)
    third = publish(access, dataset)
    assert (third.number, third.sha256) == (3, first.sha256)  # the same list, and the newest one
    actions.remove_case(access=access, dataset=dataset, item=one.item.pk)
    add(access, dataset, 1)
    assert publish(access, dataset) == third  # nothing changed after all


def test_what_was_run_on_a_version_stays_when_its_cases_are_edited(cast, access, tmp_path):
    """Imported evidence and people's edits share items, and pair by what was asked."""
    mapping = {
        "case": ["id"],
        "arm": "model",
        "content": {"input": "question"},
        "scorers": [{"key": "score", "kind": "boolean", "direction": "higher_is_better", "value": "score"}],
    }

    def bring(model):
        path = tmp_path / f"{model}.jsonl"
        lines = [f'{{"id": "q{n}", "model": "{model}", "score": {n % 2}, "question": "What?"}}' for n in range(2)]
        path.write_text("\n".join(lines))
        row = import_now(access=access, files=[(path.name, path)], dataset_name="Asked", mapping=mapping)
        return row.importedrun_set.get().experiment

    first = bring("old")
    dataset = first.version.dataset
    item = Item.objects.get(dataset=dataset, source_digest=source_digest("q1"))
    seen = drafts.current(None, item.pk, base=first.version)
    edited = actions.revise_case(
        access=access,
        dataset=dataset,
        item=item.pk,
        case=Case("ignored", {"input": "What?"}, tags=["hard"]),
        seen_revision=seen.pk,
    )
    version = publish(access, dataset)
    assert ItemContent.objects.get(revision=edited.revision).source_id == "q1"  # the id stays
    second = bring("new")
    assert (first.version.number, version.number) == (1, 2)
    assert second.version == version  # the words as they stand now
    paired = lens.view(access.team, resolve(access, Asked.of({"candidate": second.pk, "baseline": first.pk})))
    assert (paired.result.quality.cases, paired.result.quality.revision_unknown) == (2, 0)


def test_undo_and_discard(access, dataset):
    one, two = add(access, dataset, 1, 2)
    publish(access, dataset)
    actions.remove_case(access=access, dataset=dataset, item=one.item.pk)
    actions.remove_case(access=access, dataset=dataset, item=two.item.pk)
    actions.undo_change(access=access, dataset=dataset, item=one.item.pk)
    draft = queries.draft_of(dataset)
    assert queries.counts_of(draft) == {"added": 0, "revised": 0, "removed": 1}
    assert code(lambda: actions.undo_change(access=access, dataset=dataset, item=one.item.pk)) == "not_found"
    assert code(lambda: actions.discard_draft(access=access, dataset=dataset, revision=1)) == "revision_stale"
    actions.discard_draft(access=access, dataset=dataset, revision=draft.revision)
    assert queries.draft_of(dataset) is None


def test_refusals_leave_nothing_behind(access, dataset):
    def discard():
        actions.discard_draft(access=access, dataset=dataset)

    assert code(discard) == "draft_missing"
    assert code(lambda: actions.make_version(access=access, dataset=dataset, revision=1)) == "draft_missing"
    one, *_ = add(access, dataset, 1)
    assert code(lambda: add(access, dataset, 1)) == "case_exists"
    stale = {"access": access, "dataset": dataset, "item": one.item.pk, "case": written(1, "Else?")}
    assert code(lambda: actions.revise_case(**stale, seen_revision=dataset.pk)) == "revision_stale"
    assert code(lambda: actions.make_version(access=access, dataset=dataset, revision=99)) == "revision_stale"
    actions.remove_case(access=access, dataset=dataset, item=one.item.pk)
    again = {"access": access, "dataset": dataset, "item": one.item.pk}
    assert code(lambda: actions.remove_case(**again)) == "case_not_listed"
    draft = queries.draft_of(dataset)
    assert code(lambda: actions.make_version(access=access, dataset=dataset, revision=draft.revision)) == "draft_empty"
    actions.archive_dataset(access=access, dataset=dataset)
    assert code(lambda: add(access, dataset, 5)) == "dataset_archived"
    assert ItemRevision.objects.count() == 1


def test_one_draft_starts_from_one_version(access, dataset):
    add(access, dataset, 1)
    first = publish(access, dataset)
    add(access, dataset, 2)
    second = publish(access, dataset)
    actions.add_case(access=access, dataset=dataset, case=written(3), base=first)
    other = {"access": access, "dataset": dataset, "case": written(4), "base": second}
    assert code(lambda: actions.add_case(**other)) == "draft_on_other_version"
    assert listed(publish(access, dataset)) == ["case-1/1", "case-3/1"]


def test_a_draft_has_a_bound(access, dataset, monkeypatch):
    monkeypatch.setattr(drafts, "MOST_CHANGES", 2)
    add(access, dataset, 1, 2)
    assert code(lambda: add(access, dataset, 3)) == "draft_too_large"
    assert Item.objects.count() == 2


def test_who_may_not_manage_or_read_may_not_edit(cast, access, dataset):
    for user in (cast.omar, cast.ben):
        assert code(lambda user=user: add(cast.access(user), dataset, 1)) == "missing_right"
        assert code(lambda user=user: actions.create_dataset(access=cast.access(user), name="X")) == "missing_right"


def test_the_audit_log_says_what_was_done_and_never_what_a_case_says(access, dataset):
    add(access, dataset, 1)
    publish(access, dataset)
    actions.rename_dataset(access=access, dataset=dataset, name="Returns", revision=1)
    assert (
        code(lambda: actions.rename_dataset(access=access, dataset=dataset, name="X", revision=1)) == "revision_stale"
    )
    actions.archive_dataset(access=access, dataset=dataset)
    actions.restore_dataset(access=access, dataset=dataset)
    done = set(AuditEvent.objects.values_list("action", flat=True))
    assert {"dataset.created", "draft.opened", "case.added", "version.made", "dataset.renamed"} <= done
    assert {"dataset.archived", "dataset.restored"} <= done
    assert "What is" not in str(list(AuditEvent.objects.values_list("detail", flat=True)))


def test_names_are_given_once_whatever_their_case(access, dataset):
    assert code(lambda: actions.create_dataset(access=access, name=" refunds ")) == "name_taken"
    assert code(lambda: actions.create_dataset(access=access, name="  ")) == "dataset_name_invalid"
    actions.rename_dataset(access=access, dataset=dataset, name="REFUNDS", revision=1)


@pytest.mark.django_db(transaction=True)
def test_an_import_that_is_being_written_is_waited_for_and_then_refused(access, dataset, monkeypatch):
    monkeypatch.setattr(bulk.lock_soon, "__kwdefaults__", {"seconds": 0.2})
    held, go = threading.Event(), threading.Event()

    def other():
        with transaction.atomic():
            bulk.lock("evidence", access.team.pk)
            held.set()
            go.wait(20)
        connection.close()

    thread = threading.Thread(target=other)
    thread.start()
    held.wait(20)
    try:
        assert code(lambda: add(access, dataset, 1)) == "evidence_busy"
    finally:
        go.set()
        thread.join(20)
    add(access, dataset, 1)


@pytest.mark.django_db(transaction=True)
def test_twenty_people_at_once_lose_nothing(access, dataset):
    faults = []

    def write(number):
        try:
            add(access, dataset, number)
        except Exception as fault:  # told below, in the test's own thread
            faults.append(fault)
        finally:
            connection.close()

    threads = [threading.Thread(target=write, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not faults
    assert publish(access, dataset).count == 20


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20)
@given(seed=st.integers(0, 10**6))
def test_any_series_of_edits_gives_the_list_that_a_plain_dict_gives(access, seed):
    source = random.Random(seed)
    dataset = actions.create_dataset(access=access, name=f"Any {new_id()}")
    model: dict[str, str] = {}
    items: dict[str, object] = {}
    for _ in range(25):
        name, text = f"case-{source.randrange(5)}", f"Question {source.randrange(3)}?"
        act = source.choice(("add", "revise", "remove", "publish"))
        case = Case(name, {"input": text})
        if act == "add" and name not in model:
            items[name] = actions.add_case(access=access, dataset=dataset, case=case).item.pk
            model[name] = text
        elif act == "revise" and name in model:
            draft = queries.draft_of(dataset)
            base = queries.versions_of(dataset).first()
            seen = drafts.current(draft, items[name], base=base)
            actions.revise_case(access=access, dataset=dataset, item=items[name], case=case, seen_revision=seen.pk)
            model[name] = text
        elif act == "remove" and name in model:
            actions.remove_case(access=access, dataset=dataset, item=items[name])
            del model[name]
        elif act == "publish" and model and queries.draft_of(dataset) is not None:
            version = publish(access, dataset)
            entries = VersionEntry.objects.filter(version=version).select_related("revision__itemcontent")
            said = {e.revision.itemcontent.source_id: e.revision.itemcontent.body["input"] for e in entries}
            assert said == model


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"source_id": ""}, "source_id"),
        ({"source_id": "x" * 501}, "source_id"),
        ({"source_id": "a\0b"}, "source_id"),
        ({"source_id": "a\ud800"}, "source_id"),
        ({"title": "t" * 501}, "title"),
        ({"language": "not a tag"}, "language"),
        ({"tags": [str(number) for number in range(51)]}, "tags"),
        ({"metadata": {"a": float("nan")}}, "metadata.a"),
        ({"metadata": {"a": "x" * 100_001}}, "metadata"),
        ({"metadata": []}, "metadata"),
        ({"group": "g" * 501}, "group"),
        ({"body": {}}, "body.input"),
        ({"body": {"input": ""}}, "body.input"),
        ({"body": {"input": "a", "turns": [{"role": "user", "content": "b"}]}}, "body.turns"),
        ({"body": {"turns": [{"role": "user"}]}}, "body.turns[0]"),
        ({"body": {"turns": [{"role": "narrator", "content": "b"}]}}, "body.turns[0].role"),
        ({"body": {"turns": [{"role": "user", "content": " "}]}}, "body.turns[0].content"),
        ({"body": {"turns": []}}, "body.input"),
        ({"body": {"input": "a", "checklist": []}}, "body.checklist"),
        ({"body": {"input": "a", "checklist": [{"id": "1", "text": "t"}]}}, "body.checklist[0]"),
        ({"body": {"input": "a", "checklist": [{"id": "1", "text": "t", "points": 0}]}}, "body.checklist[0].points"),
        ({"body": {"input": "a", "checklist": [{"id": "1", "text": "t", "points": True}]}}, "body.checklist[0].points"),
        ({"body": {"input": "a", "checklist": [{"id": "", "text": "t", "points": 1}]}}, "body.checklist[0].id"),
        ({"body": {"input": "a\0"}}, "body.input"),
        ({"body": {"input": "x" * (2 * 1024 * 1024)}}, "body"),
    ],
)
def test_what_is_wrong_with_a_case_has_its_place(changes, place):
    usual = {"source_id": "a", "body": {"input": "What?"}}
    with pytest.raises(Refusal) as refused:
        bodies.checked(Case(**{**usual, **changes}))
    assert (refused.value.code, refused.value.place) == ("invalid_field", place)


def test_deep_values_are_refused_and_not_a_crash():
    value: object = "deep"
    for _ in range(500):
        value = [value]
    with pytest.raises(Refusal):
        bodies.checked(Case("a", {"input": "What?", "more": value}))
