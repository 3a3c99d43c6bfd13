"""A call of a tool over a connector: a post whose answer is a JSON object of bounded size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from analysis import strict_json
from analysis.refusals import Refused
from runs.executors import posting
from runs.executors.contract import CallFailed, Post, Reply

LARGEST: Final = 256 * 1024
LIMITS: Final = strict_json.JsonLimits(record_bytes=LARGEST, field_bytes=LARGEST)


class Tools:
    """The executor of tools. The object that one returned is the reply's `structured`."""

    def call(self, post: Post, admit: Callable[[], None]) -> Reply:
        reply = posting.EXECUTOR.call(post, admit)
        text = (reply.text or "").encode()
        if len(text) > LARGEST:
            raise CallFailed("tool_answer_too_large")
        try:
            found = strict_json.loads(text, limits=LIMITS)
        except Refused:
            raise CallFailed("provider_answer_unreadable") from None
        if not isinstance(found, dict):
            raise CallFailed("provider_answer_unreadable")
        return replace(reply, structured=found)


EXECUTOR: Final = Tools()
