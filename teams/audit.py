"""The audit log: written inside the caller's transaction, never changed afterwards.

Denials are written in a transaction of their own, since the refused request changes nothing else.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import models

from teams.access import Access
from teams.models import AuditEvent, Team, User

MAX_TEXT = 200
NAMES = {"teams.apitoken": "token"}
"""What events call an object, where that is not its class."""


def _clean(value: Any) -> Any:
    """Newlines escaped, so that one event stays one line wherever the log is printed."""
    if isinstance(value, str):
        return value.replace("\\", "\\\\").replace("\r", "\\r").replace("\n", "\\n")[:MAX_TEXT]
    if isinstance(value, dict):
        return {str(_clean(key)): _clean(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(entry) for entry in value]
    return value


def record(
    action: str,
    *,
    team: Team | None,
    by: User | None,
    object_type: str = "",
    object_id: UUID | None = None,
    code: str = "",
    request_id: str = "",
    **detail: Any,
) -> AuditEvent:
    """Write one event. `detail` holds ids, counts and names of rights; never content."""
    return AuditEvent.objects.create(
        team=team,
        actor=by,
        action=action,
        object_type=object_type,
        object_id=object_id,
        code=code,
        request_id=request_id,
        detail=_clean(detail),
    )


def by(action: str, access: Access, row: models.Model, **detail: Any) -> AuditEvent:
    """Write what a member did to one object of the team, and with which token if it was a program."""
    if access.token is not None:
        detail["token"] = str(access.token.pk)
    return record(
        action,
        team=access.team,
        by=access.user,
        object_type=NAMES.get(row._meta.label_lower, row._meta.model_name or ""),
        object_id=row.pk,
        request_id=access.request_id,
        **detail,
    )
