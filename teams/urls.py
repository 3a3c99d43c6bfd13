"""Page addresses of a team itself."""

from django.urls import path

from teams import views

app_name = "teams"
urlpatterns = [
    path("", views.overview, name="overview"),
    path("members/", views.members, name="members"),
    path("members/<uuid:user>/role", views.change_role, name="change_role"),
    path("members/<uuid:user>/remove", views.remove_member, name="remove_member"),
    path("tokens/", views.tokens, name="tokens"),
    path("tokens/<uuid:token>/revoke", views.revoke_token, name="revoke_token"),
    path("audit/", views.audit_log, name="audit"),
]
