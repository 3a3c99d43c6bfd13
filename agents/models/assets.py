"""Assets: governed parts of an agent's definition, in numbered versions that are approved one by one."""

from __future__ import annotations

from typing import ClassVar

import pgtrigger
from django.db import models
from django.db.models.functions import Lower

from teams.models import Team, User
from teams.records import Content, Immutable, Record, frozen, one_way


class AssetKind(models.TextChoices):
    """Which part of a definition an asset is. A release binds one of each kind at most."""

    PROMPT_TEMPLATE = "prompt_template", "Prompt template"
    MODEL = "model", "Model"
    TOOLSET = "toolset", "Toolset"
    CONNECTORS = "connectors", "Connectors"
    CONTEXT = "context", "Context"
    SETTINGS = "settings", "Settings"


class Asset(Record):
    """A named part of a team, or, without a team, of the product: built in, for everybody."""

    team = models.ForeignKey(Team, on_delete=models.PROTECT, null=True, blank=True)
    kind = models.CharField(max_length=20, choices=AssetKind)
    name = models.CharField(max_length=120)
    created_at = models.DateTimeField(auto_now_add=True)
    archived_at = models.DateTimeField(null=True, blank=True)
    revision = models.PositiveIntegerField(default=1)

    class Meta:
        constraints = [models.UniqueConstraint(Lower("name"), "kind", "team", name="asset_once", nulls_distinct=False)]
        ordering = ["kind", "name"]

    def __str__(self) -> str:
        return self.name


class AssetVersion(Immutable):
    """What an asset says by number. `sha256` covers kind and body."""

    asset = models.ForeignKey(Asset, on_delete=models.PROTECT)
    number = models.PositiveIntegerField()
    sha256 = models.CharField(max_length=64)
    made_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True)
    made_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["asset", "number"], name="asset_version_once")]
        ordering = ["-number"]
        triggers: ClassVar[list[pgtrigger.Trigger]] = [frozen()]

    def __str__(self) -> str:
        return f"{self.asset.name} version {self.number}"

    @property
    def mark(self) -> str:
        """How it is called beside others of its asset."""
        return str(self.number)


class AssetContent(Content):
    """The protected side of a version: the part of a definition itself."""

    version = models.OneToOneField(AssetVersion, on_delete=models.PROTECT, primary_key=True)
    body = models.JSONField(null=True)

    class Meta:
        triggers: ClassVar[list[pgtrigger.Trigger]] = [one_way("body")]


class AssetApproval(Immutable):
    """That a version may be bound in releases. It is given once and not taken back; releases are retired instead."""

    version = models.OneToOneField(AssetVersion, on_delete=models.PROTECT)
    approved_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True)
    approved_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        triggers: ClassVar[list[pgtrigger.Trigger]] = [frozen()]
