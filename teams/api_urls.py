"""API addresses of a team."""

from django.urls import path

from teams.api_views import audit, me, members, roles, tokens

urlpatterns = [
    path("me", me.Me.as_view(), name="me"),
    path("members", members.Members.as_view(), name="members"),
    path("members/<uuid:user>", members.Member.as_view(), name="member"),
    path("invitations", members.Invitations.as_view(), name="invitations"),
    path("invitations/<uuid:invitation>", members.InvitationDetail.as_view(), name="invitation"),
    path("invitations/<uuid:invitation>/resend", members.Resend.as_view(), name="resend_invitation"),
    path("roles", roles.Roles.as_view(), name="roles"),
    path("roles/<uuid:role>", roles.RoleDetail.as_view(), name="role"),
    path("tokens", tokens.Tokens.as_view(), name="tokens"),
    path("tokens/<uuid:token>", tokens.Token.as_view(), name="token"),
    path("audit-events", audit.Audit.as_view(), name="audit_events"),
]
