"""What ended and was not written down yet. Downstream looks; whoever ends something tells nobody."""

from __future__ import annotations

from datetime import datetime
from typing import Final
from uuid import UUID

from django.db import connection

from webhooks import bodies
from webhooks.models import Delivery, Event, Webhook

MOST: Final = 200
"""Of one event in one look; the next tick takes the rest."""
LOOKS_BACK_DAYS: Final = 30
KEEPS_DAYS: Final = 90
"""Longer than one looks back, or what was forgotten would be told again."""

ACTIVE: Final = "w.disabled_at IS NULL AND w.archived_at IS NULL AND %(event)s = ANY(w.events)"
TERMINAL: Final = "('completed', 'failed', 'cancelled')"
FROM_ON: Final = f"greatest(w.since, clock_timestamp() - interval '{LOOKS_BACK_DAYS} days')"


def _untold(of: str, at: str) -> str:
    return (
        "NOT EXISTS (SELECT 1 FROM webhooks_delivery d WHERE d.webhook_id = w.id AND d.event = %(event)s "
        f"AND d.object_id = {of} AND d.occurred_at = {at})"
    )


LOOKS: Final = {
    Event.EXPERIMENT_ENDED.value: f"""
        SELECT w.id, e.id, e.completed_at FROM webhooks_webhook w JOIN runs_experiment e ON e.team_id = w.team_id
        WHERE {ACTIVE} AND e.batch_id IS NOT NULL AND e.state IN {TERMINAL} AND e.completed_at >= {FROM_ON}
          AND {_untold("e.id", "e.completed_at")}
        ORDER BY e.completed_at LIMIT {MOST}
    """,
    Event.GRADING_PASS_ENDED.value: f"""
        SELECT w.id, p.id, p.finished_at FROM webhooks_webhook w JOIN runs_experiment e ON e.team_id = w.team_id
        JOIN grading_gradingpass p ON p.experiment_id = e.id
        WHERE {ACTIVE} AND p.origin <> 'import' AND p.state IN {TERMINAL} AND p.finished_at >= {FROM_ON}
          AND {_untold("p.id", "p.finished_at")}
        ORDER BY p.finished_at LIMIT {MOST}
    """,
    Event.GROUP_ENDED.value: f"""
        SELECT w.id, g.id, g.ended_at FROM webhooks_webhook w JOIN (
            SELECT g.id, g.team_id, max(greatest(e.completed_at, p.finished_at)) AS ended_at
            FROM comparisons_group g JOIN comparisons_arm a ON a.group_id = g.id
            JOIN runs_experiment e ON e.id = a.experiment_id JOIN grading_gradingpass p ON p.id = a.original_pass_id
            GROUP BY g.id, g.team_id HAVING bool_and(e.state IN {TERMINAL} AND p.state IN {TERMINAL})
        ) g ON g.team_id = w.team_id
        WHERE {ACTIVE} AND g.ended_at >= {FROM_ON} AND {_untold("g.id", "g.ended_at")}
        ORDER BY g.ended_at LIMIT {MOST}
    """,
}
"""What was imported is not work that ended, and is not told."""


def fill() -> int:
    """Write down a delivery for whatever ended and has none. Returns how many."""
    active = Webhook.objects.filter(disabled_at=None, archived_at=None)
    wanted = {event for events in active.values_list("events", flat=True) for event in events}
    return sum(_fill(event) for event in LOOKS if event in wanted)


def _fill(event: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(LOOKS[event], {"event": event})
        rows: list[tuple[UUID, UUID, datetime]] = cursor.fetchall()
    if not rows:
        return 0
    known = Webhook.objects.select_related("team").in_bulk([row[0] for row in rows])
    found = [(known[webhook], event, pk, at) for webhook, pk, at in rows if webhook in known]
    return len(Delivery.objects.bulk_create(bodies.all_of(found), ignore_conflicts=True))


def forget() -> int:
    """Deliveries that ended long ago go."""
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM webhooks_delivery WHERE ended_at < clock_timestamp() - make_interval(days => %s)", [KEEPS_DAYS]
        )
        return int(cursor.rowcount)
