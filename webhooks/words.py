"""What the codes of attempts say about a receiver to a person."""

from __future__ import annotations

from typing import Final

HOST_NOT_LISTED: Final = "webhook_host_not_listed"

WORKER_LOST: Final = "webhook_worker_lost"

SAYS: Final = {
    "": "",
    HOST_NOT_LISTED: "Operators do not list the host any more.",
    WORKER_LOST: "The worker was lost; whether it was told is not known.",
    "provider_unreachable": "No connection to the receiver.",
    "provider_rate_limited": "The receiver takes no more requests now.",
    "provider_server_error": "The receiver answered with a server error.",
    "provider_rejected": "The receiver refused it.",
    "provider_redirected": "The receiver sends elsewhere; nobody follows.",
    "provider_cut_off": "The connection ended before the answer did.",
    "provider_answer_unreadable": "The receiver's answer is packed, and is not unpacked.",
    "provider_answer_too_large": "The receiver's answer is too large.",
    "provider_timed_out": "No answer within 10 seconds.",
    "address_forbidden": "The address leads inside a network.",
}


def says(code: str) -> str:
    return SAYS.get(code, "The fault is ours; operators see it.")
