"""API addresses of imports."""

from django.urls import path

from intake import api_views

urlpatterns = [
    path("imports", api_views.Imports.as_view(), name="imports"),
    path("imports/<uuid:row>", api_views.OneImport.as_view(), name="import"),
    path("imports/<uuid:row>/confirm", api_views.Confirm.as_view(), name="import_confirm"),
    path("imports/<uuid:row>/rejected", api_views.Rejected.as_view(), name="import_rejected"),
    path("mappings", api_views.Mappings.as_view(), name="mappings"),
]
