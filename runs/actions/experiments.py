"""What creates experiments: a number, a manifest, and the step from running to completed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from django.db.models import Max
from django.utils import timezone

from runs.models import Experiment, State
from teams.bulk import lock
from teams.models import Team


def next_number(team: Team) -> int:
    """The next number of the team's experiments, held until the end of the transaction."""
    lock("experiment number", team.pk)
    last = Experiment.objects.filter(team=team).aggregate(last=Max("number"))["last"]
    return (last or 0) + 1


def manifest_sha256(rows: Iterable[tuple[bytes, bytes, int]]) -> str:
    """Identity of what was to be done: every (case, content, repetition), in the order of case digests.

    The order in which a file listed its rows does not enter, nor does any id of the database.
    """
    digest = hashlib.sha256(b"evenhand/manifest/1\0")
    for source, content, repetition in sorted(rows):
        digest.update(source + content.ljust(32, b"\0") + repetition.to_bytes(4))
    return digest.hexdigest()


def complete(experiment: Experiment) -> None:
    """A finished experiment takes no further executions; the database refuses them."""
    experiment.state = State.COMPLETED
    experiment.completed_at = timezone.now()
    experiment.save(update_fields=["state", "completed_at"])
