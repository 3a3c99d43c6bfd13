"""Many rows at once: COPY into one table, and ids taken from its sequence beforehand."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from django.db import OperationalError, connection, models, transaction
from psycopg.errors import LockNotAvailable


def column(model: type[models.Model], name: str) -> str:
    """The database column of a field."""
    return str(model._meta.get_field(name).column)  # type: ignore[union-attr]


def copy_rows(model: type[models.Model], fields: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """COPY rows into a model's table, in the caller's transaction. Constraints and triggers hold as ever."""
    columns = ", ".join(f'"{column(model, name)}"' for name in fields)
    with connection.cursor() as cursor, cursor.copy(f'COPY "{model._meta.db_table}" ({columns}) FROM STDIN') as copy:
        for row in rows:
            copy.write_row(row)


def next_ids(model: type[models.Model], count: int) -> list[int]:
    """Fresh ids of a table with a number as its key."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            WITH s AS MATERIALIZED (SELECT pg_get_serial_sequence(%s, %s)::regclass AS sequence)
            SELECT nextval(sequence) FROM s, generate_series(1, %s)
            """,
            [model._meta.db_table, column(model, "id"), count],
        )
        return [row[0] for row in cursor.fetchall()]


@contextmanager
def hashed_joins() -> Iterator[None]:
    """Joins in the caller's transaction without nested loops.

    What a transaction wrote itself is not in the planner's statistics: after an import that was rolled
    back they can say "empty", and nested loops over what is believed to be one row take quadratic time.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('enable_nestloop'), set_config('enable_nestloop', 'off', true)")
        before = cursor.fetchone()
        assert before is not None
        yield
        cursor.execute("SELECT set_config('enable_nestloop', %s, true)", [before[0]])


def lock_number(*parts: object) -> int:
    """A number for an advisory lock, from what is to be locked."""
    text = "\0".join(str(part) for part in parts)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], signed=True)


def try_lock(*parts: object) -> bool:
    """Take an advisory lock until the end of the transaction, or answer at once that somebody holds it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [lock_number(*parts)])
        row = cursor.fetchone()
    return bool(row and row[0])


def lock(*parts: object) -> None:
    """Take an advisory lock until the end of the transaction, waiting for it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [lock_number(*parts)])


def lock_soon(*parts: object, seconds: float = 3.0) -> bool:
    """Take an advisory lock until the end of the transaction, unless somebody holds it for longer than that."""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT set_config('lock_timeout', %s, true)", [f"{int(seconds * 1000)}ms"])
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [lock_number(*parts)])
            cursor.execute("SELECT set_config('lock_timeout', '0', true)")
    except OperationalError as error:
        if isinstance(error.__cause__, LockNotAvailable):
            return False
        raise
    return True


@contextmanager
def held_lock(*parts: object) -> Iterator[bool]:
    """Hold an advisory lock across transactions, or be told that somebody else does."""
    number = lock_number(*parts)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [number])
        row = cursor.fetchone()
        held = bool(row and row[0])
        try:
            yield held
        finally:
            if held:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [number])


def database_now() -> datetime:
    """The time by the database's clock, which is the one that leases and records go by."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        row = cursor.fetchone()
    assert row is not None
    moment: datetime = row[0]
    return moment
