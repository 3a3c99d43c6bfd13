"""The operators' admin site. Operators are not team members by that fact."""

from django.contrib import admin


class OperatorSite(admin.AdminSite):
    site_header = "Evenhand operators"
    site_title = "Evenhand operators"
    index_title = "Teams, members and evidence"
    enable_nav_sidebar = False
