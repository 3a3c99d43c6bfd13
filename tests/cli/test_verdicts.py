"""What may be said about two files: nobody knows more of them than they say, and numbers never change."""

from __future__ import annotations

import json
import random

import pytest
from typer.testing import CliRunner

from cli.main import app

MAPPING = {
    "case": ["id"],
    "arm": "model",
    "content": {"input": "question"},
    "answer": "answer",
    "scorers": [
        {"key": "correct", "kind": "boolean", "direction": "higher_is_better", "value": "correct"},
        {"key": "tone", "kind": "numeric", "direction": "higher_is_better", "low": 0, "high": 1, "value": "tone"},
    ],
}


def rows(model: str, rate: float, seed: int) -> list[dict[str, object]]:
    source = random.Random(seed)
    return [
        {
            **{"id": case, "model": model, "question": f"What is {case}?", "answer": "words"},
            **{"correct": int(source.random() < rate), "tone": round(source.random(), 2)},
        }
        for case in range(80)
    ]


@pytest.fixture
def given(tmp_path):
    mapping = tmp_path / "mapping.json"
    mapping.write_text(json.dumps(MAPPING))
    both = [*rows("new", 0.9, 1), *rows("old", 0.5, 2)]
    for name, entries in (("new", both[:80]), ("old", both[80:]), ("both", both)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    return tmp_path


def run(folder, baseline, candidate, *options, code=0):
    sides = [str(folder / side) for side in (baseline, candidate)]
    done = CliRunner().invoke(
        app, ["compare", *sides, "--mapping", str(folder / "mapping.json"), "--scorer", "correct", *options]
    )
    assert done.exit_code == code, done.output
    return done.stdout


def finals(folder, *sides, **more):
    found = json.loads(run(folder, *sides, "--json", *(word for pair in more.items() for word in pair)))
    return {one["claim"]: one["final"] for one in found["verdict"]["claims"]}, found


def test_nobody_knows_whether_two_files_are_of_one_dataset(given):
    claims, found = finals(given, "old.jsonl", "new.jsonl")
    assert claims["paired_difference"] == "INCONCLUSIVE"
    assert found["verdict"]["watermark"] == "Exploratory"
    assert any(one["id"] == "ext.same_dataset" for one in found["verdict"]["said"]["against"])


@pytest.mark.parametrize("sides", [("old.jsonl", "new.jsonl"), ("both.jsonl#old", "both.jsonl#new")])
def test_a_dataset_is_stated_or_lies_in_one_file(given, sides):
    stated = {"--dataset": "Questions"} if sides[0] == "old.jsonl" else {}
    claims, _ = finals(given, *sides, **stated)
    assert claims["paired_difference"] == "PARTIAL"
    assert claims["causal"] == "INADMISSIBLE"


def test_a_tier_lowers_what_may_be_said_and_changes_no_figure(given):
    claims, plain = finals(given, "both.jsonl#old", "both.jsonl#new")
    lower, lowered = finals(given, "both.jsonl#old", "both.jsonl#new", **{"--trust": "agent_claimed"})
    assert (claims["paired_difference"], lower["paired_difference"]) == ("PARTIAL", "INADMISSIBLE")
    assert lowered["verdict"]["trust"] == {"candidate": "agent_claimed", "baseline": "agent_claimed"}
    for name in (name for name in plain if name != "verdict"):
        assert plain[name] == lowered[name], name
    told = run(given, "both.jsonl#old", "both.jsonl#new", "--trust", "independent", code=2)
    assert told == ""


def test_the_text_says_the_sentence_as_its_claim_allows(given):
    told = " ".join(run(given, "both.jsonl#old", "both.jsonl#new").split())
    assert "Reading Exploratory" in told
    assert "May be said:" in told
    assert "A cause" in told.partition("May not be said:")[2]
    refused = " ".join(run(given, "both.jsonl#old", "both.jsonl#new", "--trust", "agent_claimed").split())
    assert "the evidence puts the difference" not in refused
    assert "more often" in told
    assert refused.partition("Metric")[2] != told.partition("Metric")[2]


def test_the_margin_is_named_in_its_claim(given):
    claims, _ = finals(given, "both.jsonl#old", "both.jsonl#new", **{"--margin": "0.05"})
    assert claims["non_inferiority(0.05)"] == "INCONCLUSIVE"
    assert "it is not recorded when the margin was fixed" in run(
        given, "both.jsonl#old", "both.jsonl#new", "--margin", "0.05"
    ).replace("\n    ", " ")
