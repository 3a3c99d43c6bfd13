"""Page addresses of subjects."""

from django.urls import path

from agents import views

app_name = "agents"
urlpatterns = [
    path("", views.subject_list, name="list"),
    path("<uuid:subject>/", views.detail, name="detail"),
]
