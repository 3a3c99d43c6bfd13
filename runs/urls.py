"""Page addresses of experiments."""

from django.urls import path

from runs import views

app_name = "experiments"
urlpatterns = [
    path("", views.experiment_list, name="list"),
    path("<uuid:experiment>/", views.detail, name="detail"),
    path("<uuid:experiment>/executions/<int:position>/", views.execution, name="execution"),
    path("<uuid:experiment>/archive", views.archive, name="archive"),
    path("<uuid:experiment>/restore", views.restore, name="restore"),
]
