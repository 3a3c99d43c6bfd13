"""Operators' side of datasets: names and counts. Content has no admin page."""

from __future__ import annotations

from typing import ClassVar

from django.contrib import admin

from datasets.models import Dataset, Version
from teams.admin import ReadOnly


@admin.register(Dataset)
class Datasets(ReadOnly):
    list_display = ("name", "team", "created_at", "archived_at")
    list_filter = ("team",)
    list_select_related = ("team",)


@admin.register(Version)
class Versions(ReadOnly):
    list_display = ("dataset", "number", "count", "made_at")
    list_select_related: ClassVar[tuple[str, ...]] = ("dataset",)
