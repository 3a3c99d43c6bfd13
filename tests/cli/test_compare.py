"""`evenhand compare` on files alone: the required figures of real evidence, choices and exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.main import app

MAPPINGS = Path(__file__).parents[1] / "data" / "mappings"
NESTED, LONG = "case-model-attempts", "item-model-score-epoch"


def run(*arguments: object):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def compared(*arguments: object):
    done = run("compare", *arguments, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def passed(side):
    return side["coverage"]["passed"], side["coverage"]["scored"]


def moved(quality):
    return quality["better"], quality["worse"], quality["same"]


def close(value):
    return pytest.approx(value, abs=5e-7)


def test_gsm8k(shared):
    file = shared / "data" / "gsm8k_openai" / "example_model_solutions.jsonl"
    result = compared(
        f"{file}#175b_finetuning", f"{file}#175b_verification", "--mapping", MAPPINGS / "gsm8k_openai.json"
    )
    quality = result["quality"]
    assert (passed(result["baseline"]), passed(result["candidate"])) == ((458, 1319), (742, 1319))
    assert (quality["cases"], quality["pairs"]) == (1319, 1319)
    assert (quality["delta"], quality["delta_spread"]) == (close(0.215315), close(0.533098))
    assert moved(quality) == (360, 76, 883)
    assert result["interval95"] == [pytest.approx(0.1865, abs=0.003), pytest.approx(0.2441, abs=0.003)]


def test_taubench(shared):
    folder = shared / "data" / "taubench_retail"
    [candidate] = folder.glob("assertions-agent*")
    [baseline] = folder.glob("tool-calling*")
    result = compared(baseline, candidate)
    quality = result["quality"]
    assert (passed(result["baseline"]), passed(result["candidate"])) == ((73, 99), (35, 66))
    assert (quality["cases"], result["all_cases"]) == (65, 100)
    assert (quality["delta"], quality["delta_spread"]) == (close(-0.2), close(0.560220))
    assert moved(quality) == (5, 18, 42)
    assert result["bracket"]["delta"] == close(-0.38)
    assert result["candidate"]["generation"]["failures"] == [["harness_error", 34]]
    assert result["baseline"]["generation"]["failures"] == [["limit_exceeded", 1]]


def test_gpqa(shared):
    file = shared / "data" / "gpqa_epochs_csv" / "gpqa_diamond_scores.csv"
    result = compared(
        f"{file}#openai/gpt-5.4-mini-2026-03-17", f"{file}#openai/gpt-5-nano-2025-08-07", "--mapping", LONG
    )
    quality = result["quality"]
    assert (quality["cases"], quality["pairs"]) == (198, 990)
    assert (quality["delta"], quality["delta_spread"]) == (close(0.058586), close(0.390030))
    assert moved(quality) == (62, 46, 90)


def test_misguided_attention(shared):
    folder = shared / "data" / "misguided_attention"
    result = compared(
        f"{folder}/detailed_evaluations_gpt41.json#gpt-4.1",
        f"{folder}/detailed_evaluations_o4mh.json",
        "--mapping",
        NESTED,
    )
    quality = result["quality"]
    assert (quality["cases"], quality["pairs"]) == (52, 143)
    assert (quality["delta"], quality["delta_spread"]) == (close(-0.008013), close(0.394358))
    [unmatched] = result["unmatched"]
    assert (unmatched["reason"], unmatched["side"], unmatched["rows"]) == ("repetition_count", "baseline", 13)


def test_arabic_mmlu(shared):
    folder = shared / "data" / "arabic_mmlu"
    result = compared(
        folder / "jais-13b_few_shot",
        folder / "AceGPT_13B_base_few_shot",
        "--mapping",
        MAPPINGS / "arabic_mmlu.json",
    )
    assert result["quality"]["cases"] == 485
    assert result["quality"]["delta"] == close(0.035052)
    assert result["bracket"]["delta"] == close(-0.020073)


def test_a_table_that_a_person_can_read(shared):
    folder = shared / "data" / "taubench_retail"
    [candidate] = folder.glob("assertions-agent*")
    [baseline] = folder.glob("tool-calling*")
    shown = run("compare", baseline, candidate).stdout
    for words in ("73/99", "35/66", "−20 points", "5 / 18 / 42", "−38 points", "34 rows of 34 cases", "Unknown"):
        assert words in shown
    for word in ("winner", "ship", "recommended"):
        assert word not in shown.lower()


def test_swapping_negates(shared):
    logs = shared / "data" / "inspect_mock" / "logs"
    sides = [logs / "arm-a_multilingual_qa.eval", logs / "arm-b_multilingual_qa.json"]
    one = compared(*sides, "--scorer", "graded_exact")
    other = compared(*reversed(sides), "--scorer", "graded_exact")
    assert one["quality"]["delta"] == -other["quality"]["delta"]
    assert moved(one["quality"])[:2] == moved(other["quality"])[1::-1]


def test_two_graders_of_the_same_answers(shared):
    log = shared / "data" / "inspect_mock" / "logs" / "arm-a_multilingual_qa_regraded_v2.eval"
    result = compared(log, log, "--baseline-scorer", "graded_exact", "--candidate-scorer", "graded_exact1")
    assert result["finding"]["kind"] == "withheld"
    assert result["quality"]["delta"] is None


# --- small files


@pytest.fixture
def arms(tmp_path):
    """Write one CSV with a column of scores per arm; a letter means an arm, a text its scores."""

    def write(**scores: str) -> Path:
        path = tmp_path / "arms.csv"
        rows = [
            f"q{number},{arm},{value}"
            for arm, values in scores.items()
            for number, value in enumerate(values)
            if value != " "
        ]
        path.write_text("\n".join(["item_id,model_id,score,epoch", *(f"{row},1" for row in rows)]) + "\n")
        return path

    return write


def gate(path, *options):
    return run("compare", f"{path}#a", f"{path}#b", "--mapping", LONG, *options)


def test_the_gate_passes_where_no_regression_is_shown(arms):
    path = arms(a="01" * 20, b="11" * 20)
    assert gate(path, "--fail-on", "regression").exit_code == 0
    assert gate(path, "--margin", "0.05").exit_code == 0


def test_the_gate_fails_on_a_regression(arms):
    path = arms(a="1" * 40, b="10" * 20)
    done = gate(path, "--fail-on", "regression")
    assert done.exit_code == 1
    assert "Gate: failed" in done.stdout
    assert gate(path, "--margin", "0.1").exit_code == 1
    assert gate(path).exit_code == 0  # without a gate the comparison is only shown


def test_a_margin_fails_what_might_be_worse(arms):
    path = arms(a="1" * 20 + "0" * 10, b="0" + "1" * 19 + "0" * 9 + "1")
    assert gate(path, "--fail-on", "regression").exit_code == 0
    assert gate(path, "--margin", "0.01").exit_code == 1
    assert gate(path, "--margin", "0.5").exit_code == 0


@pytest.mark.parametrize("options", [["--fail-on", "regression"], ["--margin", "0.5"]])
def test_too_few_is_inconclusive(arms, options):
    path = arms(a="1" * 10, b="1" * 10)
    assert gate(path, *options).exit_code == 3
    assert gate(path).exit_code == 0


def test_no_scored_pair_is_inconclusive_even_without_a_gate(arms):
    path = arms(a="1" * 30 + " " * 30, b=" " * 30 + "1" * 30)
    done = gate(path)
    assert done.exit_code == 3
    assert "inconclusive" in done.stdout
    assert gate(path, "--fail-on", "regression").exit_code == 3


def test_with_json_the_output_is_one_value_and_the_gate_speaks_elsewhere(arms):
    path = arms(a="1" * 40, b="10" * 20)
    done = gate(path, "--fail-on", "regression", "--json")
    assert done.exit_code == 1
    assert json.loads(done.stdout)["finding"]["kind"] == "worse"
    assert "Gate: failed" in done.stderr


def refused(done, code):
    assert done.exit_code == 2
    assert f"[{code}]" in done.stderr
    return done.stderr


def test_open_choices_are_refused_with_what_there_is(arms, shared):
    path = arms(a="1", b="1")
    words = refused(run("compare", path, f"{path}#a", "--mapping", LONG), "import_arm_ambiguous")
    assert "a, b" in words
    assert "a, b" in refused(run("compare", f"{path}#c", f"{path}#a", "--mapping", LONG), "import_arm_missing")
    logs = shared / "data" / "inspect_mock" / "logs"
    sides = (logs / "arm-a_multilingual_qa.eval", logs / "arm-b_multilingual_qa.eval")
    assert "closeness, graded_exact" in refused(run("compare", *sides), "import_scorer_ambiguous")
    assert refused(run("compare", *sides, "--scorer", "other"), "import_scorer_missing")
    unscored = next((shared / "data" / "inspect_real_logs").glob("2025-02-11T15-17*"))
    assert refused(run("compare", unscored, sides[0]), "import_scorer_missing")


def test_bad_options_and_files(arms, tmp_path):
    path = arms(a="1", b="1")
    refused(run("compare", "nothing", path), "cli_file_missing")
    refused(run("compare", path, path, "--mapping", "nothing"), "cli_file_missing")
    refused(gate(path, "--margin", "0"), "cli_option_invalid")
    refused(gate(path, "--target", "nan"), "cli_option_invalid")
    refused(run("compare", path, path), "import_mapping_needed")
    assert gate(path, "--fail-on", "anything").exit_code == 2
    done = run("compare", path, path, "--json")
    assert json.loads(done.stdout)["error"]["code"] == "import_mapping_needed"
    (tmp_path / "empty").mkdir()
    refused(run("compare", tmp_path / "empty", path), "import_empty")


def test_a_faulty_row_refuses_unless_it_may_be_left_out(arms):
    path = arms(a="1" * 30, b="1" * 30)
    path.write_text(path.read_text() + "q0,a,1,1\n")
    assert "line 62" in refused(gate(path), "duplicate_case_repetition")
    done = gate(path, "--accept-rejected", "--json")
    assert done.exit_code == 0
    duplicates = [entry for entry in json.loads(done.stdout)["unmatched"] if entry["reason"] == "duplicate"]
    assert [(entry["side"], entry["rows"]) for entry in duplicates] == [("baseline", 1)]


def test_control_characters_of_others_never_reach_the_terminal(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"item_id": "q\\u001b[31m", "model_id": "a", "score": 1, "epoch": 1}\n')
    done = run("compare", path, path, "--mapping", LONG)
    assert "\x1b" not in done.output
    assert done.exit_code == 2


def test_a_name_with_a_hash_is_a_name(arms, tmp_path):
    odd = tmp_path / "run#1.csv"
    odd.write_bytes(arms(a="1" * 30).read_bytes())
    assert run("compare", odd, f"{odd}#a", "--mapping", LONG).exit_code == 0


def test_one_scorer_with_and_without_partial_marks_is_one_scorer(tmp_path):
    def log(name, values):
        samples = [
            {"id": n, "epoch": 1, "input": "q", "scores": {"s": {"value": value}}} for n, value in enumerate(values)
        ]
        body = {"version": 2, "status": "success", "eval": {"model": name}, "samples": samples}
        (tmp_path / f"{name}.json").write_text(json.dumps(body))
        return tmp_path / f"{name}.json"

    result = compared(log("a", "CI" * 15), log("b", "CP" * 15))
    assert result["withheld"] == []
    assert (result["metric"]["kind"], result["quality"]["delta"]) == ("numeric", 0.25)
