"""Page addresses."""

from django.urls import path

from intake import views

app_name = "imports"
urlpatterns = [
    path("", views.import_list, name="list"),
    path("new/", views.new, name="new"),
    path("<uuid:row>/", views.detail, name="detail"),
    path("<uuid:row>/target", views.target, name="target"),
    path("<uuid:row>/map", views.map_columns, name="map"),
    path("<uuid:row>/confirm", views.confirm, name="confirm"),
    path("<uuid:row>/discard", views.discard, name="discard"),
    path("<uuid:row>/rejected/", views.rejected, name="rejected"),
    path("<uuid:row>/rejected.csv", views.rejected_csv, name="rejected_csv"),
]
