"""What an import writes, what it leaves alone, what it refuses."""

from __future__ import annotations

import json

import pytest
from django.db import connection, transaction
from django.db.utils import Error

from agents.models import Subject
from analysis.observations import CostCoverage, FailureKind, Generation, Outcome
from datasets.models import Dataset, Item, ItemContent, ItemRevision, Version, VersionEntry
from grading.models import GraderVersion, Judgment, MetricDefinition
from intake import actions, queries
from intake.models import Import, ImportedRun, ImportState, ImportText, RejectedRow
from runs.models import Answer, Execution, Experiment
from teams.models import AuditEvent
from teams.refusals import Refusal
from tests.intake.conftest import LONG, experiments, rows, work

pytestmark = pytest.mark.django_db


def counts() -> dict[str, int]:
    kinds = (Dataset, Item, ItemRevision, Version, Subject, Experiment, Execution, Judgment, MetricDefinition, Import)
    return {kind.__name__: kind.objects.count() for kind in kinds}


def test_rows_become_evidence(bring, put):
    entries = rows(repetitions=2)
    entries[0] |= {"error": "upstream 503", "answer": None, "correct": None, "score": None}
    entries[1] |= {"correct": None}
    mapping = LONG | {
        "cost": {"path": "cost", "unit": "units"},
        "latency": {"path": "ms", "unit": "ms"},
        "error_kind": "provider_error",
    }
    entries[2] |= {"cost": 0.25, "ms": 12.5}
    [experiment] = experiments(bring(put("a.jsonl", entries), mapping=mapping))
    assert (experiment.subject.label, experiment.planned, experiment.repetitions) == ("m1", 6, 2)
    failed = Execution.objects.get(experiment=experiment, state=Generation.FAILED)
    assert failed.failure_kind == FailureKind.PROVIDER_ERROR
    assert (Answer.objects.get(execution=failed).text, failed.answer.error) == (None, "upstream 503")
    priced = Execution.objects.get(experiment=experiment, cost_coverage=CostCoverage.COMPLETE)
    assert (priced.cost_micros, priced.currency, priced.duration_ms) == (250_000, "USD", 12.5)
    unknown = Execution.objects.filter(experiment=experiment, cost_coverage=CostCoverage.NONE)
    assert set(unknown.values_list("cost_micros", "cost_basis", "currency")) == {(0, "", "")}
    assert {p.name for p in experiment.gradingpass_set.all()} == {"correct", "score"}
    assert Judgment.objects.filter(outcome=Outcome.SCORED, grading_pass__experiment=experiment).count() == 9


def test_repetitions_are_counted_wherever_they_begin(bring, put):
    entries = [{**row, "rep": row["rep"] - 1} for row in rows(repetitions=3)]
    [experiment] = experiments(bring(put("a.jsonl", entries), mapping=LONG))
    assert experiment.repetitions == 3
    assert sorted(set(Execution.objects.values_list("repetition", flat=True))) == [0, 1, 2]


def test_a_version_lists_its_cases_by_digest_and_is_used_again(bring, put):
    [one] = experiments(bring(put("a.jsonl", rows("m1")), mapping=LONG))
    [other] = experiments(bring(put("b.jsonl", list(reversed(rows("m2")))), mapping=LONG))
    assert one.version == other.version
    assert one.manifest_sha256 == other.manifest_sha256  # the order of rows is no part of what was done
    listed = [
        bytes(d)
        for d in VersionEntry.objects.filter(version=one.version)
        .order_by("position")
        .values_list("item__source_digest", flat=True)
    ]
    assert listed == sorted(listed)
    assert len(listed) == 3
    [fewer] = experiments(bring(put("c.jsonl", rows("m3", cases=2)), mapping=LONG))
    assert fewer.version.number == 2
    assert Item.objects.count() == 3


