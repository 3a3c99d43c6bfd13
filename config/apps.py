"""The wiring as an application (for its commands), and the admin pointed at the operators' site."""

from importlib import import_module

from django.apps import AppConfig
from django.contrib.admin.apps import AdminConfig


class Wiring(AppConfig):
    name = "config"

    def ready(self) -> None:
        """Whoever wakes a worker speaks to the broker as Evenhand's own Celery application does."""
        import_module("config.celery")


class OperatorAdminConfig(AdminConfig):
    default_site = "config.admin_site.OperatorSite"
