"""The one place for request keys: the same key and body give the first result again.

The receipt is written in the transaction that performs the operation, so it exists exactly when the
operation committed. Two concurrent requests with one key meet at an advisory lock.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

from django.db import connection, models, transaction

from teams.access import Access
from teams.models import Receipt
from teams.refusals import Refusal


def fingerprint(body: Any) -> str:
    """SHA-256 of the canonical body: key order and white space do not matter."""
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def valid_key(key: str | None) -> str:
    if not key or not 8 <= len(key) <= 100 or not key.isprintable():
        raise Refusal("request_key_missing", place="Idempotency-Key")
    return key


def once[Row: models.Model](
    access: Access, operation: str, key: str, body: Any, model: type[Row], perform: Callable[[], Row]
) -> tuple[Row, bool]:
    """Perform an operation once per (team, actor, operation, key).

    Returns the row and whether it was made by this call. The caller has judged the current rights;
    a key that comes back with another body is refused with `request_key_conflict`.
    """
    mark = fingerprint(body)
    lock = int.from_bytes(
        hashlib.sha256(f"{access.team.pk}:{access.user.pk}:{operation}:{key}".encode()).digest()[:8], signed=True
    )
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [lock])
        kept = Receipt.objects.filter(team=access.team, actor=access.user, operation=operation, key=key).first()
        if kept is not None:
            if kept.fingerprint != mark:
                raise Refusal("request_key_conflict", "This request key was used for another request.")
            return model._default_manager.get(pk=kept.result_id), False
        row = perform()
        Receipt.objects.create(
            team=access.team,
            actor=access.user,
            operation=operation,
            key=key,
            fingerprint=mark,
            result_type=model._meta.label,
            result_id=row.pk,
        )
    return row, True