def test_other_content_is_another_revision_and_unknown_content_a_third(bring, put):
    bring(put("a.jsonl", rows("m1", cases=1)), mapping=LONG)
    bring(put("b.jsonl", rows("m2", cases=1, question="Something else?")), mapping=LONG)
    bring(put("c.jsonl", rows("m3", cases=1, question=None)), mapping=LONG)
    item = Item.objects.get()
    kept = list(item.itemrevision_set.order_by("number"))
    assert [len(bytes(one.content_digest)) for one in kept] == [32, 32, 0]
    assert ItemContent.objects.get(revision=kept[0]).body == {"input": "What is 0?"}
    assert ItemContent.objects.get(revision=kept[2]).body is None


def test_a_number_and_a_text_are_two_cases(bring, put):
    entries = [*rows("m1", cases=1, repetitions=1, item=3), *rows("m1", cases=1, repetitions=1, item="3")]
    [one] = experiments(bring(put("a.jsonl", entries), mapping=LONG))
    assert one.version.count == 2
    assert sorted(ItemContent.objects.values_list("source_id", "source_is_number")) == [("3", False), ("3", True)]


def test_the_same_import_again_is_the_first_result(bring, put):
    """R1: same files, mapping and dataset; nothing is written, and it is said."""
    file = put("a.jsonl", [*rows("m1"), *rows("m2")])
    first = bring(file, mapping=LONG)
    before = counts()
    again = bring(file, mapping=LONG)
    assert again.state == ImportState.COMPLETED
    assert [entry["new"] for entry in again.summary["results"]] == [False, False]
    assert experiments(again) == experiments(first)
    assert counts() == before | {"Import": 2}
    assert ImportedRun.objects.count() == 2


def test_another_mapping_or_dataset_is_another_import(bring, put):
    file = put("a.jsonl", rows("m1"))
    [one] = experiments(bring(file, mapping=LONG))
    [other] = experiments(bring(file, mapping=LONG | {"scorers": LONG["scorers"][:1]}))
    [third] = experiments(bring(file, mapping=LONG, dataset="Others"))
    assert len({one, other, third}) == 3
    assert [one.number, other.number, third.number] == [1, 2, 3]


def test_one_run_known_and_one_new(bring, put):
    first, second = put("a.jsonl", rows("m1")), put("b.jsonl", rows("m2"))
    [known] = experiments(bring(first, mapping=LONG))
    both = bring(first, second, mapping=LONG)
    assert [entry["new"] for entry in both.summary["results"]] == [False, True]
    assert experiments(both)[0] == known


def test_one_shot_refuses_whole_at_the_first_fault(bring, put):
    entries = rows()
    entries[3] |= {"score": "high"}
    before = counts()
    with pytest.raises(Refusal) as refused:
        bring(put("a.jsonl", entries), mapping=LONG)
    assert (refused.value.code, refused.value.place) == ("import_record_wrong_type", "line 4 score")
    assert counts() == before
    assert RejectedRow.objects.count() == 0


def test_rejected_rows_are_left_out_once_accepted(bring, put):
    entries = rows()
    entries[3] |= {"score": "high"}
    entries.append(entries[0])
    row = bring(put("a.jsonl", entries), mapping=LONG, accept_rejected=True)
    [experiment] = experiments(row)
    assert (experiment.planned, experiment.duplicates, row.rejected) == (5, 1, 2)
    kept = list(queries.rejected_rows(row))
    assert [one.code for one in kept] == ["import_record_wrong_type", "duplicate_case_repetition"]
    with pytest.raises(Error, match="stay"), transaction.atomic():
        kept[0].delete()
    with pytest.raises(Error), transaction.atomic():
        RejectedRow.objects.update(code="other")


def test_labels(bring, put):
    """A name of a file is content; nobody confirmed it, so a one-shot import does not show it."""
    file = put("secret-project.jsonl", rows())
    mapping = LONG | {"arm": "$file"}
    [one] = experiments(bring(file, mapping=mapping))
    assert one.subject.label.startswith("imported run ")
    [other] = experiments(bring(file, mapping=mapping, dataset="B", labels={"secret-project": "GPT of Monday"}))
    assert other.subject.label == "GPT of Monday"
    assert one.subject != other.subject


