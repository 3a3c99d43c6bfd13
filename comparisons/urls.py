"""Page addresses."""

from django.urls import URLPattern

app_name = "comparisons"
urlpatterns: list[URLPattern] = []
