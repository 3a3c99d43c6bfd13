"""API addresses of experiments with their passes."""

from django.urls import path

from grading import api_views

urlpatterns = [
    path("experiments/<uuid:experiment>", api_views.ExperimentDetail.as_view(), name="experiment"),
]
