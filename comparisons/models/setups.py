"""Setups: what somebody fills in before a group starts, kept until it does."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from comparisons.models.groups import Group
from comparisons.models.templates import Template, TemplateVersion
from teams.models import Team, User
from teams.records import Record


class Setup(Record):
    """The four steps of one person, as far as they came. Not evidence: it is edited freely and may be dropped.

    `fields` holds what the form's fields said, checked or not. `key` is the request key of the start; it stays while
    the fields do. `head` is the current revision of `template` as this person has seen it last, whichever of its
    versions was restored. `saving` is a save of a template whose answer is not known yet: its request key, and the
    fields and the revision that it was sent with. `before` is what the last restore
    replaced: fields, template, version and revision.
    """

    team = models.ForeignKey(Team, on_delete=models.PROTECT)
    made_by = models.ForeignKey(User, on_delete=models.PROTECT)
    fields = models.JSONField(default=dict)
    before = models.JSONField(null=True)
    key = models.CharField(max_length=36)
    template = models.ForeignKey(Template, on_delete=models.PROTECT, null=True)
    template_version = models.ForeignKey(TemplateVersion, on_delete=models.PROTECT, null=True)
    head = models.PositiveIntegerField(null=True)
    saving = models.JSONField(null=True)
    group = models.OneToOneField(Group, on_delete=models.PROTECT, null=True)
    made_at = models.DateTimeField(default=timezone.now)
    changed_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-changed_at"]
        indexes = [
            models.Index(fields=["team", "made_by", "-changed_at"], name="setup_open", condition=models.Q(group=None))
        ]

    def __str__(self) -> str:
        return str(self.pk)
