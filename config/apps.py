"""The admin application, pointed at the operators' site."""

from django.contrib.admin.apps import AdminConfig


class OperatorAdminConfig(AdminConfig):
    default_site = "config.admin_site.OperatorSite"
