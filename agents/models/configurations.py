"""Configurations: several agents by role, with slots for the models that are bound when one is launched."""

from __future__ import annotations

from typing import ClassVar

import pgtrigger
from django.db import models

from agents.models.agents import Agent
from teams.models import Team, User
from teams.records import Content, Immutable, Record, frozen, one_way


class Configuration(Record):
    """A capability set by key: saved by a team, or, without a team, built in. Deleting leaves its revisions."""

    team = models.ForeignKey(Team, on_delete=models.PROTECT, null=True, blank=True)
    key = models.SlugField(max_length=80)
    name = models.CharField(max_length=120)
    created_at = models.DateTimeField(auto_now_add=True)
    deleted_at = models.DateTimeField(null=True, blank=True)
    revision = models.PositiveIntegerField(default=1)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["team", "key"], name="configuration_once", nulls_distinct=False),
        ]
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class ConfigurationRevision(Immutable):
    """What a configuration was when it was saved. `slots` are the names that a launch binds
    models to, `routes` the model routes that roles are fixed to.
    """

    configuration = models.ForeignKey(Configuration, on_delete=models.PROTECT)
    number = models.PositiveIntegerField()
    root = models.CharField(max_length=60)
    slots = models.JSONField(default=list)
    routes = models.JSONField(default=list)
    sha256 = models.CharField(max_length=64)
    made_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True)
    made_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["configuration", "number"], name="configuration_revision_once")]
        ordering = ["-number"]
        triggers: ClassVar[list[pgtrigger.Trigger]] = [frozen()]

    def __str__(self) -> str:
        return f"{self.configuration} revision {self.number}"


class ConfigurationContent(Content):
    """The protected side: roles with what each agent is told, and who delegates to whom."""

    revision = models.OneToOneField(ConfigurationRevision, on_delete=models.PROTECT, primary_key=True)
    body = models.JSONField(null=True)

    class Meta:
        triggers: ClassVar[list[pgtrigger.Trigger]] = [one_way("body")]


class ImportedAgent(Immutable):
    """A saved agent that a revision took over as it was. One that was edited since makes it unlaunchable."""

    revision = models.ForeignKey(ConfigurationRevision, on_delete=models.PROTECT)
    role = models.CharField(max_length=60)
    agent = models.ForeignKey(Agent, on_delete=models.PROTECT)
    draft_sha256 = models.CharField(max_length=64)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["revision", "role"], name="imported_agent_role_once")]
        ordering = ["role"]
        triggers: ClassVar[list[pgtrigger.Trigger]] = [frozen()]
