"""Inspect logs: real ones by their counts, made ones by the facts that are easily read wrong."""

from __future__ import annotations

import io
import json
import zipfile

import pytest

from analysis.observations import FailureKind, Generation, Kind, Outcome
from intake.readers import Limits, NamedFile, collect, recognise, settled
from tests.intake.readers.conftest import read, refusal

EVAL = {"run_id": "r", "eval_id": "e", "task": "t", "created": "2026-01-01", "model": "m1", "config": {"epochs": 2}}

MOCK, FOUND = "inspect_mock/logs/", "inspect_real_logs/2025-"
NUMBER, TRUTH = "numeric", "boolean"
REAL = [  # file, samples, failed, {scorer: (kind, scored)}
    (f"{MOCK}arm-a_multilingual_qa.eval", 78, 0, {"closeness": (NUMBER, 78), "graded_exact": (TRUTH, 69)}),
    (
        f"{MOCK}arm-a_multilingual_qa_regraded_v2.eval",
        78,
        0,
        {"closeness": (NUMBER, 78), "graded_exact": (TRUTH, 69), "graded_exact1": (NUMBER, 69)},
    ),
    (f"{MOCK}arm-a_tool_sums.eval", 18, 0, {"graded_exact": (TRUTH, 17), "includes": (TRUTH, 18)}),
    (f"{MOCK}arm-a_tool_sums.json", 18, 0, {"graded_exact": (TRUTH, 17), "includes": (TRUTH, 18)}),
    (f"{MOCK}arm-b_multilingual_qa.eval", 72, 1, {"closeness": (NUMBER, 71), "graded_exact": (TRUTH, 66)}),
    (f"{MOCK}arm-b_multilingual_qa.json", 72, 1, {"closeness": (NUMBER, 71), "graded_exact": (TRUTH, 66)}),
    (f"{MOCK}arm-c_multilingual_qa.eval", 52, 0, {"closeness": (NUMBER, 52), "graded_exact": (TRUTH, 46)}),
    (f"{FOUND}02-11T15-17-00-05-00_popularity_dPiJifoWeEQBrfWsAopzWr.eval", 10, 0, {}),
    (f"{FOUND}02-11T15-18-04-05-00_popularity_mj7khqpMM4GBCfVQozKgzB.eval", 10, 0, {"match": (TRUTH, 10)}),
    (f"{FOUND}05-12T20-28-13-04-00_popularity.json", 3, 0, {"match": (TRUTH, 3)}),
    (f"{FOUND}09-23T08-09-58-04-00_popularity_DN2wbX2ZvACsBpjwptzBRo.eval", 100, 0, {"match": (TRUTH, 100)}),
    (
        f"{FOUND}09-23T08-09-58-04-00_security-guide_LuxZJVwvymC3S3SyoJczxB.eval",
        16,
        0,
        {"model_graded_fact": (TRUTH, 16)},
    ),
]


def sample(sample_id, epoch=1, **given):
    score = {"match": {"value": "C", "answer": "a"}}
    answer = {"choices": [{"message": {"role": "assistant", "content": "a"}, "stop_reason": "stop"}], "completion": "a"}
    return {"id": sample_id, "epoch": epoch, "input": "q", "target": "a", "scores": score, "output": answer, **given}


def log(samples, **header):
    total = {"total_samples": len(samples), "completed_samples": len(samples)}
    return {"version": 2, "status": "success", "eval": EVAL, "results": total, **header, "samples": samples}


def archive(samples, summaries=None, **header):
    """The bytes of an `.eval` with deflated members."""
    whole = log(samples, **header)
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w", zipfile.ZIP_DEFLATED) as target:
        for entry in samples:
            target.writestr(f"samples/{entry['id']}_epoch_{entry['epoch']}.json", json.dumps(entry))
        if summaries is not None:
            target.writestr("summaries.json", json.dumps(summaries))
        target.writestr("header.json", json.dumps({key: value for key, value in whole.items() if key != "samples"}))
    return body.getvalue()


