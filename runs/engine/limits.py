"""What operators allow of a model route: so many calls at once, so many a minute, whoever makes them."""

from __future__ import annotations

from functools import cache
from typing import Final

from analysis.observations import Generation
from runs.models import Call

CLAIMED: Final = f"""
    (SELECT count(*) FROM runs_execution x
     JOIN runs_experiment e ON e.id = x.experiment_id JOIN agents_modelrouterevision v ON v.id = e.route_revision_id
     WHERE x.state = {Generation.RUNNING.value} AND v.route_id = r.id)
"""
"""Items under way, between two calls or in one."""


@cache
def full_routes() -> str:
    """SQL of the ids of model routes that take no more just now.

    Every table of outside calls counts, those of apps above this one too. A limit may be passed by as many calls as
    workers begin in the very same moment.
    """
    others = [one._meta.db_table for one in Call.__subclasses__()]
    at_once = " + ".join(
        [CLAIMED, *(_calls(table, "c.state = 'admitted'") for table in others if table != "runs_attempt")]
    )
    minute = " + ".join(_calls(table, "c.admitted_at > clock_timestamp() - interval '60 seconds'") for table in others)
    return f"""
        SELECT r.id FROM agents_modelroute r
        WHERE CASE WHEN r.most_at_once IS NOT NULL THEN r.most_at_once <= {at_once} ELSE false END
           OR CASE WHEN r.most_per_minute IS NOT NULL THEN r.most_per_minute <= {minute} ELSE false END
    """


def _calls(table: str, which: str) -> str:
    return f"""
        (SELECT count(*) FROM {table} c JOIN agents_modelrouterevision v ON v.id = c.price_revision_id
         WHERE {which} AND v.route_id = r.id)
    """
