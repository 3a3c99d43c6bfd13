"""Connectors: where an agent's tools reach to. What came through one is content with a right of its own."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower

from teams.models import Role, Team
from teams.records import Record


class Connector(Record):
    """A named source or tool server of a team. Snapshots say in which mode they use it.

    Operators say where it is reached, where its secret stands (a reference, never the secret) and what a call costs:
    no fee is unknown, zero is free.
    """

    team = models.ForeignKey(Team, on_delete=models.PROTECT)
    name = models.CharField(max_length=120)
    created_at = models.DateTimeField(auto_now_add=True)
    archived_at = models.DateTimeField(null=True, blank=True)
    revision = models.PositiveIntegerField(default=1)
    address = models.CharField(max_length=500, blank=True, db_default="")
    secret_ref = models.CharField(max_length=300, blank=True, db_default="")
    fee_micros = models.BigIntegerField(null=True, blank=True)
    fee_currency = models.CharField(max_length=3, blank=True, db_default="")

    class Meta:
        constraints = [
            models.UniqueConstraint(Lower("name"), "team", name="connector_once"),
            models.CheckConstraint(
                condition=Q(fee_micros=None, fee_currency="") | (Q(fee_micros__gte=0) & ~Q(fee_currency="")),
                name="connector_fee",
            ),
            models.CheckConstraint(condition=Q(secret_ref="") | ~Q(address=""), name="connector_secret_has_address"),
        ]
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    @property
    def reachable(self) -> bool:
        """Whether tools may be run over it: it has an address and is not archived."""
        return bool(self.address) and self.archived_at is None


class ConnectorReader(models.Model):
    """A role whose members may read what came through the connector, if they may read content at all."""

    id = models.BigAutoField(primary_key=True)
    connector = models.ForeignKey(Connector, on_delete=models.CASCADE)
    role = models.ForeignKey(Role, on_delete=models.CASCADE)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["connector", "role"], name="connector_reader_once")]
