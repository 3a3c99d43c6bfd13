"""Page addresses."""

from django.urls import path

from webhooks import views

app_name = "webhooks"
urlpatterns = [
    path("", views.webhook_list, name="list"),
    path("new", views.new_webhook, name="new"),
    path("<uuid:webhook>/", views.detail, name="detail"),
    path("<uuid:webhook>/deliveries", views.deliveries, name="deliveries"),
    path("<uuid:webhook>/deliveries/<uuid:delivery>/again", views.send_again, name="send_again"),
    path("<uuid:webhook>/edit", views.edit_webhook, name="edit"),
    path("<uuid:webhook>/ping", views.ping, name="ping"),
    path("<uuid:webhook>/rotate", views.rotate, name="rotate"),
    path("<uuid:webhook>/steer", views.steer, name="steer"),
]
