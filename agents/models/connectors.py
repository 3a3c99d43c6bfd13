"""Connectors: where an agent's tools reach to. What came through one is content with a right of its own."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Lower

from teams.models import Role, Team
from teams.records import Record


class Connector(Record):
    """A named source or tool server of a team. Snapshots say in which mode they use it."""

    team = models.ForeignKey(Team, on_delete=models.PROTECT)
    name = models.CharField(max_length=120)
    created_at = models.DateTimeField(auto_now_add=True)
    archived_at = models.DateTimeField(null=True, blank=True)
    revision = models.PositiveIntegerField(default=1)

    class Meta:
        constraints = [models.UniqueConstraint(Lower("name"), "team", name="connector_once")]
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class ConnectorReader(models.Model):
    """A role whose members may read what came through the connector, if they may read content at all."""

    id = models.BigAutoField(primary_key=True)
    connector = models.ForeignKey(Connector, on_delete=models.CASCADE)
    role = models.ForeignKey(Role, on_delete=models.CASCADE)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["connector", "role"], name="connector_reader_once")]
