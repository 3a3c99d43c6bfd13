"""Operators' side of passes: state and counts. Reasoning and configurations have no admin page."""

from __future__ import annotations

from django.contrib import admin

from grading.models import GradingPass, MetricDefinition
from teams.admin import ReadOnly


@admin.register(GradingPass)
class Passes(ReadOnly):
    list_display = ("experiment", "number", "origin", "state", "created_at", "finished_at")
    list_filter = ("state", "origin")
    list_select_related = ("experiment",)


@admin.register(MetricDefinition)
class Metrics(ReadOnly):
    list_display = ("key", "name", "team", "kind", "direction", "low", "high", "unit")
    list_filter = ("team", "kind")
    list_select_related = ("team",)
