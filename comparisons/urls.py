"""Page addresses."""

from django.urls import path

from comparisons import group_views, views

app_name = "comparisons"
urlpatterns = [
    path("", views.choose, name="list"),
    path("paired", views.paired, name="paired"),
    path("case", views.case, name="case"),
    path("export", views.export, name="export"),
    path("groups/", group_views.group_list, name="groups"),
    path("groups/new", group_views.new_group, name="new_group"),
    path("groups/<uuid:group>/", group_views.group, name="group"),
    path("groups/<uuid:group>/state", group_views.group_state, name="group_state"),
    path("groups/<uuid:group>/steer", group_views.steer_group, name="steer_group"),
]