def rows(put, *samples, name="a.json", **header):
    [run] = recognise([put(name, log(list(samples), **header))]).runs()
    return run.facts, list(settled(run))


@pytest.mark.parametrize(("name", "samples", "failed", "scorers"), REAL, ids=[case[0].split("/")[-1] for case in REAL])
def test_real_logs(shared, name, samples, failed, scorers):
    path = shared / "data" / name
    [run] = recognise([NamedFile(path.name, path)]).runs()
    found = collect(run)
    assert len(found.rows) == samples
    assert sum(row.generation is Generation.FAILED for row in found.rows) == failed
    assert {
        scorer.key: (
            scorer.kind.value,
            sum(row.scores[scorer.key].outcome is Outcome.SCORED for row in found.rows if scorer.key in row.scores),
        )
        for scorer in run.facts.scorers
    } == scorers


def test_both_containers_hold_the_same_evidence(shared):
    folder = shared / "data" / "inspect_mock" / "logs"
    sides = [
        read(NamedFile(f"arm-b_multilingual_qa.{ending}", folder / f"arm-b_multilingual_qa.{ending}"))
        for ending in ("eval", "json")
    ]
    first, second = (next(iter(side.values())) for side in sides)
    assert first.facts.source_run_id == second.facts.source_run_id
    assert sorted(first.rows, key=lambda row: (row.source, row.repetition)) == sorted(
        second.rows, key=lambda row: (row.source, row.repetition)
    )


def test_a_revised_prompt_is_another_content(shared):
    folder = shared / "data" / "inspect_mock" / "logs"
    contents = []
    for arm in "ab":
        [run] = recognise([NamedFile("x.eval", folder / f"arm-{arm}_multilingual_qa.eval")]).runs()
        contents.append({entry.case.source_id: entry.case.content for entry in settled(run)})
    changed = [key for key in contents[1] if contents[0][key] != contents[1][key]]
    assert changed == ["cap-fr"]


def test_cost_is_unknown_unless_reported(shared):
    folder = shared / "data" / "inspect_mock" / "logs"
    spends = [
        next(iter(read(NamedFile("x.eval", folder / f"arm-{arm}_multilingual_qa.eval")).values()))
        .side("graded_exact")
        .spend
        for arm in "ab"
    ]
    # What the graders cost is not in the log, so the whole of the spend is not known.
    assert (spends[0].known_micros, spends[0].coverage.name) == (338_700, "PARTIAL")
    assert (spends[1].known_micros, spends[1].coverage.name) == (0, "NONE")


def test_ids_keep_their_type(put):
    _, found = rows(put, sample(3), sample("3"))
    assert [entry.case.source_id for entry in found] == [3, "3"]


def test_epochs_are_repetitions(put):
    _, found = rows(put, sample("a", 1), sample("a", 2))
    assert [entry.repetition for entry in found] == [1, 2]


def test_a_sample_that_raised_has_failed_and_has_no_score(put):
    _, [entry] = rows(put, sample(1, error={"message": "reset", "traceback": "…"}))
    assert (entry.generation, entry.failure, entry.error) == (Generation.FAILED, FailureKind.HARNESS_ERROR, "reset")
    assert entry.scores == {}
    assert entry.answer is None


@pytest.mark.parametrize(
    ("limit", "failure"), [("message", FailureKind.LIMIT_EXCEEDED), ("time", FailureKind.TIMED_OUT)]
)
def test_a_limit_fails_only_what_was_not_scored(put, limit, failure):
    reached = {"type": limit, "limit": 10}
    _, [scored, unscored] = rows(put, sample(1, limit=reached), sample(2, limit=reached, scores={}))
    assert (scored.generation, scored.finish_reason) == (Generation.COMPLETED, f"limit:{limit}")
    assert (unscored.generation, unscored.failure) == (Generation.FAILED, failure)


