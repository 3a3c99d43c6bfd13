"""Refusal codes of webhooks."""

from __future__ import annotations

from typing import Final

from teams.refusals import Code, register

CODES: Final[dict[str, Code]] = {
    "webhook_archived": Code(409, "Restore the webhook first."),
    "webhook_disabled": Code(409, "Enable the webhook first."),
}

register(CODES)
