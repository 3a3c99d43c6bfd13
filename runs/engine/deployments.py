"""Preview deployments: what an arm keeps ready between items. Provisioned once, ended with the arm."""

from __future__ import annotations

from django.db import connection

from runs.engine.claims import worker_name
from runs.models import Deployment, Experiment
from teams.records import new_id


def provision(experiment: Experiment) -> None:
    """Note that an arm is served, by whichever worker comes first; afterwards it stands.

    Connections and judged addresses themselves live in each worker's process, by route, so that nothing is set up
    anew between two items.
    """
    if Deployment.objects.filter(experiment=experiment).exists():
        return
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO runs_deployment (id, experiment_id, provisioned_at, provisioned_by)
            VALUES (%s, %s, clock_timestamp(), %s) ON CONFLICT (experiment_id) DO NOTHING
            """,
            [new_id(), experiment.pk, worker_name()],
        )


def end(experiment: Experiment) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE runs_deployment SET ended_at = clock_timestamp() WHERE experiment_id = %s AND ended_at IS NULL",
            [experiment.pk],
        )