def test_no_answer_is_an_abstention_and_nan_is_not_scored(put):
    text = json.dumps(log([sample(1, scores={"match": {"value": "N"}}), sample(2)])).replace('"C"', "NaN")
    [run] = recognise([put("a.json", text)]).runs()
    abstained, unscored = settled(run)
    assert abstained.scores["match"].outcome is Outcome.ABSTAINED
    assert unscored.scores == {}


def test_nan_outside_a_score_is_refused(put):
    text = json.dumps(log([sample(1, metadata={"x": "NOT"})])).replace('"NOT"', "NaN")
    refused = refusal(put("a.json", text))
    assert (refused.code, refused.place) == ("import_json_nonfinite", "samples[0].metadata.x")


def test_empty_results_mean_never_scored(put):
    facts, [entry] = rows(put, sample(1, scores={}))
    assert facts.scorers == ()
    assert entry.scores == {}
    assert any("No sample was scored" in note for note in facts.notes)


def test_values_decide_the_kind(put):
    given = {
        "letters": ("C", "I", Kind.BOOLEAN),
        "partial": ("C", "P", Kind.NUMERIC),
        "truth": (True, False, Kind.BOOLEAN),
        "numbers": (0.5, 3, Kind.NUMERIC),
        "digits": ("7", "8", Kind.NUMERIC),
        "words": ("good", "bad", Kind.CATEGORICAL),
    }
    samples = [sample(n, scores={name: {"value": values[n]} for name, values in given.items()}) for n in (0, 1)]
    facts, [first, _] = rows(put, *samples)
    assert {scorer.key: scorer.kind for scorer in facts.scorers} == {name: kind for name, (_, _, kind) in given.items()}
    assert first.scores["digits"].value == 7.0
    assert first.scores["words"].category == "good"


def test_a_scorer_with_several_values_is_several_scorers(put):
    facts, [entry] = rows(
        put, sample(1, scores={"rubric": {"value": {"tone": 0.5, "facts": 1}}, "list": {"value": [1, 0]}})
    )
    assert [scorer.key for scorer in facts.scorers] == ["list/1", "list/2", "rubric/facts", "rubric/tone"]
    assert entry.scores["rubric/tone"].value == 0.5


def test_the_last_edit_of_a_score_counts_and_is_said(put):
    edits = [{"value": "I", "provenance": {}}, {"value": "UNCHANGED", "explanation": "x"}]
    facts, [entry] = rows(put, sample(1, scores={"match": {"value": "C", "history": edits}}))
    assert entry.scores["match"].value == 0.0
    assert any("edited" in note for note in facts.notes)


def test_an_invalidated_sample_is_not_scored(put):
    _, [entry] = rows(put, sample(1, invalidation={"reason": "leak"}))
    assert entry.scores["match"].outcome is Outcome.CANCELLED


def test_cost_of_some_models_only_is_partial(put):
    usage = {
        "a": {"input_tokens": 3, "output_tokens": 2, "total_cost": 0.25},
        "b": {"input_tokens": 4, "total_cost": None},
    }
    _, [entry] = rows(put, sample(1, model_usage=usage, total_time=1.5))
    assert (entry.cost_micros, entry.cost_partial, entry.cost_basis) == (250_000, True, "reported")
    assert (entry.input_tokens, entry.output_tokens, entry.duration_ms) == (7, 2, 1500.0)


def test_retries_are_attempts(put):
    _, [entry] = rows(put, sample(1, error_retries=[{"message": "a"}, {"message": "b"}]))
    assert [attempt.state for attempt in entry.attempts] == ["failed", "failed", "settled"]


def test_a_conversation_is_the_same_whatever_its_message_ids(put):
    asked = [[{"id": run, "role": "user", "content": "q", "source": "input"}] for run in "ab"]
    _, [first] = rows(put, sample(1, input=asked[0]))
    _, [second] = rows(put, sample(1, input=asked[1]), name="b.json")
    assert first.case.content == second.case.content


