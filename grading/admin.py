"""Operators' side of grading: states, counts, and the hosts of validators. Configurations have no admin page."""

from __future__ import annotations

from django.contrib import admin

from agents.admin import ListedHosts
from grading.models import Grader, GraderVersion, GradingPass, MetricDefinition, ValidatorHost
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


@admin.register(Grader)
class Graders(ReadOnly):
    list_display = ("name", "kind", "definition", "archived_at")
    list_filter = ("definition__team", "kind")
    list_select_related = ("definition",)
    search_fields = ("name",)


@admin.register(GraderVersion)
class GraderVersions(ReadOnly):
    list_display = ("grader", "number", "sha256", "route_revision", "fee_micros", "fee_currency", "created_at")
    list_filter = ("grader__definition__team", "grader__kind")
    list_select_related = ("grader", "route_revision__route")


@admin.register(ValidatorHost)
class ValidatorHosts(ListedHosts):
    """Hosts that tool validators may reach. Versions name them; an archived one is called no more."""
