"""The recorded experiment, run again."""

from __future__ import annotations

import json

from tests.conformance.experiment import scenarios


def test_the_experiment_gives_what_was_recorded():
    recorded = json.loads(scenarios.RECORD.read_bytes())
    assert scenarios.record() == recorded


def test_the_four_scenarios_reach_all_four_verdicts():
    recorded = json.loads(scenarios.RECORD.read_bytes())
    verdicts = [set(entry["result"]["verdicts"]) for entry in recorded]
    assert verdicts == [{"ADMISSIBLE"}, {"ADMISSIBLE", "PARTIAL"}, {"INADMISSIBLE"}, {"INCONCLUSIVE"}]


def test_what_must_be_refused_is_not_packaged_as_a_supported_claim():
    recorded = json.loads(scenarios.RECORD.read_bytes())
    confounded, untraced = recorded[2]["result"]["decisions"][0], recorded[3]["result"]["decisions"][0]
    assert confounded["supported_claims"] == []
    assert confounded["violated_conditions"] == ["same_model", "single_variable_isolation"]
    assert untraced["supported_claims"] == ["score_transcription(source_verifier_attested)"]
    assert untraced["unsupported_claims"] == ["success_rate(includes records without evidence)"]
