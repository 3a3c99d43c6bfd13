"""What the fixed codes of executions and pauses say to a person."""

from __future__ import annotations

from typing import Final

from runs.executors.contract import FAILURES

PAUSES: Final = {
    "starter_unauthorized": "Whoever started it may not run experiments of this team any more. Give them their rights "
    "back and resume, or start a new experiment.",
    "route_inactive": "Operators turned its model route off. Resume when it is active again.",
    "connector_unreachable": "A connector of its tools has no address any more, or was archived or moved. Resume when "
    "operators have put it right.",
    "snapshot_unavailable": "The definition of its snapshot was taken away. Start another experiment.",
}
ENDINGS: Final = {
    **{code: failure.says for code, failure in FAILURES.items()},
    "invocation_indeterminate": "A worker was lost while a call was under way. Nobody knows what became of the "
    "call, so it is not done again by itself. Look at it, and retry it on purpose.",
    "interrupted": "Workers were lost over it again and again, before any call left.",
    "interrupted_among_tools": "A worker was lost among the tools of a turn. Doing the turn again would call them "
    "again, so it ends here.",
    "connector_unreachable": "A connector of its tools was taken away in the middle of a turn.",
    "case_unavailable": "The content of the case was taken away.",
    "case_asks_nothing": "No turn of the case waits for an answer.",
    "starter_unauthorized": "Whoever started it lost a right in the middle of the conversation.",
    "cancelled": "Cancelled before its next call.",
}


def ending(code: str) -> str:
    return ENDINGS.get(code, "")


def pause(code: str) -> str:
    return PAUSES.get(code, "")
