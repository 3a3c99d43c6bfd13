"""Page addresses."""

from django.urls import path

from comparisons import views

app_name = "comparisons"
urlpatterns = [
    path("", views.choose, name="list"),
    path("paired", views.paired, name="paired"),
    path("case", views.case, name="case"),
    path("export", views.export, name="export"),
]
