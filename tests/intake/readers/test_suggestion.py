"""A suggestion is a guess or nothing, whatever the first file holds."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from intake.readers import Limits, NamedFile
from intake.readers.mapping import Mapping
from intake.readers.suggest import suggest

NAMES = st.sampled_from(["id", "score", "model", "answer", "a", "b", "question", "epoch", "latency_ms", "error"])
LEAF = st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.floats(0, 1), st.sampled_from(["", "C", "1", "x"]))
VALUES = st.recursive(
    LEAF, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4), max_leaves=20
)


@given(document=VALUES)
def test_any_document_gives_a_mapping_or_nothing(tmp_path_factory, document):
    path = tmp_path_factory.getbasetemp() / "any.json"
    path.write_text(json.dumps(document))
    assert isinstance(suggest([NamedFile(path.name, path)], Limits()), Mapping | None)


@given(rows=st.lists(st.dictionaries(NAMES, VALUES, max_size=4), min_size=1, max_size=4))
def test_any_lines_give_a_mapping_or_nothing(tmp_path_factory, rows):
    path = tmp_path_factory.getbasetemp() / "any.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert isinstance(suggest([NamedFile(path.name, path)], Limits()), Mapping | None)


def test_the_commonest_format_of_a_folder_is_looked_at(tmp_path):
    (tmp_path / "a.json").write_text('{"accuracy": {"x": {"mean": 1}, "y": {"mean": 2}}}')
    for name in ("b.jsonl", "c.jsonl"):
        (tmp_path / name).write_text('{"id": "q1", "score": 1}\n')
    found = suggest([NamedFile(path.name, path) for path in sorted(tmp_path.iterdir())], Limits())
    assert found is not None and found.case == ("id",)
