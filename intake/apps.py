"""The intake application; its refusal codes are known from the start."""

from __future__ import annotations

from django.apps import AppConfig


class IntakeConfig(AppConfig):
    name = "intake"

    def ready(self) -> None:
        from intake import refusals  # noqa: F401, PLC0415 - registers the codes; apps must be ready first
