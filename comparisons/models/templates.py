"""Templates: saved setups of comparisons, in versions that never change."""

from __future__ import annotations

from typing import ClassVar

import pgtrigger
from django.db import models
from django.db.models.functions import Lower

from teams.models import Team, User
from teams.records import Content, Immutable, Record, frozen, one_way


class Template(Record):
    """A setup that a team keeps for reuse. `head` is its current revision: the number of its newest version.

    `revision` counts what is done to the template itself: a name, archive, restore.
    """

    team = models.ForeignKey(Team, on_delete=models.PROTECT)
    name = models.CharField(max_length=120)
    head = models.PositiveIntegerField()
    archived_at = models.DateTimeField(null=True, blank=True)
    revision = models.PositiveIntegerField(default=1)
    made_by = models.ForeignKey(User, on_delete=models.PROTECT)
    made_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(Lower("name"), "team", name="template_once")]
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class TemplateVersion(Immutable):
    """One saved setup of a template. What it says is content and stands beside it; `sha256` is of that."""

    template = models.ForeignKey(Template, on_delete=models.PROTECT)
    number = models.PositiveIntegerField()
    sha256 = models.CharField(max_length=64)
    made_by = models.ForeignKey(User, on_delete=models.PROTECT)
    made_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["template", "number"], name="template_version_once")]
        ordering = ["-number"]
        triggers: ClassVar[list[pgtrigger.Trigger]] = [frozen()]

    def __str__(self) -> str:
        return f"{self.template.name}, version {self.number}"


class TemplateBody(Content):
    """The protected side of a version: the whole intent, every version in it explicit."""

    version = models.OneToOneField(TemplateVersion, on_delete=models.PROTECT, primary_key=True)
    body = models.JSONField(null=True)

    class Meta:
        triggers: ClassVar[list[pgtrigger.Trigger]] = [one_way("body")]
