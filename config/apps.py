"""The wiring as an application (for its commands), and the admin pointed at the operators' site."""

from django.apps import AppConfig
from django.contrib.admin.apps import AdminConfig


class Wiring(AppConfig):
    name = "config"


class OperatorAdminConfig(AdminConfig):
    default_site = "config.admin_site.OperatorSite"
