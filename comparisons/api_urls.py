"""API addresses."""

from django.urls import path

from comparisons import api_views, group_api

urlpatterns = [
    path("groups", group_api.Groups.as_view(), name="groups"),
    path("groups/readiness", group_api.GroupReadiness.as_view(), name="group_readiness"),
    path("groups/<uuid:group>", group_api.GroupView.as_view(), name="group"),
    path("groups/<uuid:group>/steps", group_api.GroupSteps.as_view(), name="group_steps"),
    path("paired-comparison", api_views.PairedComparisonView.as_view(), name="paired_comparison"),
    path("paired-comparison/cases", api_views.PairedCasesView.as_view(), name="paired_comparison_cases"),
    path("paired-comparison/plan", api_views.PairedPlanView.as_view(), name="paired_comparison_plan"),
]
