"""Releases: approved bindings of roles to asset versions, moved along their states by explicit transitions."""

from __future__ import annotations

from typing import ClassVar

import pgtrigger
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower

from agents.models.agents import Agent
from agents.models.assets import AssetKind, AssetVersion
from agents.models.routes import ModelRouteRevision
from agents.models.subjects import Subject
from teams.models import User
from teams.records import Immutable, Record, frozen


class ReleaseState(models.TextChoices):
    DRAFT = "draft", "Draft"
    APPROVED = "approved", "Approved"
    ACTIVE = "active", "Active"
    RETIRED = "retired", "Retired"


TRANSITIONS = (
    (ReleaseState.DRAFT, ReleaseState.APPROVED),
    (ReleaseState.DRAFT, ReleaseState.RETIRED),
    (ReleaseState.APPROVED, ReleaseState.ACTIVE),
    (ReleaseState.APPROVED, ReleaseState.RETIRED),
    (ReleaseState.ACTIVE, ReleaseState.RETIRED),
)
"""Every step that there is. Nothing comes back: a release that is wanted again is made again."""


class Release(Record):
    """A governed configuration of an agent. From its approval on, what it binds and what it is stay as they are."""

    agent = models.ForeignKey(Agent, on_delete=models.PROTECT)
    name = models.CharField(max_length=120)
    state = models.CharField(max_length=10, choices=ReleaseState, default=ReleaseState.DRAFT)
    subject = models.ForeignKey(Subject, on_delete=models.PROTECT, null=True)
    route_revision = models.ForeignKey(ModelRouteRevision, on_delete=models.PROTECT, null=True)
    definition_sha256 = models.CharField(max_length=64, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    made_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True)
    revision = models.PositiveIntegerField(default=1)

    class Meta:
        constraints = [
            models.UniqueConstraint(Lower("name"), "agent", name="release_once"),
            models.UniqueConstraint(fields=["agent"], condition=Q(state="active"), name="one_active_release"),
            models.CheckConstraint(
                condition=Q(state="draft", subject=None)
                | Q(state="retired")
                | (Q(state__in=["approved", "active"]) & Q(subject__isnull=False)),
                name="release_has_a_subject_once_approved",
            ),
        ]
        ordering = ["-created_at"]
        triggers: ClassVar[list[pgtrigger.Trigger]] = [
            pgtrigger.FSM(name="machine", field="state", transitions=[(a.value, b.value) for a, b in TRANSITIONS]),
            pgtrigger.Protect(name="kept", operation=pgtrigger.Delete),
            pgtrigger.Protect(
                name="settled",
                operation=pgtrigger.Update,
                condition=~pgtrigger.Q(old__state="draft")
                & (
                    pgtrigger.Q(old__subject__df=pgtrigger.F("new__subject"))
                    | pgtrigger.Q(old__route_revision__df=pgtrigger.F("new__route_revision"))
                    | pgtrigger.Q(old__definition_sha256__df=pgtrigger.F("new__definition_sha256"))
                    | pgtrigger.Q(old__agent__df=pgtrigger.F("new__agent"))
                ),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.agent.name}, release {self.name}"


class ReleaseBinding(models.Model):
    """Which asset version plays a role. It changes only while its release is a draft."""

    id = models.BigAutoField(primary_key=True)
    release = models.ForeignKey(Release, on_delete=models.PROTECT)
    role = models.CharField(max_length=20, choices=AssetKind)
    version = models.ForeignKey(AssetVersion, on_delete=models.PROTECT)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["release", "role"], name="release_role_once")]
        triggers: ClassVar[list[pgtrigger.Trigger]] = [
            pgtrigger.Trigger(
                name="bound",
                when=pgtrigger.Before,
                operation=pgtrigger.Insert | pgtrigger.Update | pgtrigger.Delete,
                func="""
                    IF EXISTS (
                        SELECT 1 FROM agents_release whole
                        WHERE whole.id IN (
                            CASE WHEN TG_OP <> 'INSERT' THEN OLD.release_id END,
                            CASE WHEN TG_OP <> 'DELETE' THEN NEW.release_id END
                        )
                        AND whole.state <> 'draft'
                    ) THEN
                        RAISE EXCEPTION 'what an approved release binds stays';
                    END IF;
                    IF TG_OP = 'DELETE' THEN
                        RETURN OLD;
                    END IF;
                    RETURN NEW;
                """,
            )
        ]


class ReleaseTransition(Immutable):
    """One step of a release, with who took it."""

    release = models.ForeignKey(Release, on_delete=models.PROTECT)
    number = models.PositiveIntegerField()
    before = models.CharField(max_length=10, choices=ReleaseState)
    after = models.CharField(max_length=10, choices=ReleaseState)
    made_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True)
    made_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["release", "number"], name="release_transition_once")]
        ordering = ["-number"]
        triggers: ClassVar[list[pgtrigger.Trigger]] = [frozen()]
