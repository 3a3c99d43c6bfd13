"""API addresses of experiments with their passes, of metrics and of graders."""

from django.urls import path

from grading.api_views import experiments, graders, metrics, passes

urlpatterns = [
    path("experiments/<uuid:experiment>", experiments.ExperimentDetail.as_view(), name="experiment"),
    path("experiments/<uuid:experiment>/passes", passes.Passes.as_view(), name="passes"),
    path("experiments/<uuid:experiment>/passes/<int:number>/steps", passes.PassSteps.as_view(), name="pass_steps"),
    path("metrics", metrics.Metrics.as_view(), name="metrics"),
    path("metrics/<uuid:metric>", metrics.MetricDetail.as_view(), name="metric"),
    path("graders", graders.Graders.as_view(), name="graders"),
    path("graders/<uuid:grader>", graders.GraderDetail.as_view(), name="grader"),
    path("graders/<uuid:grader>/versions", graders.GraderVersions.as_view(), name="grader_versions"),
    path("graders/<uuid:grader>/versions/<int:number>", graders.GraderVersionDetail.as_view(), name="grader_version"),
]
