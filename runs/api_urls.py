"""API addresses of experiments. One experiment with its passes is told by `grading`, which knows them."""

from django.urls import path

from runs import api_views

urlpatterns = [
    path("experiments", api_views.Experiments.as_view(), name="experiments"),
    path("experiments/<uuid:experiment>/executions", api_views.Executions.as_view(), name="executions"),
]
