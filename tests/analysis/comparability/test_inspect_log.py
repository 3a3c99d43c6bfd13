"""The mapping of Inspect logs, over logs made of plain values and over real ones."""

from __future__ import annotations

import copy
import hashlib
import json
import math
import zipfile

import pytest

from analysis.comparability import adjudicate
from analysis.comparability.inspect_log import InvalidLogs, LeftOut, Log, Policy, convert
from cli.inspect_claim import main
from tests.conformance.experiment.scenarios import LOGS


def header(**told: object) -> dict:
    return {
        "version": 2,
        "status": "success",
        "eval": {
            "task": "support",
            "task_version": 3,
            "model": "provider/model",
            "config": {"epochs": 2},
            "scorers": [{"name": "match", "options": {}}],
            **told,
        },
        "plan": {"steps": [{"solver": "system_message", "params": {"x": 1}}, {"solver": "generate", "params": {}}]},
        "results": {
            "total_samples": 2,
            "completed_samples": 2,
            "scores": [{"name": "match", "reducer": None, "metrics": {"accuracy": {"value": 0.5}}}],
        },
    }


def sample(value: object = "C", number: object = "s1", epoch: int = 1, **more: object) -> dict:
    found = {"id": number, "epoch": epoch, "messages": [{"role": "user"}], "scores": {"match": {"value": value}}}
    return {**found, **more}


def log(*samples: dict, name: str = "run.eval", **told: object) -> Log:
    return Log(name, header(**told), list(samples))


def only(*logs: Log, **policy: object) -> dict:
    """The one record that comes out."""
    found = convert(logs, Policy(**{"status": "verified", **policy}))
    assert len(found.cases) == 1 and len(found.cases[0].case["records"]) == 1
    return found.cases[0].case["records"][0]


def faults(*logs: Log, **policy: object) -> list[str]:
    with pytest.raises(InvalidLogs) as raised:
        convert(logs, Policy(**{"status": "verified", **policy}))
    return [str(fault) for fault in raised.value.faults]


def test_every_field_of_a_record():
    steps = b'[{"params":{"x":1},"solver":"system_message"},{"params":{},"solver":"generate"}]'
    digest = hashlib.sha256(steps).hexdigest()[:12]
    assert only(log(sample("I"))) == {
        "task_id": 'support@3/"s1"',
        "harness": f"inspect:system_message>generate@{digest}",
        "model": "provider/model",
        "reward": 0.0,
        "reward_status": "verified",
        "trajectory_available": True,
        "score_scale": {"range": "0..1", "unit": "fraction", "verifier": "inspect:match"},
        "repetition_count": 2,
    }


@pytest.mark.parametrize(
    ("value", "policy", "reward"),
    [
        ("C", {}, 1.0),
        ("I", {}, 0.0),
        (True, {}, 1.0),
        (False, {}, 0.0),
        (0.25, {}, 0.25),
        (1, {}, 1),
        ("P", {"partial_credit": True}, 0.5),
        ({"a": 0.5, "b": "C"}, {"score_key": "b"}, 1.0),
        (85, {"range": "0..100", "unit_name": "points"}, 85),
    ],
)
def test_values_with_a_rule(value, policy, reward):
    assert only(log(sample(value)), **policy)["reward"] == reward


NO_ZERO = 'no answer ("N") is no zero; --allow-no-answer lists such samples and leaves them out'


@pytest.mark.parametrize(
    ("value", "policy", "message"),
    [
        ("P", {}, 'partial credit ("P") counts as 0.5 only with --partial-credit'),
        ("N", {}, NO_ZERO),
        ("N", {"allow_unscored": True}, NO_ZERO),
        ("correct", {}, 'expected a number, true, false, C or I, got "correct"'),
        ("1.0", {}, 'expected a number, true, false, C or I, got "1.0"'),
        ([1, 0], {}, "expected a number, true, false, C or I, got [1, 0]"),
        (None, {}, "expected a number, true, false, C or I, got null"),
        (math.nan, {}, "a value that is no number means that nothing was scored"),
        ({"a": 1}, {}, "expected one value, or --score-key KEY; there are a"),
        ({"a": 1}, {"score_key": "b"}, "expected one value, or --score-key KEY; there are a"),
        (85, {}, "85 lies outside 0..1; --range and --unit-name declare its scale"),
        (-0.5, {}, "-0.5 lies outside 0..1; --range and --unit-name declare its scale"),
    ],
)  # fmt: skip
def test_values_without_a_rule_are_refused_with_their_path(value, policy, message):
    assert faults(log(sample(value)), **policy) == [f'run.eval: samples[id="s1",epoch=1].scores.match: {message}']


