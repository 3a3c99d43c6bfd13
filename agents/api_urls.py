"""API addresses of subjects."""

from django.urls import path

from agents import api_views

urlpatterns = [
    path("subjects", api_views.Subjects.as_view(), name="subjects"),
    path("subjects/<uuid:subject>", api_views.SubjectDetail.as_view(), name="subject"),
]
