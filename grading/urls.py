"""Page addresses of graders and metrics."""

from django.urls import path

from grading.views import authoring, graders, metrics, passes

app_name = "graders"
urlpatterns = [
    path("", graders.grader_list, name="list"),
    path("new", authoring.new, name="new"),
    path("metrics/", metrics.metric_list, name="metrics"),
    path("metrics/new", metrics.new_metric, name="new_metric"),
    path("of/<uuid:experiment>/passes", passes.passes, name="passes"),
    path("of/<uuid:experiment>/grade", passes.regrade, name="regrade"),
    path("of/<uuid:experiment>/passes/<int:number>/steer", passes.steer, name="steer_pass"),
    path("<uuid:grader>/", graders.grader, name="grader"),
    path("<uuid:grader>/name", graders.rename, name="rename"),
    path("<uuid:grader>/archive", graders.archive, name="archive"),
    path("<uuid:grader>/restore", graders.restore, name="restore"),
    path("<uuid:grader>/versions/new", authoring.new_version, name="new_version"),
    path("<uuid:grader>/versions/<int:number>/try", graders.try_version, name="try_version"),
]
