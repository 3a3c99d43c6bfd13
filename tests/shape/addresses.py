"""The map of the console and the API, as tests walk it: every address with its name, view and parameters."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.urls import URLPattern, URLResolver, reverse

from agents.models import Harness
from config import urls
from runs.models import DraftTest
from tests.shape.world import World


@dataclass(frozen=True)
class Address:
    name: str
    view: Any
    parameters: tuple[str, ...]
    api: bool

    def __str__(self) -> str:
        return self.name

    @property
    def methods(self) -> tuple[str, ...]:
        return tuple(self.view.view_class.needed) if self.api else self.view.methods

    def needed(self, method: str) -> frozenset[str]:
        rights = self.view.view_class.needed[method] if self.api else self.view.needed
        return frozenset(right.value for right in rights)

    def of(self, world: World, **instead: Any) -> str:
        """The address of this world's objects; a parameter without a row in OBJECTS fails the build."""
        values = {name: OBJECTS[name](world) for name in self.parameters}
        values |= {name: value(world) for name, value in OTHERS.get(self.name, {}).items()} | instead
        query = urlencode({name: value(world) for name, value in QUERIES.get(self.name, {}).items()})
        return reverse(self.name, kwargs=values) + (f"?{query}" if query else "")


def _walk(patterns: list[URLPattern | URLResolver], prefix: str) -> Iterator[tuple[str, Any, tuple[str, ...]]]:
    for entry in patterns:
        if isinstance(entry, URLResolver):
            inner = f"{prefix}{entry.namespace}:" if entry.namespace else prefix
            yield from _walk(entry.url_patterns, inner)
        else:
            yield f"{prefix}{entry.name}", entry.callback, tuple(entry.pattern.converters)


PAGES = [Address(name, view, ("team", *rest), False) for name, view, rest in _walk(urls.team_pages, "")]
ENDPOINTS = [Address(name, view, rest, True) for name, view, rest in _walk(urls.api, "api:")]

OBJECTS: dict[str, Callable[[World], Any]] = {
    "team": lambda world: world.team.slug,
    "dataset": lambda world: world.candidate.version.dataset_id,
    "number": lambda world: 1,
    "revision": lambda world: world.revision.pk,
    "item": lambda world: world.revision.item_id,
    "slice": lambda world: world.slice.pk,
    "subject": lambda world: world.candidate.subject_id,
    "agent": lambda world: world.snapshot.agent_id,
    "snapshot": lambda world: world.snapshot.pk,
    "route": lambda world: world.snapshot.route_revision.route_id,
    "connector": lambda world: world.connector.pk,
    "asset": lambda world: world.release.releasebinding_set.get(role="prompt_template").version.asset_id,
    "release": lambda world: world.release.pk,
    "configuration": lambda world: world.configuration.pk,
    "harness": lambda world: Harness.objects.get().pk,
    "grader": lambda world: world.grader.pk,
    "metric": lambda world: world.grader.definition_id,
    "experiment": lambda world: world.candidate.pk,
    "group": lambda world: world.group.pk,
    "template": lambda world: world.template.pk,
    "setup": lambda world: world.setup.pk,
    "step": lambda world: "grading",
    "test": lambda world: DraftTest.objects.get(team=world.team).pk,
    "position": lambda world: 0,
    "user": lambda world: world.owner.pk,
    "role": lambda world: world.role.pk,
    "invitation": lambda world: world.invitation.pk,
    "token": lambda world: world.token.pk,
    "row": lambda world: world.brought.pk,
    "mapping": lambda world: world.mapping.pk,
    "webhook": lambda world: world.webhook.pk,
    "delivery": lambda world: world.webhook.delivery_set.get().pk,
}
"""What each parameter of an address names. A new parameter needs a row here."""

LAUNCHED: dict[str, Callable[[World], Any]] = {"experiment": lambda world: world.launched.pk}
OTHERS = {
    **dict.fromkeys(("experiments:steer", "experiments:retry", "api:experiment_steps", "api:retries"), LAUNCHED),
    **dict.fromkeys(("experiments:progress", "api:attempts", "api:tool_calls"), LAUNCHED),
}
"""Addresses that name another object than the usual one of a parameter."""

SIDES = {"candidate": lambda world: world.candidate.pk, "baseline": lambda world: world.baseline.pk}


def _intent(world: World) -> str:
    """A comparison that is ready, as a program asks about it."""
    arms = [{"snapshot": str(arm.snapshot_id)} for arm in world.group.arm_set.order_by("index")]
    primary = str(world.group.primary_id)
    said = {"name": "Again", "base": str(world.group.base_id), "arms": arms, "primary": primary}
    said |= {"version": str(world.candidate.version_id), "graders": [{"version": primary}]}
    return json.dumps(said)


QUERIES: dict[str, dict[str, Callable[[World], Any]]] = {
    "api:group_readiness": {"intent": _intent},
    "comparisons:paired": SIDES,
    "comparisons:export": SIDES,
    "comparisons:case": {**SIDES, "item": lambda world: world.revision.item_id},
    "api:snapshot_differences": {"against": lambda world: world.snapshot.pk},
    "api:version_differences": {"from": lambda world: 1, "to": lambda world: 1},
    "api:paired_comparison": SIDES,
    "api:paired_comparison_cases": SIDES,
    "api:paired_comparison_plan": SIDES,
}
"""Addresses that say what they show in their query."""

FOREIGN = (
    *("dataset", "revision", "item", "slice", "subject", "experiment"),
    *("agent", "snapshot", "connector", "asset", "release", "configuration", "test", "group", "template", "setup"),
    *("grader", "metric"),
    *("user", "role", "invitation", "token", "row", "mapping", "webhook", "delivery"),
)
"""Parameters that name an object of a team by its id."""
