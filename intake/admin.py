"""Imports for operators: read only, and no content: neither names of files nor what was read from them."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from intake.models import Import, ImportedRun


class ReadOnly(admin.ModelAdmin):  # type: ignore[type-arg]  # not generic at run time
    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Import)
class ImportAdmin(ReadOnly):
    list_display = ("id", "team", "by", "reader", "state", "total", "rejected", "refusal_code", "created_at")
    list_filter = ("state", "reader")
    list_select_related = ("team", "by")
    fields = (
        *("id", "team", "by", "reader", "reader_version", "state", "trust", "one_shot", "accept_rejected"),
        *("rejected", "done", "total", "refusal_code", "epoch", "attempts", "claimed_by", "lease_until"),
        *("created_at", "started_at", "finished_at"),
    )


@admin.register(ImportedRun)
class ImportedRunAdmin(ReadOnly):
    list_display = ("id", "team", "owner", "experiment")
    list_select_related = ("team", "owner", "experiment")
    fields = ("id", "team", "owner", "position", "files_sha256", "mapping_sha256", "experiment")
