"""What the one JSON reader takes, what it refuses, and where it says the fault is."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.refusals import CODES, Refused
from analysis.strict_json import JsonLimits, canonical, content_digest, loads, visible

TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=30,
)

REFUSED = [
    ('{"a": 1, "a": 2}', "import_json_duplicate_key", "a"),
    ('{"b": {"re\\u0061d": 1, "read": 2}}', "import_json_duplicate_key", "b.read"),
    ('{"a": [1, NaN]}', "import_json_nonfinite", "a[1]"),
    ('{"a": -Infinity}', "import_json_nonfinite", "a"),
    ('{"a": 1e999}', "import_json_nonfinite", "a"),
    ('{"a": 1E+400}', "import_json_nonfinite", "a"),
    ('{"a": ' + "9" * 400 + "}", "import_json_number_out_of_range", "a"),
    ('{"a": ' + "9" * 5000 + "}", "import_json_number_out_of_range", "a"),
    ('{"a": "\\u0000"}', "import_nul_character", "a"),
    ('{"x": {"\\u0000": 1}}', "import_nul_character", "x"),
    ('{"a": "\\ud800"}', "import_lone_surrogate", "a"),
    ('{"a": "\\udc00\\ud800"}', "import_lone_surrogate", "a"),
    ('{"a": ["x", "\\uD83D"]}', "import_lone_surrogate", "a[1]"),
    ('{"a": "' + "x" * 100_001 + '"}', "import_record_too_large", "a"),
    ('{"a": "' + '\\"' * 100_001 + '"}', "import_record_too_large", "a"),
    ("[" * 65 + "]" * 65, "import_json_too_deep", "line 1"),
    ('{"a":[' * 40 + "]}" * 40, "import_json_too_deep", "line 1"),
    ("[" * 200_000, "import_json_too_deep", "line 1"),
    ("{} {}", "import_json_invalid", "line 1 column 4"),
    ("{'a': 1}", "import_json_invalid", "line 1"),
    ('{"a": 1,}', "import_json_invalid", "line 1"),
    ('{"a": "\x01"}', "import_json_invalid", "line 1"),
    ("", "import_json_invalid", "line 1"),
    ("[" * 70, "import_json_too_deep", "line 1"),
]

ACCEPTED = [
    ('{"a": "\\ud83d\\ude00"}', {"a": "😀"}),
    ('{"a": "\\\\u0000"}', {"a": "\\u0000"}),
    ('{"a": "\\\\ud800"}', {"a": "\\ud800"}),
    ('{"a": "' + "[" * 100 + '"}', {"a": "[" * 100}),
    ('{"a": "\\"' + "{" * 100 + '\\""}', {"a": '"' + "{" * 100 + '"'}),
    ('{"a": "3e1234", "b": "' + "9" * 60 + '"}', {"a": "3e1234", "b": "9" * 60}),
    ('{"a": 1e300, "b": 12345678901234567890}', {"a": 1e300, "b": 12345678901234567890}),
    ("[" * 64 + "]" * 64, json.loads("[" * 64 + "]" * 64)),
    ("[" + ",".join(["[]"] * 100) + "]", [[]] * 100),
    ("\ufeff{}", {}),
    ('{"a": 1, "b": {"a": 2}}', {"a": 1, "b": {"a": 2}}),
]


@pytest.mark.parametrize(("text", "code", "place"), REFUSED)
def test_refuses_with_code_and_place(text, code, place):
    with pytest.raises(Refused) as refused:
        loads(text)
    assert refused.value.code == code
    assert refused.value.place.startswith(place)
    assert code in CODES


@pytest.mark.parametrize(("text", "value"), ACCEPTED)
def test_accepts_what_is_valid(text, value):
    assert loads(text) == value


@given(VALUES)
def test_reads_back_whatever_json_writes(value):
    assert loads(json.dumps(value)) == value
    assert loads(json.dumps(value, ensure_ascii=False)) == value
    assert loads(canonical(value)) == value


@given(st.text(alphabet='[]{}",:a\\1 ', max_size=60))
def test_agrees_with_the_standard_parser_on_what_is_json(text):
    try:
        expected = json.loads(text)
    except json.JSONDecodeError:
        with pytest.raises(Refused):
            loads(text)
    else:
        try:
            assert loads(text) == expected
        except Refused as refused:
            assert refused.code == "import_json_duplicate_key"


@given(st.integers(1, 200), st.sampled_from(["[", '{"a":', '{"[":', '[1,"]",', '{"\\"":']))
def test_depth_is_counted_exactly(depth, opening):
    closing = "}" if opening.startswith("{") else "]"
    text = opening * depth + "1" + closing * depth
    if depth <= 64:
        assert loads(text) is not None
    else:
        with pytest.raises(Refused) as refused:
            loads(text)
        assert refused.value.code == "import_json_too_deep"


def test_bytes_must_be_utf8():
    with pytest.raises(Refused) as refused:
        loads(b'{"a": "\xff"}', place="line 3")
    assert (refused.value.code, refused.value.place) == ("import_not_utf8", "line 3")


def test_a_record_has_a_size():
    with pytest.raises(Refused) as refused:
        loads("[" + "1," * 20 + "1]", limits=JsonLimits(record_bytes=20))
    assert refused.value.code == "import_record_too_large"


def test_nan_is_missing_only_where_that_is_said():
    text = '{"scores": {"m": {"value": NaN}}, "other": 1}'
    value = loads(text, nan_as_missing_at=lambda path: path[-1] == "value")
    assert math.isnan(value["scores"]["m"]["value"])
    with pytest.raises(Refused) as refused:
        loads('{"value": 1, "cost": NaN}', nan_as_missing_at=lambda path: path[-1] == "value")
    assert refused.value.place == "cost"
    with pytest.raises(Refused):
        loads('{"value": Infinity}', nan_as_missing_at=lambda path: True)


def test_the_place_names_the_record_first():
    with pytest.raises(Refused) as refused:
        loads('{"records": [{"reward": NaN}]}', place="line 7")
    assert refused.value.place == "line 7 records[0].reward"
    assert str(refused.value).startswith("line 7 records[0].reward: ")


def test_equal_contents_have_one_digest():
    assert content_digest({"a": 1, "b": "é"}) == content_digest({"b": "é", "a": 1})
    assert content_digest({"a": 1}) != content_digest({"a": "1"})


def test_strange_names_are_made_visible():
    assert visible("a\0b\x1b[31m\ud800") == "a␀b␛[31m\ufffd"
    assert visible("x" * 200, 10) == "x" * 10 + "…"
