"""Operators' side of subjects: labels and fingerprints. Definitions have no admin page."""

from __future__ import annotations

from django.contrib import admin

from agents.models import Subject
from teams.admin import ReadOnly


@admin.register(Subject)
class Subjects(ReadOnly):
    list_display = ("label", "team", "kind", "fingerprint", "created_at")
    list_filter = ("team", "kind")
    list_select_related = ("team",)
