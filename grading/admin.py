"""Operators' side of grading: states, counts, and the hosts of validators. Configurations have no admin page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin, messages
from django.db import models
from django.http import HttpRequest

from grading import actions
from grading.actions.hosts import checked_host
from grading.models import Grader, GraderVersion, GradingPass, MetricDefinition, ValidatorHost
from teams.admin import AnyAdmin, AnyForm, ReadOnly, operator_of
from teams.refusals import Refusal

if TYPE_CHECKING:
    Rows = models.QuerySet[Any]
else:
    Rows = models.QuerySet


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


class HostForm(AnyForm):
    class Meta:
        model = ValidatorHost
        fields = ("host", "note")
        help_texts = {"host": "The name alone, such as checks.example.org. Calls go there over https."}

    def clean_host(self) -> str:
        try:
            return checked_host(self.cleaned_data["host"])
        except Refusal as refusal:
            raise forms.ValidationError(refusal.message) from None


@admin.register(ValidatorHost)
class ValidatorHosts(AnyAdmin):
    """Hosts that tool validators may reach. None is deleted, versions name them; an archived one is called no more."""

    form = HostForm
    list_display = ("host", "note", "created_at", "archived_at")
    search_fields = ("host", "note")
    actions = ("archive", "restore")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return ("host",) if obj else ()

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: ValidatorHost, form: Any, change: bool) -> None:
        if change:
            actions.note_host(row=obj, note=obj.note, by=operator_of(request))
            return
        made = actions.list_host(host=obj.host, note=obj.note, by=operator_of(request))
        obj.pk = made.pk
        obj._state.adding = False

    @admin.action(description="Archive: validators reach the selected hosts no more")
    def archive(self, request: HttpRequest, rows: Rows) -> None:
        for row in rows:
            actions.set_host_listed(row=row, listed=False, by=operator_of(request))
        messages.success(request, "Archived.")

    @admin.action(description="Restore: validators may reach the selected hosts")
    def restore(self, request: HttpRequest, rows: Rows) -> None:
        for row in rows:
            actions.set_host_listed(row=row, listed=True, by=operator_of(request))
        messages.success(request, "Restored.")