def test_trust_is_never_raised(bring, put):
    file = put("a.jsonl", rows())
    [one] = experiments(bring(file, mapping=LONG, trust="agent_claimed"))
    assert one.trust == "agent_claimed"
    with pytest.raises(Refusal) as refused:
        bring(file, mapping=LONG, trust="independent", dataset="B")
    assert refused.value.code == "import_trust_too_high"
    with pytest.raises(Error), transaction.atomic():
        Import.objects.create(team=one.team, by=one.starter, trust="independent")


def test_nothing_joins_a_finished_experiment(bring, put):
    [one] = experiments(bring(put("a.jsonl", rows()), mapping=LONG))
    first = Execution.objects.filter(experiment=one).first()
    with pytest.raises(Error, match="nothing joins"), transaction.atomic():
        Execution.objects.create(experiment=one, position=99, revision=first.revision, repetition=9)
    judgment, other = Judgment.objects.filter(execution=first).order_by("id")
    with pytest.raises(Error, match="nothing joins"), transaction.atomic():
        judgment.pk, judgment.version = None, other.version
        judgment.save(force_insert=True)


def test_a_grader_of_another_configuration_is_its_next_version(bring, put):
    bring(put("a.jsonl", rows()), mapping=LONG)
    changed = json.loads(json.dumps(LONG))
    changed["scorers"][0]["grader"] = {"model": "judge-2"}
    bring(put("b.jsonl", rows("m2")), mapping=changed)
    versions = GraderVersion.objects.filter(grader__definition__key="correct")
    assert sorted(versions.values_list("number", flat=True)) == [1, 2]
    assert MetricDefinition.objects.filter(key="correct").count() == 1


def test_the_dry_run_tells_before_anything_is_written(upload, put):
    entries = [*rows("m1"), *rows("m2", cases=2)]
    entries[1] |= {"correct": ""}
    entries.append(entries[0])
    before = counts()
    row = work(upload(put("a.jsonl", entries), mapping=LONG, dataset_name="Cases"))
    assert row.state == ImportState.READY
    assert counts() == before | {"Import": 1}
    dry = queries.dry_run(row_of(row))
    assert [(run.arm, run.counts["executions"], run.counts["duplicates"]) for run in dry.runs] == [
        ("m1", 6, 1),
        ("m2", 4, 0),
    ]
    correct = dry.runs[0].counts["scorers"][0]
    assert (correct["key"], correct["outcomes"]["scored"], correct["none"]) == ("correct", 5, 1)
    assert (dry.target.dataset, dry.target.new, dry.cases) == (None, 3, 3)
    assert any("cost" in sentence for sentence in dry.missing)


def row_of(row: Import) -> Import:
    return queries.full(row.team).get(pk=row.pk)


def test_the_dry_run_compares_with_the_dataset(bring, upload, put):
    bring(put("a.jsonl", rows("m1", cases=3)), mapping=LONG)
    entries = rows("m2", cases=4)
    entries[0] |= {"question": "Revised?"}
    entries[1] |= {"question": "Revised?"}
    row = work(upload(put("b.jsonl", entries), mapping=LONG, dataset_name="cases"))
    target = queries.dry_run(row_of(row)).target
    assert (target.dataset.name, target.matched, target.new, target.revised) == ("Cases", 2, 1, 1)


def test_confirming(cast, upload, put):
    entries = [*rows("m1"), rows("m1")[0]]
    row = work(upload(put("a.jsonl", entries), mapping=LONG))
    access = cast.access(cast.ana)
    with pytest.raises(Refusal) as refused:
        actions.confirm(access=access, row=row)
    assert refused.value.code == "import_dataset_missing"
    with pytest.raises(Refusal) as refused:
        actions.confirm(access=access, row=row, dataset_name="Cases")
    assert refused.value.code == "import_rejected_rows"
    actions.confirm(
        access=access, row=row, dataset_name="Cases", labels=["Monday"], trust="insufficient", accept_rejected=True
    )
    with pytest.raises(Refusal) as refused:
        actions.confirm(access=access, row=row, dataset_name="Other", accept_rejected=True)
    assert refused.value.code == "import_state_changed"
    work(row)
    [one] = experiments(row)
    assert (one.subject.label, one.trust, one.version.dataset.name) == ("Monday", "insufficient", "Cases")
    assert ImportText.objects.get(owner=row).runs[0]["examples"] == []  # no copy of content stays behind
    actions_done = list(AuditEvent.objects.filter(object_id=row.pk).order_by("at").values_list("action", flat=True))
    assert actions_done == ["import.created", "import.confirmed", "import.completed"]


