"""The record contract: one object per task, harness and model; an unresolved zero is no zero."""

from __future__ import annotations

import json

from analysis.observations import Outcome
from intake.readers import recognise
from tests.intake.readers.conftest import read


def record(task, **given):
    return {"task_id": task, "harness": "h", "model": "m", "reward": 1.0, "reward_status": "verified", **given}


def test_arms_are_harness_and_model(put):
    rows = [record("a"), record("b"), record("a", model="n", reward=0.0, reward_status="unresolved_zero")]
    file = put("a.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    assert recognise([file]).reader == "records"
    arms = read(file)
    assert {arm: len(run.rows) for arm, run in arms.items()} == {"h / m": 2, "h / n": 1}
    assert arms["h / n"].rows[0].scores["reward"].outcome is Outcome.INDETERMINATE


def test_groups_and_tables_are_recognised(put):
    assert recognise([put("a.json", {"id": "g", "records": [record("a")]})]).reader == "records"
    table = put("a.csv", "task_id,harness,model,reward,reward_status\na,h,m,0.5,verified\n")
    assert read(table)["h / m"].rows[0].scores["reward"].value == 0.5


def test_unknown_fields_are_named_and_kept_out(put):
    run = read(put("a.json", {"records": [record("a", odd=1, repetition=2)]}))["h / m"]
    assert run.rows[0].repetition == 2
    assert any("odd" in note for note in run.facts.notes)
