"""Page addresses."""

from django.urls import URLPattern

app_name = "experiments"
urlpatterns: list[URLPattern] = []
