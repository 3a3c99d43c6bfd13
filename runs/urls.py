"""Page addresses of experiments and Agent Tests."""

from django.urls import path

from runs.views import browsing, draft_tests, launching, steering

app_name = "experiments"
urlpatterns = [
    path("", browsing.experiment_list, name="list"),
    path("new", launching.new, name="new"),
    path("of-draft/<uuid:agent>/", launching.evaluate, name="evaluate"),
    path("tests-of/<uuid:agent>/", draft_tests.tests, name="tests"),
    path("tests-of/<uuid:agent>/<uuid:test>/", draft_tests.test, name="test"),
    path("tests-of/<uuid:agent>/<uuid:test>/state", draft_tests.test_state, name="test_state"),
    path("<uuid:experiment>/", browsing.detail, name="detail"),
    path("<uuid:experiment>/progress", browsing.progress, name="progress"),
    path("<uuid:experiment>/steer", steering.steer, name="steer"),
    path("<uuid:experiment>/executions/<int:position>/", browsing.execution, name="execution"),
    path("<uuid:experiment>/executions/<int:position>/retry", steering.retry, name="retry"),
    path("<uuid:experiment>/archive", steering.archive, name="archive"),
    path("<uuid:experiment>/restore", steering.restore, name="restore"),
]
