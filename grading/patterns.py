"""Regular expressions that people write, run on texts that models write: RE2, whose time grows with the text alone.

It knows neither look-around nor back-references, with which a short pattern can take for ever.
"""

from __future__ import annotations

from typing import Final

import re2

LONGEST: Final = 1_000
LONGEST_TEXT: Final = 200_000
"""Characters. With the memory below, the slowest pattern takes a few seconds on such a text."""
MEMORY: Final = 128 * 1024
"""Bytes of a compiled pattern; ordinary ones take a tenth of it."""


class PatternError(Exception):
    """The pattern or the text cannot be used. It says nothing about whether one is found in the other."""


def fault(pattern: str) -> str:
    """Why a pattern cannot be used, or nothing."""
    try:
        _compiled(pattern, ignore_case=False)
    except PatternError as error:
        return str(error)
    return ""


def found(pattern: str, text: str, *, ignore_case: bool = False) -> bool:
    """Whether the pattern is found anywhere in the text; `PatternError` where that cannot be told."""
    if len(text) > LONGEST_TEXT:
        raise PatternError(f"Patterns are looked for in texts of at most {LONGEST_TEXT:,} characters.")
    return _compiled(pattern, ignore_case=ignore_case).search(text) is not None


def _compiled(pattern: str, *, ignore_case: bool) -> re2._Regexp:
    if not 1 <= len(pattern) <= LONGEST:
        raise PatternError(f"A pattern has 1 to {LONGEST:,} characters.")
    options = re2.Options()
    options.log_errors = False
    options.max_mem = MEMORY
    options.case_sensitive = not ignore_case
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        said = error.args[0].decode("utf-8", "replace") if error.args and isinstance(error.args[0], bytes) else ""
        raise PatternError(f"The pattern cannot be read: {said.partition(':')[0] or 'its syntax is wrong'}.") from None
