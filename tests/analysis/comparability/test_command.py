"""The command line, one test per way out of it: exit code, standard output, standard error."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from analysis.comparability.command import main
from cli import adjudicate as registered
from tests.analysis.comparability.test_adjudicate import FOLDER, run

DEMO = FOLDER / "demo_case.json"
ROOT = FOLDER.parents[1]


@pytest.fixture
def case_file(tmp_path) -> Path:
    path = tmp_path / "case.json"
    path.write_text(json.dumps({"id": "c", "records": [run(), run("t m1 h2", 0.5)]}))
    return path


@pytest.mark.parametrize(
    ("records", "claim", "verdict"),
    [
        ([run()], "score_comparison", "ADMISSIBLE"),
        ([run(), run("t m1 h2", 0.0, "unresolved_zero")], "score_comparison", "PARTIAL"),
        ([run(), run("t m2 h1")], "score_comparison", "INADMISSIBLE"),
        ([run(trajectory_available=False)], "score_comparison", "INCONCLUSIVE"),
        ([run()], "ranking", "INCONCLUSIVE"),
        ([run()], "causal", "INADMISSIBLE"),
    ],
)
def test_every_verdict_ends_with_0(case_file, capfd, records, claim, verdict):
    case_file.write_text(json.dumps({"id": "c", "records": records}))
    assert main([str(case_file), "--claim", claim]) == 0
    out, err = capfd.readouterr()
    assert err == ""
    assert out.endswith("}\n") and out.startswith('{\n  "case_id": "c",\n  "requested_claim"')
    assert json.loads(out)["admissibility"] == verdict


BAD_FILES = [
    (b"", "line 1 column 1: This is not valid JSON"),
    (b'{\n\n      "id" 1}', "line 3 column 12: This is not valid JSON"),
    (b'{"id": "c", "id": "d"}', "id: A key stands twice"),
    (b'{"id": "c", "records": [{"reward": NaN}]}', "records[0].reward: NaN is not a finite number"),
    (b'{"id": "c", "records": [{"reward": 1e999}]}', "records[0].reward: 1e999 is not a finite number"),
    (b'{"id": ' + b"9" * 5000 + b"}", "id: A whole number may have at most 40 digits"),
    (b"[" * 100_000, "line 1: Values may be nested at most 64 levels deep"),
    (b'{"id": "\xff"}', "line 1: Byte 9 is not valid UTF-8"),
    (b'{"id": "\\ud800"}', "id: A text holds half of a surrogate pair"),
    (b'{"id": "\\u0000"}', "id: A text holds the character U+0000"),
    (b'{"id": "c"} x', "line 1 column 13: This is not valid JSON"),
    (b"null", "case: expected an object, got null"),
    (b'{"id": "c", "records": []}', "records: expected at least one record"),
]


@pytest.mark.parametrize(("content", "message"), BAD_FILES)
def test_a_bad_file_ends_with_2_and_says_where(case_file, capfd, content, message):
    case_file.write_bytes(content)
    assert main([str(case_file), "--claim", "causal"]) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith(f"error: case.json: {message}")


def test_problems_stand_on_a_line_each_in_order(case_file, capfd):
    records = [run(), {**run(reward="high"), "model": 7}, run(score_scale={"unit": None})]
    case_file.write_text(json.dumps({"id": "c", "records": records}))
    assert main([str(case_file), "--claim", "causal"]) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "error: case.json: records[1].model: expected a text, got a number (7)",
        'error: case.json: records[1].reward: expected a number, got a string ("high")',
        "error: case.json: records[2].score_scale.unit: expected a text, got null",
    ]


def test_other_bytes_are_never_a_verdict(tmp_path, capfd):
    for number, value in enumerate(
        [b"\0", b"{", b'{"records": {}}', b"PK\x03\x04", b"\x1f\x8b\x08", b"\xef\xbb\xbf{}"]
    ):
        path = tmp_path / f"{number}.json"
        path.write_bytes(value)
        assert main([str(path), "--claim", "record"]) == 2
        assert capfd.readouterr().out == ""


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["CASE"],
        ["CASE", "--claim", ""],
        ["CASE", "--claim", "\udcff"],
        ["CASE", "--claim"],
        ["CASE", "--claim", "causal", "--unknown"],
        ["CASE", "--cla", "causal"],
        ["CASE", "CASE", "--claim", "causal"],
    ],
)
def test_a_wrong_call_shows_the_usage(case_file, capfd, arguments):
    given = [str(case_file) if argument == "CASE" else argument for argument in arguments]
    assert main(given) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("usage: ")


def test_help_ends_with_0(capfd):
    assert main(["--help"]) == 0
    assert "--manifest" in capfd.readouterr().out


@pytest.mark.parametrize("name", ["missing.json", ".", "case.json/x", "nul\0name"])
def test_a_file_that_cannot_be_read(case_file, capfd, name):
    assert main([str(case_file.parent / name), "--claim", "causal"]) == 2
    out, err = capfd.readouterr()
    assert out == "" and err.startswith("error: ") and len(err.splitlines()) == 1


def test_the_output_file_holds_what_would_be_printed(case_file, capfd, tmp_path):
    assert main([str(case_file), "--claim", "causal"]) == 0
    printed = capfd.readouterr().out.encode()
    target = tmp_path / "out.json"
    assert main([str(case_file), "--claim", "causal", "-o", str(target)]) == 0
    assert capfd.readouterr() == ("", "")
    assert target.read_bytes() == printed
    assert sorted(path.name for path in tmp_path.iterdir()) == ["case.json", "out.json"]


def test_an_output_that_cannot_be_written_leaves_everything_as_it_was(case_file, capfd, tmp_path):
    old = tmp_path / "old.json"
    old.write_text("old")
    for output, manifest in [(old, tmp_path / "none" / "m.json"), (tmp_path / "none" / "o.json", old), (tmp_path, old)]:
        arguments = [str(case_file), "--claim", "causal", "-o", str(output), "--manifest", str(manifest)]
        assert main(arguments) == 2
        out, err = capfd.readouterr()
        assert out == "" and err.startswith("error: ") and len(err.splitlines()) == 1
        assert old.read_text() == "old"
        assert sorted(path.name for path in tmp_path.iterdir()) == ["case.json", "old.json"]


def test_bad_input_leaves_an_older_output(case_file, capfd, tmp_path):
    old = tmp_path / "old.json"
    old.write_text("old")
    case_file.write_text("{}")
    assert main([str(case_file), "--claim", "causal", "-o", str(old)]) == 2
    assert old.read_text() == "old"


def test_no_output_replaces_an_input_or_another_output(case_file, capfd, tmp_path):
    before = case_file.read_bytes()
    link = tmp_path / "link.json"
    link.symlink_to(case_file)
    for more in (["-o", str(case_file)], ["-o", str(link)], ["-o", "x.json", "--manifest", "x.json"]):
        assert main([str(case_file), "--claim", "causal", *more]) == 2
        assert "would replace another file" in capfd.readouterr().err
    assert case_file.read_bytes() == before


def test_a_device_is_written_and_not_replaced(case_file, capfd):
    assert main([str(case_file), "--claim", "causal", "-o", os.devnull, "--manifest", os.devnull]) == 0
    assert Path(os.devnull).is_char_device()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_standard_output_is_an_error(case_file):
    with open("/dev/full", "wb") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "analysis.comparability", str(case_file), "--claim", "causal"],
            cwd=ROOT, stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert ended.returncode == 2
    assert ended.stderr.startswith("error: standard output: ")
    assert len(ended.stderr.splitlines()) == 1


def test_the_demo_is_marked_as_synthetic_and_needs_neither_packages_nor_network():
    alone = [sys.executable, "-S", "-m", "analysis.comparability", str(DEMO), "--claim", "score_comparison"]
    if shutil.which("unshare") and subprocess.run(["unshare", "-rn", "true"], check=False).returncode == 0:
        alone = ["unshare", "-rn", *alone]
    ended = subprocess.run(alone, cwd=ROOT, capture_output=True, text=True, check=True)
    decision = json.loads(ended.stdout)
    assert decision["admissibility"] == "PARTIAL"
    demo = json.loads(DEMO.read_text("utf-8"))
    assert "synthetic" in demo["id"] and "Invented" in demo["synthetic"]
    assert all("synthetic" in ref for ref in decision["evidence_refs"])


def test_the_manifest_records_the_bytes_that_were_read_and_written(case_file, capfd, tmp_path):
    manifest, output = tmp_path / "m.json", tmp_path / "o.json"
    arguments = [str(case_file), "--claim", "causal", "--manifest", str(manifest)]
    assert main(arguments) == 0
    printed = capfd.readouterr().out.encode()
    found = json.loads(manifest.read_bytes())
    assert [(entry["role"], entry["name"], entry["bytes"], entry["sha256"]) for entry in found["artifacts"]] == [
        ("input", "case.json", case_file.stat().st_size, hashlib.sha256(case_file.read_bytes()).hexdigest()),
        ("cdr", "standard output", len(printed), hashlib.sha256(printed).hexdigest()),
    ]
    assert list(found) == [
        "manifest_version", "case_id", "requested_claim", "policy_version", "artifacts", "records", "limitations",
    ]  # fmt: skip
    assert {record["trust_state"] for record in found["records"]} == {"undeclared"}
    before = manifest.read_bytes()
    assert main(arguments) == 0
    assert manifest.read_bytes() == before
    assert main([*arguments, "-o", str(output)]) == 0
    digest = hashlib.sha256(output.read_bytes()).hexdigest()
    assert json.loads(manifest.read_bytes())["artifacts"][1] == {
        "role": "cdr", "name": "o.json", "bytes": output.stat().st_size, "sha256": digest, "binding": "recorded",
    }  # fmt: skip


def test_statements_are_taken_and_damaged_evidence_lowers_them(case_file, capfd, tmp_path):
    records = [run(f"t m1 h{number}") for number in range(5)]
    records[4]["trajectory_available"] = False
    case_file.write_text(json.dumps({"id": "c", "records": records}))
    (tmp_path / "trace.txt").write_text("trace")
    digest = hashlib.sha256(b"trace").hexdigest()
    stated = {"trust_state": "independently_verified", "stated_by": "ana"}
    trace = {"role": "trace", "path": "trace.txt"}
    (tmp_path / "evidence.json").write_text(
        json.dumps(
            {
                "records": [
                    {"index": 0, **stated, "artifacts": [{**trace, "sha256": digest}]},
                    {"index": 1, "artifacts": [{**trace, "sha256": digest}]},
                    {"index": 2, **stated, "artifacts": [{**trace, "sha256": "0" * 64}]},
                    {"index": 3, **stated, "artifacts": [{"role": "answer", "path": "gone.txt"}]},
                    {"index": 4, **stated},
                ]
            }
        )
    )
    paths = [str(tmp_path / name) for name in ("m.json", "evidence.json")]
    assert main([str(case_file), "--claim", "causal", "--manifest", paths[0], "--evidence", paths[1]]) == 0
    found = json.loads((tmp_path / "m.json").read_bytes())
    assert [record["trust_state"] for record in found["records"]] == [
        "independently_verified",
        "undeclared",
        "no_sufficient_evidence",
        "no_sufficient_evidence",
        "no_sufficient_evidence",
    ]
    assert [artifact["binding"] for artifact in found["artifacts"][2:]] == [
        "binding_verified", "binding_verified", "mismatch", "unreadable",
    ]  # fmt: skip
    assert found["records"][4]["trace"] == "missing"


BAD_STATEMENTS = [
    (7, "records[0]: expected an object"),
    ({"index": 2}, "records[0].index: expected the index of a record, got 2"),
    ({"index": True}, "records[0].index: expected the index of a record, got true"),
    ({"index": 0, "trust": "x"}, "records[0].trust: is not a known field"),
    ({"index": 0, "trust_state": "undeclared", "stated_by": "x"}, "records[0].trust_state: expected one of"),
    ({"index": 0, "trust_state": "agent_claimed"}, "records[0].stated_by: expected who stated it"),
    ({"index": 0, "artifacts": 1}, "records[0].artifacts: expected a list"),
    ({"index": 0, "artifacts": [{"role": "cdr", "path": "x"}]}, "records[0].artifacts[0].role: expected"),
    ({"index": 0, "artifacts": [{"role": "trace"}]}, "records[0].artifacts[0].path: expected"),
    (
        {"index": 0, "artifacts": [{"role": "trace", "path": "x", "sha256": "0"}]},
        "records[0].artifacts[0].sha256: expected 64 hexadecimal digits",
    ),
]


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ({}, "records: expected a list of statements"),
        ({"records": [{"index": 0}, {"index": 0}]}, "records[1].index: record 0 was described before"),
        *(({"records": [entry]}, message) for entry, message in BAD_STATEMENTS),
    ],
)
def test_a_wrong_statement_is_refused(case_file, capfd, tmp_path, statement, message):
    (tmp_path / "evidence.json").write_text(json.dumps(statement))
    paths = [str(tmp_path / name) for name in ("m.json", "evidence.json")]
    assert main([str(case_file), "--claim", "causal", "--manifest", paths[0], "--evidence", paths[1]]) == 2
    out, err = capfd.readouterr()
    assert out == "" and err.startswith(f"error: evidence.json: {message}")
    assert not (tmp_path / "m.json").exists()


def test_evidence_needs_a_manifest(case_file, capfd):
    assert main([str(case_file), "--claim", "causal", "--evidence", "e.json"]) == 2
    assert capfd.readouterr().err == "error: --evidence: needs --manifest\n"


def test_the_evenhand_command_is_the_same(case_file):
    app = typer.Typer()
    registered.register(app)
    app.command(name="other")(lambda: None)
    runner = CliRunner()
    good = runner.invoke(app, ["adjudicate", str(case_file), "--claim", "score_comparison"])
    assert good.exit_code == 0 and json.loads(good.stdout)["admissibility"] == "ADMISSIBLE"
    bad = runner.invoke(app, ["adjudicate", str(case_file), "--claim", "causal", "--none"])
    assert bad.exit_code == 2 and bad.stdout == "" and bad.stderr.startswith("usage: evenhand adjudicate")
    assert "--manifest" in runner.invoke(app, ["adjudicate", "--help"]).stdout
