"""Page addresses of a team itself."""

from django.urls import path

from teams.views import audit, members, roles, tokens

app_name = "teams"
urlpatterns = [
    path("", members.overview, name="overview"),
    path("leave", members.leave, name="leave"),
    path("members/", members.members, name="members"),
    path("members/<uuid:user>/role", members.change_role, name="change_role"),
    path("members/<uuid:user>/remove", members.remove_member, name="remove_member"),
    path("invitations/<uuid:invitation>/resend", members.resend_invitation, name="resend_invitation"),
    path("invitations/<uuid:invitation>/revoke", members.revoke_invitation, name="revoke_invitation"),
    path("roles/", roles.roles, name="roles"),
    path("roles/<uuid:role>/", roles.role, name="role"),
    path("roles/<uuid:role>/delete", roles.delete_role, name="delete_role"),
    path("tokens/", tokens.tokens, name="tokens"),
    path("tokens/<uuid:token>/revoke", tokens.revoke_token, name="revoke_token"),
    path("audit/", audit.audit_log, name="audit"),
    path("audit/export.csv", audit.export, name="audit_export"),
]
