"""The conformance suite inside `make test`: what needs the published package is skipped here, and only here.

`make conformance` runs all of it with the package and both frameworks, where nothing is skipped.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json

import pytest

from analysis.comparability import adjudicate, policy
from tests.conformance import frozen, second_implementation, suite
from tests.conformance.groups import CLAIMS, every_combination, groups

NOT_SHARED = not frozen.SHARED.is_dir()
PAIRS = [] if NOT_SHARED else frozen.from_shared()
NO_PACKAGE = importlib.util.find_spec(frozen.PUBLISHED) is None

PINNED = {
    # policy version: digest of the table, digest of its answers to 64 settings of the facts and 6 claims
    "cmp/0.4.0": (
        "2da96d107524e91fc64baa32ffec6e3df76166e5b7dbb5b80130dcef59121b06",
        "6ba14d791e90b4887aa23aebf3ba725f924a9fef085aca5491f17ec8b3cc8343",
    ),
}


def answers_digest() -> str:
    found = [adjudicate(case, claim).to_dict() for _, case in every_combination() for claim in CLAIMS]
    return hashlib.sha256(json.dumps(found).encode()).hexdigest()


def test_the_table_is_pinned_to_the_policy_version():
    """A changed table needs a new version: a reader of stored decisions must be able to tell."""
    assert policy.POLICY_VERSION in PINNED, "pin the digests of the new version beside the old ones"
    assert (policy.table_digest(), answers_digest()) == PINNED[policy.POLICY_VERSION]


@pytest.mark.skipif(NOT_SHARED, reason="the shared evidence folder does not lie beside the project")
def test_there_are_22_pairs_and_9_have_records_of_ours():
    assert len(PAIRS) == 22
    assert sum(pair.records_by == "ours" for pair in PAIRS) == 9


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_frozen_pair(pair):
    assert adjudicate(pair.case, pair.claim).admissibility == pair.expected
    assert second_implementation.decide(pair.case, pair.claim)["admissibility"] == pair.expected


@pytest.mark.skipif(NO_PACKAGE, reason="agent-comparability is installed by make conformance only")
def test_policy_metric():
    for check in suite.policy_checks(frozen.from_package):
        assert check.passed, check.failures[:5]


@pytest.mark.parametrize("nested", [False, True])
def test_the_second_implementation_gives_the_same_records(nested):
    for case in groups(11, 1_000, nested=nested):
        for claim in CLAIMS:
            assert adjudicate(case, claim).to_dict() == second_implementation.decide(case, claim)


@pytest.mark.parametrize(
    ("case", "paths"),
    [
        (None, ["case"]),
        ({}, ["id", "records"]),
        ({"id": "c", "records": [{}]}, [f"records[0].{name}" for name in ("harness", "model", "reward")]),
        ({"id": "c", "records": [{"reward": True, "score_scale": None, "repetition_count": 0}]}, ["records[0].reward"]),
    ],
)
def test_both_implementations_refuse_the_same_places(case, paths):
    with pytest.raises(ValueError) as ours:
        adjudicate(case, "causal")
    with pytest.raises(second_implementation.NotACase) as again:
        second_implementation.decide(case, "causal")
    found = {str(problem).partition(":")[0] for problem in ours.value.problems}
    assert found == set(again.value.paths)
    assert set(paths) <= found


def no_pairs() -> list[frozen.Pair]:
    raise ModuleNotFoundError("No module named 'agent_comparability'")


def test_a_missing_package_fails_every_metric(monkeypatch, capsys):
    monkeypatch.setattr(suite, "run", lambda run=suite.run: run(no_pairs))
    assert suite.main([]) == 1
    shown = capsys.readouterr().out
    assert [line.split()[:2] for line in shown.splitlines() if not line.startswith(" ")] == [
        ["policy", "FAILED"],
        ["spec", "FAILED"],
        ["integration", "FAILED"],
    ]


@pytest.mark.parametrize(
    "adapter, framework", [("inspect_scorer", "inspect_ai"), ("pydantic_evaluator", "pydantic_evals")]
)
def test_a_missing_adapter_is_a_failure_not_a_skip(adapter, framework):
    if importlib.util.find_spec(framework) is not None:
        pytest.skip(f"{framework} is installed here")
    pair = frozen.Pair({"id": "c", "records": []}, "record", "ADMISSIBLE", "ours")
    checks = [check for check in suite.integration_checks(lambda: [pair]) if adapter in check.name]
    assert [check.passed for check in checks] == [False, False]
    assert framework in checks[0].failures[0]


def test_a_wrong_answer_of_an_adapter_is_seen(monkeypatch):
    pair = frozen.Pair({"id": "c", "records": frozen.REBUILT["C1"][1]}, "record", "ADMISSIBLE", "ours")
    right = adjudicate(pair.case, pair.claim).to_dict()
    for report, passes in [
        ({"faults": [], "agreed": [pair.name], "decisions": {pair.name: right}}, True),
        ({"faults": ["c: raised"], "agreed": [pair.name], "decisions": {pair.name: right}}, False),
        ({"faults": [], "agreed": [], "decisions": {pair.name: right}}, False),
        ({"faults": [], "agreed": [pair.name], "decisions": {}}, False),
        ({"faults": [], "agreed": [pair.name], "decisions": {pair.name: {**right, "case_id": "d"}}}, False),
    ]:
        monkeypatch.setattr(suite, "through_adapter", lambda adapter, given, report=report: report)
        checks = [check for check in suite.integration_checks(lambda: [pair]) if check.name.startswith("frozen")]
        assert {check.passed for check in checks} == {passes}
