"""Page addresses of datasets."""

from django.urls import path

from datasets import views

app_name = "datasets"
urlpatterns = [
    path("", views.dataset_list, name="list"),
    path("<uuid:dataset>/", views.detail, name="detail"),
    path("<uuid:dataset>/versions/<int:number>/", views.version, name="version"),
    path("<uuid:dataset>/revisions/<uuid:revision>/", views.revision, name="revision"),
]
