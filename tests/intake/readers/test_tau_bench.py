"""tau-bench v1: a crash and a run without a reward are not scored; neither is a zero."""

from __future__ import annotations

import json

from analysis.observations import FailureKind, Generation, Outcome
from intake.readers import NamedFile, recognise, settled
from tests.intake.readers.conftest import read, refusal

TASK = {"instruction": "swap it", "actions": [], "outputs": [], "user_id": "u"}


def attempt(task_id, reward=1.0, **given):
    info = {"task": TASK, "reward_info": {"reward": reward}}
    traj = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "done"},
        {"role": "user", "content": "bye"},
    ]
    return {"task_id": task_id, "reward": reward, "info": info, "traj": traj, "trial": task_id, **given}


CRASH = {"reward": 0.0, "info": {"error": "boom", "traceback": "…"}, "traj": []}
STOPPED = {"reward": 0.0, "info": {"task": TASK, "reward_info": None}}


def rows(put, *attempts):
    [run] = recognise([put("arm-x.json", list(attempts))]).runs()
    return run.facts, list(settled(run))


def test_what_was_not_measured_is_not_zero(put):
    facts, found = rows(put, attempt(0), attempt(1, 0.0), attempt(2, **CRASH), attempt(3, **STOPPED))
    by_id = {entry.case.source_id: entry for entry in found}
    assert by_id[0].scores["reward"].value == 1.0
    assert by_id[1].scores["reward"].outcome is Outcome.SCORED
    assert (by_id[2].generation, by_id[2].failure, by_id[2].error) == (
        Generation.FAILED,
        FailureKind.HARNESS_ERROR,
        "boom",
    )
    assert (by_id[3].generation, by_id[3].failure) == (Generation.FAILED, FailureKind.LIMIT_EXCEEDED)
    assert by_id[2].scores == by_id[3].scores == {}
    assert by_id[0].answer == "done"
    assert (facts.arm, facts.arm_from_file_name) == ("arm-x", True)


def test_trial_counts_only_where_it_counts_something(put):
    facts, found = rows(put, attempt(0), attempt(1))
    assert [entry.repetition for entry in found] == [1, 1]
    assert "repetition" in facts.missing
    facts, found = rows(put, attempt(0, trial=0), attempt(0, trial=1))
    assert [entry.repetition for entry in found] == [0, 1]
    assert "repetition" not in facts.missing


def test_faults_of_attempts(put):
    assert refusal(put("a.json", [attempt(0, reward=0.5)])).code == "import_score_out_of_scale"
    assert refusal(put("b.json", [attempt(0, reward="1")])).code == "import_record_wrong_type"
    assert refusal(put("c.json", [attempt(None)])).code == "import_record_missing_field"
    assert refusal(put("d.json", [attempt(0), 3])).place == "[1]"
    assert refusal(put("e.json", json.dumps([attempt(0)])), reader="inspect").code == "import_record_wrong_type"
    assert refusal(put("f.json", {}), reader="tau_bench").code == "import_record_wrong_type"


def test_real_results(shared):
    folder = shared / "data" / "taubench_retail"
    runs = read(*(NamedFile(path.name, path) for path in sorted(folder.glob("*.json"))))
    counts = {
        arm.split("-")[0]: (
            sum(row.generation is Generation.COMPLETED for row in run.rows),
            sum(row.failure == FailureKind.HARNESS_ERROR for row in run.rows),
            sum(row.failure == FailureKind.LIMIT_EXCEEDED for row in run.rows),
            sum(row.scores["reward"].value or 0 for row in run.rows if row.scores),
        )
        for arm, run in runs.items()
    }
    assert counts == {"assertions": (66, 34, 0, 35), "tool": (99, 0, 1, 73)}