def test_an_unscored_sample_is_no_zero():
    raised = sample(number="s2", scores={}, error={"message": "RuntimeError('boom')"})
    silent = sample(number=3, scores={})
    invalid = sample(number="s4", invalidation={"reason": "x"})
    logs = log(sample(), raised, silent, invalid)
    allow = "--allow-unscored lists such samples and leaves them out"
    assert faults(logs) == [
        f"run.eval: samples[id=3,epoch=1].scores.match: was not scored; {allow}",
        f'run.eval: samples[id="s2",epoch=1].scores.match: error "RuntimeError(\'boom\')"; {allow}',
        f'run.eval: samples[id="s4",epoch=1].scores.match: was marked as invalid; {allow}',
    ]
    found = convert([logs], Policy("verified", allow_unscored=True))
    assert [len(entry.case["records"]) for entry in found.cases] == [1]
    assert found.left_out == [
        LeftOut("run.eval", 3, 1, "was not scored"),
        LeftOut("run.eval", "s2", 1, "error \"RuntimeError('boom')\""),
        LeftOut("run.eval", "s4", 1, "was marked as invalid"),
    ]


def test_no_record_at_all_is_refused():
    assert faults(log(sample("N")), allow_no_answer=True) == [
        "run.eval: samples: no sample is left to make a record of"
    ]
    assert faults(log()) == ["run.eval: samples: the log holds no sample; --unit task takes its results"]


def test_the_status_of_a_zero_may_be_another():
    found = convert([log(sample("C"), sample("I", epoch=2))], Policy("verified", status_zero="unresolved_zero"))
    assert [record["reward_status"] for record in found.cases[0].case["records"]] == ["verified", "unresolved_zero"]
    assert adjudicate(found.cases[0].case, "score_comparison").admissibility == "PARTIAL"


def test_ids_keep_their_type_and_the_order_of_the_file_does_not_matter():
    samples = [sample(number=10), sample(number="3"), sample(number=3, epoch=2), sample(number=3), sample(number=2)]
    found = convert([log(*samples)], Policy("verified"))
    again = convert([log(*reversed(samples))], Policy("verified"))
    assert found == again
    assert [(source.sample, source.epoch) for entry in found.cases for source in entry.sources] == [
        ("3", 1), (10, 1), (2, 1), (3, 1), (3, 2),
    ]  # fmt: skip


def test_a_sample_stands_once():
    assert faults(log(sample(), sample())) == [
        'run.eval: samples[id="s1",epoch=1]: this id and epoch stand twice in the log'
    ]
    assert faults(log(sample(epoch=None))) == ['run.eval: samples[id="s1",epoch=null]: expected an id and an epoch']
    assert faults(log(sample(number=True))) == ["run.eval: samples[id=true,epoch=1]: expected an id and an epoch"]


def test_the_scorer_must_be_clear():
    two = {"scorers": [{"name": "match"}, {"name": "exact"}, {"name": "match", "options": {"version": 2}}]}
    assert faults(log(sample(), **two)) == [
        "run.eval: eval.scorers: expected one scorer, or --scorer NAME; there are match, exact, match1"
    ]
    assert faults(log(sample(), **two), scorer="none") == [
        'run.eval: eval.scorers: there is no scorer "none"; there are match, exact, match1'
    ]
    second = sample(scores={"match1": {"value": "C"}})
    assert only(log(second, **two), scorer="match1")["score_scale"]["verifier"].startswith("inspect:match1@")
    assert only(log(sample(), scorers=None))["score_scale"]["verifier"] == "inspect:match"


