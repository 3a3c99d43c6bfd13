"""Every refusal a person or a program can meet: one exception, one list of stable codes.

Codes of malformed files live in `analysis.refusals`, because the offline command line needs them
without Django; `CATALOGUE` holds both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from analysis import refusals as file_refusals


@dataclass(frozen=True, slots=True)
class Code:
    """HTTP status and a plain sentence of what is allowed."""

    status: int
    allowed: str


OWN: dict[str, Code] = {
    # signing in and rights
    "not_authenticated": Code(401, "Sign in, or send a valid token in the Authorization header."),
    "missing_right": Code(403, "Ask an owner of the team for the right named in the message."),
    "not_found": Code(404, "It does not exist, or not for you."),
    "method_not_allowed": Code(405, "Use one of the methods in the Allow header."),
    "csrf_failed": Code(403, "Reload the page and send the form again."),
    "too_many_requests": Code(429, "Wait a moment and try again."),
    "sign_in_locked": Code(429, "Wait fifteen minutes before the next attempt."),
    # requests
    "malformed_request": Code(400, "Send a well-formed request."),
    "address_too_long": Code(414, "An address may take at most 8,190 bytes with its method; use fewer filters."),
    "headers_too_large": Code(431, "Send at most 100 headers of at most 8,190 bytes each; clear this site's cookies."),
    "unsupported_media_type": Code(415, "Send application/json or multipart/form-data."),
    "not_acceptable": Code(406, "Ask for application/json."),
    "body_too_large": Code(413, "Send a smaller body; the message names the limit."),
    "unknown_field": Code(400, "Send the documented fields only."),
    "invalid_field": Code(400, "Send a value of the documented form."),
    "server_error": Code(500, "The fault is ours. Try again; if it stays, tell an operator the request id."),
    # request keys
    "request_key_missing": Code(400, "Send an Idempotency-Key header of 8 to 100 printable characters."),
    "request_key_conflict": Code(409, "Use a new key for a changed request."),
    "revision_missing": Code(400, "Send an If-Match header with the ETag that you read."),
    "revision_stale": Code(409, "Reload it, then make your change again."),
    "conflict": Code(409, "The object changed or exists already; reload it and try again."),
    # tokens and members
    "name_taken": Code(409, "Choose another name."),
    "last_owner": Code(409, "Make another member an owner first."),
    "right_above_own": Code(403, "Give, change and take only rights that you hold yourself."),
    "role_is_preset": Code(409, "Make a role of the team's own; the product's roles stay as they are."),
    "role_in_use": Code(409, "Give its members another role and revoke its invitations first."),
    "too_many_roles": Code(409, "Delete a role that nobody has."),
    # invitations
    "already_member": Code(409, "Change the role in the table of members."),
    "invitation_open": Code(409, "Send it again, or revoke it first."),
    "invitation_closed": Code(409, "Make a new invitation."),
    "invitation_ended": Code(404, "Ask for a new invitation."),
    "invitation_for_another": Code(403, "Sign in with the e-mail address that was invited."),
    "too_many_invitations": Code(409, "Revoke invitations that nobody will accept."),
}


def _catalogue() -> dict[str, Code]:
    known = dict(OWN)
    for code, allowed in file_refusals.CODES.items():
        known[code] = Code(413 if "too_large" in code else 422, allowed)
    return known


class Refusal(Exception):
    """A request that is refused and changed nothing.

    `code` is one of the catalogue, `message` a plain sentence for this case, `place` says where
    (a field, a line), `extra` carries data a client may use. Never content, never raw exception text.
    """

    def __init__(self, code: str, message: str = "", *, place: str = "", **extra: Any) -> None:
        entry = CATALOGUE[code]
        self.code = code
        self.status = entry.status
        self.allowed = entry.allowed
        self.message = message or entry.allowed
        self.place = place
        self.extra = extra
        super().__init__(f"{code}: {self.message}")

    def body(self, request_id: str) -> dict[str, Any]:
        """The API's one error form."""
        return {
            "error": {
                "code": self.code,
                "message": self.message,
                "place": self.place,
                "allowed": self.allowed,
                "request_id": request_id,
                **({"extra": self.extra} if self.extra else {}),
            }
        }


CATALOGUE: dict[str, Code] = {}


def register(codes: dict[str, Code]) -> None:
    """Add the codes of a higher package to the one list; a code is registered once."""
    for code, entry in codes.items():
        if code in CATALOGUE and CATALOGUE[code] != entry:
            raise ValueError(f"refusal code {code} is registered twice")
        CATALOGUE[code] = entry


CATALOGUE.update(_catalogue())


def from_file(refused: file_refusals.Refused) -> Refusal:
    """A refusal of a reader as a refusal of the console or the API."""
    return Refusal(refused.code, refused.message, place=refused.place)
