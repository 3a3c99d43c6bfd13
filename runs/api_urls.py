"""API addresses of experiments. One experiment with its passes is told by `grading`, which knows them."""

from django.urls import path

from runs.api_views import browsing, draft_tests, launching

urlpatterns = [
    path("experiments", launching.Experiments.as_view(), name="experiments"),
    path("experiments/<uuid:experiment>/steps", launching.Steps.as_view(), name="experiment_steps"),
    path("experiments/<uuid:experiment>/executions", browsing.Executions.as_view(), name="executions"),
    path(
        "experiments/<uuid:experiment>/executions/<int:position>/attempts",
        browsing.Attempts.as_view(),
        name="attempts",
    ),
    path(
        "experiments/<uuid:experiment>/executions/<int:position>/tool_calls",
        browsing.ToolCalls.as_view(),
        name="tool_calls",
    ),
    path(
        "experiments/<uuid:experiment>/executions/<int:position>/retries",
        launching.Retries.as_view(),
        name="retries",
    ),
    path("agents/<uuid:agent>/evaluations", launching.Evaluations.as_view(), name="evaluations"),
    path("agents/<uuid:agent>/tests", draft_tests.DraftTests.as_view(), name="draft_tests"),
    path("agents/<uuid:agent>/tests/<uuid:test>", draft_tests.DraftTestDetail.as_view(), name="draft_test"),
]