def test_the_last_edit_of_a_score_counts():
    edited = {"value": "I", "history": [{"value": "I"}, {"value": "C"}, {"value": "UNCHANGED"}]}
    assert only(log(sample(scores={"match": edited})))["reward"] == 1.0


def test_a_run_that_did_not_end_well_is_refused():
    started = Log("run.eval", {**header(), "status": "cancelled"}, [sample()])
    assert faults(started) == ['run.eval: status: the run ended as "cancelled"; --allow-incomplete takes what is there']
    assert only(started, allow_incomplete=True)["reward"] == 1.0


def test_the_harness_is_made_of_the_solvers_and_their_parameters():
    other = header()
    other["plan"]["steps"][0]["params"] = {"x": 2}
    names = {only(log(sample()))["harness"], only(Log("b", other, [sample()]))["harness"]}
    assert len(names) == 2
    assert only(log(sample()), harness=["mine"])["harness"] == "mine"
    assert faults(Log("a", {**header(), "plan": {}}, [sample()])) == [
        "a: plan.steps: the log names no solver; --harness names the harness"
    ]


def test_neither_messages_nor_events_is_a_missing_trace():
    assert only(log(sample(messages=[])))["trajectory_available"] is False
    assert only(log(sample(messages=[], events=[{}])))["trajectory_available"] is True


def test_two_logs_meet_in_the_same_sample():
    found = convert([log(sample(), name="a"), log(sample("I"), sample(number="s2"), name="b")], Policy("verified"))
    assert [len(entry.case["records"]) for entry in found.cases] == [2, 1]
    assert found.notes == ["1 of 2 cases do not have a record of every log."]


def test_all_logs_are_looked_at_before_anything_is_refused():
    logs = [log(sample("N"), name="a"), Log("b", {"status": "success"}, []), log(sample("N"), name="c", task="")]
    assert [fault.partition(": ")[0] for fault in faults(*logs)] == ["a", "b", "c"]


# --- whole tasks


def test_a_task_is_one_record_of_its_results():
    found = only(log(sample(), sample("I", "s2")), unit="task")
    assert (found["task_id"], found["reward"], found["trajectory_available"]) == ("support@3", 0.5, True)
    assert found["score_scale"]["verifier"] == "inspect:match/accuracy"
    assert only(Log("a", header(), None), unit="task")["trajectory_available"] is False
    assert only(log(sample(), sample(number="s2", messages=[])), unit="task")["trajectory_available"] is False


def test_what_is_open_in_results_is_refused():
    def results(**change: object) -> Log:
        told = header()
        told["results"].update(change)
        return Log("a", told, None)

    assert faults(results(scores=[]), unit="task") == [
        'a: results.scores: expected one result of "match", or --reducer NAME; reducers: none'
    ]
    reduced = [{"name": "match", "reducer": name, "metrics": {"accuracy": {"value": 1}}} for name in ("mean", "mode")]
    assert faults(results(scores=reduced), unit="task") == [
        'a: results.scores: expected one result of "match", or --reducer NAME; reducers: "mean", "mode"'
    ]
    assert only(results(scores=reduced), unit="task", reducer="mode")["score_scale"]["verifier"].endswith("/mode")
    metrics = [{"name": "match", "metrics": {"accuracy": {"value": 1}, "stderr": {"value": None}}}]
    assert faults(results(scores=metrics), unit="task") == [
        "a: results.scores: expected one metric, or --metric NAME; there are accuracy, stderr"
    ]
    assert faults(results(scores=metrics), unit="task", metric="stderr") == [
        "a: results.scores.stderr: expected a number, got null"
    ]
    assert faults(results(scores=metrics), unit="task", metric="f1") == [
        'a: results.scores: there is no metric "f1"; there are accuracy, stderr'
    ]
    assert faults(results(completed_samples=1), unit="task") == [
        "a: results.completed_samples: 1 of 2 samples; --allow-unscored takes the result"
    ]


