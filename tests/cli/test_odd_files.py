"""What is no file that can be read: said in plain words, with the exit code for bad input, and at once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.main import app
from tests.conftest import ROOT

TOKEN = ("--dataset", "d", "--server", "http://127.0.0.1:9", "--token", "t")
COMMANDS = {
    "compare": lambda file: ("compare", file, file),
    "look": lambda file: ("look", file),
    "import": lambda file: ("import", file, *TOKEN),
    "adjudicate": lambda file: ("adjudicate", file, "--claim", "ranking"),
    "inspect-claim": lambda file: ("inspect-claim", file, "--claim", "ranking", "--status", "verified"),
}


def refused(name: str, file: Path | str) -> str:
    done = CliRunner().invoke(app, COMMANDS[name](str(file)))
    return sole_line(done.exit_code, done.stdout, done.stderr)


def sole_line(code: int, printed: str, said: str) -> str:
    assert code == 2, (code, printed, said)
    assert printed == "" and "Traceback" not in said
    assert len(said.splitlines()) == 1
    return said


def code_of(said: str) -> str:
    return said.partition("[")[2].partition("]")[0]


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("device", ["/dev/null", "/dev/zero"])
def test_a_device(name, device):
    assert "regular file" in refused(name, device)


def test_a_device_has_its_code():
    assert code_of(refused("look", "/dev/null")) == "import_not_a_file"


@pytest.mark.parametrize("name", COMMANDS)
def test_a_pipe_is_not_waited_for(name, tmp_path):
    os.mkfifo(tmp_path / "pipe.jsonl")
    command = [sys.executable, "-m", "cli.main", *COMMANDS[name](str(tmp_path / "pipe.jsonl"))]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=30, stdin=subprocess.DEVNULL)
    assert "regular file" in sole_line(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize("name", ["compare", "look", "adjudicate", "inspect-claim"])
def test_an_empty_file(name, tmp_path):
    (tmp_path / "a.jsonl").touch()
    said = refused(name, tmp_path / "a.jsonl")
    assert ("The file is empty" if name != "adjudicate" else "line 1 column 1") in said
    assert "a.jsonl" in said


@pytest.mark.parametrize("name", ["compare", "look", "import"])
def test_an_empty_folder(name, tmp_path):
    assert "[import_empty]" in refused(name, tmp_path)


@pytest.mark.parametrize("name", ["adjudicate", "inspect-claim"])
def test_a_folder_where_a_file_is_needed(name, tmp_path):
    assert tmp_path.name in refused(name, tmp_path)


@pytest.mark.parametrize("name", ["compare", "look", "import"])
@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(name, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"item": 1}\n')
    (tmp_path / "a.jsonl").chmod(0)
    assert "[import_not_a_file]" in refused(name, tmp_path / "a.jsonl")


@pytest.mark.parametrize("name", ["compare", "look"])
@pytest.mark.parametrize(
    ("ending", "content", "code"),
    [
        ("jsonl", b'{"item": "\xff"}\n', "import_not_utf8"),
        ("csv", b"item,score\n\xff,1\n", "import_not_utf8"),
        ("jsonl", b'{"item": "' + b"a" * 3_000_000 + b'"}\n', "import_record_too_large"),
    ],
)
def test_bytes_that_are_no_record(name, ending, content, code, tmp_path):
    (tmp_path / f"a.{ending}").write_bytes(content)
    said = refused(name, tmp_path / f"a.{ending}")
    assert f"[{code}]" in said and len(said) < 500
