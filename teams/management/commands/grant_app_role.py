"""Give the application's database role what it needs and no more. Run by the owner after migrating."""

from __future__ import annotations

from typing import Any

from django.apps import apps
from django.core.management.base import BaseCommand
from django.db import connection, transaction
from psycopg import sql

from teams.records import Content, Immutable


def frozen_tables() -> list[str]:
    """Tables that the application may write once: no UPDATE, DELETE or TRUNCATE."""
    return sorted(
        model._meta.db_table
        for model in apps.get_models()
        if issubclass(model, Immutable)
        or any(trigger.name == "frozen" for trigger in getattr(model._meta, "triggers", []))
    )


def kept_tables() -> list[str]:
    """Tables whose rows the application may change along their triggers, but never delete."""
    return sorted(
        model._meta.db_table
        for model in apps.get_models()
        if issubclass(model, Content)
        or any(trigger.name in ("kept", "finished") for trigger in getattr(model._meta, "triggers", []))
    )


class Command(BaseCommand):
    help = "Grant the application's database role its rights (run as the owner of the database)."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("--role", default="app")

    def handle(self, *args: Any, role: str, **options: Any) -> None:
        who = sql.Identifier(role)
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT current_user, EXISTS (SELECT 1 FROM pg_roles WHERE rolname = %s)", [role])
            owner, exists = cursor.fetchone() or ("", False)
            if owner == role or not exists:
                self.stdout.write(f"One database role ({owner}) only: triggers alone protect frozen tables.")
                return
            tables = sql.SQL("ALL TABLES IN SCHEMA public")
            cursor.execute(sql.SQL("GRANT USAGE ON SCHEMA public TO {}").format(who))
            cursor.execute(sql.SQL("REVOKE ALL ON {} FROM {}").format(tables, who))
            cursor.execute(sql.SQL("GRANT SELECT, INSERT, UPDATE, DELETE ON {} TO {}").format(tables, who))
            cursor.execute(sql.SQL("GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO {}").format(who))
            for table in frozen_tables():
                cursor.execute(sql.SQL("REVOKE UPDATE, DELETE ON {} FROM {}").format(sql.Identifier(table), who))
            for table in kept_tables():
                cursor.execute(sql.SQL("REVOKE DELETE ON {} FROM {}").format(sql.Identifier(table), who))
            cursor.execute(sql.SQL("REVOKE INSERT, UPDATE, DELETE ON django_migrations FROM {}").format(who))
