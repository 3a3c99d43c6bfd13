"""Which package may know which: the contracts of pyproject.toml, and what loading really loads."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.conftest import ROOT

DJANGO = ("django", "rest_framework", "celery", "psycopg", "guardian")


def test_the_import_contracts_are_kept():
    done = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("modules", "without"),
    [
        ("analysis.paired, analysis.sentence", DJANGO),
        ("analysis.strict_json, analysis.refusals", (*DJANGO, "numpy", "scipy")),
        ("intake.readers", DJANGO),
        ("grading.assertions, grading.judges, grading.validators", DJANGO),
    ],
)
def test_what_works_offline_loads_no_server(modules: str, without: tuple[str, ...]):
    """A contract reads import statements; this asks the interpreter."""
    code = f"import sys, {modules}; print([name for name in {without!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
