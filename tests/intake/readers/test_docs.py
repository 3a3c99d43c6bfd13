"""The pages about files and mappings name every code, key and limit there is."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import pytest

from analysis.refusals import CODES
from intake.readers import Limits, Mapping, ScorerMapping
from intake.readers import mapping as mappings
from intake.readers.recognising import VERSIONS

DOCS = Path(__file__).parents[3] / "docs"


def test_every_code_stands_in_the_table_with_its_sentence():
    listed = dict(re.findall(r"^\| `([a-z0-9_]+)` \| (.+) \|$", (DOCS / "formats.md").read_text(), re.MULTILINE))
    assert {code: listed.get(code) for code in CODES} == CODES


def test_every_reader_and_limit_is_named():
    text = (DOCS / "formats.md").read_text()
    for name in (*VERSIONS, *(field.name for field in dataclasses.fields(Limits))):
        assert name in text, name


@pytest.mark.parametrize("kind", [Mapping, ScorerMapping])
def test_every_key_of_a_mapping_is_named(kind):
    text = (DOCS / "mappings.md").read_text()
    for field in dataclasses.fields(kind):
        assert f"`{field.name}`" in text, field.name


def test_the_example_is_a_mapping():
    [example] = re.findall(r"```json\n(.+?)```", (DOCS / "mappings.md").read_text(), re.DOTALL)
    assert mappings.loads(json.dumps(json.loads(example))).case == ("ticket",)


def test_every_command_is_described():
    from cli.main import app

    text = (DOCS / "cli.md").read_text()
    for command in app.registered_commands:
        name = command.name or command.callback.__name__
        assert f"evenhand {name}" in text
