"""What only large imports meet: statistics that know nothing of the rows, and work that outlasts its lease."""

from __future__ import annotations

import time

from django.db import connection

from intake import actions, working
from intake.models import ImportState
from teams.bulk import hashed_joins
from tests.bench import workload


def plan(cursor) -> str:
    cursor.execute("EXPLAIN SELECT 1 FROM datasets_itemrevision r JOIN datasets_item i ON i.id = r.item_id")
    return "\n".join(row[0] for row in cursor.fetchall())


def test_joins_without_nested_loops_end_with_their_block(db):
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)")
        assert "Nested Loop" in plan(cursor)
        cursor.execute("SELECT set_config('enable_hashjoin', 'on', true), set_config('enable_mergejoin', 'on', true)")
        with hashed_joins():
            assert "Nested Loop" not in plan(cursor)
        cursor.execute("SHOW enable_nestloop")
        assert cursor.fetchone() == ("on",)


def test_an_import_at_once_may_take_longer_than_its_lease(cast, tmp_path, settings, monkeypatch):
    settings.IMPORT_LEASE_SECONDS = 0.4
    monkeypatch.setattr(working, "RENEW_SECONDS", 0.0)
    ticks = working.Progress.__call__

    def slow_tick(self, done):
        ticks(self, done)
        if done in (1, 10, 20, 30):
            time.sleep(0.2)

    monkeypatch.setattr(working.Progress, "__call__", slow_tick)
    (_, path), _ = workload.write(tmp_path, 20, 3)
    access = cast.access(cast.omar)
    files = [(path.name, path)]
    made = actions.import_now(access=access, files=files, dataset_name="Slow", mapping=workload.MAPPING)
    assert made.state == ImportState.COMPLETED
