"""`evenhand look` and `evenhand mappings`: what an import would find, and where to start a mapping."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from intake.readers import mapping as mappings
from tests.cli.test_compare import LONG, arms, run  # noqa: F401


def test_a_log_is_shown_by_its_counts(shared):
    log = shared / "data" / "inspect_mock" / "logs" / "arm-b_multilingual_qa.eval"
    report = json.loads(run("look", log, "--json").stdout)
    [found] = report["runs"]
    assert (report["reader"], report["trust"], found["cases"], found["executions"]) == (
        "inspect",
        "source_verifier",
        24,
        72,
    )
    assert found["generation"] == {"completed": 71, "failed: harness_error": 1}
    exact = next(scorer for scorer in found["scorers"] if scorer["key"] == "graded_exact")
    assert exact["outcomes"] == {"scored": 66, "abstained": 5, "none": 1}
    shown = run("look", log).stdout
    for words in ("24 cases, 72 executions", "failed: harness error: 1", "66 scored", "Missing cost"):
        assert words in shown


def test_a_table_gets_a_suggestion_that_works(arms):  # noqa: F811
    path = arms(a="10", b="01")
    done = run("look", path, "--json")
    assert done.exit_code == 2
    report = json.loads(done.stdout)
    assert report["needs_mapping"]
    mappings.from_json(report["suggested_mapping"])
    assert '"case"' in run("look", path).stdout


def test_rejected_rows_are_listed(arms):  # noqa: F811
    path = arms(a="10", b="01")
    path.write_text(path.read_text() + "q0,a,1,1\nq9,a,5,1\n")
    report = json.loads(run("look", path, "--mapping", LONG, "--json").stdout)
    assert report["runs"][0]["rejected"] == {"duplicate_case_repetition": 1, "import_score_out_of_scale": 1}
    shown = run("look", path, "--mapping", LONG).stdout
    assert "line 6" in shown
    assert "Rejected 1 rows (duplicate_case_repetition)" in shown


def test_mappings_are_listed_and_printed():
    listed = run("mappings").stdout
    assert LONG in listed
    printed = run("mappings", LONG).stdout
    assert mappings.loads(printed) == mappings.builtin(LONG)
    assert run("mappings", "nothing").exit_code == 2


def test_the_command_line_loads_no_django():
    code = "import sys, cli.main; print([name for name in sys.modules if name.split('.')[0] in ('django', 'psycopg')])"
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