@pytest.mark.parametrize(
    "policy",
    [
        {"status": ""},
        {"status_zero": ""},
        {"unit": "epoch"},
        {"harness": ["a", "b"]},
        {"range": "0..5"},
        {"unit_name": "points"},
    ],
)
def test_a_policy_must_be_whole(policy):
    with pytest.raises(ValueError):
        convert([log(sample())], Policy(**{"status": "verified", **policy}))


def test_odd_shapes_are_refused_and_not_stumbled_over():
    told = header(scorers=7, config=[], task_version=None)
    told["results"] = {"scores": {"a": 1}}
    for samples in ([{}], [{"id": "s", "epoch": 1, "scores": [1], "error": "x"}], [{"id": [], "epoch": {}}]):
        for unit in ("sample", "task"):
            with pytest.raises(InvalidLogs):
                convert([Log("a", told, samples)], Policy("verified", unit=unit))


def test_the_logs_are_not_changed():
    given = log(sample(), sample("I", "s2"))
    before = copy.deepcopy(given)
    convert([given], Policy("verified"))
    assert given == before


# --- the command


@pytest.fixture
def claim(capfd):
    def ask(*arguments: object) -> tuple[int, dict | None, list[str]]:
        code = main([*map(str, arguments), "--claim", "score_comparison"])
        out, err = capfd.readouterr()
        return code, json.loads(out) if out else None, err.splitlines()

    return ask


def test_a_status_is_never_assumed(claim):
    code, found, errors = claim(LOGS / "plain_model-a.eval")
    assert (code, found) == (2, None)
    assert errors[0].startswith("usage: evenhand inspect-claim")


def test_a_refusal_names_the_log_and_the_place(claim):
    code, found, errors = claim(LOGS / "tools_model-a_without_samples.eval", "--status", "verified")
    assert (code, found) == (2, None)
    assert errors == [
        "error: tools_model-a_without_samples.eval: samples: the log holds no sample; --unit task takes its results"
    ]