def test_a_new_look_replaces_the_last_one(cast, upload, put):
    entries = rows()
    entries[2] |= {"score": "high"}
    row = work(upload(put("a.jsonl", entries), mapping=LONG, dataset_name="Cases"))
    assert (row.state, row.rejected, RejectedRow.objects.count()) == (ImportState.READY, 1, 1)
    actions.remap(access=cast.access(cast.ana), row=row, mapping=LONG | {"scorers": LONG["scorers"][:1]})
    work(row)
    assert (row.state, row.rejected, RejectedRow.objects.count()) == (ImportState.READY, 0, 0)


def test_a_wrong_mapping_asks_for_another(cast, upload, put):
    row = work(upload(put("a.jsonl", rows())))
    assert row.state == ImportState.NEEDS_MAPPING
    assert ImportText.objects.get(owner=row).suggestion["case"] == ["item"]
    actions.remap(access=cast.access(cast.ana), row=row, mapping=LONG | {"case": ["nothing"]})
    work(row)
    assert (row.state, row.refusal_code) == (ImportState.NEEDS_MAPPING, "import_holds_nothing")
    assert "6 rows were rejected" in ImportText.objects.get(owner=row).refusal_message


def test_discarding_takes_everything_away(cast, upload, put, settings):
    row = work(upload(put("secret.jsonl", [*rows(), rows()[0]]), mapping=LONG))
    assert RejectedRow.objects.count() == 1
    with transaction.atomic():
        actions.discard(access=cast.access(cast.ana), row=row)
    assert row.state == ImportState.CANCELLED
    assert RejectedRow.objects.count() == 0
    text = ImportText.objects.get(owner=row)
    assert (text.runs, bytes(text.cases), row.importfile_set.get().importfilename.name) == ([], b"", None)


def test_a_written_import_is_not_discarded(cast, bring, put):
    row = bring(put("a.jsonl", rows()), mapping=LONG)
    with pytest.raises(Refusal) as refused:
        actions.discard(access=cast.access(cast.ana), row=row)
    assert refused.value.code == "import_state_changed"
    with pytest.raises(Error), transaction.atomic():
        Import.objects.filter(pk=row.pk).update(state="ready")


def test_rights_are_asked_at_every_step(cast, upload, put):
    """P1: each right of importing alone; and whoever lost them writes nothing."""
    from teams import actions as teams

    row = work(upload(put("a.jsonl", rows()), mapping=LONG, dataset_name="Cases", access=cast.access(cast.omar)))
    actions.confirm(access=cast.access(cast.omar), row=row)
    teams.set_role(access=None, team=cast.team, user=cast.omar, role=teams.preset("Viewer"), by=None)
    work(row)
    assert (row.state, row.refusal_code) == (ImportState.REFUSED, "import_starter_unauthorized")
    assert Experiment.objects.count() == 0
    with pytest.raises(Refusal) as refused:
        upload(put("b.jsonl", rows()), access=cast.access(cast.ben))
    assert refused.value.code == "missing_right"


def test_reads_do_not_grow_with_rows(bring, put, django_assert_max_num_queries):
    """The same number of statements for 20 rows and for 800: only chunks of a thousand add some."""
    from django.test.utils import CaptureQueriesContext

    few, many = put("few.jsonl", rows("m1", cases=10)), put("many.jsonl", rows("m2", cases=400))
    bring(put("warm.jsonl", rows("m0", cases=10)), mapping=LONG)
    spent = []
    for file in (few, many):
        with CaptureQueriesContext(connection) as told:
            bring(file, mapping=LONG)
        spent.append(len(told))
    assert abs(spent[0] - spent[1]) <= 6  # a new version with its entries
