"""Every stable code is documented, and some test produces it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from comparisons import refusals as comparison_refusals
from config.management.commands.refusal_docs import PLACE, rendered
from intake import refusals as import_refusals
from teams.refusals import CATALOGUE, Code, Refusal, register
from tests.conftest import ROOT

assert comparison_refusals.CODES and import_refusals.CODES  # importing them registers their codes
HERE = Path(__file__)


def test_the_document_lists_the_catalogue():
    assert PLACE.read_text(encoding="utf-8") == rendered(), "run `manage.py refusal_docs`"


def _literals() -> set[str]:
    """Every text literal of the tests, docstrings and this file apart: a code counts when a test asks for it."""
    found: set[str] = set()
    for path in (ROOT / "tests").rglob("*.py"):
        if path == HERE:
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        spoken = {
            id(node.body[0].value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef)
            and node.body
            and isinstance(node.body[0], ast.Expr)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in spoken:
                found.add(node.value)
    return found


@pytest.fixture(scope="module")
def literals() -> set[str]:
    return _literals()


@pytest.mark.parametrize("code", sorted(CATALOGUE))
def test_a_test_produces_each_code(code: str, literals: set[str]):
    assert code in literals, f"no test asks for the refusal {code}"


def test_every_sentence_says_what_is_allowed():
    for name, code in CATALOGUE.items():
        assert code.allowed.endswith("."), name
        assert 400 <= code.status < 600, name
        assert "!" not in code.allowed, name


def test_a_code_is_registered_once():
    with pytest.raises(ValueError, match="registered twice"):
        register({"not_found": Code(404, "Something else.")})
    with pytest.raises(KeyError):
        Refusal("no_such_code")