@pytest.mark.parametrize("content", [b"", b"{}", b"PK\x03\x04 cut off", b"[1]", b'{"eval": {}, "eval": {}}'])
@pytest.mark.parametrize("name", ["run.eval", "run.json"])
def test_a_broken_log_ends_with_2(claim, tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    code, found, errors = claim(path, "--status", "verified")
    assert (code, found) == (2, None)
    assert len(errors) == 1 and errors[0].startswith(f"error: {name}: ")
    code, found, errors = claim(tmp_path / f"no-{name}", "--status", "verified")
    assert (code, found) == (2, None) and errors[0].startswith(f"error: no-{name}: ")


def test_logs_of_one_name_are_told_apart_by_their_folders(claim, tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        with zipfile.ZipFile(tmp_path / folder / "run.eval", "w") as archive:
            archive.writestr("header.json", json.dumps(header()))
            archive.writestr("samples/s1_epoch_1.json", json.dumps(sample("N" if folder == "b" else "C")))
    code, found, errors = claim(tmp_path / "a" / "run.eval", tmp_path / "b" / "run.eval", "--status", "verified")
    assert (code, found) == (2, None)
    assert [line.partition(": samples")[0] for line in errors] == [f"error: {tmp_path}/b/run.eval"]


def test_the_manifest_holds_the_mapping_and_lowers_what_was_cut_off(claim, tmp_path):
    with zipfile.ZipFile(tmp_path / "run.eval", "w") as archive:
        archive.writestr("header.json", json.dumps(header()))
        archive.writestr("samples/s1_epoch_1.json", json.dumps(sample()))
        archive.writestr("samples/s1_epoch_2.json", json.dumps(sample(epoch=2, limit={"type": "message"})))
    trust = ["--trust", "source_verifier_attested", "--stated-by", "the benchmark"]
    files = ["--manifest", tmp_path / "m.json", "--cases", tmp_path / "c.json"]
    code, found, errors = claim(tmp_path / "run.eval", "--status", "verified", *trust, *files)
    assert (code, errors) == (0, [])
    manifest = json.loads((tmp_path / "m.json").read_bytes())[0]
    assert [record["trust_state"] for record in manifest["records"]] == [
        "source_verifier_attested",
        "no_sufficient_evidence",
    ]
    assert manifest["mapping"] == found["mapping"] and manifest["mapping"]["status"] == "verified"
    cases = json.loads((tmp_path / "c.json").read_bytes())
    assert [adjudicate(case, "score_comparison").to_dict() for case in cases] == found["decisions"]
    code, found, errors = claim(tmp_path / "run.eval", "--status", "verified", "--trust", "agent_claimed")
    assert (code, errors) == (2, ["error: --trust: needs --stated-by and --manifest"])


MOCK, REAL = "data/inspect_mock/logs", "data/inspect_real_logs"


@pytest.mark.parametrize(
    ("folder", "logs", "options", "verdicts", "left_out"),
    [
        pytest.param(
            MOCK,
            ["arm-a_tool_sums.eval", "arm-b_tool_sums.eval"],
            ["--scorer", "includes", "--status-zero", "unresolved_zero"],
            {"ADMISSIBLE": 3, "PARTIAL": 3},
            0,
            id="zeros apart",
        ),
        pytest.param(
            MOCK,
            ["arm-a_multilingual_qa.eval", "arm-b_multilingual_qa.eval"],
            ["--scorer", "graded_exact", "--allow-unscored", "--allow-no-answer"],
            {"ADMISSIBLE": 26},
            15,
            id="abstentions and an error left out",
        ),
        pytest.param(
            MOCK,
            ["arm-a_multilingual_qa_regraded_v2.eval", "arm-a_multilingual_qa.eval"],
            ["--scorer", "graded_exact1", "--allow-no-answer", "--partial-credit"],
            None,
            ["error: arm-a_multilingual_qa.eval: eval.scorers: there is no scorer"],
            id="a scorer that only one log has",
        ),
        pytest.param(
            REAL,
            [
                "2025-02-11T15-18-04-05-00_popularity_mj7khqpMM4GBCfVQozKgzB.eval",
                "2025-09-23T08-09-58-04-00_popularity_DN2wbX2ZvACsBpjwptzBRo.eval",
            ],
            [],
            {"ADMISSIBLE": 100},
            0,
            id="two real runs of one task",
        ),
        pytest.param(
            REAL,
            [
                "2025-09-23T08-09-58-04-00_popularity_DN2wbX2ZvACsBpjwptzBRo.eval",
                "2025-09-23T08-09-58-04-00_security-guide_LuxZJVwvymC3S3SyoJczxB.eval",
            ],
            ["--unit", "task", "--metric", "accuracy"],
            {"INADMISSIBLE": 1},
            0,
            id="two real tasks",
        ),
        pytest.param(
            REAL,
            ["2025-02-11T15-17-00-05-00_popularity_dPiJifoWeEQBrfWsAopzWr.eval"],
            [],
            None,
            ["error: 2025-02-11T15-17-00-05-00_popularity_dPiJifoWeEQBrfWsAopzWr.eval: samples[id=1,epoch=1].scores"],
            id="never scored",
        ),
        pytest.param(
            REAL,
            ["2025-05-12T20-28-13-04-00_popularity.json"],
            [],
            None,
            ["error: 2025-05-12T20-28-13-04-00_popularity.json: status: the run ended as"],
            id="cancelled",
        ),
        pytest.param(
            REAL,
            ["2025-05-12T20-28-13-04-00_popularity.json"],
            ["--allow-incomplete"],
            {"ADMISSIBLE": 3},
            0,
            id="cancelled and taken",
        ),
    ],
)
def test_logs_of_other_people(shared, claim, folder, logs, options, verdicts, left_out):
    code, found, errors = claim(*(shared / folder / name for name in logs), "--status", "verified", *options)
    if verdicts is None:
        assert (code, found) == (2, None)
        assert errors[0].startswith(left_out[0])
    else:
        assert (code, errors) == (0, [])
        assert found["verdicts"] == verdicts
        assert len(found["left_out"]) == left_out
