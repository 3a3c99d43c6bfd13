"""Operators' side of experiments: state and counts. Answers and errors have no admin page."""

from __future__ import annotations

from django.contrib import admin

from runs.models import Experiment
from teams.admin import ReadOnly


@admin.register(Experiment)
class Experiments(ReadOnly):
    list_display = ("number", "team", "subject", "state", "origin", "planned", "created_at", "archived_at")
    list_filter = ("team", "state", "origin")
    list_select_related = ("team", "subject")
    exclude = ("provenance", "facts")
