"""API addresses of datasets."""

from django.urls import path

from datasets import api_views

urlpatterns = [
    path("datasets", api_views.Datasets.as_view(), name="datasets"),
    path("datasets/<uuid:dataset>", api_views.DatasetDetail.as_view(), name="dataset"),
    path("datasets/<uuid:dataset>/versions", api_views.Versions.as_view(), name="dataset_versions"),
    path("datasets/<uuid:dataset>/versions/<int:number>/items", api_views.Items.as_view(), name="version_items"),
]
