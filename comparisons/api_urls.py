"""API addresses."""

from django.urls import path

from comparisons import api_views

urlpatterns = [
    path("paired-comparison", api_views.PairedComparisonView.as_view(), name="paired_comparison"),
    path("paired-comparison/cases", api_views.PairedCasesView.as_view(), name="paired_comparison_cases"),
    path("paired-comparison/plan", api_views.PairedPlanView.as_view(), name="paired_comparison_plan"),
]
