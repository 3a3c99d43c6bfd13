"""API addresses of a team."""

from django.urls import path

from teams import api_views

urlpatterns = [
    path("me", api_views.Me.as_view(), name="me"),
    path("members", api_views.Members.as_view(), name="members"),
    path("tokens", api_views.Tokens.as_view(), name="tokens"),
]
