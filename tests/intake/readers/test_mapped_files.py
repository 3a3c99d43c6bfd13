"""Generic files: what a mapping makes of long, wide and nested rows, and what it refuses."""

from __future__ import annotations

import gzip
import json
import tracemalloc

import pytest

from analysis.observations import FailureKind, Generation, Outcome, source_digest
from analysis.refusals import Refused
from intake.readers import Execution, Limits, Rejected, recognise, settled
from intake.readers import mapping as mappings
from tests.intake.readers.conftest import read, refusal

SCORE = {"key": "score", "kind": "boolean", "direction": "higher_is_better", "value": "score"}


def mapping(**given):
    return mappings.from_json({"case": ["id"], "arm": "model", "scorers": [SCORE], **given})


def lines(*rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def entries(found):
    return [entry for run in found.runs() for entry in settled(run)]


def test_long_csv_has_one_run_per_arm(put):
    file = put("a.csv", "id,model,score,epoch\nq1,x,1,1\nq1,x,0.0,2\nq1,y,true,1\n")
    arms = read(file, mapping=mapping(repetition="epoch"))
    assert {arm: len(run.rows) for arm, run in arms.items()} == {"x": 2, "y": 1}
    assert [(row.repetition, row.scores["score"].value) for row in arms["x"].rows] == [(1, 1.0), (2, 0.0)]


def test_a_repetition_is_never_guessed_from_row_order(put):
    file = put("a.csv", "id,model,score\nq1,x,1\nq1,x,0\n")
    run = read(file, mapping=mapping(), accept=True)["x"]
    assert len(run.rows) == 1
    assert [row.code for row in run.rejected] == ["duplicate_case_repetition"]
    assert run.rejected[0].place == "line 3"
    assert run.duplicates == run.side("score").duplicates == 1
    assert any("every row is repetition 1" in note for note in run.facts.notes)
    assert refusal(file, mapping=mapping()).code == "duplicate_case_repetition"


def test_wide_rows_hold_all_arms(put):
    file = put("a.jsonl", lines({"id": 1, "x": {"ok": True}, "y": {"ok": False}}, {"id": 2, "x": {"ok": False}}))
    chosen = mapping(arm="{arm}", arms=["x", "y"], scorers=[{**SCORE, "value": "{arm}.ok"}])
    arms = read(file, mapping=chosen)
    assert [row.scores["score"].value for row in arms["x"].rows] == [1.0, 0.0]
    assert len(arms["y"].rows) == 1  # a row without the arm is no execution of it


def test_wide_csv_columns(put):
    file = put("a.csv", "id,x_score,y_score\nq1,1,0\nq2,0,\n")
    chosen = mapping(arm="{arm}", arms=["x", "y"], scorers=[{**SCORE, "value": "{arm}_score"}])
    arms = read(file, mapping=chosen)
    assert [dict(row.scores) for row in arms["y"].rows][1] == {}


def test_nested_attempts_take_their_repetition_from_their_own_list(put):
    document = {"q1": {"x": [{"score": 1}, {"score": 0}], "y": [{"score": 1}]}}
    chosen = mapping(case=["$case"], arm="$arm", levels=["case", "arm", "attempts"], repetition="$position")
    arms = read(put("a.json", document), mapping=chosen)
    assert [row.repetition for row in arms["x"].rows] == [1, 2]
    assert len(arms["y"].rows) == 1


def test_attempts_inside_a_row(put):
    row = {"id": "q1", "model": "x", "tries": [{"score": 1}, {"score": 0}]}
    run = read(put("a.jsonl", lines(row)), mapping=mapping(attempts="tries", repetition="$position"))["x"]
    assert [(row.repetition, row.scores["score"].value) for row in run.rows] == [(1, 1.0), (2, 0.0)]


def test_several_files_of_one_arm_become_one_run(put):
    named = [put(f"{arm}/{part}.jsonl", lines({"id": 1, "score": 1})) for arm in "xy" for part in ("a", "b")]
    arms = read(*named, mapping=mapping(arm="$folder", case=["$file", "id"]))
    assert {arm: len(run.rows) for arm, run in arms.items()} == {"x": 2, "y": 2}
    assert set(arms["x"].source_ids.values()) == {"a/1", "b/1"}
    assert arms["x"].facts.arm_from_file_name
    assert arms["x"].facts.source_run_id != arms["y"].facts.source_run_id


def test_equality_of_two_columns_and_a_blank_as_abstention(put):
    rows = [{"id": 1, "model": "x", "a": "B", "gold": "B"}, {"id": 2, "model": "x", "a": " ", "gold": "B"}]
    equal = {"key": "score", "kind": "boolean", "direction": "higher_is_better", "equal": ["a", "gold"]}
    run = read(put("a.jsonl", lines(*rows)), mapping=mapping(scorers=[{**equal, "blank": "abstained"}]))["x"]
    assert [row.scores["score"].outcome for row in run.rows] == [Outcome.SCORED, Outcome.ABSTAINED]
    run = read(put("b.jsonl", lines(*rows)), mapping=mapping(scorers=[equal]))["x"]
    assert "score" not in run.rows[1].scores


def test_a_failed_row_has_no_score_whatever_stands_beside_the_error(put):
    rows = [
        {"id": 1, "model": "x", "score": 0, "error": "boom"},
        {"id": 2, "model": "x", "score": 0, "error": ""},
        {"id": 3, "model": "x", "score": 0, "error": None},
    ]
    run = read(put("a.jsonl", lines(*rows)), mapping=mapping(error=["error"], error_kind="timed_out"))["x"]
    assert [row.generation for row in run.rows] == [Generation.FAILED, Generation.COMPLETED, Generation.COMPLETED]
    assert run.rows[0].failure == FailureKind.TIMED_OUT
    assert run.rows[0].scores == {}


def test_a_status_says_how_a_generation_ended(put):
    rows = [{"id": n, "model": "x", "score": 1, "s": s} for n, s in enumerate(("ok", "slow", "stopped"))]
    statuses = {"ok": "completed", "slow": "timed_out", "stopped": "cancelled"}
    run = read(put("a.jsonl", lines(*rows)), mapping=mapping(status="s", statuses=statuses))["x"]
    assert [row.generation for row in run.rows] == [Generation.COMPLETED, Generation.FAILED, Generation.CANCELLED]
    rows[0]["s"] = "new"
    assert refusal(put("b.jsonl", lines(*rows)), mapping=mapping(status="s", statuses=statuses)).place == "line 1 s"


@pytest.mark.parametrize(
    ("transform", "given", "value"),
    [
        ("number", "7", 7.0),
        ("number", "-1.5e1", -15.0),
        ("none", 3, 3.0),
        ("inspect", "P", 0.5),
        ("truth", "Passed", 1.0),
        ("none", True, 1.0),
    ],
)
def test_transforms(put, transform, given, value):
    numeric = {**SCORE, "kind": "numeric", "transform": transform}
    run = read(put("a.jsonl", lines({"id": 1, "model": "x", "score": given})), mapping=mapping(scorers=[numeric]))["x"]
    assert run.rows[0].scores["score"].value == value


def test_texts_can_mean_outcomes(put):
    words = {**SCORE, "values": {"good": 1, "bad": 0, "skip": "abstained", "n/a": "not_applicable", "-": "not_scored"}}
    rows = [{"id": word, "model": "x", "score": word} for word in ("good", "bad", "skip", "n/a", "-")]
    run = read(put("a.jsonl", lines(*rows)), mapping=mapping(scorers=[words]))["x"]
    found = [row.scores["score"].outcome if row.scores else None for row in run.rows]
    assert found == [Outcome.SCORED, Outcome.SCORED, Outcome.ABSTAINED, Outcome.NOT_APPLICABLE, None]


def test_a_grader_can_fail(put):
    run = read(
        put("a.jsonl", lines({"id": 1, "model": "x", "score": 1, "judge": {"error": "no JSON"}})),
        mapping=mapping(scorers=[{**SCORE, "error": "judge.error"}]),
    )["x"]
    assert run.rows[0].scores["score"].outcome is Outcome.GRADER_ERROR


def test_categories(put):
    label = {
        "key": "label",
        "kind": "categorical",
        "direction": "unordered",
        "value": "label",
        "categories": ["a", "b"],
    }
    run = read(put("a.jsonl", lines({"id": 1, "model": "x", "label": "b"})), mapping=mapping(scorers=[label]))["x"]
    assert run.side("label").series.categories == ("b",)
    file = put("b.jsonl", lines({"id": 1, "model": "x", "label": "c"}))
    assert refusal(file, mapping=mapping(scorers=[label])).code == "import_score_unknown"


def test_cost_latency_and_tokens(put):
    row = {"id": 1, "model": "x", "score": 1, "usd": 0.5, "s": 2, "in": 10, "out": "3"}
    chosen = mapping(
        cost={"path": "usd", "unit": "units", "zero_is_unknown": True},
        latency={"path": "s", "unit": "s"},
        input_tokens="in",
        output_tokens="out",
    )
    [entry, unknown] = entries(
        recognise([put("a.jsonl", lines(row, {**row, "id": 2, "usd": 0, "s": None, "in": None}))], chosen)
    )
    assert (entry.cost_micros, entry.duration_ms, entry.input_tokens, entry.output_tokens) == (500_000, 2000.0, 10, 3)
    assert (unknown.cost_micros, unknown.duration_ms, unknown.input_tokens) == (None, None, None)
    assert unknown.cost_basis == ""


@pytest.mark.parametrize(
    ("change", "code", "place"),
    [
        ({"score": 2}, "import_score_out_of_scale", "line 2 score"),
        ({"score": "1"}, "import_record_wrong_type", "line 2 score"),
        ({"id": None}, "import_record_missing_field", "line 2 id"),
        ({"id": 1.5}, "import_record_wrong_type", "line 2 id"),
        ({"id": True}, "import_record_wrong_type", "line 2 id"),
        ({"id": "a\u202eb"}, "import_identity_control_character", "line 2 id"),
        ({"model": ""}, "import_record_missing_field", "line 2 arm"),
        ({"rep": "two"}, "import_repetition_invalid", "line 2 rep"),
        ({"rep": -1}, "import_repetition_invalid", "line 2 rep"),
        ({"rep": None}, "import_record_missing_field", "line 2 rep"),
        ({"usd": -1}, "import_measure_invalid", "line 2 usd"),
    ],
)
def test_the_fault_of_one_row_is_rejected_with_its_place(put, change, code, place):
    good = {"id": "q", "model": "x", "score": 1, "rep": 1, "usd": 0.1}
    file = put("a.jsonl", lines(good, {**good, "id": "r", **change}))
    chosen = mapping(repetition="rep", cost={"path": "usd", "unit": "units"})
    refused = refusal(file, mapping=chosen)
    assert (refused.code, refused.place) == (code, place)
    run = read(file, mapping=chosen, accept=True)["x"]
    assert (len(run.rows), [row.code for row in run.rejected]) == (1, [code])


@pytest.mark.parametrize("value", [1e308, -1e16, 2**60, -(10**30), "1e16"])
def test_a_score_that_arithmetic_would_lose_is_refused_without_a_scale(put, value):
    """Sums of such numbers overflow, and differences between them vanish: both were silent."""
    free = {"key": "free", "kind": "numeric", "direction": "higher_is_better", "value": "score", "transform": "number"}
    file = put("a.jsonl", lines({"id": "q", "model": "x", "score": 1e15}, {"id": "r", "model": "x", "score": value}))
    fault = refusal(file, mapping=mapping(scorers=[free]))
    assert (fault.code, fault.place) == ("import_score_out_of_scale", "line 2 score")


def test_case_ids_keep_their_type_and_their_normal_form(put):
    file = put("a.jsonl", lines(*({"id": value, "model": "x", "score": 1} for value in (3, "3", "cafe\u0301"))))
    run = read(file, mapping=mapping())["x"]
    assert set(run.source_ids.values()) == {3, "3", "café"}
    assert len(run.rows) == 3
    assert source_digest(3) != source_digest("3")


def test_ids_made_from_lines_and_content_are_said(put):
    rows = lines({"q": "a", "model": "x", "score": 1}, {"q": "b", "model": "x", "score": 0})
    by_line = read(put("a.jsonl", rows), mapping=mapping(case=["$line"]))["x"]
    assert set(by_line.source_ids.values()) == {1, 2}
    assert any("line" in note for note in by_line.facts.notes)
    by_content = read(put("b.jsonl", rows), mapping=mapping(case=["$content"], content={"input": "q"}))["x"]
    assert all(len(name) == 64 for name in by_content.source_ids.values())
    assert any("digest" in note for note in by_content.facts.notes)


def test_one_case_has_one_content_in_a_run(put):
    rows = [{"id": 1, "model": "x", "score": 1, "rep": n, "q": q} for n, q in enumerate((None, "a", None, "b"))]
    chosen = mapping(repetition="rep", content={"input": "q"}, content_optional=True)
    run = read(put("a.jsonl", lines(*rows)), mapping=chosen, accept=True)["x"]
    assert [row.code for row in run.rejected] == ["contradictory_content"]
    assert len(set(run.side("score").arm.content)) == 1
    order = [entry.case.content for entry in entries(recognise([put("b.jsonl", lines(*rows[:3]))], chosen))]
    assert order == [None, {"input": "a"}, None]  # nothing without content before the content is known


def test_gzip_is_read_within_bounds(put):
    text = ("id,model,score\n" + "".join(f"q{n},x,1\n" for n in range(1000))).encode()
    assert len(read(put("a.csv.gz", gzip.compress(text)), mapping=mapping())["x"].rows) == 1000
    cut = put("b.csv.gz", gzip.compress(text)[:-20])
    assert refusal(cut, mapping=mapping()).code == "import_gzip_invalid"
    bomb = put("c.csv.gz", gzip.compress(b"x" * 1_000_000))
    assert refusal(bomb, mapping=mapping(), limits=Limits(unpacked_bytes=1000)).code == "import_gzip_too_large_unpacked"


def test_csv_columns_that_the_header_lacks_are_refused(put):
    refused = refusal(put("a.csv", "id,model\nq,x\n"), mapping=mapping())
    assert (refused.code, refused.place) == ("import_record_missing_field", "line 1 score")


def test_a_misspelt_score_path_is_refused_not_read_as_unscored(put):
    file = put("a.jsonl", lines({"id": 1, "model": "x", "scores": 1}))
    assert refusal(file, mapping=mapping()).code == "import_mapping_invalid"


def test_json_rows_must_be_where_the_mapping_says(put):
    file = put("a.json", {"results": [{"id": 1, "model": "x", "score": 1}]})
    assert len(read(file, mapping=mapping(rows="results"))["x"].rows) == 1
    assert refusal(file, mapping=mapping(rows="nothing")).code == "import_record_missing_field"
    assert refusal(file, mapping=mapping()).code == "import_record_wrong_type"


def test_without_a_mapping_one_is_suggested(put):
    file = put("a.csv", "item_id,model_id,epoch,score,question,latency_ms\nq,x,1,0.5,why,12\nr,x,1,1,how,9\n")
    found = recognise([file])
    assert found.needs_mapping
    with pytest.raises(Refused) as refused:
        next(found.runs())
    assert refused.value.code == "import_mapping_needed"
    suggested = found.suggestion
    assert suggested is not None
    assert (suggested.case, suggested.arm, suggested.repetition) == (("item_id",), "model_id", "epoch")
    assert suggested.scorers[0].kind == "numeric"
    assert len(read(file, mapping=suggested)["x"].rows) == 2


def test_files_of_different_formats_do_not_mix(put):
    first, second = put("a.csv", "a,b\n1,2\n"), put("b.json", [{"task_id": 1, "reward": 1, "info": {}, "traj": []}])
    assert refusal(first, second).code == "import_formats_mixed"
    assert refusal(put("c.txt", "x")).code == "import_format_unknown"
    assert refusal(put("d.csv", "a,b\n1,2\n"), reader="other").code == "import_format_unknown"


def test_sizes_are_bounded(put):
    file = put("a.jsonl", lines({"id": 1, "model": "x", "score": 1}))
    assert refusal(file, limits=Limits(file_bytes=5)).code == "import_file_too_large"
    document = put("a.json", [{"id": 1, "model": "x", "score": 1}])
    assert refusal(document, limits=Limits(document_bytes=5)).code == "import_file_too_large"


def test_rows_are_streamed(put):
    """Ten times the rows need no ten times the memory."""

    def peak(count: int) -> int:
        rows = "".join(
            json.dumps({"id": f"q{n // 3}", "model": "x", "rep": n % 3, "score": 1, "answer": "word " * 200}) + "\n"
            for n in range(count)
        )
        file = put(f"{count}.jsonl", rows)
        chosen = mapping(repetition="rep", answer="answer")
        tracemalloc.start()
        read_rows = 0
        for run in recognise([file], chosen).runs():
            for entry in settled(run):
                assert isinstance(entry, Execution)
                read_rows += 1
        highest = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert read_rows == count
        return highest

    small, large = peak(600), peak(6000)
    assert large - small < 6000 * 400  # bytes per row: its key, not its 1,000 characters of answer


def test_rejected_rows_of_no_arm_are_listed_once(put):
    file = put(
        "a.jsonl",
        lines({"id": 1, "model": "x", "score": 1}, {"id": 2, "score": 1}, {"id": 3, "model": "y", "score": 1}),
    )
    found = entries(recognise([file], mapping()))
    assert [entry.place for entry in found if isinstance(entry, Rejected)] == ["line 2 arm"]
