"""The difference that somebody plans for, as text of an address or a form."""

from __future__ import annotations

import math

from teams.refusals import Refusal

LARGEST = 1e12


def difference(text: str) -> float | None:
    """A number above zero in the metric's unit; None where nothing was said."""
    text = text.strip()
    if not text:
        return None
    try:
        value = float(text) if text.isascii() and len(text) <= 24 else math.nan
    except ValueError:
        value = math.nan
    if not 1e-9 <= value <= LARGEST:  # also refuses what is not a number
        raise Refusal("invalid_field", "The difference is a number above 0 in the metric's unit.", place="difference")
    return value
