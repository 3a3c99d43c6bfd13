"""The closed form of a mapping: what it refuses, and that it survives its own JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from analysis.refusals import Refused
from intake.readers import mapping as mappings

SCORER = {"key": "s", "kind": "boolean", "direction": "higher_is_better", "value": "s"}
GOOD = {"case": ["id"], "arm": "model", "scorers": [SCORER]}
FILES = sorted((Path(__file__).parents[2] / "data" / "mappings").glob("*.json"))


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"surprise": 1}, "surprise"),
        ({"case": None}, "case"),
        ({"case": []}, "case"),
        ({"arm": ""}, "arm"),
        ({"arm": 3}, "arm"),
        ({"format": "xml"}, "format"),
        ({"levels": ["row", "floor"]}, "levels[1]"),
        ({"arms": ["x"]}, "arms"),
        ({"arm": "{arm}"}, "arms"),
        ({"arm": "{arm}", "arms": ["x", "x"]}, "arms"),
        ({"error_kind": "completed"}, "error_kind"),
        ({"status": "s"}, "statuses"),
        ({"status": "s", "statuses": {"x": "odd"}}, "statuses.x"),
        ({"cost": {"path": "c", "unit": "pounds"}}, "cost.unit"),
        ({"cost": {"path": "c", "unit": "units", "currency": "usd"}}, "cost.currency"),
        ({"cost": {"unit": "units"}}, "cost.path"),
        ({"latency": {"path": "c", "unit": "units"}}, "latency.unit"),
        ({"metadata": ["x"]}, "metadata"),
        ({"tags": "x"}, "tags"),
        ({"content_optional": 1}, "content_optional"),
        ({"scorers": [SCORER, SCORER]}, "scorers[1].key"),
        ({"scorers": [{**SCORER, "key": ""}]}, "scorers[0].key"),
        ({"scorers": [{**SCORER, "kind": "odd"}]}, "scorers[0].kind"),
        ({"scorers": [{**SCORER, "equal": ["a", "b"]}]}, "scorers[0]"),
        ({"scorers": [{**SCORER, "value": "", "equal": ["a"]}]}, "scorers[0].equal"),
        ({"scorers": [{**SCORER, "value": "", "equal": ["a", "b"], "kind": "numeric"}]}, "scorers[0].kind"),
        ({"scorers": [{**SCORER, "transform": "eval"}]}, "scorers[0].transform"),
        ({"scorers": [{**SCORER, "blank": "zero"}]}, "scorers[0].blank"),
        ({"scorers": [{**SCORER, "values": {"x": "maybe"}}]}, "scorers[0].values.x"),
        ({"scorers": [{**SCORER, "values": {"x": None}}]}, "scorers[0].values.x"),
        ({"scorers": [{**SCORER, "low": 1, "high": 1}]}, "scorers[0].low"),
        ({"scorers": [{**SCORER, "low": "0"}]}, "scorers[0].low"),
        ({"scorers": [{**SCORER, "low": -1e308}]}, "scorers[0].low"),
        ({"scorers": [{**SCORER, "low": 0, "high": 1e16}]}, "scorers[0].high"),
    ],
)
def test_refuses_with_the_place(change, place):
    given = {key: value for key, value in {**GOOD, **change}.items() if value is not None or key != "case"}
    with pytest.raises(Refused) as refused:
        mappings.from_json(given)
    assert (refused.value.code, refused.value.place) == ("import_mapping_invalid", place)


def test_must_be_an_object_and_strict_json():
    with pytest.raises(Refused):
        mappings.from_json([])
    with pytest.raises(Refused) as refused:
        mappings.loads('{"case": ["id"], "case": ["x"], "arm": "m"}')
    assert refused.value.code == "import_json_duplicate_key"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_shipped_mappings_survive_their_json(path):
    mapping = mappings.loads(path.read_bytes())
    assert mappings.loads(json.dumps(mappings.to_json(mapping))) == mapping


def test_builtin_mappings_are_valid_and_named():
    assert {"case-model-attempts", "item-model-score-epoch"} <= set(mappings.builtin_names())
    for name in mappings.builtin_names():
        assert mappings.builtin(name).name
    with pytest.raises(Refused):
        mappings.builtin("../mapping")


def test_the_digest_is_of_the_meaning_not_of_the_name():
    first = mappings.from_json(GOOD)
    assert mappings.from_json({**GOOD, "name": "other"}).digest() == first.digest()
    assert mappings.from_json({**GOOD, "repetition": "r"}).digest() != first.digest()


@pytest.mark.parametrize("path", ["$nonsense", "$content/x"])
def test_unknown_surroundings_are_refused_before_reading(path, tmp_path):
    from intake.readers import NamedFile, recognise

    file = tmp_path / "a.jsonl"
    file.write_text('{"id": 1}\n')
    found = recognise([NamedFile("a.jsonl", file)], mappings.from_json({**GOOD, "case": [path]}))
    with pytest.raises(Refused) as refused:
        next(iter(found.runs()))
    assert refused.value.code == "import_mapping_invalid"
