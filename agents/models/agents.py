"""Agents: a draft that people edit, snapshots that never change, deployments that say which one is in use."""

from __future__ import annotations

from typing import ClassVar

import pgtrigger
from django.db import models
from django.db.models.functions import Lower

from agents.models.routes import ModelRouteRevision
from agents.models.subjects import Subject
from teams.models import Team, User
from teams.records import Content, Immutable, Record, frozen, one_way


class Agent(Record):
    """A named configuration that is worked on. The name is metadata; what it is told is content."""

    team = models.ForeignKey(Team, on_delete=models.PROTECT)
    name = models.CharField(max_length=120)
    created_at = models.DateTimeField(auto_now_add=True)
    archived_at = models.DateTimeField(null=True, blank=True)
    revision = models.PositiveIntegerField(default=1)

    class Meta:
        constraints = [models.UniqueConstraint(Lower("name"), "team", name="agent_once")]
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class AgentDraft(models.Model):
    """What people edit. It stands beside the agent because instructions and tools are content."""

    agent = models.OneToOneField(Agent, on_delete=models.PROTECT, primary_key=True)
    body = models.JSONField()
    sha256 = models.CharField(max_length=64)
    revision = models.PositiveIntegerField(default=1)
    saved_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True)
    saved_at = models.DateTimeField(auto_now=True)


class Snapshot(Immutable):
    """A numbered, immutable definition of an agent, with one hash per dimension for readers of metadata.

    `base` and `changed` say what a variant was made from and what it changed: the model alone.
    `draft_sha256` is the draft's that it was taken from, empty for a variant.
    """

    agent = models.ForeignKey(Agent, on_delete=models.PROTECT)
    number = models.PositiveIntegerField()
    subject = models.OneToOneField(Subject, on_delete=models.PROTECT)
    route_revision = models.ForeignKey(ModelRouteRevision, on_delete=models.PROTECT)
    base = models.ForeignKey("self", on_delete=models.PROTECT, null=True, related_name="variants")
    changed = models.CharField(max_length=12, blank=True, choices=[("model", "Model")])
    draft_sha256 = models.CharField(max_length=64, blank=True)
    definition_sha256 = models.CharField(max_length=64)
    prompt_sha256 = models.CharField(max_length=64)
    tools_sha256 = models.CharField(max_length=64)
    connectors_sha256 = models.CharField(max_length=64)
    context_sha256 = models.CharField(max_length=64)
    settings_sha256 = models.CharField(max_length=64)
    capability_sha256 = models.CharField(max_length=64)
    made_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True)
    made_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["agent", "number"], name="snapshot_number_once"),
            models.UniqueConstraint(fields=["agent", "definition_sha256"], name="snapshot_definition_once"),
            models.CheckConstraint(
                condition=models.Q(base=None, changed="") | models.Q(base__isnull=False, changed="model"),
                name="snapshot_variant_says_what_changed",
            ),
        ]
        ordering = ["-made_at"]
        triggers: ClassVar[list[pgtrigger.Trigger]] = [frozen()]

    def __str__(self) -> str:
        return f"{self.agent.name} #{self.number}"

    @property
    def mark(self) -> str:
        """How it is called beside others of its agent."""
        return f"#{self.number}"


class SnapshotDefinition(Content):
    """The protected side of a snapshot: everything that the hashes are of."""

    snapshot = models.OneToOneField(Snapshot, on_delete=models.PROTECT, primary_key=True)
    body = models.JSONField(null=True)

    class Meta:
        triggers: ClassVar[list[pgtrigger.Trigger]] = [one_way("body")]


class AgentDeployment(Immutable):
    """That a snapshot was put into use. The newest one of an agent is its active deployment."""

    agent = models.ForeignKey(Agent, on_delete=models.PROTECT)
    number = models.PositiveIntegerField()
    snapshot = models.ForeignKey(Snapshot, on_delete=models.PROTECT)
    made_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True)
    made_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["agent", "number"], name="agent_deployment_once")]
        ordering = ["-number"]
        triggers: ClassVar[list[pgtrigger.Trigger]] = [frozen()]
