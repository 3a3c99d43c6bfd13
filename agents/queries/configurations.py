"""Reads of configurations and harnesses, and why a configuration cannot be launched."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import models
from django.db.models import Count, OuterRef, Q, Subquery

from agents.models import (
    AgentDraft,
    Configuration,
    ConfigurationContent,
    ConfigurationRevision,
    Harness,
    HarnessRevision,
    ImportedAgent,
    ModelRoute,
)
from teams.access import Access
from teams.records import Availability


def configurations_of(access: Access, *, deleted: bool | None = False) -> models.QuerySet[Configuration]:
    """The configurations that a team may launch: its own, and the built-in ones."""
    rows = Configuration.objects.filter(Q(team=access.team) | Q(team=None))
    if deleted is not None:
        rows = rows.filter(deleted_at__isnull=not deleted)
    newest = ConfigurationRevision.objects.filter(configuration=OuterRef("pk")).order_by("-number")
    return rows.annotate(
        revisions=Count("configurationrevision"),
        slots=Subquery(newest.values("slots")[:1]),
        sha256=Subquery(newest.values("sha256")[:1]),
        changed_at=Subquery(newest.values("made_at")[:1]),
    )


def configuration_revisions(configuration: Configuration) -> models.QuerySet[ConfigurationRevision]:
    rows: models.QuerySet[ConfigurationRevision] = ConfigurationRevision.objects.filter(configuration=configuration)
    return rows.select_related("configuration", "made_by")


@dataclass(frozen=True, slots=True)
class CapabilitySet:
    """What a revision says, or why it cannot be read."""

    body: Any
    removed: str


def capability_set_of(revision: ConfigurationRevision) -> CapabilitySet:
    """The protected side; the caller has judged the right to it."""
    return capability_sets_of([revision])[revision.pk]


def capability_sets_of(revisions: Iterable[ConfigurationRevision]) -> dict[UUID, CapabilitySet]:
    """The protected sides of several revisions in one query."""
    ids = [one.pk for one in revisions]
    kept = ConfigurationContent.objects.in_bulk(ids)
    return {pk: _readable(kept.get(pk)) for pk in ids}


def _readable(content: ConfigurationContent | None) -> CapabilitySet:
    if content is None or content.availability != Availability.AVAILABLE:
        return CapabilitySet(None, content.availability if content else "never captured")
    return CapabilitySet(content.body, "")


@dataclass(frozen=True, slots=True)
class Obstacle:
    """One reason why a configuration is not launched: a stable word, and a sentence."""

    code: str
    text: str


def unlaunchable(revision: ConfigurationRevision, bound: Mapping[str, str]) -> list[Obstacle]:
    """Every reason, in a fixed order. `bound` names the key of a model route for each slot.

    None means that it can be launched. Content is not read: names of slots, agents and routes are metadata.
    """
    found: list[Obstacle] = []
    if revision.configuration.deleted_at is not None:
        found.append(Obstacle("configuration_deleted", "The configuration was deleted."))
    named = [*bound.values(), *revision.routes]
    active = dict(ModelRoute.objects.filter(key__in=named, archived_at=None).values_list("key", "active"))
    for slot in revision.slots:
        key = bound.get(slot)
        if not key:
            found.append(Obstacle("slot_unbound", f"The launch slot {slot} has no model."))
        elif active.get(key) is None:
            found.append(Obstacle("route_inactive", f"The model route {key} of the slot {slot} is not active."))
    for key in revision.routes:
        if active.get(key) is None:
            found.append(Obstacle("route_inactive", f"The model route {key} of a role is not active."))
    imported = ImportedAgent.objects.filter(revision=revision).select_related("agent")
    drafts = dict(AgentDraft.objects.filter(agent__importedagent__revision=revision).values_list("agent", "sha256"))
    for one in imported:
        if one.agent.archived_at is not None:
            found.append(Obstacle("agent_archived", f"The agent {one.agent.name} ({one.role}) is archived."))
        elif drafts[one.agent_id] != one.draft_sha256:
            said = f"The agent {one.agent.name} ({one.role}) was edited since the configuration was saved."
            found.append(Obstacle("imported_agent_edited", said))
    content = ConfigurationContent.objects.filter(revision=revision).values_list("availability", flat=True).first()
    if content != Availability.AVAILABLE:
        found.append(Obstacle("content_gone", "What the configuration says was taken away."))
    return found


# --- harnesses -------------------------------------------------------------------------------------


def harnesses() -> models.QuerySet[Harness]:
    rows: models.QuerySet[Harness] = Harness.objects.select_related("active")
    return rows


def harness_revisions(harness: Harness) -> models.QuerySet[HarnessRevision]:
    rows: models.QuerySet[HarnessRevision] = HarnessRevision.objects.filter(harness=harness)
    return rows.select_related("made_by")
