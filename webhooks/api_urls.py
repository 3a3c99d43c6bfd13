"""API addresses."""

from django.urls import path

from webhooks import api_views

urlpatterns = [
    path("webhooks", api_views.Webhooks.as_view(), name="webhooks"),
    path("webhooks/<uuid:webhook>", api_views.WebhookDetail.as_view(), name="webhook"),
    path("webhooks/<uuid:webhook>/steps", api_views.WebhookSteps.as_view(), name="webhook_steps"),
    path("webhooks/<uuid:webhook>/pings", api_views.WebhookPings.as_view(), name="webhook_pings"),
    path("webhooks/<uuid:webhook>/deliveries", api_views.Deliveries.as_view(), name="webhook_deliveries"),
    path(
        "webhooks/<uuid:webhook>/deliveries/<uuid:delivery>/attempts",
        api_views.DeliveryAttempts.as_view(),
        name="delivery_attempts",
    ),
]
