"""Reads of subjects. A definition may hold prompts, so it is asked for only with the right to content."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from django.db import models

from agents.models import Release, Snapshot, Subject, SubjectDefinition, SubjectKind
from teams.access import Access
from teams.records import Availability


def subjects_of(access: Access, *, search: str = "") -> models.QuerySet[Subject]:
    """Subjects, newest first; found by label or by the beginning of a fingerprint."""
    rows = Subject.objects.filter(team=access.team)
    if search:
        rows = rows.filter(models.Q(label__icontains=search) | models.Q(fingerprint__startswith=search.lower()))
    return rows


@dataclass(frozen=True, slots=True)
class Definition:
    """The recorded definition, or why it cannot be read."""

    body: Any
    removed: str

    @property
    def text(self) -> str:
        return json.dumps(self.body, indent=2, ensure_ascii=False)


def definition_of(subject: Subject) -> Definition:
    """The protected side; the caller has judged the right to it."""
    kept = SubjectDefinition.objects.filter(subject=subject).first()
    if kept is None or (kept.body is None and kept.availability == Availability.AVAILABLE):
        return Definition(None, "never captured")
    if kept.availability != Availability.AVAILABLE:
        return Definition(None, kept.availability)
    return Definition(kept.body, "")


def made_from(subject: Subject) -> Snapshot | Release | None:
    """The snapshot or the release that a subject is; None for one that imported results tell of."""
    if subject.kind == SubjectKind.SNAPSHOT:
        return Snapshot.objects.filter(subject=subject).first()
    if subject.kind == SubjectKind.RELEASE:
        return Release.objects.filter(subject=subject).first()
    return None
