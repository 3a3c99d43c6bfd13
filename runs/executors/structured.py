"""Answers that were to be a JSON object of a given shape."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jsonschema import Draft202012Validator

from analysis import strict_json
from analysis.refusals import Refused
from runs.executors.contract import CallFailed, Usage


def of_schema(text: str, schema: Mapping[str, Any], usage: Usage) -> Any:
    """The object that a text holds, or `output_invalid`. Nothing is repaired: the answer is what it is."""
    try:
        found = strict_json.loads(text.strip().encode())
    except Refused:
        raise CallFailed("output_invalid", usage=usage) from None
    if not Draft202012Validator(schema).is_valid(found):
        raise CallFailed("output_invalid", usage=usage)
    return found
