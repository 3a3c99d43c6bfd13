"""What a delivery says: ids, states, counts and links. No content, so that no right to content is needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.db.models import Count
from django.urls import reverse

from analysis.observations import Outcome
from comparisons.models import Arm
from grading.models import GradingPass, Judgment
from runs.models import Experiment, State
from runs.queries import tallies
from teams.models import Team
from teams.records import new_id
from webhooks.models import ATTEMPTS, PING, Delivery, Event, Webhook


@dataclass(frozen=True, slots=True)
class Ended:
    """Something that ended, as a body says it."""

    kind: str
    path: str
    state: str
    counts: dict[str, Any]
    more: dict[str, str]


def delivery(webhook: Webhook, event: str, object_id: UUID | None, at: datetime, ended: Ended | None) -> Delivery:
    """A delivery to be written down."""
    pk = new_id()
    body: dict[str, Any] = {
        "id": str(pk),
        "event": event,
        "team": webhook.team.slug,
        "occurred_at": at.astimezone(UTC).isoformat().replace("+00:00", "Z"),
        "object": None,
        "state": "",
        "counts": {},
    }
    if ended is not None:
        link = settings.PUBLIC_URL.rstrip("/") + ended.path
        body |= {"object": {"type": ended.kind, "id": str(object_id), "link": link, **ended.more}}
        body |= {"state": ended.state, "counts": ended.counts}
    most = 1 if event == PING else ATTEMPTS
    return Delivery(
        pk=pk, webhook=webhook, event=event, object_id=object_id, occurred_at=at, body=body, most_attempts=most
    )


def ended(event: str, team: Team, object_id: UUID) -> Ended | None:
    """How something ended; None where it was opened again in the meantime."""
    return READS[event](team, object_id)


def _experiment(team: Team, pk: UUID) -> Ended | None:
    row = Experiment.objects.get(pk=pk, team=team)
    if row.state not in TERMINAL:
        return None
    tally = tallies([row])[row.pk]
    counts = {"planned": row.planned or tally.rows, "completed": tally.completed, "failed": tally.failed}
    counts["other"] = counts["planned"] - tally.completed - tally.failed
    return Ended("experiment", _page("experiments:detail", team, experiment=pk), row.state, counts, {})


def _pass(team: Team, pk: UUID) -> Ended | None:
    row = GradingPass.objects.select_related("experiment").get(pk=pk, experiment__team=team)
    rows = Judgment.objects.filter(grading_pass=row).order_by().values("outcome").annotate(n=Count("pk"))
    counts = {Outcome(one["outcome"]).name.lower(): one["n"] for one in rows}
    path = _page("experiments:detail", team, experiment=row.experiment_id)
    more = {"experiment": str(row.experiment_id), "number": str(row.number)}
    return Ended("grading_pass", path, row.state, {"judgments": sum(counts.values()), **counts}, more)


def _group(team: Team, pk: UUID) -> Ended | None:
    arms = Arm.objects.filter(group=pk, group__team=team).select_related("experiment", "original_pass")
    states = [(one.experiment.state, one.original_pass.state) for one in arms]
    if not states or not all(state in TERMINAL for both in states for state in both):
        return None
    counts = {"arms": len(states), "completed": states.count((State.COMPLETED, State.COMPLETED))}
    counts["cancelled"] = sum(State.CANCELLED in both for both in states)
    counts["failed"] = counts["arms"] - counts["completed"] - counts["cancelled"]
    return Ended("group", _page("comparisons:group", team, group=pk), _together(counts), counts, {})


def _together(counts: dict[str, int]) -> str:
    """completed where every arm is, cancelled or failed where every arm is, else mixed."""
    return next((state for state in TERMINAL if counts[state] == counts["arms"]), "mixed")


def _page(name: str, team: Team, **of: Any) -> str:
    return reverse(name, kwargs={"team": team.slug, **of})


TERMINAL: Final = (State.COMPLETED.value, State.FAILED.value, State.CANCELLED.value)
READS: Final[dict[str, Callable[[Team, UUID], Ended | None]]] = {
    Event.EXPERIMENT_ENDED.value: _experiment,
    Event.GRADING_PASS_ENDED.value: _pass,
    Event.GROUP_ENDED.value: _group,
}


def all_of(found: Iterable[tuple[Webhook, str, UUID, datetime]]) -> list[Delivery]:
    """Deliveries of what ended; several webhooks are told the same of one thing."""
    known: dict[tuple[str, UUID], Ended | None] = {}
    made = []
    for webhook, event, pk, at in found:
        if (event, pk) not in known:
            known[event, pk] = ended(event, webhook.team, pk)
        said = known[event, pk]
        if said is not None:
            made.append(delivery(webhook, event, pk, at, said))
    return made