def test_attachments_are_put_back(put):
    given = sample(1, input="attachment://x", attachments={"x": "the question"})
    _, [entry] = rows(put, given)
    assert entry.case.content["input"] == "the question"


def test_a_log_that_ended_badly_says_so(put):
    facts, _ = rows(put, sample(1), status="error", results=None)
    assert any("did not end well" in note for note in facts.notes)


def test_duplicate_samples_are_set_aside(put):
    file = put("a.json", log([sample(1), sample(1)]))
    [run] = recognise([file]).runs()
    assert [row.code for row in collect(run, accept_rejected=True).rejected] == ["duplicate_case_repetition"]


@pytest.mark.parametrize(
    ("change", "code", "place"),
    [
        ({"id": None}, "import_record_missing_field", "samples[0] id"),
        ({"epoch": "1"}, "import_repetition_invalid", "samples[0] epoch"),
        ({"scores": []}, "import_record_wrong_type", "samples[0] scores"),
        ({"scores": {"a": "C"}}, "import_record_wrong_type", "samples[0] scores.a"),
        ({"scores": {"a": {"value": {"b": {"c": 1}}}}}, "import_record_wrong_type", "samples[0] scores.a/b"),
        ({"total_time": -1}, "import_measure_invalid", "samples[0] total_time"),
        ({"model_usage": {"m": {"input_tokens": -1}}}, "import_measure_invalid", "samples[0] model_usage tokens"),
    ],
)
def test_faults_of_one_sample(put, change, code, place):
    refused = refusal(put("a.json", log([sample(1, **change)])))
    assert (refused.code, refused.place) == (code, place)


@pytest.mark.parametrize(
    ("header", "code"),
    [
        ({"version": 3}, "import_eval_version_unsupported"),
        ({"version": True}, "import_eval_version_unsupported"),
        ({"status": "fine"}, "import_record_wrong_type"),
        ({"results": {"total_samples": 2}}, "import_eval_count_mismatch"),
    ],
)
def test_faults_of_the_log(put, header, code):
    assert refusal(put("a.json", log([sample(1)], **header))).code == code
    assert refusal(put("a.eval", archive([sample(1)], **header))).code == code


def test_summaries_must_agree_with_the_samples(put):
    good = put("a.eval", archive([sample(1)], summaries=[{"id": 1, "epoch": 1, "scores": {"match": {"value": "C"}}}]))
    assert len(read(good)) == 1
    odd = put("b.eval", archive([sample(1)], summaries=[{"id": 1, "epoch": 1, "scores": {"other": {"value": "C"}}}]))
    assert refusal(odd).code == "import_eval_summary_mismatch"
    without = put("c.eval", archive([sample(1)], summaries=[{"id": 1, "epoch": 1}]))
    assert [scorer.key for run in read(without).values() for scorer in run.facts.scorers] == ["match"]


def test_an_archive_is_bounded(put):
    file = put("a.eval", archive([sample(n, metadata={"x": "y" * 1000}) for n in range(20)]))
    assert refusal(file, limits=Limits(members=5)).code == "import_zip_too_many_members"
    assert refusal(file, limits=Limits(unpacked_bytes=5000)).code == "import_zip_too_large_unpacked"
    assert refusal(file, limits=Limits(member_bytes=500)).code == "import_zip_too_large_unpacked"


def test_an_empty_archive_holds_nothing(put):
    assert refusal(put("a.eval", archive([]))).code == "import_empty"


def test_a_mapping_is_not_needed_and_that_is_said(put):
    from intake.readers import mapping as mappings

    found = recognise([put("a.eval", archive([sample(1)]))], mappings.builtin("item-model-score-epoch"))
    assert (found.reader, found.mapping) == ("inspect", None)
    assert any("not used" in note for note in found.notes)
